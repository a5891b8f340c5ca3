//! Numbers messages, by finding out which entries belong to one, and names the tools that results come from.

use std::collections::HashMap;

use infold_core::transcript::{Item, ItemPosition, Kind};

/// How many calls without a result are remembered.
const CALLS_MAX: usize = 10_000;

/// What joins an entry to the message of the entry before it: equal groups in a row are one message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum EntryGroup {
    /// Nothing; the entry is a message of its own.
    #[default]
    Alone,
    /// It is a piece of the answer with this id.
    Answer(String),
    /// It holds results of calls; results in a row are one message.
    Results,
}

/// Numbers messages from 0.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    next: u64,
    last: EntryGroup,
}

impl Numbers {
    /// The number of the message that an entry of this group belongs to.
    pub(crate) fn number(&mut self, group: EntryGroup) -> u64 {
        let goes_on = self.next > 0 && group != EntryGroup::Alone && group == self.last;
        if !goes_on {
            self.next += 1;
            self.last = group;
        }
        self.next - 1
    }
}

/// The tools of calls that have no result yet, by the ids of the calls.
#[derive(Debug, Default)]
pub(crate) struct CalledTools {
    by_call: HashMap<String, String>,
}

impl CalledTools {
    /// Remembers the tool of a call, and fills in the tool of a result that lacks it.
    pub(crate) fn pass(&mut self, kind: &mut Kind) {
        match kind {
            Kind::Call { id, tool, .. } => {
                // A recording with so many open calls is damaged; results without a tool name cost little.
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

/// Makes the items of one entry, all in one message.
pub(crate) fn items(entry: u64, message: u64, kinds: Vec<(u32, Kind)>, tools: &mut CalledTools) -> Vec<Item> {
    kinds
        .into_iter()
        .map(|(part, mut kind)| {
            tools.pass(&mut kind);
            Item { place: ItemPosition { entry, part }, message, kind }
        })
        .collect()
}
