//! What is written in another form obeys that form's rules, and reads as the same transcript again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::support::essence::{Essence, essence};
use crate::support::{LIMITS, recordings, shown};
use infold_core::transcript::{CLEARED, CallOutcome, HeldContent, Item, Kind, Transcript};
use infold_wire::{
    Format, Reader, Written, open, read_sessions, write_anthropic, write_markdown, write_openai, write_opencode,
};
use serde_json::Value;

/// Calls `look` with every session of every recording.
fn each_session(mut look: impl FnMut(&Transcript, &str)) {
    /// Reading takes longer than looking, so all tests share what was read.
    static SESSIONS: OnceLock<Vec<(Transcript, String)>> = OnceLock::new();
    let sessions = SESSIONS.get_or_init(|| {
        let sessions = |path: &PathBuf| read_sessions(open(path).unwrap(), None, LIMITS).unwrap();
        let named = |path: PathBuf| sessions(&path).map(move |transcript| (transcript.unwrap(), shown(&path)));
        recordings().into_iter().flat_map(named).collect()
    });
    for (transcript, name) in sessions {
        look(transcript, name);
    }
}

fn read_back(written: &Written, format: Format) -> Vec<Item> {
    let read = Reader::new(written.text.as_bytes(), Some(format), LIMITS).and_then(Reader::into_transcript).unwrap();
    assert_eq!(read.problems, []);
    read.transcript.items
}

/// Calls and results that have each other, and all items that are neither.
fn paired(items: &[Item]) -> Vec<Item> {
    let mut called = BTreeSet::new();
    let mut answered = BTreeSet::new();
    for item in items {
        match &item.kind {
            Kind::Call { id, .. } => _ = called.insert(id.clone()),
            Kind::Result { id, .. } if called.contains(id) => _ = answered.insert(id.clone()),
            _ => {}
        }
    }
    let mut calls = BTreeSet::new();
    let mut results = BTreeSet::new();
    items
        .iter()
        .filter(|item| match &item.kind {
            Kind::Call { id, .. } => answered.contains(id) && calls.insert(id.clone()),
            Kind::Result { id, .. } => calls.contains(id) && results.insert(id.clone()),
            _ => true,
        })
        .cloned()
        .collect()
}

/// Separates the results, by their calls, from everything else, in order.
fn apart(essence: Vec<Essence>) -> (Vec<Essence>, BTreeMap<String, Essence>) {
    let mut said = Vec::new();
    let mut results = BTreeMap::new();
    for item in essence {
        match &item {
            Essence::Result { id, .. } => _ = results.insert(id.clone(), item),
            _ => said.push(item),
        }
    }
    (said, results)
}

/// An item as the model still sees it: of a result that was cleared only a stub is left.
fn seen(item: &Essence) -> Essence {
    match item.clone() {
        Essence::Result { id, tool, outcome, held: HeldContent::Cleared, .. } => {
            Essence::Result { id, tool, outcome, held: HeldContent::Cleared, text: CLEARED.to_owned() }
        }
        other => other,
    }
}

/// An item without its outcome, for forms in which only the text of a result says how the call went.
fn without_outcome(item: &Essence) -> Essence {
    match item.clone() {
        Essence::Result { id, tool, text, held, .. } => {
            // Reading takes the output out of its wrapper, whoever wrote that.
            let inner = serde_json::from_str::<Value>(&text).ok();
            let output = inner.filter(|inner| inner["metadata"]["exit_code"].is_i64());
            let text = output.and_then(|inner| inner["output"].as_str().map(str::to_owned)).unwrap_or(text);
            Essence::Result { id, tool, text, outcome: CallOutcome::Unsaid, held }
        }
        other => other,
    }
}

fn is_wrapped(input: &str) -> bool {
    !input.trim_start().starts_with('{') || serde_json::from_str::<Value>(input).is_err()
}

/// A call's input as it is written in forms that take objects only.
fn as_object(item: &Essence) -> Essence {
    match item.clone() {
        Essence::Call { id, tool, input } if is_wrapped(&input) => {
            Essence::Call { id, tool, input: serde_json::json!({ "input": input }).to_string() }
        }
        other => other,
    }
}

/// A tool's name with the characters that Anthropic takes.
fn with_plain_names(item: Essence) -> Essence {
    let plain = |name: String| name.replace(|char: char| !char.is_ascii_alphanumeric() && !"_-".contains(char), "_");
    match item {
        Essence::Call { id, tool, input } => Essence::Call { id: plain(id), tool: plain(tool), input },
        Essence::Result { id, tool, text, outcome, held } => {
            Essence::Result { id: plain(id), tool: plain(tool), text, outcome, held }
        }
        other => other,
    }
}

/// An item as every form of request can express it; `None` if they cannot.
fn sayable(item: &Essence) -> Option<Essence> {
    match item.clone() {
        Essence::Compaction(summary) => summary.map(Essence::User),
        Essence::Reasoning(_) | Essence::Clearing(_) => None,
        other => Some(other),
    }
}

fn is_blank(item: &Essence) -> bool {
    matches!(item, Essence::User(text) | Essence::Assistant(text) if text.trim().is_empty())
}

#[test]
fn anthropic_messages_obey_the_rules() {
    each_session(|transcript, name| {
        let request: Value = serde_json::from_str(&write_anthropic(transcript).text).unwrap();
        let messages = request["messages"].as_array().unwrap();
        let mut asked: BTreeSet<&str> = BTreeSet::new();
        let mut all: BTreeSet<&str> = BTreeSet::new();
        for (at, message) in messages.iter().enumerate() {
            let role = if at % 2 == 0 { "user" } else { "assistant" };
            assert_eq!(message["role"], role, "{name} message {at}");
            let blocks = message["content"].as_array().unwrap();
            assert!(!blocks.is_empty(), "{name} message {at}");
            let kinds: Vec<&str> = blocks.iter().map(|block| block["type"].as_str().unwrap()).collect();
            assert!(!kinds.contains(&"thinking"), "{name}");
            let results = kinds.iter().take_while(|kind| **kind == "tool_result").count();
            assert_eq!(results, kinds.iter().filter(|kind| **kind == "tool_result").count(), "{name} message {at}");
            let answered: BTreeSet<&str> =
                blocks[..results].iter().map(|block| block["tool_use_id"].as_str().unwrap()).collect();
            assert_eq!(answered, asked, "{name} message {at}");
            asked = blocks
                .iter()
                .filter(|block| block["type"] == "tool_use")
                .map(|block| block["id"].as_str().unwrap())
                .collect();
            assert!(asked.iter().all(|id| all.insert(id)), "{name}: an id is there twice");
            assert!(blocks.iter().all(|block| block["text"].as_str().is_none_or(|text| !text.trim().is_empty())));
        }
        assert!(asked.is_empty(), "{name}: the last calls have no results");
    });
}

#[test]
fn anthropic_messages_read_as_the_same_transcript() {
    each_session(|transcript, name| {
        let again = essence(&read_back(&write_anthropic(transcript), Format::Anthropic));
        let expected: Vec<Essence> = essence(&paired(&transcript.items)).iter().filter_map(sayable).collect();
        let keep = |item: &&Essence| !is_blank(item) && !matches!(item, Essence::Other(_));
        let shape = |items: &[Essence]| -> Vec<Essence> {
            let items = items.iter().filter(keep).map(seen).map(|item| with_plain_names(as_object(&item)));
            let (mut front, said): (Vec<Essence>, Vec<Essence>) =
                items.partition(|item| matches!(item, Essence::System(_)));
            front.extend(said);
            front
        };
        // Without the stub that is written in front of a transcript that begins with the model.
        let again: Vec<Essence> = again
            .into_iter()
            .filter(|item| !matches!(item, Essence::User(text) if text == "[The session began before this point.]"))
            .collect();
        let (said, results) = apart(shape(&again));
        let (said_before, results_before) = apart(shape(&expected));
        assert!(said == said_before, "{name}: {:?}", first_difference(&said, &said_before));
        assert!(results == results_before, "{name}: results differ");
    });
}

fn first_difference(ours: &[Essence], theirs: &[Essence]) -> Option<(usize, String)> {
    let at = (0..ours.len().max(theirs.len())).find(|at| ours.get(*at) != theirs.get(*at))?;
    // Recordings are private, so only the kinds are shown.
    let kind = |item: Option<&Essence>| match item {
        Some(Essence::Call { id, tool, input }) => format!("call {id} {tool} {} bytes", input.len()),
        Some(Essence::Result { id, tool, text, outcome, held }) => {
            format!("result {id} {tool} {outcome:?} {held:?} {} bytes", text.len())
        }
        item => item.map(|item| format!("{item:?}").chars().take(8).collect::<String>()).unwrap_or_default(),
    };
    Some((at, format!("{} / {}", kind(ours.get(at)), kind(theirs.get(at)))))
}

#[test]
fn openai_items_obey_the_rules_and_read_as_the_same_transcript() {
    each_session(|transcript, name| {
        let written = write_openai(transcript);
        let request: Value = serde_json::from_str(&written.text).unwrap();
        let mut open: BTreeSet<String> = BTreeSet::new();
        for item in request["input"].as_array().unwrap() {
            let id = item["call_id"].as_str().unwrap_or_default().to_owned();
            match item["type"].as_str().unwrap() {
                "function_call" | "custom_tool_call" => assert!(open.insert(id), "{name}"),
                "function_call_output" | "custom_tool_call_output" => assert!(open.remove(&id), "{name}"),
                kind => assert_eq!(kind, "message", "{name}"),
            }
        }
        assert!(open.is_empty(), "{name}: calls without output");

        let keep = |item: &Essence| !matches!(item, Essence::Other(_));
        let shape = |items: Vec<Essence>| -> Vec<Essence> {
            items.iter().filter_map(sayable).filter(keep).map(|item| without_outcome(&seen(&item))).collect()
        };
        let again = shape(essence(&read_back(&written, Format::OpenAi)));
        let expected = shape(essence(&paired(&transcript.items)));
        assert!(again == expected, "{name}: {:?}", first_difference(&again, &expected));
    });
}

#[test]
fn opencode_messages_read_as_the_same_transcript() {
    each_session(|transcript, name| {
        let written = write_opencode(transcript);
        let cleared: BTreeSet<&String> = transcript
            .items
            .iter()
            .filter_map(|item| match &item.kind {
                Kind::Clearing { calls } => Some(calls),
                _ => None,
            })
            .flatten()
            .collect();
        let shape = |items: Vec<Essence>| {
            let kept = items.into_iter().filter_map(|item| match item {
                Essence::System(_) | Essence::Clearing(_) | Essence::Other(_) | Essence::Compaction(None) => None,
                // A result that does not say how it went counts as completed.
                Essence::Result { id, tool, text, outcome, held } => {
                    let outcome = if outcome == CallOutcome::Unsaid { CallOutcome::Succeeded } else { outcome };
                    let held = if cleared.contains(&id) { HeldContent::Cleared } else { held };
                    Some(Essence::Result { id, tool, text, outcome, held })
                }
                other => Some(as_object(&other)),
            });
            apart(kept.collect())
        };
        let again = shape(essence(&read_back(&written, Format::OpenCode)));
        let expected = shape(without_orphans(&transcript.items));
        assert!(again.0 == expected.0, "{name}: {:?}", first_difference(&again.0, &expected.0));
        let results = |results: BTreeMap<String, Essence>| results.into_values().collect::<Vec<_>>();
        let (again, expected) = (results(again.1), results(expected.1));
        assert!(again == expected, "{name}: {:?}", first_difference(&again, &expected));
    });
}

/// All items but results that have no call, or whose call has one already.
fn without_orphans(items: &[Item]) -> Vec<Essence> {
    let mut called = BTreeSet::new();
    let mut answered = BTreeSet::new();
    let kept: Vec<Item> = items
        .iter()
        .filter(|item| match &item.kind {
            Kind::Call { id, .. } => called.insert(id.clone()),
            Kind::Result { id, .. } => called.contains(id) && answered.insert(id.clone()),
            _ => true,
        })
        .cloned()
        .collect();
    essence(&kept)
}

#[test]
fn markdown_has_every_word() {
    each_session(|transcript, name| {
        let text = write_markdown(transcript).text;
        let mut rest = text.as_str();
        for item in &transcript.items {
            if let Kind::User { text: words, .. } | Kind::Assistant { text: words } | Kind::Call { input: words, .. } =
                &item.kind
            {
                // Each search begins behind the last words found, so the order is checked too.
                let at = rest.find(words.as_str());
                rest = &rest[at.unwrap_or_else(|| panic!("{name}: words are missing"))..];
            }
        }
    });
}
