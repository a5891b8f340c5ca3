//! Plans in notes.

use super::*;

fn shown(notes: &str) -> Vec<String> {
    let entries = of_notes(notes).map(|plan| plan.entries).unwrap_or_default();
    entries.iter().map(|entry| format!("{:?} {}", entry.status, entry.content)).collect()
}

#[test]
fn lines_with_a_box_are_the_plan_and_nothing_else_is() {
    let notes = "# Plan\n- [x] read it\n  * [ ] change it\n2. [~] test it\n- decided: no cache\n[x] no item\n- [link](a.md)\n- [ ]";
    assert_eq!(shown(notes), ["Completed read it", "Pending change it", "InProgress test it"]);
}

#[test]
fn notes_without_boxes_are_no_plan() {
    assert_eq!(of_notes("- use serde\n1. first\nplain"), None);
}
