//! Calls that are under way, so that a client of the older era can take one back.
//!
//! Such a client cancels in a separate request. It is told apart from others by the session id it was
//! given when it initialised; that id is nothing but a name, and costs no memory. An entry lives as long
//! as its call, so the table is as large as the number of calls that run at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderValue;
use infold_core::Owner;
use tokio_util::sync::CancellationToken;

use super::HttpCall;

/// Longest client name that is looked at.
pub(super) const CLIENT_NAME_CHARS_MAX: usize = 128;

type RunningKey = (Owner, String, String);

/// The calls that are under way.
#[derive(Debug, Clone, Default)]
pub(super) struct Running(Arc<Mutex<HashMap<RunningKey, CancellationToken>>>);

/// Keeps a call in the table until it is dropped.
#[derive(Debug)]
pub(super) struct Entered {
    running: Running,
    key: RunningKey,
}

impl Running {
    /// Notes that `call` is under way.
    pub(super) fn enter(&self, owner: &Owner, client: &str, id: &str, call: &HttpCall) -> Entered {
        let key = (owner.clone(), client.to_owned(), id.to_owned());
        self.table(|table| table.insert(key.clone(), call.cancelled.clone()));
        Entered { running: self.clone(), key }
    }

    /// Cancels a call, if it is still under way.
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

impl Drop for Entered {
    fn drop(&mut self) {
        self.running.table(|table| table.remove(&self.key));
    }
}

/// A name for a client that has just initialised.
pub(super) fn new_client_name() -> HeaderValue {
    let mut random = [0; 16];
    // Without randomness the name is only less unique; nothing is protected by it.
    let _ = getrandom::fill(&mut random);
    let text: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("client"))
}

#[cfg(test)]
mod tests;
