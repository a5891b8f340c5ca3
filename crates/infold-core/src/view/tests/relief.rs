//! Which results are offloaded from a view that does not fit, or whose agent asked for space.

use insta::assert_snapshot;

use super::text::*;
use crate::view::RequestKind::Turn;
use crate::view::{
    Burden, LastRound, OffloadGoal, OffloadedResult, ReceiptCause, Relief, ViewPiece, is_receipt, plan, receipt,
    relieve,
};

const TEXT: &str = "
    user: fix the bug, and here is everything I know about it
    call ToolSearch {query: x} -> loads read_result
    call read_file {path: a.rs} -> 500
    call read_file {path: b.rs} -> 300
    + call read_file {path: c.rs} -> 300
    + call read_file {path: d.rs} -> 5
    call branch_create {description: x} -> br_1
    call branch_return {branch: br_1, message: found} -> ok
    call read_file {path: e.rs} -> 900
    ";

/// The results that leave, by their texts, which say how many tokens each takes. All other pieces take 100.
fn leaving(excess_tokens: u64) -> (Vec<String>, Relief) {
    leaving_for(OffloadGoal::Fit { excess_tokens })
}

/// The results that leave if this much may stay.
fn leaving_older(keep_tokens: u64, last_round: LastRound) -> Vec<String> {
    leaving_for(OffloadGoal::Older { keep_tokens, last_round }).0
}

fn leaving_for(goal: OffloadGoal) -> (Vec<String>, Relief) {
    let said = transcript(TEXT);
    let blocks = blocks(&said);
    let request = request(&blocks, Turn, &[]);
    let plan = plan(&request, &known().0, &key(), &scrubber());
    let text = |at: usize| match &said[at].what {
        What::Result { text, .. } => text.clone(),
        _ => String::new(),
    };
    let tokens: Vec<u64> = plan
        .pieces
        .iter()
        .map(|piece| match piece {
            ViewPiece::Keep(at) => text(*at).parse().unwrap_or(100),
            _ => 100,
        })
        .collect();
    let relief =
        relieve(&Burden { request: &request, pieces: &plan.pieces, tokens: &tokens, reference_tokens: 10, goal });
    (relief.results.iter().map(|&at| text(at)).collect(), relief)
}

#[test]
fn the_largest_results_leave_in_whole_rounds() {
    assert_eq!(leaving(100).0, ["300", "300"]);
    assert_eq!(leaving(600).0, ["500", "300", "300"]);
}

#[test]
fn the_newest_round_leaves_last() {
    assert_eq!(leaving(1_070).0, ["500", "300", "300"]);
    // It frees so much that a smaller one can stay.
    assert_eq!(leaving(1_100).0, ["300", "300", "900"]);
    assert_eq!(leaving(1_500).0, ["500", "300", "300", "900"]);
}

#[test]
fn what_cannot_leave_is_said() {
    let (all, relief) = leaving(1_000_000);
    assert_eq!(all, ["500", "300", "300", "900"]);
    assert_eq!((relief.freed_tokens, relief.excess_tokens), (1_960, 998_040));
    assert_eq!(leaving(0).1, Relief { results: Vec::new(), freed_tokens: 0, excess_tokens: 0 });
}

#[test]
fn on_request_all_older_rounds_leave_as_far_as_the_newest_have_room() {
    assert_eq!(leaving_older(0, LastRound::Unseen), ["500", "300", "300"]);
    assert_eq!(leaving_older(599, LastRound::Unseen), ["500", "300", "300"]);
    assert_eq!(leaving_older(600, LastRound::Unseen), ["500"], "a round stays whole");
    assert_eq!(leaving_older(1_100, LastRound::Unseen), [""; 0]);
}

#[test]
fn a_last_round_that_the_model_has_seen_leaves_like_any_other() {
    assert_eq!(leaving_older(0, LastRound::Seen), ["500", "300", "300", "900"]);
    assert_eq!(leaving_older(900, LastRound::Seen), ["500", "300", "300"]);
    assert_eq!(leaving_older(1_500, LastRound::Seen), ["500"]);
}

#[test]
fn the_receipt_of_what_was_asked_for_says_how_much_became_of_how_much() {
    let moved = [OffloadedResult { tool: "Bash", handle: "res_1", tokens: 12_000 }];
    let cause = ReceiptCause::Asked { before_tokens: 83_000, after_tokens: 71_700 };
    let text = receipt(&moved, "read_result", cause);
    assert!(is_receipt(&text) && !is_receipt("[infold: a note]"));
    assert_snapshot!(text, @"
    [infold] You asked for space in this conversation: results of 1 calls (12,000 tokens) were moved out of it, and reasoning from before is no longer sent. It had 83,000 tokens and has 71,700 now; references stand in their places. Nothing is lost: call read_result with a ref_id to read one.
    - res_1: Bash, 12,000 tokens
    ");
}

#[test]
fn the_receipt_says_what_went_and_how_to_read_it_back() {
    let moved = [
        OffloadedResult { tool: "Bash", handle: "res_1", tokens: 12_000 },
        OffloadedResult { tool: "Read", handle: "res_2", tokens: 900 },
    ];
    assert_snapshot!(receipt(&moved, "mcp__infold__read_result", ReceiptCause::TooLong), @"
    [infold] This conversation no longer fitted the model's window. Results of 2 calls (12,900 tokens) were moved out of it; references stand in their places. Nothing is lost: call mcp__infold__read_result with a ref_id to read one.
    - res_1: Bash, 12,000 tokens
    - res_2: Read, 900 tokens
    ");
    let many = [moved[0]; 30];
    assert!(receipt(&many, "read_result", ReceiptCause::TooLong).ends_with("\nand 6 more"));
}
