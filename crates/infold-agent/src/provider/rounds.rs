//! A thread in rounds, as every provider wants it: the user's side with all results first, then the model's answer.
//!
//! What must hold: each call that is sent has exactly one result, in the round behind it, and each result its call; ids
//! are unique and of a form that all providers take; no text is blank; reasoning is sent to the model that made it, and
//! only in front of what it led to. What is made of an entry depends on those before it, and on the rest of its round.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Value, json};

use super::Prompt;
use crate::image::{AttachedImage, KnownImages};
use crate::{ResultOutcome, ThreadEntry};

/// What the model is shown for a call that was never answered, because the agent was stopped.
const INTERRUPTED: &str = "interrupted: the agent was stopped before this call had a result";
/// What is sent for a result without a word, because providers refuse empty texts.
const NO_OUTPUT: &str = "(no output)";
/// Most characters of an id that all providers take, with some room to make it unique.
const ID_CHARS_MAX: usize = 56;
/// Most characters of a tool's name that all providers take.
const TOOL_CHARS_MAX: usize = 64;

/// The user's side, and the model's answer to it.
#[derive(Debug, Default)]
pub(super) struct Round<'a> {
    /// The results of all calls of the round before, in the order of the calls.
    pub(super) results: Vec<SentResult<'a>>,
    /// Words on the user's side.
    pub(super) words: Vec<SentWords<'a>>,
    /// What the model said to it; empty in the last round.
    pub(super) said: Vec<Said<'a>>,
}

/// Words on the user's side, with the images that were sent with them.
#[derive(Debug)]
pub(super) struct SentWords<'a> {
    /// Not blank.
    pub(super) text: &'a str,
    pub(super) images: Vec<SentImage<'a>>,
}

#[derive(Debug)]
pub(super) struct SentImage<'a> {
    pub(super) media_type: &'a str,
    pub(super) base64: &'a str,
}

impl SentImage<'_> {
    /// The image as an address that holds it.
    pub(super) fn address(&self) -> String {
        format!("data:{};base64,{}", self.media_type, self.base64)
    }
}

/// A part of an answer.
#[derive(Debug)]
pub(super) enum Said<'a> {
    Words(&'a str),
    Thought(&'a Value),
    Call(SentCall<'a>),
}

#[derive(Debug)]
pub(super) struct SentCall<'a> {
    pub(super) id: String,
    pub(super) tool: String,
    /// Always an object.
    pub(super) arguments: Cow<'a, Value>,
}

#[derive(Debug)]
pub(super) struct SentResult<'a> {
    pub(super) id: String,
    pub(super) text: &'a str,
    pub(super) outcome: ResultOutcome,
}

/// Which reasoning a request may carry.
struct OwnReasoning<'a> {
    /// The model that is asked.
    model: &'a str,
    /// The types of the provider's own blocks or items.
    types: &'a [&'a str],
}

impl OwnReasoning<'_> {
    fn is_own(&self, sealed: &Value, model: &str) -> bool {
        model == self.model && sealed["type"].as_str().is_some_and(|kind| self.types.contains(&kind))
    }
}

/// Puts a thread into rounds. `types` are those of the provider's own blocks or items with reasoning.
pub(super) fn rounds<'a>(prompt: &Prompt<'a>, types: &[&str]) -> Vec<Round<'a>> {
    let (entries, reasoning) = (prompt.entries, OwnReasoning { model: prompt.model, types });
    let answers = answers(entries);
    let mut ids = SentIds::default();
    let mut rounds = vec![Round::default()];
    // The calls of the model's side that is being written, with their results.
    let mut open: Vec<SentResult<'a>> = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        match entry {
            ThreadEntry::User { text, .. } if is_blank(text) => {}
            ThreadEntry::User { text, images, .. } => {
                turn_to_user(&mut rounds, &mut open).words.push(sent_words(text, images, prompt.images));
            }
            ThreadEntry::Assistant { text } if is_blank(text) => {}
            ThreadEntry::Assistant { text } => last(&mut rounds).said.push(Said::Words(text)),
            ThreadEntry::Reasoning { sealed, model } => {
                if reasoning.is_own(sealed, model) && leads_to_something(&entries[at + 1..]) {
                    last(&mut rounds).said.push(Said::Thought(sealed));
                }
            }
            ThreadEntry::Call { id, tool, arguments } => {
                let id = ids.of(id);
                open.push(sent_result(id.clone(), answers.get(&at).map(|answer| &entries[*answer])));
                let call = SentCall { id, tool: sendable(tool, TOOL_CHARS_MAX), arguments: object(arguments) };
                last(&mut rounds).said.push(Said::Call(call));
            }
            // A result belongs behind the model's side that has its call, so the first one ends that side.
            ThreadEntry::Result { .. } => _ = (!open.is_empty()).then(|| turn_to_user(&mut rounds, &mut open)),
        }
    }
    if !open.is_empty() {
        turn_to_user(&mut rounds, &mut open);
    }
    rounds
}

/// The results that are to be appended to a thread so that no call in it is without one: what a stop in the middle of
/// the work left open is called interrupted.
pub fn close_open_calls(entries: &[ThreadEntry]) -> Vec<ThreadEntry> {
    let answers = answers(entries);
    let unanswered = entries.iter().enumerate().filter(|(at, _)| !answers.contains_key(at));
    let closing = unanswered.filter_map(|(_, entry)| match entry {
        ThreadEntry::Call { id, tool, .. } => Some(ThreadEntry::Result {
            call: id.clone(),
            tool: tool.clone(),
            text: INTERRUPTED.to_owned(),
            outcome: ResultOutcome::Failed,
        }),
        ThreadEntry::User { .. }
        | ThreadEntry::Assistant { .. }
        | ThreadEntry::Reasoning { .. }
        | ThreadEntry::Result { .. } => None,
    });
    closing.collect()
}

/// The place of each call's result, by the place of the call. A result answers the earliest call with its id that has
/// none yet; one that answers nothing is not sent.
fn answers(entries: &[ThreadEntry]) -> HashMap<usize, usize> {
    let mut open: HashMap<&str, VecDeque<usize>> = HashMap::new();
    let mut answers = HashMap::new();
    for (at, entry) in entries.iter().enumerate() {
        match entry {
            ThreadEntry::Call { id, .. } => open.entry(id).or_default().push_back(at),
            ThreadEntry::Result { call, .. } => {
                if let Some(answered) = open.get_mut(call.as_str()).and_then(VecDeque::pop_front) {
                    answers.insert(answered, at);
                }
            }
            ThreadEntry::User { .. } | ThreadEntry::Assistant { .. } | ThreadEntry::Reasoning { .. } => {}
        }
    }
    answers
}

/// Words with their images; one whose bytes are gone is only named.
fn sent_words<'a>(text: &'a str, images: &'a [AttachedImage], known: &'a KnownImages) -> SentWords<'a> {
    let sent = |image: &'a AttachedImage| {
        let base64 = known.get(&image.id)?.base64();
        Some(SentImage { media_type: &image.media_type, base64 })
    };
    SentWords { text, images: images.iter().filter_map(sent).collect() }
}

fn sent_result(id: String, answer: Option<&ThreadEntry>) -> SentResult<'_> {
    match answer {
        Some(ThreadEntry::Result { text, outcome, .. }) => {
            SentResult { id, text: if is_blank(text) { NO_OUTPUT } else { text }, outcome: *outcome }
        }
        _ => SentResult { id, text: INTERRUPTED, outcome: ResultOutcome::Failed },
    }
}

/// The round that words on the user's side go into: a new one if the model has spoken, and it begins with the results.
fn turn_to_user<'r, 'a>(rounds: &'r mut Vec<Round<'a>>, open: &mut Vec<SentResult<'a>>) -> &'r mut Round<'a> {
    if !last(rounds).said.is_empty() {
        rounds.push(Round { results: std::mem::take(open), ..Round::default() });
    }
    last(rounds)
}

fn last<'r, 'a>(rounds: &'r mut Vec<Round<'a>>) -> &'r mut Round<'a> {
    if rounds.is_empty() {
        rounds.push(Round::default());
    }
    let at = rounds.len() - 1;
    &mut rounds[at]
}

/// Whether reasoning is followed by words or a call of the same answer. Providers refuse reasoning by itself.
fn leads_to_something(behind: &[ThreadEntry]) -> bool {
    for entry in behind {
        match entry {
            ThreadEntry::Assistant { text } if is_blank(text) => {}
            ThreadEntry::Reasoning { .. } => {}
            ThreadEntry::Assistant { .. } | ThreadEntry::Call { .. } => return true,
            ThreadEntry::User { .. } | ThreadEntry::Result { .. } => return false,
        }
    }
    false
}

/// Whether a text has nothing but white space. Providers refuse such a text.
pub(super) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Arguments as the object that providers want. What a model wrote that is none is shown to it inside of one.
fn object(arguments: &Value) -> Cow<'_, Value> {
    match arguments {
        Value::Object(_) => Cow::Borrowed(arguments),
        Value::Null => Cow::Owned(json!({})),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Cow::Owned(json!({ "input": arguments }))
        }
    }
}

/// Gives out ids of a form that all providers take, none of them twice.
#[derive(Default)]
pub(super) struct SentIds {
    given: HashSet<String>,
    /// How often each form was wanted.
    wanted: HashMap<String, usize>,
}

impl SentIds {
    /// The id that is sent for a call's own. It is the same one if that can be sent and was not before.
    pub(super) fn of(&mut self, id: &str) -> String {
        let wanted = sendable(id, ID_CHARS_MAX);
        let number = self.wanted.entry(wanted.clone()).or_default();
        let mut given = wanted.clone();
        // Each pass either ends or uses up a number, so there are no more passes than ids.
        loop {
            *number += 1;
            if *number > 1 {
                given = format!("{wanted}_{number}");
            }
            if self.given.insert(given.clone()) {
                return given;
            }
        }
    }
}

/// A name of letters, digits, `_` and `-`, of at most `chars_max`, which is all that every provider takes.
fn sendable(name: &str, chars_max: usize) -> String {
    let is_taken = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
    let name: String = name.chars().take(chars_max).map(|char| if is_taken(char) { char } else { '_' }).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

#[cfg(test)]
mod tests;
