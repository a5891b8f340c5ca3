//! What the answers of all APIs have in common while they are read: tokens, the end, and what went wrong.

use infold_core::record::Usage;
use serde_json::Value;

use super::{AnswerFault, Delta, StopReason};

/// The largest token count that is believed.
const COUNT_MAX: u64 = 1_000_000_000;

/// What is known of an answer besides its entries.
#[derive(Debug)]
pub(super) struct AnswerProgress {
    model: String,
    usage: Option<Usage>,
    stop: Option<StopReason>,
    fault: Option<AnswerFault>,
    has_ended: bool,
}

impl AnswerProgress {
    pub(super) fn new(model: &str) -> Self {
        Self { model: model.to_owned(), usage: None, stop: None, fault: None, has_ended: false }
    }

    pub(super) fn model(&self) -> &str {
        &self.model
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// Keeps the first thing that went wrong.
    pub(super) fn fail(&mut self, fault: AnswerFault) {
        self.fault.get_or_insert(fault);
    }

    /// Reads the error in an event or a response, and returns whether there is one.
    pub(super) fn take_error(&mut self, event: &Value) -> bool {
        let Some(fault) = reported(event) else { return false };
        self.fail(fault);
        true
    }

    pub(super) fn stop(&mut self, reason: StopReason) {
        self.stop = Some(reason);
    }

    pub(super) fn end(&mut self) {
        self.has_ended = true;
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Why the model stopped, unless something went wrong.
    pub(super) fn into_stop(self) -> Result<StopReason, AnswerFault> {
        match self.fault {
            Some(fault) => Err(fault),
            None => Ok(self.stop.unwrap_or(StopReason::EndTurn)),
        }
    }

    /// Takes a count of tokens and tells it, if there is one.
    pub(super) fn count(&mut self, usage: Usage, tell: &mut dyn FnMut(Delta)) {
        self.usage = Some(usage);
        tell(Delta::Usage(usage));
    }
}

/// A token count; `None` if it is missing or too large to be true.
pub(super) fn count(said: &Value, name: &str) -> Option<u64> {
    said[name].as_u64().filter(|tokens| *tokens <= COUNT_MAX)
}

/// The error that a JSON value of a provider's reports, in an object of its own or as a sentence.
pub(super) fn reported(value: &Value) -> Option<AnswerFault> {
    let error = &value["error"];
    let text = |name: &str| error[name].as_str().map(str::to_owned);
    match error {
        Value::Null => None,
        Value::String(message) => Some(AnswerFault::Reported { kind: None, message: message.clone() }),
        _ => Some(AnswerFault::Reported {
            kind: text("code").or_else(|| text("type")),
            message: text("message").unwrap_or_else(|| error.to_string()),
        }),
    }
}
