//! The table of running calls, so that a client of the older era can cancel one.
//!
//! Such a client cancels in a separate request. The session id that it got when it initialised identifies it;
//! that id is only a name, and costs no memory. An entry lives as long as its call, so the table is as large
//! as the number of calls that run at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderValue;
use infold_core::Owner;
use tokio_util::sync::CancellationToken;

/// The longest client name that is accepted.
pub(super) const CLIENT_NAME_CHARS_MAX: usize = 128;

type RunningKey = (Owner, String, String);

/// What the HTTP side and a tool's handler share about one call.
#[derive(Debug, Default)]
pub(crate) struct HttpCall {
    /// The value of the response header `X-Context-State`, once the handler has set it.
    context_state: Mutex<Option<HeaderValue>>,
    /// Cancelled when the client cancels the call in a separate request.
    pub(crate) cancelled: CancellationToken,
}

impl HttpCall {
    /// Sets the value of the response header. It has no effect once the response has begun.
    pub(crate) fn show_context(&self, state: HeaderValue) {
        *self.context_state.lock().unwrap_or_else(PoisonError::into_inner) = Some(state);
    }

    pub(super) fn shown_context(&self) -> Option<HeaderValue> {
        self.context_state.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The running calls. Clones share one table.
#[derive(Debug, Clone, Default)]
pub(super) struct RunningCalls(Arc<Mutex<HashMap<RunningKey, CancellationToken>>>);

/// An entry in the table. Dropping it removes the call from the table.
#[derive(Debug)]
pub(super) struct RunningCall {
    running: RunningCalls,
    key: RunningKey,
}

impl RunningCalls {
    /// Puts `call` into the table until the returned entry is dropped.
    pub(super) fn enter(&self, owner: &Owner, client: &str, id: &str, call: &HttpCall) -> RunningCall {
        let key = (owner.clone(), client.to_owned(), id.to_owned());
        self.table(|table| table.insert(key.clone(), call.cancelled.clone()));
        RunningCall { running: self.clone(), key }
    }

    /// Cancels a call, if it is still running.
    pub(super) fn cancel(&self, owner: &Owner, client: &str, id: &str) {
        let key = (owner.clone(), client.to_owned(), id.to_owned());
        if let Some(token) = self.table(|table| table.get(&key).cloned()) {
            token.cancel();
        }
    }

    fn table<T>(&self, use_it: impl FnOnce(&mut HashMap<RunningKey, CancellationToken>) -> T) -> T {
        use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.running.table(|table| table.remove(&self.key));
    }
}

/// A random name for a client that has just initialised.
pub(super) fn new_client_name() -> HeaderValue {
    let mut random = [0; 16];
    // Without randomness the name may not be unique, which does little harm: it protects nothing.
    let _ = getrandom::fill(&mut random);
    let text: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("client"))
}

#[cfg(test)]
mod tests;
