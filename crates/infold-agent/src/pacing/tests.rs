//! How much room a thread has for results.

use infold_core::{CompactionThresholds, ContextBudget};
use serde_json::{Value, json};

use super::{names_part, room_tokens, turns_left};
use crate::session::{OpenCall, ThreadState};

fn room(conversation_tokens: u64, turns_left: u64) -> u64 {
    let thresholds = CompactionThresholds { compact_trigger: 0.9, hard_block: 0.98, summary_reserve_tokens: 1_000 };
    let budget = ContextBudget { conversation_tokens, ..ContextBudget::new(110_000, 10_000) };
    room_tokens(&budget, &thresholds, turns_left)
}

#[test]
fn what_is_kept_free_shrinks_with_every_turn() {
    // It is compacted at 90,000, and 1,200 are kept free for each turn.
    assert_eq!([room(0, 30), room(0, 10), room(0, 0)], [54_000, 78_000, 90_000]);
    assert_eq!([room(50_000, 30), room(54_000, 30), room(60_000, 30), room(60_000, 24)], [4_000, 0, 0, 1_200]);
    assert_eq!(room(95_000, 0), 0);
}

#[test]
fn turns_are_counted_from_the_last_compaction() {
    let thread = |turns, compacted_at: &[u64]| ThreadState {
        turns,
        compacted_at: compacted_at.to_vec(),
        ..ThreadState::default()
    };
    assert_eq!([turns_left(&thread(0, &[]), 30), turns_left(&thread(31, &[]), 30)], [30, 0]);
    assert_eq!([turns_left(&thread(40, &[12, 35]), 30), turns_left(&thread(40, &[12, 35]), 0)], [25, 0]);
}

#[test]
fn a_range_is_a_part_and_a_name_alone_is_not() {
    let names =
        |tool: &str, arguments: Value| names_part(&OpenCall { id: String::new(), tool: tool.to_owned(), arguments });
    assert!(names("read", json!({"path": "a", "offset": 5})) && names("read", json!({"path": "a", "limit": 5})));
    assert!(!names("read", json!({"path": "a"})) && !names("read", json!({"path": "a", "offset": null})));
    assert!(!names("search", json!({"pattern": "a", "limit": 5})));
}
