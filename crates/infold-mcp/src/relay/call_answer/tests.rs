//! An answer is the same text whether it is written here or by the library.

use infold_core::{EndReason, Status, Thread};
use rmcp::model::{ServerJsonRpcMessage, ServerResult};

use super::*;

fn counted() -> Metered {
    let session = SessionId::parse("a-session").unwrap();
    Metered::In { session, thread: Thread::Main, tokens: 12, by: "meta" }
}

/// The answer as it is written here. The library writes the same.
fn written(answer: impl Fn() -> RelayedAnswer) -> String {
    let id = RequestId::Number(1);
    let here = String::from_utf8(RelayedMessage::new(id.clone(), answer()).written().unwrap()).unwrap();
    let response = CallToolResponse::from(CallAnswer::Relayed(answer()));
    let message = ServerJsonRpcMessage::response(ServerResult::from(response), id);
    assert_eq!(here, serde_json::to_string(&message).unwrap());
    here
}

#[test]
fn a_result_is_written_as_the_library_writes_it() {
    let state = || ContextState {
        session_id: SessionId::parse("a-session").unwrap(),
        active_branch_id: None,
        branch_depth: 0,
        total_tokens: 1_000,
        main_thread_tokens: 900,
        current_branch_tokens: 0,
        folded_tokens: 100,
        context_usage: 0.25,
        root_budget_remaining: Some(7),
    };
    let text = || vec![ContentBlock::text("line\n\"two\"")];
    let structured = || {
        let mut result = CallToolResult::success(text());
        result.structured_content = Some(json!({ "b": 1, "a": [null] }));
        result
    };
    assert_eq!(
        written(|| RelayedAnswer {
            result: structured(),
            state: Some(state()),
            metered: counted(),
            notices: Vec::new(),
        }),
        concat!(
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"line\n\"two\""}],"#,
            r#""structuredContent":{"b":1,"a":[null]},"isError":false,"_meta":{"infold/contextState":"#,
            r#"{"session_id":"a-session","active_branch_id":null,"branch_depth":0,"total_tokens":1000,"#,
            r#""folded_tokens":100,"context_usage":0.25},"infold/metered":{"session_id":"a-session","#,
            r#""branch_id":null,"tokens":12,"by":"meta"}}}}"#,
        )
    );
}

#[test]
fn an_error_that_is_counted_nowhere_says_why() {
    let notice = || Notice {
        branch_id: BranchId::from_stored("br_1".to_owned()),
        parent: Thread::Main,
        status: Status::Timeout,
        reason: EndReason::BudgetExhausted,
        result: "cut short".to_owned(),
    };
    let answer = || RelayedAnswer {
        result: CallToolResult::error(Vec::new()),
        state: None,
        metered: Metered::Nowhere { reason: "a script made the call" },
        notices: vec![notice()],
    };
    let written = written(answer);
    assert!(written.contains(r#""infold/metered":{"session_id":null,"reason":"a script made the call"}"#), "{written}");
    assert!(written.contains(r#""infold/notices":[{"branch_id":"br_"#), "{written}");
    assert!(CallAnswer::Relayed(answer()).is_error());
}

#[test]
fn every_text_is_written_as_the_library_writes_it() {
    let signs: String = (0..0x180).filter_map(char::from_u32).chain("\u{2028}\u{fffd}😀".chars()).collect();
    // Each sign at every place of what is passed over at once, and at the end.
    let shifted = (0..40).map(|shift| format!("{}{signs}", "x".repeat(shift)));
    let alone = signs.chars().map(String::from);
    for text in shifted.chain(alone).chain([String::new(), "plain ".repeat(100)]) {
        written(|| RelayedAnswer {
            result: CallToolResult::success(vec![ContentBlock::text(&text), ContentBlock::image("aGk=", "image/png")]),
            state: None,
            metered: counted(),
            notices: Vec::new(),
        });
    }
}
