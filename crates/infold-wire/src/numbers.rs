//! Which items belong to one message, and which tool a result came from.

use std::collections::HashMap;

use infold_core::transcript::{Item, ItemPosition, Kind};

/// How many unanswered calls are remembered.
const CALLS_MAX: usize = 10_000;

/// What keeps the next entry in the same message as the last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Group {
    /// Nothing: it is a message of its own.
    #[default]
    Alone,
    /// A piece of the answer with this id.
    Answer(String),
    /// Results of calls.
    Results,
}

/// Counts messages.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    next: u64,
    last: Group,
}

impl Numbers {
    /// The number of the message that an entry of this group belongs to.
    pub(crate) fn number(&mut self, group: Group) -> u64 {
        let goes_on = self.next > 0 && group != Group::Alone && group == self.last;
        if !goes_on {
            self.next += 1;
            self.last = group;
        }
        self.next - 1
    }
}

/// The tools of the calls that have no result yet.
#[derive(Debug, Default)]
pub(crate) struct CalledTools {
    by_call: HashMap<String, String>,
}

impl CalledTools {
    /// Remembers a call's tool, and fills in a result's.
    pub(crate) fn pass(&mut self, kind: &mut Kind) {
        match kind {
            Kind::Call { id, tool, .. } => {
                // A recording with so many calls left open is broken; forgetting their names costs little.
                if self.by_call.len() >= CALLS_MAX {
                    self.by_call.clear();
                }
                self.by_call.insert(id.clone(), tool.clone());
            }
            Kind::Result { id, tool, .. } => {
                if let Some(known) = self.by_call.remove(id)
                    && tool.is_empty()
                {
                    *tool = known;
                }
            }
            Kind::System { .. }
            | Kind::User { .. }
            | Kind::Assistant { .. }
            | Kind::Reasoning { .. }
            | Kind::Compaction { .. }
            | Kind::Clearing { .. }
            | Kind::Other { .. } => {}
        }
    }
}

/// Items of one entry in one message.
pub(crate) fn items(entry: u64, message: u64, kinds: Vec<(u32, Kind)>, tools: &mut CalledTools) -> Vec<Item> {
    kinds
        .into_iter()
        .map(|(part, mut kind)| {
            tools.pass(&mut kind);
            Item { place: ItemPosition { entry, part }, message, kind }
        })
        .collect()
}
