//! Every change leads back to what was there, and to nothing else.

use proptest::prelude::*;

use super::{BackStep, Conflict, FileChange, FileState, WayBack, restore};

fn change(before: &str, after: &str) -> FileChange {
    FileChange::new("a.txt", Some((before.as_bytes(), 0o644)), Some((after.as_bytes(), 0o644)))
}

#[test]
fn only_what_was_taken_out_is_kept() {
    let change = change("one\ntwo\nthree\nfour\n", "one\n2\nthree\nfour\nfive\n");
    let steps = vec![
        BackStep::Copy { from_line: 0, lines: 1 },
        BackStep::Insert { text: "two\n".to_owned() },
        BackStep::Copy { from_line: 2, lines: 2 },
    ];
    assert_eq!(change.way_back, WayBack::Steps { steps });
}

#[test]
fn a_file_that_was_made_is_taken_away_again() {
    let change = FileChange::new("a.txt", None, Some((b"new", 0o600)));
    assert_eq!((&change.before, &change.way_back), (&FileState::Absent, &WayBack::Remove));
    assert_eq!(restore(Some(b"new"), &change), Ok(None));
    let Err(Conflict::ChangedSince { diff, .. }) = restore(Some(b"newer"), &change) else { panic!("it went back") };
    assert!(diff.contains("-newer"), "{diff}");
}

#[test]
fn a_file_that_was_deleted_comes_back() {
    let change = FileChange::new("a.txt", Some((b"one\ntwo", 0o755)), None);
    assert_eq!(restore(None, &change), Ok(Some(b"one\ntwo".to_vec())));
    assert!(matches!(restore(Some(b""), &change), Err(Conflict::ChangedSince { .. })));
}

#[test]
fn a_file_that_has_changed_since_is_left_alone() {
    let change = change("one\ntwo\n", "one\n2\n");
    let Err(Conflict::ChangedSince { diff, path }) = restore(Some(b"one\n2\nmore\n"), &change) else {
        panic!("it went back")
    };
    assert_eq!(path, "a.txt");
    assert_eq!(diff, "--- a.txt (now)\n+++ a.txt (before)\n@@ -1,3 +1,2 @@\n one\n-2\n-more\n+two\n");
}

#[test]
fn a_way_back_whose_text_was_scrubbed_is_not_gone() {
    let mut change = change("key = abc\n", "key = none\n");
    change.way_back = WayBack::Steps { steps: vec![BackStep::Insert { text: "key = [SECRET:x:1]\n".to_owned() }] };
    assert!(matches!(restore(Some(b"key = none\n"), &change), Err(Conflict::NotKept { .. })));
}

#[test]
fn what_was_no_text_is_not_kept() {
    let change = FileChange::new("a.bin", Some((b"\xff\x00", 0o644)), Some((b"text", 0o644)));
    assert!(matches!(restore(Some(b"text"), &change), Err(Conflict::NotKept { .. })));
}

#[test]
fn very_long_files_go_back_as_well() {
    let before: String = (0..30_000).map(|number| format!("old {number}\n")).collect();
    let after: String = (0..30_000).map(|number| format!("new {number}\n")).collect();
    let (before, after) = (format!("same\n{before}end\n"), format!("same\n{after}end\n"));
    let change = change(&before, &after);
    assert_eq!(restore(Some(after.as_bytes()), &change), Ok(Some(before.into_bytes())));
}

proptest! {
    #[test]
    fn every_change_leads_back(before in "([ab]\n?){0,12}", after in "([ab]\n?){0,12}") {
        let change = change(&before, &after);
        let stored = serde_json::to_string(&change).unwrap();
        let change: FileChange = serde_json::from_str(&stored).unwrap();
        prop_assert_eq!(restore(Some(after.as_bytes()), &change), Ok(Some(before.into_bytes())));
    }
}
