//! What differs from run to run is replaced, and the rest stays.

use serde_json::json;

use super::{Neutral, blank};

#[test]
fn paths_ids_and_times_become_neutral_and_stay_apart() {
    let lines = [
        json!({"cwd": "/tmp/x-1/project", "id": "3a0828d1-f483-487b-8ed7-1f4188114633", "time": 1_794_785_934_390_u64}),
        json!({"parent": "3a0828d1-f483-487b-8ed7-1f4188114633", "call": "toolu_0123456789abcdef01234567",
               "file": "-tmp-x-1-project", "title": "tmp/x-1/a", "timestamp": "2026-11-15T23:34:22.246Z", "count": 12}),
    ];
    let mut neutral = Neutral::new("/tmp/x-1", &lines, 1);
    let lines: Vec<_> = lines.iter().map(|line| neutral.line(line)).collect();
    assert_eq!(
        lines,
        [
            json!({"cwd": "/home/dev/project", "id": "00000000-0000-4000-8000-000000000001",
                   "time": 1_767_225_600_000_u64}),
            json!({"parent": "00000000-0000-4000-8000-000000000001", "call": "toolu_000000000000000000000002",
                   "file": "-home-dev-project", "title": "home/dev/a", "timestamp": "2026-01-01T00:00:00.000Z", "count": 12}),
        ]
    );
}

#[test]
fn ordinary_words_are_left_alone() {
    let text = "read_file_with_a_long_name and user_notifications_0123 in src/lib.rs";
    assert_eq!(Neutral::new("/nowhere", &[], 1).text(text), text);
}

#[test]
fn an_id_at_the_end_of_a_longer_word_is_found() {
    let text = "rollout-2026-11-15T23-34-22-01a1e18f-d521-7e62-995f-91c365ae6c96.jsonl";
    let wanted = "rollout-2026-11-15T23-34-22-00000000-0000-4000-8000-000000000001.jsonl";
    assert_eq!(Neutral::new("/nowhere", &[], 1).text(text), wanted);
}

#[test]
fn long_texts_of_the_vendor_shrink_to_a_note() {
    let mut value = json!({"short": "stays", "long": "x".repeat(500)});
    blank(&mut value);
    assert_eq!(value, json!({"short": "stays", "long": "(vendor's text, 500 characters)"}));
}
