//! Finds the requests of a thread, and the run of entries that each of them held.

use std::collections::{BTreeMap, HashSet};

use infold_core::Counter;
use infold_core::transcript::{Item, Kind, ModelCall};

use super::needs::Needs;
use super::{EntryRole, ReplayedRequest, ThreadLayout};

/// A request of which it is not yet known what it held.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// The first item of its answer.
    pub first_item: usize,
    pub model: &'a str,
    pub output_tokens: u64,
}

/// The name of the model that answered most often; empty if there is none.
pub(crate) fn usual_model(calls: &[ModelCall]) -> &str {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for call in calls {
        *counts.entry(&call.model).or_default() += 1;
    }
    counts.into_iter().max_by_key(|&(_, count)| count).map_or("", |(model, _)| model)
}

/// The requests that a client recorded, without those for which the provider reported no tokens.
pub(super) fn recorded(calls: &[ModelCall]) -> Vec<Asked<'_>> {
    calls
        .iter()
        .filter(|call| call.usage.prompt_tokens() > 0)
        .map(|call| Asked { first_item: call.first_item, model: &call.model, output_tokens: call.usage.output_tokens })
        .collect()
}

/// The requests of a thread without recorded ones: one for each answer that a model wrote.
pub(crate) fn answers<'a>(items: &[&Item], counter: Counter) -> Vec<Asked<'a>> {
    let mut asked: Vec<Asked<'a>> = Vec::new();
    let mut answer = AnswerStarts::default();
    for (at, item) in items.iter().enumerate() {
        if answer.begins_with(item) {
            asked.push(Asked { first_item: at, model: "", output_tokens: 0 });
        }
        if is_of_the_model(&item.kind)
            && let Some(asked) = asked.last_mut()
        {
            asked.output_tokens += counter.count(item.text());
        }
    }
    asked
}

/// Finds where answers begin. Calls that were made at once may lie apart in a recording, with results of others between
/// them, because each was written when it was ready. So an answer lasts until all its calls have results, or somebody
/// else has spoken.
#[derive(Debug, Default)]
pub struct AnswerStarts<'i> {
    goes_on: bool,
    open: HashSet<&'i str>,
}

impl<'i> AnswerStarts<'i> {
    /// Takes the next item and returns whether a new answer begins with it.
    pub fn begins_with(&mut self, item: &'i Item) -> bool {
        let begins = is_of_the_model(&item.kind) && !self.goes_on && self.open.is_empty();
        match &item.kind {
            Kind::Call { id, .. } => {
                self.open.insert(id);
                self.goes_on = true;
            }
            Kind::Assistant { .. } | Kind::Reasoning { .. } => self.goes_on = true,
            Kind::Result { id, .. } => {
                self.open.remove(id.as_str());
                self.goes_on = false;
            }
            Kind::User { .. } | Kind::Compaction { .. } => *self = Self::default(),
            Kind::System { .. } | Kind::Clearing { .. } | Kind::Other { .. } => self.goes_on = false,
        }
        begins
    }
}

/// The tokens of the instructions, which are outside the conversation.
pub(super) fn system_tokens(items: &[&Item], counter: Counter) -> u64 {
    let system = items.iter().filter(|item| matches!(item.kind, Kind::System { .. }));
    system.map(|item| counter.count(item.text())).sum()
}

/// Finds the entries that each request held: everything from the latest summary before it on.
pub(super) fn of<'a>(asked: Vec<Asked<'a>>, layout: &ThreadLayout<'_>) -> Vec<ReplayedRequest<'a>> {
    let mut start = 0;
    let mut end = 0;
    let mut requests = Vec::with_capacity(asked.len());
    for asked in asked {
        let entry = layout.entry_of.get(asked.first_item).copied().unwrap_or(layout.entries.len());
        for at in end..entry {
            if layout.entries[at].role == EntryRole::Summary {
                start = at;
            }
        }
        end = entry.max(end);
        requests.push(ReplayedRequest {
            start,
            end,
            model: asked.model,
            output_tokens: asked.output_tokens,
            needs: Needs::default(),
        });
    }
    requests
}

fn is_of_the_model(kind: &Kind) -> bool {
    match kind {
        Kind::Assistant { .. } | Kind::Reasoning { .. } | Kind::Call { .. } => true,
        Kind::System { .. }
        | Kind::User { .. }
        | Kind::Result { .. }
        | Kind::Compaction { .. }
        | Kind::Clearing { .. }
        | Kind::Other { .. } => false,
    }
}
