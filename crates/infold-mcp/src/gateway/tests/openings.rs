//! How a connection begins, and what every request carries.

use super::*;
use crate::gateway::LinkEra;

#[tokio::test]
async fn a_server_of_the_older_era_says_what_it_is() {
    let (link, mut played, _) = begun().await;
    let about = link.about();
    assert_eq!((about.era, about.protocol.as_str(), about.name.as_str()), (LinkEra::Legacy, "2025-11-25", "played"));
    assert_eq!(about.instructions.as_deref(), Some("be kind"));
    let params = json!({ "name": "t", "_meta": { "progressToken": "the caller's", "kept": 1 } });
    let (result, ()) = tokio::join!(link.request("tools/call", params, options()), async {
        let (id, params) = played.expect("tools/call").await;
        assert_eq!(params, json!({ "name": "t", "_meta": { "kept": 1 } }), "tokens of others do not travel");
        played.answer(&id, json!({ "content": [{ "type": "odd" }] })).await;
    });
    assert_eq!(result.unwrap(), json!({ "content": [{ "type": "odd" }] }));
}

#[tokio::test]
async fn a_server_that_refuses_the_older_handshake_is_asked_for_the_newer_era() {
    let (starting, mut played, _) = begin(setup());
    let (link, ()) = tokio::join!(starting, async {
        let (id, _) = played.expect("initialize").await;
        let error = json!({ "code": -32601, "message": "no such method" });
        played.send(json!({ "jsonrpc": "2.0", "id": id, "error": error })).await;
        let (id, params) = played.expect("server/discover").await;
        assert_eq!(params["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        let about = json!({
            "supportedVersions": ["2026-07-28"],
            "capabilities": {},
            "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "new", "version": "2" } },
        });
        played.answer(&id, about).await;
    });
    let link = link.unwrap();
    assert_eq!((link.about().era, link.about().name.as_str()), (LinkEra::Modern, "new"));

    let capable = CallOptions { capabilities: Some(json!({ "sampling": {} })), ..options() };
    let (_, ()) = tokio::join!(call(&link, capable), async {
        let (id, params) = played.expect("tools/call").await;
        assert_eq!(params["_meta"]["io.modelcontextprotocol/clientCapabilities"], json!({ "sampling": {} }));
        assert_eq!(params["_meta"]["io.modelcontextprotocol/clientInfo"]["name"], "infold");
        played.answer(&id, json!({})).await;
    });
}

#[tokio::test]
async fn the_era_of_the_last_time_is_tried_first() {
    let (starting, mut played, _) = begin(LinkSetup { known_era: Some(LinkEra::Modern), ..setup() });
    let (link, ()) = tokio::join!(starting, async {
        let (id, _) = played.expect("server/discover").await;
        played.answer(&id, json!({ "supportedVersions": ["2025-11-25"] })).await;
        played.shake_hands().await;
    });
    assert_eq!(link.unwrap().about().era, LinkEra::Legacy, "it may have changed since");
}

#[tokio::test]
async fn an_unknown_revision_is_an_error() {
    let (starting, mut played, _) = begin(setup());
    let (link, ()) = tokio::join!(starting, async {
        let (id, _) = played.expect("initialize").await;
        played.answer(&id, handshake("1999-01-01")).await;
    });
    let error = link.unwrap_err().to_string();
    assert_eq!(error, "the server does not speak MCP as expected: its revision \"1999-01-01\" is not known");
}

#[tokio::test]
async fn a_server_that_says_nothing_fails_within_its_limit() {
    let mut setup = setup();
    setup.limits.start_timeout_ms = 20;
    let (starting, _played, _) = begin(setup);
    let error = starting.await.unwrap_err();
    let LinkError::TimedOut { method, .. } = error else { panic!("{error}") };
    assert_eq!(method, "initialize");
}

#[tokio::test]
async fn a_server_that_ends_at_its_start_is_an_error() {
    let (starting, played, _) = begin(setup());
    drop(played);
    let error = starting.await.unwrap_err();
    assert!(matches!(error, LinkError::Ended { .. } | LinkError::Closed), "{error}");
}

#[tokio::test]
async fn closing_fails_what_is_in_flight_and_ends_the_servers_input() {
    let (link, mut played, _) = begun().await;
    let (result, ()) = tokio::join!(call(&link, options()), async {
        played.expect("tools/call").await;
        link.close().await;
    });
    assert_eq!(result, Err(LinkError::Closed));
    assert_eq!(call(&link, options()).await, Err(LinkError::Closed));
    let mut rest = String::new();
    assert_eq!(played.lines.read_line(&mut rest).await.unwrap(), 0, "{rest}");
}
