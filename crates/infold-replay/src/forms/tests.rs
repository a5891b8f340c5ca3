//! Tests of what is sent for an entry in each form.

use infold_core::fork::Tier;
use infold_core::transcript::CLEARED;

use super::{PromptForm, sent};
use crate::thread::{EntryRole, ThreadEntry};

fn entry<'a>(role: EntryRole, tool: &'a str, text: &'a str) -> ThreadEntry<'a> {
    ThreadEntry { role, tool, text, call: None, cleared: Vec::new() }
}

#[test]
fn only_results_change() {
    let text = "long ".repeat(2_000);
    let forms = [PromptForm::Cleared, PromptForm::Preview { preview_chars: 10 }, PromptForm::Aged(Tier::Three)];
    for role in [EntryRole::User, EntryRole::Assistant, EntryRole::SealedReasoning, EntryRole::Call, EntryRole::Summary]
    {
        for form in forms {
            assert_eq!(sent(&entry(role, "Bash", &text), form), None, "{role:?} {form:?}");
        }
    }
    for form in forms {
        assert!(sent(&entry(EntryRole::Result, "Bash", &text), form).is_some(), "{form:?}");
    }
}

#[test]
fn what_is_cleared_or_short_enough_stays() {
    assert_eq!(sent(&entry(EntryRole::Result, "Read", CLEARED), PromptForm::Cleared), None);
    assert_eq!(sent(&entry(EntryRole::Result, "Read", "short"), PromptForm::Aged(Tier::Three)), None);
    assert_eq!(sent(&entry(EntryRole::Result, "Read", &"x".repeat(9_000)), PromptForm::Aged(Tier::One)), None);
}

#[test]
fn a_preview_names_size_and_tool_and_shows_the_first_characters() {
    let text = "äöü".repeat(1_000);
    let entry = entry(EntryRole::Result, "Read", &text);
    let sent = sent(&entry, PromptForm::Preview { preview_chars: 4 }).unwrap();
    assert!(sent.starts_with("[Tool result stored — 6000 bytes from \"Read\".\nFirst 4 chars: äöüä...]\n"), "{sent}");
}

#[test]
fn a_terminals_result_keeps_both_ends_as_it_ages() {
    let text = format!("{}the end", "x".repeat(9_000));
    let of = |tool| sent(&entry(EntryRole::Result, tool, &text), PromptForm::Aged(Tier::Three)).unwrap().into_owned();
    assert!(of("Bash").ends_with("the end"));
    assert!(!of("Read").contains("the end"));
}
