//! Writes a transcript as OpenCode exports a session: `{info, messages: [{info, parts}]}`.
//!
//! Ids rise with the order of messages, because OpenCode sorts by them. They begin with a number made from the
//! transcript, because OpenCode has the messages of all sessions in one table. A transcript has no times, so the times
//! are just counted up from zero.

use std::collections::{BTreeSet, HashMap, HashSet};

use infold_core::transcript::{CallOutcome, HeldContent, Item, ItemPosition, Kind, Transcript, Voice};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Losses, Written, is_object, object};

/// The provider and model that the export names, because the real ones are not in the transcript.
const PROVIDER: &str = "infold";

/// A message before it gets its ids.
struct MessageDraft<'a> {
    role: WrittenRole,
    /// The number of the message in the transcript.
    number: u64,
    parts: Vec<WrittenPart<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WrittenRole {
    User,
    Model,
    Summary,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WrittenPart<'a> {
    Json(Value),
    Tool(Box<ToolPart<'a>>),
}

#[derive(Serialize)]
struct ToolPart<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    tool: &'a str,
    #[serde(rename = "callID")]
    call_id: &'a str,
    state: WrittenToolState<'a>,
    id: String,
    #[serde(rename = "sessionID")]
    session_id: &'a str,
    #[serde(rename = "messageID")]
    message_id: String,
}

#[derive(Serialize)]
struct WrittenToolState<'a> {
    status: &'static str,
    input: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    metadata: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attachments: Option<Vec<&'a RawValue>>,
    time: Value,
}

#[derive(Serialize)]
struct WrittenMessage<'a> {
    info: Value,
    parts: Vec<WrittenPart<'a>>,
}

/// The results of a transcript, gathered first because OpenCode writes each of them with its call.
struct Results<'a> {
    by_call: HashMap<&'a str, &'a Item>,
    beside: HashMap<&'a str, Vec<&'a Item>>,
    /// The positions of results; other content at such a position belongs to the result.
    places: BTreeSet<ItemPosition>,
    cleared: HashSet<&'a str>,
}

/// Writes a transcript as OpenCode exports a session, which it can also import.
pub fn write_opencode(transcript: &Transcript) -> Written {
    let mut losses = Losses::default();
    let results = Results::of(&transcript.items);
    let session = match &transcript.session {
        Some(session) if session.starts_with("ses_") => session.clone(),
        Some(session) => format!("ses_{}", super::safe(session)),
        None => "ses_infold".to_owned(),
    };
    let mut drafts: Vec<MessageDraft<'_>> = Vec::new();
    let mut written: HashSet<&str> = HashSet::new();
    for item in &transcript.items {
        add(item, &results, &mut drafts, &mut written, &mut losses);
    }
    let messages = finish(drafts, &session, mark(transcript));
    let info = json!({
        "id": session,
        "slug": "imported",
        "projectID": "global",
        "directory": "/",
        "title": "Imported session",
        "version": "1.0.0",
        "time": {"created": 0, "updated": messages.len()},
    });
    let text = super::json(&Export { info, messages });
    Written { text, losses: losses.into_list() }
}

#[derive(Serialize)]
struct Export<'a> {
    info: Value,
    messages: Vec<WrittenMessage<'a>>,
}

impl<'a> Results<'a> {
    fn of(items: &'a [Item]) -> Self {
        let mut results =
            Self { by_call: HashMap::new(), beside: HashMap::new(), places: BTreeSet::new(), cleared: HashSet::new() };
        let mut last: Option<(&str, _)> = None;
        let mut called: HashSet<&str> = HashSet::new();
        for item in items {
            match &item.kind {
                Kind::Call { id, .. } => _ = called.insert(id),
                Kind::Result { id, .. } if !called.contains(id.as_str()) => {}
                Kind::Result { id, held, .. } => {
                    results.by_call.entry(id).or_insert(item);
                    if *held == HeldContent::Cleared {
                        results.cleared.insert(id);
                    }
                    results.places.insert(item.place);
                    last = Some((id, item.place));
                }
                Kind::Clearing { calls } => results.cleared.extend(calls.iter().map(String::as_str)),
                Kind::Other { .. } => {
                    if let Some((id, place)) = last
                        && place == item.place
                    {
                        results.beside.entry(id).or_default().push(item);
                    }
                }
                _ => {}
            }
        }
        results
    }
}

/// Adds one item to the message that it belongs to, or begins a new message.
fn add<'a>(
    item: &'a Item,
    results: &Results<'a>,
    drafts: &mut Vec<MessageDraft<'a>>,
    written: &mut HashSet<&'a str>,
    losses: &mut Losses,
) {
    let (role, part) = match &item.kind {
        Kind::User { text, voice } => {
            let mut part = json!({"type": "text", "text": text});
            if *voice == Voice::Client {
                part["synthetic"] = json!(true);
            }
            (WrittenRole::User, WrittenPart::Json(part))
        }
        Kind::Assistant { text } => (WrittenRole::Model, WrittenPart::Json(json!({"type": "text", "text": text}))),
        Kind::Reasoning { text, sealed_bytes } => {
            if *sealed_bytes > 0 {
                losses.add(item, "seals of reasoning");
            }
            (
                WrittenRole::Model,
                WrittenPart::Json(json!({"type": "reasoning", "text": text, "time": {"start": 0, "end": 0}})),
            )
        }
        Kind::Call { id, .. } if !written.insert(id) => {
            return losses.add(item, "calls with an id that is there twice");
        }
        Kind::Call { id, tool, input } => (WrittenRole::Model, tool_part(item, (id, tool, input), results, losses)),
        Kind::Compaction { summary: Some(summary), kept } => {
            if !kept.is_empty() {
                losses.add(item, "what a compaction kept");
            }
            let asked = WrittenPart::Json(json!({"type": "compaction", "auto": true}));
            drafts.push(MessageDraft { role: WrittenRole::User, number: item.message, parts: vec![asked] });
            (WrittenRole::Summary, WrittenPart::Json(json!({"type": "text", "text": summary})))
        }
        Kind::Other { name, json } if name == "file" && is_object(json) && !results.places.contains(&item.place) => {
            (WrittenRole::User, WrittenPart::Json(serde_json::from_str(json).unwrap_or_default()))
        }
        Kind::Other { name, .. } if name == "file" => return,
        Kind::Other { name, .. } => return losses.add(item, &format!("content of the kind {name:?}")),
        Kind::Result { id, .. } => {
            let is_written = written.contains(id.as_str());
            let is_first = results.by_call.get(id.as_str()).is_some_and(|first| std::ptr::eq(*first, item));
            if !is_written || !is_first {
                losses.add(item, "results without a call");
            }
            return;
        }
        Kind::System { .. } => return losses.add(item, "instructions"),
        Kind::Compaction { summary: None, .. } => return losses.add(item, "compactions whose summary is sealed"),
        Kind::Clearing { .. } => return losses.add(item, "when results were cleared: they are marked as cleared"),
    };
    match drafts.last_mut() {
        Some(last) if last.role == role && last.number == item.message => last.parts.push(part),
        _ => drafts.push(MessageDraft { role, number: item.message, parts: vec![part] }),
    }
}

/// The part for a call together with its result.
fn tool_part<'a>(
    item: &Item,
    (id, tool, input): (&'a str, &'a str, &str),
    results: &Results<'a>,
    losses: &mut Losses,
) -> WrittenPart<'a> {
    if !is_object(input) {
        losses.add(item, "input that is no object: it is wrapped in one");
    }
    let result = results.by_call.get(id).and_then(|result| match &result.kind {
        Kind::Result { text, outcome, .. } => Some((text.as_str(), *outcome)),
        _ => None,
    });
    let (status, output, error) = match result {
        None => ("pending", None, None),
        Some((text, CallOutcome::Failed)) => ("error", None, Some(text)),
        Some((text, CallOutcome::Unsaid | CallOutcome::Succeeded)) => ("completed", Some(text), None),
    };
    let mut time = json!({"start": 0, "end": 0});
    if results.cleared.contains(id) {
        time["compacted"] = json!(0);
    }
    let beside = results.beside.get(id).into_iter().flatten();
    let attachments: Vec<&RawValue> = beside
        .filter_map(|item| match &item.kind {
            Kind::Other { name, json } if name == "file" => serde_json::from_str(json).ok(),
            _ => None,
        })
        .collect();
    let state = WrittenToolState {
        status,
        input: object(input),
        output,
        error,
        metadata: json!({}),
        title: output.map(|_| tool),
        attachments: if attachments.is_empty() { None } else { Some(attachments) },
        time,
    };
    WrittenPart::Tool(Box::new(ToolPart {
        kind: "tool",
        tool,
        call_id: id,
        state,
        id: String::new(),
        session_id: "",
        message_id: String::new(),
    }))
}

/// A number that differs between transcripts and is the same whenever one is written again.
fn mark(transcript: &Transcript) -> u64 {
    let texts = transcript.session.as_deref().into_iter().chain(transcript.items.iter().map(Item::text));
    // This is the hash FNV-1a, which does not change between versions of Rust.
    let add = |mark: u64, byte: u8| (mark ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    texts.flat_map(str::bytes).fold(0xcbf2_9ce4_8422_2325, add)
}

/// Makes messages of the drafts, with ids for them and their parts.
fn finish<'a>(drafts: Vec<MessageDraft<'a>>, session: &'a str, mark: u64) -> Vec<WrittenMessage<'a>> {
    let mut messages = Vec::with_capacity(drafts.len());
    let mut asked = String::new();
    let mut part_number = 0_u64;
    for (number, mut draft) in (1_u64..).zip(drafts) {
        let id = format!("msg_{mark:016x}{number:010}");
        for part in &mut draft.parts {
            part_number += 1;
            let part_id = format!("prt_{mark:016x}{part_number:010}");
            match part {
                WrittenPart::Json(part) => {
                    part["id"] = json!(part_id);
                    part["sessionID"] = json!(session);
                    part["messageID"] = json!(id);
                }
                WrittenPart::Tool(part) => {
                    part.id = part_id;
                    part.session_id = session;
                    part.message_id.clone_from(&id);
                }
            }
        }
        let info = info(draft.role, &id, &asked, session, number);
        if draft.role == WrittenRole::User {
            asked = id;
        }
        messages.push(WrittenMessage { info, parts: draft.parts });
    }
    messages
}

fn info(role: WrittenRole, id: &str, asked: &str, session: &str, number: u64) -> Value {
    let agent = if role == WrittenRole::Summary { "compaction" } else { "build" };
    if role == WrittenRole::User {
        return json!({
            "id": id,
            "sessionID": session,
            "role": "user",
            "time": {"created": number},
            "agent": agent,
            "model": {"providerID": PROVIDER, "modelID": PROVIDER},
        });
    }
    let mut info = json!({
        "id": id,
        "sessionID": session,
        "role": "assistant",
        "time": {"created": number, "completed": number},
        "parentID": asked,
        "modelID": PROVIDER,
        "providerID": PROVIDER,
        "mode": agent,
        "agent": agent,
        "path": {"cwd": "/", "root": "/"},
        "cost": 0,
        "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}},
        "finish": "stop",
    });
    if role == WrittenRole::Summary {
        info["summary"] = json!(true);
    }
    info
}
