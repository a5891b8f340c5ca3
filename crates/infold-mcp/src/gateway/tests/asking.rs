//! What a server says and asks while a call is in flight reaches the caller of that call, and nobody else.

use tokio_util::sync::CancellationToken;

use super::*;
use crate::gateway::{CallNotice, ListKind};

fn elicitation(id: u64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": { "message": "who?" } })
}

#[tokio::test]
async fn progress_and_log_lines_reach_their_call() {
    let (link, mut played, mut events) = begun().await;
    let (notices, mut received) = mpsc::channel(8);
    let (result, ()) = tokio::join!(call(&link, CallOptions { notices: Some(notices), ..options() }), async {
        let (id, params) = played.expect("tools/call").await;
        assert_eq!(params["_meta"]["progressToken"], id);
        let progress = json!({ "progressToken": id, "progress": 1 });
        played.send(json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": progress })).await;
        let foreign = json!({ "progressToken": 4711, "progress": 9 });
        played.send(json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": foreign })).await;
        let log = json!({ "level": "info", "data": "working" });
        played.send(json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": log })).await;
        played.send(json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" })).await;
        played.answer(&id, json!({})).await;
    });
    result.unwrap();
    assert_eq!(received.try_recv().unwrap(), CallNotice::Progress(json!({ "progress": 1 })));
    assert_eq!(received.try_recv().unwrap(), CallNotice::Log(json!({ "level": "info", "data": "working" })));
    assert!(received.try_recv().is_err(), "progress of another call is not passed on");
    assert_eq!(events.recv().await, Some(LinkEvent::ListChanged(ListKind::Tools)));
    assert_eq!(link.counts().unwanted, 1);
}

#[tokio::test]
async fn a_question_reaches_the_caller_of_the_only_call() {
    let (link, mut played, _) = begun().await;
    let (asks, mut asked) = mpsc::channel(1);
    let (result, (), ()) = tokio::join!(
        call(&link, CallOptions { asks: Some(asks), ..options() }),
        async {
            let (id, _) = played.expect("tools/call").await;
            played.send(elicitation(77)).await;
            let answer = played.next().await;
            assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": 77, "result": { "action": "accept" } }));
            played.answer(&id, json!({})).await;
        },
        async {
            let ask = asked.recv().await.unwrap();
            assert_eq!((ask.method.as_str(), &ask.params["message"]), ("elicitation/create", &json!("who?")));
            ask.answer(Ok(json!({ "action": "accept" })));
        }
    );
    result.unwrap();
}

#[tokio::test]
async fn a_question_that_could_be_of_two_callers_reaches_neither() {
    let (link, mut played, _) = begun().await;
    let (asks, mut asked) = mpsc::channel(4);
    let of = |session: &str| CallOptions { asks: Some(asks.clone()), session: Some(session.into()), ..options() };
    let (one, two, ()) = tokio::join!(call(&link, of("a")), call(&link, of("b")), async {
        let (first, _) = played.expect("tools/call").await;
        let (second, _) = played.expect("tools/call").await;
        played.send(elicitation(1)).await;
        assert_eq!(played.next().await["result"], json!({ "action": "cancel" }));
        played.send(json!({ "jsonrpc": "2.0", "id": "s", "method": "sampling/createMessage", "params": {} })).await;
        assert_eq!(played.next().await["error"]["code"], -32000);
        played.send(json!({ "jsonrpc": "2.0", "id": 3, "method": "odd/method" })).await;
        assert_eq!(played.next().await["error"]["code"], -32601);
        played.send(json!({ "jsonrpc": "2.0", "id": 4, "method": "ping" })).await;
        assert_eq!(played.next().await["result"], json!({}));
        played.answer(&second, json!(2)).await;
        played.answer(&first, json!(1)).await;
    });
    assert_eq!((one, two), (Ok(json!(1)), Ok(json!(2))), "answers out of order reach their requests");
    assert!(asked.try_recv().is_err());
    assert_eq!(link.counts().unanswered, 3);
}

#[tokio::test]
async fn a_question_of_two_calls_of_one_caller_is_asked() {
    let (link, mut played, _) = begun().await;
    let (asks, mut asked) = mpsc::channel(4);
    let of = |session: &str| CallOptions { asks: Some(asks.clone()), session: Some(session.into()), ..options() };
    let (_, _, ()) = tokio::join!(call(&link, of("a")), call(&link, of("a")), async {
        let (first, _) = played.expect("tools/call").await;
        let (second, _) = played.expect("tools/call").await;
        played.send(elicitation(1)).await;
        // Dropping a question answers it too.
        drop(asked.recv().await.unwrap());
        assert_eq!(played.next().await["result"], json!({ "action": "cancel" }));
        played.answer(&second, json!(2)).await;
        played.answer(&first, json!(1)).await;
    });
}

#[tokio::test]
async fn roots_that_are_known_are_given_to_a_server_without_a_call() {
    let mut setup = setup();
    setup.identity.roots = Some(json!([{ "uri": "file:///p" }]));
    let (link, mut played, _) = begun_with(setup).await;
    played.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "roots/list" })).await;
    assert_eq!(played.next().await["result"], json!({ "roots": [{ "uri": "file:///p" }] }));
    link.close().await;
}

#[tokio::test]
async fn a_call_that_is_cancelled_or_dropped_is_given_up_at_the_server() {
    let (link, mut played, _) = begun().await;
    let cancel = CancellationToken::new();
    let (result, id) = tokio::join!(call(&link, CallOptions { cancel: cancel.clone(), ..options() }), async {
        let (id, _) = played.expect("tools/call").await;
        cancel.cancel();
        let (_, params) = played.expect("notifications/cancelled").await;
        assert_eq!(params["requestId"], id);
        id
    });
    assert_eq!(result, Err(LinkError::Cancelled));
    // An answer that comes too late is dropped, and so is one to a request that was never made.
    played.answer(&id, json!({})).await;
    played.answer(&json!(4711), json!({})).await;

    tokio::select! {
        _ = call(&link, options()) => panic!("there was no answer"),
        _ = played.expect("tools/call") => {}
    }
    played.expect("notifications/cancelled").await;
    assert_eq!(link.counts().unknown_ids, 2);
}

#[tokio::test]
async fn no_more_calls_run_than_are_allowed() {
    let (link, mut played, _) = begun().await;
    let one = || call(&link, options());
    let one_too_many = async {
        for _ in 0..4 {
            played.expect("tools/call").await;
        }
        one().await
    };
    tokio::select! {
        _ = async { tokio::join!(one(), one(), one(), one()) } => panic!("there was no answer"),
        result = one_too_many => assert_eq!(result, Err(LinkError::Busy { calls_max: 4 })),
    }
}
