//! Which result answers which call.
//!
//! A result belongs to the latest call with its id that has none yet. Only so many calls are
//! remembered as waiting, so that a long transcript full of calls that nobody answered does not fill
//! the memory; the whole and the streaming form of the fork share that bound, and so agree.

use std::collections::{HashMap, VecDeque};

use super::message::Message;
use crate::transcript::Kind;

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

/// How an item is tied to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// It is neither a call nor a result.
    None,
    /// A call. `rank` is that of its result, or how many results came before it.
    Call { answer: Option<At>, rank: usize },
    /// A result: the first has rank 1.
    Result { rank: usize },
}

/// The links of all items.
pub(super) struct Links {
    rows: Vec<Vec<Link>>,
    /// How many results there are.
    pub results: usize,
}

impl Links {
    /// Finds them.
    pub fn of(messages: &[Message]) -> Self {
        let mut links = Self { rows: Vec::with_capacity(messages.len()), results: 0 };
        let mut waiting = Waiting::default();
        for (message, content) in messages.iter().enumerate() {
            links.rows.push(Vec::with_capacity(content.items.len()));
            for (item, content) in content.items.iter().enumerate() {
                let link = links.link(&content.kind, At { message, item }, &mut waiting);
                links.rows[message].push(link);
            }
        }
        links
    }

    fn link(&mut self, kind: &Kind, at: At, waiting: &mut Waiting) -> Link {
        match kind {
            Kind::Call { id, .. } => {
                waiting.call(id, at);
                Link::Call { answer: None, rank: self.results }
            }
            Kind::Result { id, .. } => {
                self.results += 1;
                if let Some(call) = waiting.answer(id) {
                    self.rows[call.message][call.item] = Link::Call { answer: Some(at), rank: self.results };
                }
                Link::Result { rank: self.results }
            }
            Kind::System { .. }
            | Kind::User { .. }
            | Kind::Assistant { .. }
            | Kind::Reasoning { .. }
            | Kind::Compaction { .. }
            | Kind::Clearing { .. }
            | Kind::Other { .. } => Link::None,
        }
    }

    /// The link of one item.
    pub fn at(&self, message: usize, item: usize) -> Link {
        self.rows[message][item]
    }
}
