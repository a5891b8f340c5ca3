//! Writes transcripts as text, for tests to compare.

use infold_core::transcript::{CallOutcome, Client, HeldContent, Item, ItemPosition, Kind, Transcript, Voice};

use crate::form::Format;
use crate::reader::{ReadLimits, Reader};

const LIMITS: ReadLimits = ReadLimits { entry_bytes_max: 1 << 20, problems_max: 10 };

/// Reads a transcript and checks that every entry could be read.
pub(crate) fn transcript(text: &str, format: Format) -> Transcript {
    let read = Reader::new(text.as_bytes(), Some(format), LIMITS).unwrap().into_transcript().unwrap();
    assert_eq!(read.problems, []);
    read.transcript
}

/// A transcript with one item on each line: its position, its message, and what it is.
pub(crate) fn as_lines(transcript: &Transcript) -> String {
    let mut lines: Vec<String> = transcript.items.iter().map(item_line).collect();
    for call in &transcript.calls {
        let usage = &call.usage;
        lines.push(format!(
            "request at {}: {} {}+{}+{} -> {}",
            call.first_item,
            call.model,
            usage.fresh_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
            usage.output_tokens
        ));
    }
    for subtask in &transcript.subtasks {
        lines.push(format!("subtask {}", subtask.call));
        lines.extend(subtask.items.iter().map(|item| format!("  {}", item_line(item))));
    }
    lines.join("\n")
}

/// The items as the reader gives them, entry by entry, before they are assembled.
pub(crate) fn unassembled_lines(text: &str, format: Format) -> String {
    let mut reader = Reader::new(text.as_bytes(), Some(format), LIMITS).unwrap();
    let mut lines = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        let aside = entry.subtask.map(|subtask| format!("{subtask}: ")).unwrap_or_default();
        lines.extend(entry.items.iter().map(|item| format!("{aside}{}", item_line(item))));
    }
    lines.join("\n")
}

fn item_line(item: &Item) -> String {
    let place = format!("{}.{} m{}", item.place.entry, item.place.part, item.message);
    let kind = match &item.kind {
        Kind::System { text } => format!("system {text:?}"),
        Kind::User { text, voice: Voice::Person } => format!("person {text:?}"),
        Kind::User { text, voice: Voice::Client } => format!("client {text:?}"),
        Kind::Assistant { text } => format!("model {text:?}"),
        Kind::Reasoning { text, sealed_bytes } => format!("thought {text:?} sealed {sealed_bytes}"),
        Kind::Call { id, tool, input } => format!("call {id} {tool} {input}"),
        Kind::Result { id, tool, text, outcome, held } => {
            let outcome = match outcome {
                CallOutcome::Unsaid => "",
                CallOutcome::Succeeded => " succeeded",
                CallOutcome::Failed => " failed",
            };
            let held = if *held == HeldContent::Cleared { " cleared" } else { "" };
            format!("result {id} {tool}{outcome}{held} {text:?}")
        }
        Kind::Compaction { summary, kept } => {
            let kept: Vec<String> = kept.iter().map(|item| item.text().to_owned()).collect();
            format!("compaction {summary:?} kept {kept:?}")
        }
        Kind::Clearing { calls } => format!("clearing {calls:?}"),
        Kind::Other { name, json } => format!("other {name} {json}"),
    };
    format!("{place} {kind}")
}

/// A transcript with one item of every kind.
pub(crate) fn everything() -> Transcript {
    let text = |text: &str| text.to_owned();
    let kinds: Vec<(u64, Kind)> = vec![
        (0, Kind::System { text: text("rules") }),
        (1, Kind::User { text: text("go"), voice: Voice::Person }),
        (2, Kind::Reasoning { text: text("hm"), sealed_bytes: 9 }),
        (2, Kind::Assistant { text: text("yes") }),
        (2, Kind::Call { id: text("c1"), tool: text("Read"), input: text(r#"{"path": "a"}"#) }),
        (2, Kind::Call { id: text("c2"), tool: text("patch"), input: text("*** Begin") }),
        (3, result("c1", "Read", "whole", CallOutcome::Succeeded, HeldContent::Whole)),
        (3, result("c2", "patch", "old", CallOutcome::Failed, HeldContent::Cleared)),
        (4, Kind::Clearing { calls: vec![text("c2")] }),
        (5, Kind::Compaction { summary: Some(text("what was")), kept: Vec::new() }),
        (6, Kind::Other { name: text("image"), json: text(r#"{"type":"image","source":{}}"#) }),
        (7, Kind::Call { id: text("c3"), tool: text("Read"), input: text("{}") }),
    ];
    let item =
        |(at, (message, kind)): (u64, (u64, Kind))| Item { place: ItemPosition { entry: at, part: 0 }, message, kind };
    Transcript {
        client: Client::ClaudeCode,
        session: Some("s".to_owned()),
        items: (1..).zip(kinds).map(item).collect(),
        calls: Vec::new(),
        subtasks: Vec::new(),
    }
}

fn result(id: &str, tool: &str, text: &str, outcome: CallOutcome, held: HeldContent) -> Kind {
    Kind::Result { id: id.to_owned(), tool: tool.to_owned(), text: text.to_owned(), outcome, held }
}
