//! Which result answers which call.
//!
//! A result belongs to the latest call with its id that has none yet. Only so many calls are
//! remembered as waiting, so that a long transcript full of calls that nobody answered does not fill
//! the memory.

use std::collections::{HashMap, VecDeque};

/// Calls that may wait for their results at the same time; the oldest is then given up.
const WAITING_CALLS_MAX: usize = 1024;

/// Where an item stands: the message and the item in it, both counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct At {
    pub message: usize,
    pub item: usize,
}

/// Calls whose results have not come yet.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    calls: HashMap<String, At>,
    /// The same in order; answered ones are taken out now and then.
    order: VecDeque<(String, At)>,
}

impl Waiting {
    /// A call was made.
    pub fn call(&mut self, id: &str, at: At) {
        // Some recordings have no ids; their calls and results cannot be told apart.
        if id.is_empty() {
            return;
        }
        self.calls.insert(id.to_owned(), at);
        self.order.push_back((id.to_owned(), at));
        if self.order.len() > 2 * WAITING_CALLS_MAX {
            let calls = &self.calls;
            self.order.retain(|(id, at)| calls.get(id) == Some(at));
        }
        while self.calls.len() > WAITING_CALLS_MAX {
            let Some((id, at)) = self.order.pop_front() else { break };
            if self.calls.get(&id) == Some(&at) {
                self.calls.remove(&id);
            }
        }
    }

    /// A result came: where its call is.
    pub fn answer(&mut self, id: &str) -> Option<At> {
        self.calls.remove(id)
    }
}
