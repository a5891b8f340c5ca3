//! Recorded sessions as entries: the fixtures of real clients, and odd transcripts.

use std::fs::File;
use std::path::{Path, PathBuf};

use infold_core::transcript::{CLEARED, CallOutcome, Client, HeldContent, Item, ItemPosition, Kind, Transcript, Voice};
use infold_testkit::model::{Api, broken_rule};
use infold_wire::{ReadLimits, Reader};
use serde_json::{Value, json};

use super::{BEGINNING, entries_of};
use crate::provider::{Effort, Prompt, ProviderApi, ToolDefinition, close_open_calls, outgoing_body, request_body};
use crate::{SpokenBy, ThreadEntry};

fn transcript(kinds: Vec<Kind>) -> Transcript {
    let items =
        (0..).zip(kinds).map(|(message, kind)| Item { place: ItemPosition::default(), message, kind }).collect();
    Transcript { client: Client::ClaudeCode, session: None, items, calls: Vec::new(), subtasks: Vec::new() }
}

fn user(text: &str, voice: Voice) -> Kind {
    Kind::User { text: text.to_owned(), voice }
}

fn said(text: &str) -> Kind {
    Kind::Assistant { text: text.to_owned() }
}

fn call(id: &str, input: &str) -> Kind {
    Kind::Call { id: id.to_owned(), tool: "mcp__x.y__Bash".to_owned(), input: input.to_owned() }
}

fn result(id: &str, text: &str, held: HeldContent) -> Kind {
    let (id, tool, text) = (id.to_owned(), "mcp__x.y__Bash".to_owned(), text.to_owned());
    Kind::Result { id, tool, text, outcome: CallOutcome::Unsaid, held }
}

/// One line an entry.
fn drawn(entries: &[ThreadEntry]) -> Vec<String> {
    let line = |entry: &ThreadEntry| match entry {
        ThreadEntry::User { text, by: SpokenBy::Person | SpokenBy::PersonPinned, .. } => format!("person: {text}"),
        ThreadEntry::User { text, by: SpokenBy::Agent, .. } => format!("agent: {text}"),
        ThreadEntry::Assistant { text } => format!("model: {text}"),
        ThreadEntry::Reasoning { .. } => "reasoning".to_owned(),
        ThreadEntry::Call { id, tool, arguments } => format!("call {id} {tool} {arguments}"),
        ThreadEntry::Result { call, text, .. } => format!("result {call} {text}"),
    };
    entries.iter().map(line).collect()
}

#[test]
fn a_summary_replaces_what_was_before_it_and_cleared_results_stay_cleared() {
    let kept = transcript(vec![call("k", "{}"), result("k", "kept", HeldContent::Whole)]).items;
    let entries = entries_of(&transcript(vec![
        Kind::System { text: "rules".to_owned() },
        user("long ago", Voice::Person),
        Kind::Compaction { summary: Some("The summary.".to_owned()), kept },
        Kind::Reasoning { text: "hm".to_owned(), sealed_bytes: 3 },
        user("go on", Voice::Person),
        user("a reminder", Voice::Client),
        call("a", "{\"b\":1,\"a\":2}"),
        call("b", "*** Begin Patch"),
        result("a", "gone", HeldContent::Cleared),
        result("b", "gone too", HeldContent::Whole),
        Kind::Clearing { calls: vec!["b".to_owned()] },
        said("Done."),
    ]));
    assert_eq!(
        drawn(&entries),
        [
            "agent: The summary.",
            "call k mcp__x.y__Bash {}",
            "result k kept",
            "person: go on",
            "agent: a reminder",
            "call a mcp__x.y__Bash {\"b\":1,\"a\":2}",
            "call b mcp__x.y__Bash \"*** Begin Patch\"",
            &format!("result a {CLEARED}"),
            &format!("result b {CLEARED}"),
            "model: Done.",
        ]
    );
}

#[test]
fn a_sealed_summary_leaves_what_it_was_made_of() {
    let sealed = Kind::Compaction { summary: None, kept: transcript(vec![user("one", Voice::Person)]).items };
    let entries =
        entries_of(&transcript(vec![user("one", Voice::Person), said("two"), sealed, user("three", Voice::Person)]));
    assert_eq!(drawn(&entries), ["person: one", "model: two", "person: three"]);
}

#[test]
fn each_call_has_one_result_behind_the_calls_of_its_answer() {
    let entries = entries_of(&transcript(vec![
        call("x:1", "{}"),
        call("x.1", "{}"),
        user("hurry", Voice::Person),
        result("x.1", "late", HeldContent::Whole),
        result("x.1", "again", HeldContent::Whole),
        result("nobody", "orphan", HeldContent::Whole),
        Kind::Other { name: "image".to_owned(), json: "{}".to_owned() },
    ]));
    let drawn = drawn(&entries);
    assert_eq!(drawn[0], format!("agent: {BEGINNING}"));
    assert_eq!(drawn[1..3], ["call x_1 mcp__x.y__Bash {}", "call x_1_2 mcp__x.y__Bash {}"]);
    assert!(drawn[3].starts_with("result x_1 interrupted"), "{drawn:?}");
    assert_eq!(drawn[4..], ["result x_1_2 late", "person: hurry", "agent: [image, left out]"]);
}

fn fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let clients = ["claude-code", "codex", "opencode"];
    let files = clients.iter().flat_map(|client| std::fs::read_dir(root.join(client)).unwrap());
    files.map(|file| file.unwrap().path()).collect()
}

#[test]
fn recordings_of_real_clients_become_requests_that_every_provider_takes() {
    let tools = [ToolDefinition {
        name: "read".to_owned(),
        description: "Reads.".to_owned(),
        parameters: json!({"type": "object"}),
    }];
    let files = fixtures();
    assert_eq!(files.len(), 9);
    for file in files {
        let reader = Reader::new(File::open(&file).unwrap(), None, ReadLimits::with_entry_bytes_max(64 << 20)).unwrap();
        let mut entries = entries_of(&reader.into_transcript().unwrap().transcript);
        assert!(entries.len() > 2, "{file:?}");
        assert!(matches!(entries[0], ThreadEntry::User { .. }), "{file:?}");
        assert_eq!(close_open_calls(&entries), [], "{file:?}");
        assert!(!entries.iter().any(|entry| matches!(entry, ThreadEntry::Reasoning { .. })));
        entries.push(ThreadEntry::user("Go on.".to_owned(), SpokenBy::Person));
        for (api, strict) in [
            (ProviderApi::Anthropic, Api::Messages),
            (ProviderApi::Responses, Api::Responses),
            (ProviderApi::Chat, Api::Chat),
            (ProviderApi::Ollama, Api::Ollama),
        ] {
            let prompt = Prompt {
                model: "m",
                session: "s",
                system: "rules",
                breakpoints: &[5],
                tools: &tools,
                entries: &entries,
                images: &crate::image::KnownImages::new(),
                max_output_tokens: 1_000,
                reasoning: Effort::Off,
            };
            let body = outgoing_body(api, request_body(api, &prompt), 32_768).unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(broken_rule(strict, &body), None, "{file:?} {api:?}");
        }
    }
}
