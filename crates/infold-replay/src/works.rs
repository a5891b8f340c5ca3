//! The pieces of work in a recorded session, each as if a branch had done it: what was asked, which calls were made, and
//! what was said at its end.
//!
//! A piece is what an agent gave to another agent, or a branch of infold's. A session that has neither is one piece.

use std::collections::HashMap;

use infold_core::memory::LessonDraft;
use infold_core::transcript::{CallOutcome, Item, ItemPosition, Kind, Transcript, Voice};
use infold_core::{OwnTool, ToolEffect};
use serde_json::Value;

/// Tools by which clients give work to another agent.
const AGENT_TOOLS: [&str; 3] = ["Task", "Agent", "task"];
/// What is taken of the first line of a prompt where nobody said in a line what the work is for.
const DESCRIPTION_CHARS_MAX: usize = 120;

/// How a piece of work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkEnd {
    /// It gave a result.
    Returned,
    /// Its result says that it failed.
    Failed,
    /// The recording ends before it gave one.
    Unfinished,
}

/// A call that was made in a piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkCall {
    /// The tool, as the client spells it.
    pub tool: String,
    /// What it was called with.
    pub input: String,
    /// What it gave; empty if the recording does not have it.
    pub result: String,
}

/// A piece of work in a recorded session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedWork {
    /// What it is for, in a line.
    pub description: String,
    /// What was asked, in full.
    pub prompt: String,
    /// The calls that were made, in order.
    pub calls: Vec<WorkCall>,
    /// What was said at its end.
    pub report: String,
    /// Lessons that its agent wrote.
    pub lessons: Vec<LessonDraft>,
    /// How it ended.
    pub end: WorkEnd,
    /// Where it begins in its recording.
    pub begins: ItemPosition,
    /// Where it ends.
    pub ends: ItemPosition,
}

impl RecordedWork {
    /// The pieces of work in a session, in the order in which they begin.
    pub fn of(transcript: &Transcript) -> Vec<Self> {
        let mut works = handed_on(transcript);
        works.extend(branches(&transcript.items));
        works.sort_by_key(|work| work.begins);
        if works.is_empty() {
            works.extend(whole(&transcript.items));
        }
        works
    }
}

/// Work that was given to another agent.
fn handed_on(transcript: &Transcript) -> Vec<RecordedWork> {
    let results = results(&transcript.items);
    let work = |item: &Item| {
        let Kind::Call { id, tool, input } = &item.kind else { return None };
        let recorded = transcript.subtasks.iter().find(|subtask| subtask.call == *id);
        let asked: Value = serde_json::from_str(input).unwrap_or_default();
        let prompt = asked["prompt"].as_str().unwrap_or_default();
        if recorded.is_none() && (prompt.is_empty() || !AGENT_TOOLS.contains(&tool.as_str())) {
            return None;
        }
        let result = results.get(id.as_str());
        Some(RecordedWork {
            description: described(asked["description"].as_str(), prompt),
            prompt: prompt.to_owned(),
            calls: recorded.map(|subtask| calls(&subtask.items)).unwrap_or_default(),
            report: result.map_or_else(String::new, |result| result.text.to_owned()),
            lessons: Vec::new(),
            end: result.map_or(WorkEnd::Unfinished, |result| result.end),
            begins: item.place,
            ends: result.map_or(item.place, |result| result.place),
        })
    };
    transcript.items.iter().filter_map(work).collect()
}

/// Branches of infold's: from the call that opens one to the call that returns.
fn branches(items: &[Item]) -> Vec<RecordedWork> {
    let (mut open, mut works) = (Vec::<(usize, RecordedWork)>::new(), Vec::new());
    for (at, item) in items.iter().enumerate() {
        let Kind::Call { tool, input, .. } = &item.kind else { continue };
        let said: Value = serde_json::from_str(input).unwrap_or_default();
        let text = |field: &str| said[field].as_str().unwrap_or_default().to_owned();
        match ToolEffect::of(tool) {
            Some(ToolEffect::Open) => open.push((
                at,
                RecordedWork {
                    description: described(said["description"].as_str(), &text("prompt")),
                    prompt: text("prompt"),
                    calls: Vec::new(),
                    report: String::new(),
                    lessons: Vec::new(),
                    end: WorkEnd::Unfinished,
                    begins: item.place,
                    ends: item.place,
                },
            )),
            Some(ToolEffect::Return) => works.extend(open.pop().map(|(from, work)| RecordedWork {
                calls: calls(&items[from + 1..at]),
                report: text("message"),
                lessons: serde_json::from_value(said["lessons"].clone()).unwrap_or_default(),
                end: if said["failed"] == true { WorkEnd::Failed } else { WorkEnd::Returned },
                ends: item.place,
                ..work
            })),
            Some(ToolEffect::RollBack | ToolEffect::Read | ToolEffect::Ask) | None => {}
        }
    }
    works.extend(open.into_iter().map(|(from, work)| RecordedWork { calls: calls(&items[from + 1..]), ..work }));
    works
}

/// A session as one piece: what the person asked first, and what the agent said last.
fn whole(items: &[Item]) -> Option<RecordedWork> {
    let by_person = |item: &&Item| matches!(&item.kind, Kind::User { voice: Voice::Person, .. });
    let first = items.iter().find(by_person)?;
    let report = items.iter().rev().find_map(|item| match &item.kind {
        Kind::Assistant { text } if !text.trim().is_empty() => Some(text.as_str()),
        _ => None,
    });
    Some(RecordedWork {
        description: described(None, first.text()),
        prompt: first.text().to_owned(),
        calls: calls(items),
        report: report.unwrap_or_default().to_owned(),
        lessons: Vec::new(),
        end: if report.is_some() { WorkEnd::Returned } else { WorkEnd::Unfinished },
        begins: first.place,
        ends: items.last().map_or(first.place, |last| last.place),
    })
}

/// What a call gave.
struct GivenResult<'a> {
    text: &'a str,
    end: WorkEnd,
    place: ItemPosition,
}

fn results(items: &[Item]) -> HashMap<&str, GivenResult<'_>> {
    items.iter().filter_map(given_result).collect()
}

fn given_result(item: &Item) -> Option<(&str, GivenResult<'_>)> {
    let Kind::Result { id, text, outcome, .. } = &item.kind else { return None };
    let end = match outcome {
        CallOutcome::Failed => WorkEnd::Failed,
        CallOutcome::Succeeded | CallOutcome::Unsaid => WorkEnd::Returned,
    };
    Some((id, GivenResult { text, end, place: item.place }))
}

/// The calls among items with their results, without calls of infold's own tools.
fn calls(items: &[Item]) -> Vec<WorkCall> {
    let results = results(items);
    let call = |item: &Item| {
        let Kind::Call { id, tool, input } = &item.kind else { return None };
        let result = results.get(id.as_str()).map_or("", |result| result.text).to_owned();
        let is_own = OwnTool::spelled(tool).is_some();
        (!is_own).then(|| WorkCall { tool: tool.clone(), input: input.clone(), result })
    };
    items.iter().filter_map(call).collect()
}

/// What work is for, in a line: what was said, or else the first line of what was asked.
fn described(said: Option<&str>, prompt: &str) -> String {
    let said = said.map(str::trim).filter(|said| !said.is_empty());
    let first = || prompt.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    said.unwrap_or_else(first).chars().take(DESCRIPTION_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests;
