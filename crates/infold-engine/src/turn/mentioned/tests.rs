//! What is known of a view follows the view, turn by turn and when it is cut back.

use infold_core::view::{BlockKind, ViewPiece, ViewPlan};
use infold_core::{Counter, Family, Mentions, Shape, ShapeRules, Thread, ToolResult, shape};
use infold_wire::request::{Api, Request};
use serde_json::{Value, json};

use super::Mentioned;

fn file(number: usize) -> String {
    (1..=40).map(|line| format!("{line:>6}→    let value_{number}_{line} = another_value({line});\n")).collect()
}

/// A conversation in which this many files were read.
fn body(files: usize) -> Vec<u8> {
    let mut messages = vec![json!({"role": "user", "content": "read them"})];
    for number in 0..files {
        let id = format!("call_{number}");
        let call = json!({"type": "tool_use", "id": id, "name": "Read", "input": {"path": "src/a.rs"}});
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": file(number)});
        messages.push(json!({"role": "assistant", "content": [call]}));
        messages.push(json!({"role": "user", "content": [result, {"type": "text", "text": "a reminder"}]}));
    }
    let body: Value = json!({"model": "a-model", "max_tokens": 1, "messages": messages});
    body.to_string().into_bytes()
}

/// What is known after this many files were read, of which the model has not seen the last.
fn known(mentioned: &mut Mentioned, files: usize) -> Mentions {
    let body = body(files);
    let request = Request::read(Api::Messages, &body).unwrap();
    let is_result = |at: &usize| matches!(request.blocks()[*at].kind, BlockKind::Result(_));
    let unseen = (0..request.blocks().len()).rfind(is_result);
    let plan = ViewPlan {
        thread: Thread::Main,
        restart_here: None,
        pieces: (0..request.blocks().len()).map(ViewPiece::Keep).collect(),
        edits: Vec::new(),
        actions: Vec::new(),
        unseen: unseen.into_iter().collect(),
        unseen_in: vec![Thread::Main],
        reads_results: true,
        open: Vec::new(),
    };
    mentioned.in_view(&request, &plan)
}

/// Which of the first files would be shown again.
fn seen(mentions: &Mentions) -> Vec<usize> {
    let is_seen = |number: &usize| {
        let text = file(*number);
        let result = ToolResult { tool: "Read", arguments: r#"{"path": "src/a.rs"}"#, text: &text };
        shape(&result, mentions, &ShapeRules::USUAL, Counter::new(Family::Claude)) != Shape::Stays
    };
    (0..5).filter(is_seen).collect()
}

#[test]
fn each_turn_adds_what_is_new_and_a_view_that_was_cut_back_is_read_again() {
    let mut mentioned = Mentioned::default();
    assert_eq!(seen(&known(&mut mentioned, 1)), [0; 0], "the last one is not seen yet");
    assert_eq!(seen(&known(&mut mentioned, 3)), [0, 1]);
    let read = mentioned.pieces.len();
    assert_eq!(seen(&known(&mut mentioned, 4)), [0, 1, 2]);
    assert!(mentioned.pieces.len() > read && mentioned.bytes() > 0);
    let held = known(&mut mentioned, 4);
    assert_eq!(seen(&known(&mut mentioned, 5)), [0, 1, 2, 3], "somebody still holds what was known");
    drop(held);
    assert_eq!(seen(&known(&mut mentioned, 2)), [0], "the client went back");
}
