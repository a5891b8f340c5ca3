//! What is known of an answer so far, and what the three APIs' answers have in common.

use super::words::AnswerWords;
use super::{Answer, AnswerCall, AnswerError, Usage};
use crate::request::Api;
use crate::request::json::{At, Document};

/// How much of what the model says is kept, in bytes.
const SAID_BYTES_MAX: usize = 256 << 10;

/// How much of a call's arguments is kept, in bytes.
const ARGUMENTS_BYTES_MAX: usize = 1 << 20;

/// How many calls of an answer are kept.
const CALLS_MAX: usize = 256;

/// What is greater counts nothing in an answer: sums of it would not be worth anything either.
const COUNT_MAX: u64 = 1_000_000_000;

/// Why models stop that have said what they wanted to say; for any other reason the last word may lack its end.
const SAID_ALL: [&str; 7] =
    ["end_turn", "tool_use", "stop_sequence", "completed", "stop", "tool_calls", "function_call"];

/// An answer that is being read.
#[derive(Debug, Default)]
pub(super) struct AnswerState {
    answer: Answer,
    /// What the stream calls each of the calls while it is being said.
    keys: Vec<CallKey>,
    words: AnswerWords,
    has_ended: bool,
    has_thought: bool,
    /// Nothing more comes, not even a count.
    is_closed: bool,
}

/// How a stream names a call: by its place in the answer, and by the choice that it is in (Chat).
pub(super) type CallKey = (u64, u64);

impl AnswerState {
    /// A call begins; none if there are too many.
    pub(super) fn begin_call(&mut self, key: CallKey, id: String, tool: String) -> Option<&mut AnswerCall> {
        self.words.pause();
        if self.answer.calls.len() == CALLS_MAX {
            return None;
        }
        self.answer.calls.push(AnswerCall { id, tool, ..AnswerCall::default() });
        self.keys.push(key);
        self.answer.calls.last_mut()
    }

    /// The call that a stream names so.
    pub(super) fn call(&mut self, key: CallKey) -> Option<&mut AnswerCall> {
        let place = self.keys.iter().rposition(|other| *other == key)?;
        self.answer.calls.get_mut(place)
    }

    /// The calls so far.
    pub(super) fn calls(&self) -> &[AnswerCall] {
        &self.answer.calls
    }

    /// Whether there is a call with this id.
    pub(super) fn has_call(&self, id: &str) -> bool {
        self.answer.calls.iter().any(|call| call.id == id)
    }

    /// Words of the model's.
    pub(super) fn take_text(&mut self, text: &str) {
        self.answer.text_chars += text.chars().count();
        self.words.push(text);
        self.keep(text);
    }

    /// Thoughts of the model's that it shows.
    pub(super) fn take_thought(&mut self, text: &str) {
        self.has_thought |= !text.is_empty();
        self.keep(text);
    }

    fn keep(&mut self, text: &str) {
        let said = &mut self.answer.said;
        let room = text.floor_char_boundary(SAID_BYTES_MAX.saturating_sub(said.len()));
        said.push_str(&text[..room]);
        self.answer.said_bytes += text.len();
    }

    /// The words so far are whole: something else begins.
    pub(super) fn pause(&mut self) {
        self.words.pause();
    }

    /// The end of the words so far.
    pub(super) fn words(&self) -> &str {
        self.words.whole()
    }

    /// How much the model has said so far, in characters.
    pub(super) fn text_chars(&self) -> usize {
        self.answer.text_chars
    }

    /// Whether it has been seen to think.
    pub(super) fn has_thought(&self) -> bool {
        self.has_thought
    }

    /// Why the model stopped.
    pub(super) fn stop(&mut self, reason: Option<String>) {
        self.answer.stop = reason.or(self.answer.stop.take());
    }

    /// The model that answers.
    pub(super) fn model(&mut self, model: Option<String>) {
        self.answer.model = model.or(self.answer.model.take());
    }

    /// The tokens used, to be put right: later counts hold instead of earlier ones.
    pub(super) fn usage(&mut self) -> &mut Usage {
        self.answer.usage.get_or_insert_default()
    }

    /// Takes the counts in an object's `usage`, as OpenAI writes them down: what was sent, with its details, and what
    /// was received. What was sent includes what came from the cache.
    pub(super) fn take_usage(&mut self, document: &Document<'_>, at: At, names: [&str; 3]) {
        let Some(said) = document.field(at, "usage").filter(|said| document.raw(*said) != "null") else { return };
        let [sent, sent_details, received] = names;
        let inner = |details: &str, key: &str| {
            document.field(said, details).and_then(|details| count(document, details, key)).unwrap_or_default()
        };
        let sent_tokens = count(document, said, sent).unwrap_or_default();
        let cached_tokens = inner(sent_details, "cached_tokens");
        let usage = self.usage();
        usage.cache_read_tokens = cached_tokens;
        usage.fresh_tokens = sent_tokens.saturating_sub(cached_tokens);
        usage.output_tokens = count(document, said, received).unwrap_or_default();
    }

    /// The answer has come to its end.
    pub(super) fn end(&mut self) {
        self.has_ended = true;
        if self.answer.stop.as_deref().is_some_and(|reason| SAID_ALL.contains(&reason)) {
            self.words.pause();
        }
    }

    /// Whether it has.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// The stream has said its last word.
    pub(super) fn close(&mut self) {
        self.end();
        self.is_closed = true;
    }

    /// Whether a stream is over and has counted. Chat counts after it has ended, if it counts at all.
    pub(super) fn is_settled(&self, api: Api) -> bool {
        let has_counted = match api {
            Api::Messages | Api::Responses => true,
            Api::Chat => self.is_closed || self.answer.usage.is_some(),
        };
        self.answer.error.is_some() || (self.has_ended && has_counted)
    }

    /// What an event with this name means, if its data could not be read.
    pub(super) fn take_name(&mut self, name: &str) {
        match name {
            "message_stop" | "response.completed" | "response.incomplete" => self.end(),
            "error" | "response.failed" => self.fail(None, String::new()),
            _ => {}
        }
    }

    /// What went wrong.
    pub(super) fn fail(&mut self, kind: Option<String>, message: String) {
        self.answer.error = Some(AnswerError { kind, message });
    }

    /// Takes the error in an object, if there is one; says whether there was.
    pub(super) fn take_error(&mut self, document: &Document<'_>, at: At) -> bool {
        let Some(error) = document.field(at, "error").filter(|error| document.raw(*error) != "null") else {
            return false;
        };
        let text = |key: &str| document.text_field(error, key).map(|text| text.into_owned());
        let whole = || document.text(error).unwrap_or_else(|| document.raw(error).into()).into_owned();
        self.fail(text("code").or_else(|| text("type")), text("message").unwrap_or_else(whole));
        true
    }

    /// Takes an event that is an error: it stands in an object of its own, or is the event itself.
    pub(super) fn take_error_event(&mut self, document: &Document<'_>) {
        if !self.take_error(document, 0) {
            let text = |key: &str| document.text_field(0, key).map(|text| text.into_owned());
            self.fail(text("code"), text("message").unwrap_or_default());
        }
    }

    /// What it was.
    pub(super) fn into_answer(mut self) -> Answer {
        self.answer.is_complete = self.has_ended && self.answer.error.is_none();
        self.answer.words = self.words.whole().to_owned();
        self.answer
    }
}

impl AnswerCall {
    /// More of the arguments.
    pub(super) fn extend(&mut self, part: &str) {
        self.is_cut |= self.arguments.len() + part.len() > ARGUMENTS_BYTES_MAX;
        if !self.is_cut {
            self.arguments.push_str(part);
        }
    }
}

/// A count under a key, if it is there and can be one.
pub(super) fn count(document: &Document<'_>, at: At, key: &str) -> Option<u64> {
    document.raw(document.field(at, key)?).parse().ok().filter(|count| *count <= COUNT_MAX)
}
