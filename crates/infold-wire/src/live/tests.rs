//! Tests of given-up entries, for each client: found in one reading and left out in the next.

use super::GivenUp;
use crate::form::Format;
use crate::reader::{ReadLimits, Reader};

/// The texts that are left of a recording without its given-up entries.
fn left(text: &str, format: Format) -> Vec<String> {
    let reader = || Reader::new(text.as_bytes(), Some(format), ReadLimits::with_entry_bytes_max(1 << 20)).unwrap();
    let given_up = GivenUp::of(reader()).unwrap();
    let mut reader = reader();
    let mut left = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        if !given_up.has(&entry) {
            left.extend(entry.items.iter().map(|item| item.text().to_owned()));
        }
    }
    left
}

#[test]
fn turns_that_were_undone_are_left_out_without_holding_the_recording() {
    let said = |id: &str, parent: &str, text: &str| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"{id}\",\"parentUuid\":\"{parent}\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
        )
    };
    let claude = [said("u1", "", "first"), said("u2", "u1", "undone"), said("u3", "u1", "instead")].concat();
    assert_eq!(left(&claude, Format::ClaudeCode), ["first", "instead"]);

    let item = |text: &str| {
        format!(
            "{{\"type\":\"response_item\",\"payload\":{{\"type\":\"message\",\"role\":\"user\",\"content\":[{{\"type\":\"input_text\",\"text\":\"{text}\"}}]}}}}\n"
        )
    };
    let back = "{\"type\":\"event_msg\",\"payload\":{\"type\":\"thread_rolled_back\",\"num_turns\":1}}\n";
    let codex = [&item("first"), &item("undone"), back, &item("instead")].map(|line| line.to_owned()).concat();
    assert_eq!(left(&codex, Format::Codex), ["first", "instead"]);
}
