//! Lines that are no message, or too long for one. The call that they were for fails; the connection goes on.

use super::*;
use crate::gateway::message::id_of_lost;

#[tokio::test]
async fn garbage_is_dropped_and_the_answer_still_comes() {
    let (link, mut played, _) = begun().await;
    let (result, ()) = tokio::join!(call(&link, options()), async {
        let (id, _) = played.expect("tools/call").await;
        played.say("server listening\n\n\n{\"half\":\n[1,2]\n{}\n{\"method\":7}\nnull\n\"\u{0}\n").await;
        played.output.write_all(b"\xff\xfe\n").await.unwrap();
        played.say(&format!("{}\n", "[".repeat(3_000))).await;
        played.answer(&id, json!("fine")).await;
    });
    assert_eq!(result, Ok(json!("fine")));
    assert_eq!(link.counts().unreadable, 9);
}

#[tokio::test]
async fn an_answer_that_is_too_long_fails_its_own_call() {
    let (link, mut played, _) = begun().await;
    let giant = "x".repeat(10_000);
    let (one, two, three, ()) =
        tokio::join!(call(&link, options()), call(&link, options()), call(&link, options()), async {
            let (first, _) = played.expect("tools/call").await;
            let (second, _) = played.expect("tools/call").await;
            let (third, _) = played.expect("tools/call").await;
            played.say(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{first},\"result\":{{\"t\":\"{giant}\"}}}}\n")).await;
            played.say(&format!("{{\"result\":{{\"t\":\"{giant}\"}},\"jsonrpc\":\"2.0\",\"id\":{second}}}\n")).await;
            played.answer(&third, json!(3)).await;
        });
    let too_long = Err(LinkError::TooLong { bytes_max: 4_000 });
    assert_eq!((one, two, three), (too_long.clone(), too_long, Ok(json!(3))));
    assert_eq!(link.counts().too_long, 2);
}

#[tokio::test]
async fn a_long_line_without_an_id_fails_the_only_call() {
    let (link, mut played, _) = begun().await;
    let (result, ()) = tokio::join!(call(&link, options()), async {
        played.expect("tools/call").await;
        played.say(&format!("{}\n", "y".repeat(10_000))).await;
    });
    assert_eq!(result, Err(LinkError::TooLong { bytes_max: 4_000 }));
}

#[tokio::test]
async fn an_answer_that_is_nested_too_deeply_fails_its_call() {
    let (link, mut played, _) = begun().await;
    let (result, ()) = tokio::join!(call(&link, options()), async {
        let (id, _) = played.expect("tools/call").await;
        let deep = "[".repeat(500) + &"]".repeat(500);
        played.say(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{deep}}}\n")).await;
    });
    assert!(matches!(result, Err(LinkError::NotMcp(_))), "{result:?}");
}

#[tokio::test]
async fn a_request_that_is_too_long_is_not_sent() {
    let (link, _played, _) = begun().await;
    let result = link.request("tools/call", json!({ "name": "x".repeat(5_000) }), options()).await;
    assert!(matches!(result, Err(LinkError::RequestTooLong { bytes_max: 4_000, .. })), "{result:?}");
}

#[tokio::test]
async fn a_server_that_does_not_read_holds_up_no_one_beyond_the_limit() {
    let (link, mut played, _) = begun().await;
    // The pipe takes a megabyte, the queue 4,000 bytes: requests fill both, and fail by their time limit.
    let params = json!({ "name": "x".repeat(3_000) });
    let mut sent = 0;
    while link.request("tools/call", params.clone(), CallOptions::within(1)).await
        == Err(LinkError::TimedOut { method: "tools/call".to_owned(), timeout_ms: 1 })
        && sent < 500
    {
        sent += 1;
    }
    assert_eq!(sent, 500);
    // The server's own words are still read.
    played.send(json!({ "jsonrpc": "2.0", "id": 4711, "result": {} })).await;
    while link.counts().unknown_ids == 0 {
        tokio::task::yield_now().await;
    }
}

#[test]
fn the_id_of_a_lost_answer_is_found_at_either_end() {
    let lost = |head: &str, tail: &str| id_of_lost(head.as_bytes(), tail.as_bytes());
    assert_eq!(lost("{\"jsonrpc\":\"2.0\",\"id\":12,\"result\":{\"id\":5", "zzz\"}}\n"), Some(12));
    assert_eq!(lost("{\"result\":{\"id\":5", "zz\"}]},\"jsonrpc\":\"2.0\", \"id\" : 12}\r\n"), Some(12));
    assert_eq!(lost("{\"result\":{\"id\":5", "zz\"}]}}\n"), None);
    assert_eq!(lost("zzz", "zzz"), None);
}
