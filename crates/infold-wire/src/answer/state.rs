//! What is known of an answer while it is read, and what the answers of the three APIs have in common.
//!
//! Everything that is kept has a bound. How each API writes its answers is in `messages`, `responses` and `chat`.

use super::words::AnswerWords;
use super::{Answer, AnswerCall, AnswerError, Usage};
use crate::request::Api;
use crate::request::json::{At, Document};

/// How much of the model's words and thoughts is kept for counting tokens, in bytes.
const SAID_BYTES_MAX: usize = 256 << 10;

/// How much of a call's arguments is kept, in bytes.
const ARGUMENTS_BYTES_MAX: usize = 1 << 20;

/// How many calls of an answer are kept.
const CALLS_MAX: usize = 256;

/// The largest token count that is believed. A greater one is ignored, because it would spoil every sum.
const COUNT_MAX: u64 = 1_000_000_000;

/// The stop reasons of models that have said all they wanted to say; for any other reason the last word may lack its
/// end.
const SAID_ALL: [&str; 7] =
    ["end_turn", "tool_use", "stop_sequence", "completed", "stop", "tool_calls", "function_call"];

/// An answer while it is read.
#[derive(Debug, Default)]
pub(super) struct AnswerState {
    answer: Answer,
    /// The key of each call in `answer.calls`, by which later events name it.
    keys: Vec<CallKey>,
    words: AnswerWords,
    has_ended: bool,
    has_thought: bool,
    /// Whether the stream has sent its last event, so that not even a token count can follow.
    is_closed: bool,
}

/// How a stream names a call: by the choice that it is in (Chat only, else 0), and by its index in the answer.
pub(super) type CallKey = (u64, u64);

impl AnswerState {
    /// Begins a call; returns `None` if the answer has too many calls.
    pub(super) fn begin_call(&mut self, key: CallKey, id: String, tool: String) -> Option<&mut AnswerCall> {
        self.words.pause();
        if self.answer.calls.len() == CALLS_MAX {
            return None;
        }
        self.answer.calls.push(AnswerCall { id, tool, ..AnswerCall::default() });
        self.keys.push(key);
        self.answer.calls.last_mut()
    }

    /// The latest call with this key.
    pub(super) fn call(&mut self, key: CallKey) -> Option<&mut AnswerCall> {
        let place = self.keys.iter().rposition(|other| *other == key)?;
        self.answer.calls.get_mut(place)
    }

    pub(super) fn calls(&self) -> &[AnswerCall] {
        &self.answer.calls
    }

    pub(super) fn has_call(&self, id: &str) -> bool {
        self.answer.calls.iter().any(|call| call.id == id)
    }

    /// Adds words of the model.
    pub(super) fn take_text(&mut self, text: &str) {
        self.answer.text_chars += text.chars().count();
        self.words.push(text);
        self.append_said(text);
    }

    /// Adds thoughts of the model that its provider shows.
    pub(super) fn take_thought(&mut self, text: &str) {
        self.has_thought |= !text.is_empty();
        self.append_said(text);
    }

    fn append_said(&mut self, text: &str) {
        let said = &mut self.answer.said;
        let room = text.floor_char_boundary(SAID_BYTES_MAX.saturating_sub(said.len()));
        said.push_str(&text[..room]);
        self.answer.said_bytes += text.len();
    }

    /// Marks the words so far as whole, because something else begins.
    pub(super) fn pause(&mut self) {
        self.words.pause();
    }

    /// The end of the words so far, as in [`Answer::words`].
    pub(super) fn words(&self) -> &str {
        self.words.whole()
    }

    pub(super) fn text_chars(&self) -> usize {
        self.answer.text_chars
    }

    /// Whether thoughts of the model have come.
    pub(super) fn has_thought(&self) -> bool {
        self.has_thought
    }

    /// Sets why the model stopped, if a reason is given.
    pub(super) fn stop(&mut self, reason: Option<String>) {
        self.answer.stop = reason.or(self.answer.stop.take());
    }

    /// Sets the name of the model that answers, if one is given.
    pub(super) fn model(&mut self, model: Option<String>) {
        self.answer.model = model.or(self.answer.model.take());
    }

    /// The token counts, to be overwritten: later counts replace earlier ones.
    pub(super) fn usage(&mut self) -> &mut Usage {
        self.answer.usage.get_or_insert_default()
    }

    /// Reads the counts in an object's `usage`, as OpenAI's APIs write them. `names` are the fields for the input, for
    /// its details, and for the output. The input count includes what came from the cache.
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

    /// Marks the answer as ended. The stop reason must be set before, because it says whether the last word is whole.
    pub(super) fn end(&mut self) {
        self.has_ended = true;
        if self.answer.stop.as_deref().is_some_and(|reason| SAID_ALL.contains(&reason)) {
            self.words.pause();
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Marks the stream as closed: nothing more comes, not even a token count.
    pub(super) fn close(&mut self) {
        self.end();
        self.is_closed = true;
    }

    /// Whether nothing that can still come would change the answer. A Chat stream reports its counts after the answer
    /// has ended, if it reports any.
    pub(super) fn is_final(&self, api: Api) -> bool {
        let has_counted = match api {
            Api::Messages | Api::Responses => true,
            Api::Chat => self.is_closed || self.answer.usage.is_some(),
        };
        self.answer.error.is_some() || (self.has_ended && has_counted)
    }

    /// Does what can be done for an event of which only the name could be read.
    pub(super) fn take_name(&mut self, name: &str) {
        match name {
            "message_stop" | "response.completed" | "response.incomplete" => self.end(),
            "error" | "response.failed" => self.fail(None, String::new()),
            _ => {}
        }
    }

    /// Records the error that the provider reports.
    pub(super) fn fail(&mut self, kind: Option<String>, message: String) {
        self.answer.error = Some(AnswerError { kind, message });
    }

    /// Reads the error in an object, if it has one, and returns whether it has.
    pub(super) fn take_error(&mut self, document: &Document<'_>, at: At) -> bool {
        let Some(error) = document.field(at, "error").filter(|error| document.raw(*error) != "null") else {
            return false;
        };
        let text = |key: &str| document.text_field(error, key).map(|text| text.into_owned());
        let whole = || document.text(error).unwrap_or_else(|| document.raw(error).into()).into_owned();
        self.fail(text("code").or_else(|| text("type")), text("message").unwrap_or_else(whole));
        true
    }

    /// Reads an event that is an error: the error is in an object of its own, or the event itself is the error.
    pub(super) fn take_error_event(&mut self, document: &Document<'_>) {
        if !self.take_error(document, 0) {
            let text = |key: &str| document.text_field(0, key).map(|text| text.into_owned());
            self.fail(text("code"), text("message").unwrap_or_default());
        }
    }

    /// The answer as it is known now, when no more events come.
    pub(super) fn into_answer(mut self) -> Answer {
        self.answer.is_complete = self.has_ended && self.answer.error.is_none();
        self.answer.words = self.words.whole().to_owned();
        self.answer
    }
}

impl AnswerCall {
    /// Appends the next part of the arguments.
    pub(super) fn extend(&mut self, part: &str) {
        self.is_cut |= self.arguments.len() + part.len() > ARGUMENTS_BYTES_MAX;
        if !self.is_cut {
            self.arguments.push_str(part);
        }
    }
}

/// The token count under a key; `None` if it is missing, no number, or too large to be true.
pub(super) fn count(document: &Document<'_>, at: At, key: &str) -> Option<u64> {
    document.raw(document.field(at, key)?).parse().ok().filter(|count| *count <= COUNT_MAX)
}
