//! Which result answers which call.
//!
//! A result belongs to the latest call with its id that has none yet. The number of calls that are
//! remembered as waiting is bounded, so that a long transcript full of calls that nobody answered does
//! not fill the memory.

use std::collections::{HashMap, VecDeque};

/// Calls that may wait for their results at the same time; the oldest is then given up.
const WAITING_CALLS_MAX: usize = 1024;

/// Names an item by its message and its number in that message, both counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ItemAt {
    pub message: usize,
    pub item: usize,
}

/// Calls whose results have not come yet.
#[derive(Debug, Default)]
pub(super) struct WaitingCalls {
    calls: HashMap<String, ItemAt>,
    /// The same calls, oldest first. Answered ones stay until the list is cleaned up.
    order: VecDeque<(String, ItemAt)>,
}

impl WaitingCalls {
    pub fn call(&mut self, id: &str, at: ItemAt) {
        // Some recordings have no ids: nothing says which result answers which call.
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

    /// Finds the call of a result that has come. `None` if no call waits for it.
    pub fn answer(&mut self, id: &str) -> Option<ItemAt> {
        self.calls.remove(id)
    }
}
