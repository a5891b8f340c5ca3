//! infold itself as the other server: over standard streams, and over HTTP.

use infold_mcp::gateway::{
    CallNotice, CallOptions, ChildWay, HttpWay, LinkEra, LinkIdentity, LinkSetup, LinkWay, ListKind,
};
use infold_testkit::TempFolder;
use serde_json::json;
use tokio::sync::mpsc;

use super::{limits, start};
use crate::support::{Program, infold};

fn http(url: String) -> LinkSetup {
    let way = LinkWay::Http(HttpWay { url, headers: Vec::new(), helper: None, login: None });
    LinkSetup { way, known_era: None, identity: LinkIdentity::infold(), limits: limits() }
}

#[tokio::test]
async fn infold_mcp_is_used_over_its_standard_streams() {
    let folder = TempFolder::new().unwrap();
    let arguments = ["mcp", "--data"].map(Into::into).into_iter().chain([folder.join("data").into()]).collect();
    let program = env!("CARGO_BIN_EXE_infold");
    let way = ChildWay {
        tender: program.into(),
        program: program.into(),
        arguments,
        variables: vec![("HOME".into(), folder.join("home").into())],
        folder: None,
    };
    let setup =
        LinkSetup { way: LinkWay::Child(way), known_era: None, identity: LinkIdentity::infold(), limits: limits() };
    let link = start(setup).await.0.unwrap();
    assert_eq!((link.about().era, link.about().name.as_str()), (LinkEra::Legacy, "infold"));
    let tools = link.list(ListKind::Tools).await.unwrap();
    assert!(tools.items.iter().any(|tool| tool["name"] == "branch_create") && tools.problems.is_empty());
    let params =
        json!({ "name": "branch_create", "arguments": { "session_id": "s", "description": "d", "prompt": "p" } });
    let opened = link.request("tools/call", params, CallOptions::within(20_000)).await.unwrap();
    assert!(opened["structuredContent"]["branch_id"].is_string(), "{opened}");
    link.close().await;
}

#[tokio::test]
async fn a_daemon_is_used_in_the_newer_era_with_progress_log_lines_and_headers() {
    let program = Program::start(infold()).await.unwrap();
    let link = start(http(format!("{}/mcp/conformance", program.daemon.base_url()))).await.0.unwrap();
    assert_eq!(link.about().era, LinkEra::Modern);
    let tools = link.list(ListKind::Tools).await.unwrap();
    let (notices, mut received) = mpsc::channel(8);
    let options = CallOptions { notices: Some(notices), ..CallOptions::within(20_000) };
    let params = json!({ "name": "test_tool_with_progress", "arguments": {} });
    link.request("tools/call", params, options).await.unwrap();
    assert!(matches!(received.try_recv(), Ok(CallNotice::Progress(_))));

    // The daemon refuses a call whose marked argument is not in a header too.
    let mirror = tools.items.iter().find(|tool| tool["name"] == "test_header_mirror").unwrap();
    let params = json!({ "name": "test_header_mirror", "arguments": { "region": "Zürich" } });
    let without = link.request("tools/call", params.clone(), CallOptions::within(20_000)).await;
    assert!(without.is_err(), "{without:?}");
    let options = CallOptions { input_schema: Some(mirror["inputSchema"].clone()), ..CallOptions::within(20_000) };
    let answer = link.request("tools/call", params, options).await.unwrap();
    assert_eq!(answer["content"][0]["text"], "The call was accepted.");

    let asking = json!({ "name": "test_input_required_result_elicitation", "arguments": {} });
    let capable = CallOptions { capabilities: Some(json!({ "elicitation": {} })), ..CallOptions::within(20_000) };
    let required = link.request("tools/call", asking, capable).await.unwrap();
    assert_eq!(required["resultType"], "input_required", "it is the caller's to answer");
    link.close().await;
}
