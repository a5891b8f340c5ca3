//! Times and folders of recordings that real agents wrote.

use std::path::Path;

use super::RecordedAt;
use crate::reader::ReadLimits;

fn read(fixture: &str) -> RecordedAt {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(fixture);
    RecordedAt::read(crate::open(&path).unwrap(), None, ReadLimits::with_entry_bytes_max(1 << 20)).unwrap()
}

#[test]
fn each_clients_recording_says_when_and_where_it_was() {
    for fixture in ["claude-code/tools.jsonl", "codex/rollout-tools.jsonl", "opencode/tools.json"] {
        let recorded = read(fixture);
        assert_eq!(recorded.folder.as_deref(), Some("/home/dev/project"), "{fixture}");
        let (first, last) = (recorded.time_ms(0), recorded.time_ms(u64::MAX));
        assert!(first.is_some() && first < last, "{fixture}: {first:?} {last:?}");
    }
}

#[test]
fn an_entry_without_a_time_has_that_of_the_one_before_it() {
    let lines = concat!(
        r#"{"type":"user","timestamp":"2026-01-01T00:00:01.500Z","message":{"role":"user","content":"a"},"uuid":"1"}"#,
        "\n",
        r#"{"type":"user","message":{"role":"user","content":"b"},"uuid":"2","parentUuid":"1"}"#,
        "\n",
    );
    let limits = ReadLimits::with_entry_bytes_max(1 << 20);
    let recorded = RecordedAt::read(lines.as_bytes(), Some(crate::Format::ClaudeCode), limits).unwrap();
    assert_eq!(recorded.time_ms(2), Some(1_767_225_601_500));
    assert_eq!(recorded.folder, None);
}
