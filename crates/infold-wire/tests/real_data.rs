//! Reads every recording there is, in every form, where recordings are at hand (`INFOLD_TEST_DATA`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::support::{LIMITS, recorded_every, recordings, shown, unpacked};
use infold_core::transcript::{Client, Kind, Transcript};
use infold_wire::{EntryKind, Format, Reader, open, read_sessions};

fn sessions(path: &Path) -> Vec<Transcript> {
    let mut sessions = read_sessions(open(path).unwrap(), None, LIMITS).unwrap();
    let transcripts: Vec<Transcript> = sessions.by_ref().map(Result::unwrap).collect();
    assert_eq!(sessions.problems(), [], "{}", shown(path));
    assert!(!transcripts.is_empty(), "{}", shown(path));
    transcripts
}

#[test]
fn every_recording_is_given_back_byte_for_byte() {
    for path in recordings() {
        let bytes = unpacked(&path);
        let mut reader = Reader::new(open(&path).unwrap(), None, LIMITS).unwrap();
        let mut written = Vec::with_capacity(bytes.len());
        while let Some(entry) = reader.next_entry().unwrap() {
            assert_ne!(entry.kind, EntryKind::Broken, "{} entry {}", shown(&path), entry.number);
            written.extend_from_slice(&entry.raw);
        }
        assert!(written == bytes, "{} changed", shown(&path));
        assert_eq!(reader.problems(), [], "{}", shown(&path));
    }
}

#[test]
fn what_is_given_back_reads_as_the_same_transcript() {
    for path in recordings() {
        let mut reader = Reader::new(open(&path).unwrap(), None, LIMITS).unwrap();
        let mut written = Vec::new();
        while let Some(entry) = reader.next_entry().unwrap() {
            written.extend_from_slice(&entry.raw);
        }
        let again: Vec<Transcript> =
            read_sessions(written.as_slice(), None, LIMITS).unwrap().map(Result::unwrap).collect();
        assert!(again == sessions(&path), "{} reads differently", shown(&path));
    }
}

#[test]
fn messages_are_in_order_and_results_name_calls_that_came_before() {
    for path in recordings() {
        for transcript in sessions(&path) {
            let mut last = 0;
            let mut calls: BTreeMap<&str, &str> = BTreeMap::new();
            for item in &transcript.items {
                assert!(item.message >= last, "{}: messages fall at {:?}", shown(&path), item.place);
                last = item.message;
                match &item.kind {
                    Kind::Call { id, tool, .. } => _ = calls.insert(id, tool),
                    // Only half of a session may have been recorded.
                    Kind::Result { id, tool, .. } if calls.contains_key(id.as_str()) => {
                        assert_eq!(calls[id.as_str()], tool, "{}", shown(&path));
                    }
                    Kind::Result { .. } => {
                        assert_eq!(transcript.client, Client::Normalized, "{}: {:?}", shown(&path), item.place);
                    }
                    _ => {}
                }
            }
            for call in &transcript.calls {
                assert!(call.first_item <= transcript.items.len(), "{}", shown(&path));
                let is_counted = call.usage.prompt_tokens() > 0 || transcript.client == Client::Normalized;
                assert!(is_counted, "{}", shown(&path));
            }
            assert!(transcript.calls.is_sorted_by_key(|call| call.first_item), "{}", shown(&path));
        }
    }
}

#[test]
fn one_transcript_is_read_from_every_file_that_holds_one_session() {
    for path in recordings() {
        let read = Reader::new(open(&path).unwrap(), None, LIMITS).and_then(Reader::into_transcript);
        match read {
            Ok(read) => assert!(!read.transcript.items.is_empty(), "{}", shown(&path)),
            Err(error) => assert!(error.to_string().contains("several sessions"), "{}: {error}", shown(&path)),
        }
    }
}

/// The recordings hold the same sessions as their clients wrote them, and as another program has read them.
#[test]
fn raw_and_normalized_recordings_tell_of_the_same_calls() {
    let files = recordings();
    let Some(normalized) = files.iter().find(|path| shown(path).starts_with("normalized")) else { return };
    let by_session: BTreeMap<String, Transcript> = sessions(normalized)
        .into_iter()
        .filter_map(|transcript| Some((transcript.session.clone()?, transcript)))
        .collect();
    let mut compared = 0;
    for path in files.iter().filter(|path| shown(path).ends_with(".jsonl.gz") && *path != normalized) {
        let name = shown(path);
        let session = name.split("__").nth(1).unwrap().trim_end_matches(".jsonl.gz");
        let Some(theirs) = by_session.get(session) else { continue };
        let ours = sessions(path).remove(0);
        if ours.client == Client::ClaudeCode {
            assert_eq!(calls_of(&ours), calls_of(theirs), "{name}");
            assert_eq!(ours.calls.len(), theirs.calls.len(), "{name}");
            let usage = |transcript: &Transcript| -> Vec<(u64, u64)> {
                transcript.calls.iter().map(|call| (call.usage.prompt_tokens(), call.usage.output_tokens)).collect()
            };
            assert_eq!(usage(&ours), usage(theirs), "{name}");
        } else {
            // Searches that the provider does itself have no id there.
            let mut theirs = calls_of(theirs);
            theirs.retain(|(id, _)| !id.is_empty());
            let only_there: Vec<_> = theirs.difference(&calls_of(&ours)).cloned().collect();
            assert_eq!(only_there, [], "{name}");
        }
        compared += 1;
    }
    assert!(compared * recorded_every() > 20, "only {compared} sessions were compared");
}

fn calls_of(transcript: &Transcript) -> BTreeSet<(String, String)> {
    let calls = transcript.items.iter().filter_map(|item| match &item.kind {
        Kind::Call { id, tool, .. } => Some((id.clone(), tool.rsplit("__").next().unwrap_or(tool).to_owned())),
        _ => None,
    });
    calls.collect()
}

#[test]
fn the_form_is_found_out_for_every_recording() {
    for path in recordings() {
        let name = path.display().to_string();
        let found = Reader::new(open(&path).unwrap(), None, LIMITS).unwrap().format();
        let is_request = name.ends_with("requests.jsonl");
        let expected: &[Format] = match () {
            () if name.contains("normalized") => &[Format::Normalized],
            () if is_request => &[Format::Anthropic, Format::OpenAi],
            () if name.contains("/clients/codex") || name.contains("mix_agentv") => &[Format::Codex],
            () if name.contains("/clients/opencode") => &[Format::OpenCode],
            () => &[Format::ClaudeCode],
        };
        assert!(expected.contains(&found), "{}: {found}", shown(&path));
        let other = if found == Format::Codex { Format::ClaudeCode } else { Format::Codex };
        let refused = Reader::new(open(&path).unwrap(), Some(other), LIMITS).err().map(|error| error.to_string());
        assert!(refused.is_some_and(|words| words.contains("claude-code, codex, opencode")), "{}", shown(&path));
    }
}
