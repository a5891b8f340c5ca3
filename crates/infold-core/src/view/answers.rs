//! What our own tools answered, read out of a transcript.
//!
//! A call proves nothing, and neither does a tool's name: only an answer that carries an id of this database's
//! own making opens or folds a branch. So no other tool's output can have anything hidden.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::CallBlock;
use super::script::ByScript;
use crate::{BranchId, IdKey, Isolation, ToolEffect};

/// How many opening braces of a text are tried as the start of an answer. Clients put a line or two in front of it.
const TRIES_MAX: usize = 32;

/// The code of a failure after which what was to be recorded may be recorded or not.
pub const OUTCOME_UNKNOWN: &str = "outcome_unknown";

/// What a call of one of our tools did to the tree.
#[derive(Debug)]
pub(super) enum Act {
    Open(OpeningAnswer),
    Return(ReturnAnswer),
    RollBack(RollbackAnswer),
}

impl Act {
    pub fn branch(&self) -> &BranchId {
        match self {
            Self::Open(opened) => &opened.branch,
            Self::Return(returned) => &returned.branch,
            Self::RollBack(back) => &back.to,
        }
    }

    /// Whether both do the same to the same branch.
    pub fn is_same(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self.branch() == other.branch()
    }
}

/// The answer to a call that opened a branch.
#[derive(Debug)]
pub(super) struct OpeningAnswer {
    pub branch: BranchId,
    pub isolation: Isolation,
    pub budget_tokens: Option<u64>,
    pub timeout_s: Option<u64>,
    pub injected_context: Option<String>,
    /// Set if a script made the call.
    pub script: Option<ByScript>,
}

impl OpeningAnswer {
    /// What the opening was called with, as JSON; `None` for a script's call of which only the answer is left.
    pub fn arguments<'o>(&'o self, call: &'o CallBlock<'_>) -> Option<&'o str> {
        match &self.script {
            Some(script) => script.arguments.as_deref(),
            None => call.arguments.as_deref(),
        }
    }
}

/// What an opening was called with, as far as it matters here.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct OpeningArguments {
    pub description: Option<String>,
    pub prompt: Option<String>,
    pub project_path: Option<String>,
}

impl OpeningArguments {
    /// All `None` if the text is no such JSON.
    pub fn read(json: Option<&str>) -> Self {
        json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
    }
}

/// The answer to a call that folded a branch.
#[derive(Debug)]
pub(super) struct ReturnAnswer {
    pub branch: BranchId,
    pub message: HandedOver,
    pub is_failure: bool,
    /// The block of the result of the script that made the call, if one did.
    pub script: Option<usize>,
}

/// The message that a branch returned, as far as the answer shows it.
#[derive(Debug)]
pub(super) enum HandedOver {
    /// The whole message.
    Whole(String),
    /// The client cut the answer, but what is left still says that the branch folded. This is all that is left.
    Cut(String),
    /// Nothing of the message is left. It is a fold only if the store has the branch as returned, and no later call returned it.
    Gone,
}

/// The answer to a call that rolled back to a branch.
#[derive(Debug)]
pub(super) struct RollbackAnswer {
    pub to: BranchId,
    pub discarded: Vec<BranchId>,
}

/// The fields of our tools' answers that matter here, whichever tool gave them.
#[derive(Deserialize)]
struct Fields {
    branch_id: Option<String>,
    isolation: Option<String>,
    budget_allocated: Option<u64>,
    timeout_seconds: Option<u64>,
    injected_context: Option<String>,
    success: Option<bool>,
    folded_at: Option<IgnoredAny>,
    message: Option<String>,
    status: Option<String>,
    rolled_back_to: Option<String>,
    #[serde(default)]
    branches_discarded: Vec<String>,
    restored: Option<bool>,
    text: Option<String>,
    #[serde(default, rename = "structuredContent")]
    structured: Option<Box<Fields>>,
    #[serde(default)]
    content: Option<Value>,
}

/// What a call did, by its answer; `None` if it was refused or its tool does not change the tree.
pub(super) fn read(effect: ToolEffect, answer: &str, key: &IdKey) -> Option<Act> {
    match effect {
        ToolEffect::Open => find(answer, &|fields| opened(fields, key)).map(Act::Open),
        ToolEffect::Return => find(answer, &|fields| returned(fields, key)).map(Act::Return),
        ToolEffect::RollBack => find(answer, &|fields| rolled_back(fields, key)).map(Act::RollBack),
        ToolEffect::Read | ToolEffect::Ask => None,
    }
}

/// What a call did whose answer the client has cut or cleared, as far as what is left shows it.
pub(super) fn read_remains(effect: ToolEffect, call: &CallBlock<'_>, remains: &str, key: &IdKey) -> Option<Act> {
    match effect {
        ToolEffect::Return => read_cut(remains, key).or_else(|| read_call(call, remains, key)).map(Act::Return),
        ToolEffect::Open | ToolEffect::RollBack | ToolEffect::Read | ToolEffect::Ask => None,
    }
}

/// Whether the client has left an answer as it was: it is JSON to the end, from its beginning on or from where an object begins
/// that the client has put words in front of. A refusal is, too.
pub(super) fn is_whole(answer: &str) -> bool {
    let is_json = |text: &str| serde_json::from_str::<IgnoredAny>(text).is_ok();
    is_json(answer) || answer.find('{').is_some_and(|begins| is_json(&answer[begins..]))
}

/// What `wanted` makes of the first object in a text that it accepts.
fn find<T>(text: &str, wanted: &dyn Fn(Fields) -> Option<T>) -> Option<T> {
    if let Ok(fields) = serde_json::from_str::<Fields>(text) {
        return look(fields, wanted);
    }
    let places = memchr::memchr_iter(b'{', text.as_bytes()).take(TRIES_MAX);
    places
        .filter_map(|at| serde_json::Deserializer::from_str(&text[at..]).into_iter::<Fields>().next()?.ok())
        .find_map(|fields| look(fields, wanted))
}

/// Unwraps an answer. Some clients put it into a list of parts, as text; scripts print it as the protocol wraps it.
fn look<T>(mut fields: Fields, wanted: &dyn Fn(Fields) -> Option<T>) -> Option<T> {
    let wrapped = fields.content.take().and_then(|parts| Some(parts.get(0)?.get("text")?.as_str()?.to_owned()));
    match (fields.structured.take(), fields.text.take().or(wrapped)) {
        (Some(inner), _) => wanted(*inner),
        (None, Some(inner)) => serde_json::from_str::<Fields>(&inner).ok().and_then(wanted),
        (None, None) => wanted(fields),
    }
}

fn opened(fields: Fields, key: &IdKey) -> Option<OpeningAnswer> {
    // The answer to a return names its branch too.
    if fields.success.is_some() || fields.folded_at.is_some() {
        return None;
    }
    Some(OpeningAnswer {
        branch: BranchId::verify(&fields.branch_id?, key)?,
        isolation: fields.isolation.as_deref().and_then(Isolation::parse).unwrap_or_default(),
        budget_tokens: fields.budget_allocated,
        timeout_s: fields.timeout_seconds,
        injected_context: fields.injected_context,
        script: None,
    })
}

fn returned(fields: Fields, key: &IdKey) -> Option<ReturnAnswer> {
    if fields.success != Some(true) && fields.folded_at.is_none() {
        return None;
    }
    Some(ReturnAnswer {
        branch: BranchId::verify(&fields.branch_id?, key)?,
        message: HandedOver::Whole(fields.message?),
        is_failure: fields.status.as_deref() == Some("failed"),
        script: None,
    })
}

/// Reads the answer to a return of which the client has cut a part out.
fn read_cut(answer: &str, key: &IdKey) -> Option<ReturnAnswer> {
    let says_so = ["\"success\":true", "\"folded_at\":"].iter().any(|sign| answer.contains(sign));
    let branch = says_so.then(|| ids(answer).find_map(|(_, id)| BranchId::verify(id, key)))??;
    Some(ReturnAnswer {
        branch,
        message: HandedOver::Cut(answer.to_owned()),
        is_failure: answer.contains("\"status\":\"failed\""),
        script: None,
    })
}

/// Reads a return from its call's arguments, where the client has cut or cleared all that mattered of the answer, or where nobody
/// knew what became of it.
fn read_call(call: &CallBlock<'_>, answer: &str, key: &IdKey) -> Option<ReturnAnswer> {
    if is_whole(answer) && !answer.contains(OUTCOME_UNKNOWN) {
        return None;
    }
    let branch = ids(call.arguments.as_deref()?).find_map(|(_, id)| BranchId::verify(id, key))?;
    Some(ReturnAnswer { branch, message: HandedOver::Gone, is_failure: false, script: None })
}

fn rolled_back(fields: Fields, key: &IdKey) -> Option<RollbackAnswer> {
    if fields.restored == Some(false) {
        return None;
    }
    Some(RollbackAnswer {
        to: BranchId::verify(&fields.rolled_back_to?, key)?,
        discarded: fields.branches_discarded.iter().filter_map(|id| BranchId::verify(id, key)).collect(),
    })
}

/// Whatever in a text has the length and the beginning of a branch's id, with its offset in bytes.
pub(super) fn ids(text: &str) -> impl Iterator<Item = (usize, &str)> {
    const ID_BYTES: usize = 39;
    memchr::memmem::find_iter(text.as_bytes(), "br_").filter_map(|at| Some((at, text.get(at..at + ID_BYTES)?)))
}

#[cfg(test)]
mod tests;
