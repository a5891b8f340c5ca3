//! Where a thread's requests lie.

use std::collections::{BTreeMap, HashSet};

use infold_core::Counter;
use infold_core::transcript::{Item, Kind, ModelCall};

use super::needs::Needs;
use super::{EntryRole, Laid, ReplayedRequest};

/// A request, before it is known what it held.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// The first item of its answer.
    pub first_item: usize,
    pub model: &'a str,
    pub output_tokens: u64,
}

/// The model that answered most often.
pub(crate) fn usual_model(calls: &[ModelCall]) -> &str {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for call in calls {
        *counts.entry(&call.usage.model).or_default() += 1;
    }
    counts.into_iter().max_by_key(|&(_, count)| count).map_or("", |(model, _)| model)
}

/// The requests that a client recorded, without those that the provider never counted.
pub(super) fn recorded(calls: &[ModelCall]) -> Vec<Asked<'_>> {
    calls
        .iter()
        .filter(|call| call.usage.prompt_tokens() > 0)
        .map(|call| Asked {
            first_item: call.first_item,
            model: &call.usage.model,
            output_tokens: call.usage.output_tokens,
        })
        .collect()
}

/// Where no request is recorded: one for each answer that a model wrote.
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

/// Tells where answers begin. Calls made at once may stand apart, each written when it was ready, with results of
/// others between them: an answer lasts until all its calls have theirs, or somebody else has spoken.
#[derive(Debug, Default)]
pub struct AnswerStarts<'i> {
    goes_on: bool,
    open: HashSet<&'i str>,
}

impl<'i> AnswerStarts<'i> {
    /// Whether a new answer begins with the next item.
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

/// The size of what stands above the conversation.
pub(super) fn system_tokens(items: &[&Item], counter: Counter) -> u64 {
    let system = items.iter().filter(|item| matches!(item.kind, Kind::System { .. }));
    system.map(|item| counter.count(item.text())).sum()
}

/// What each request held: everything from the latest summary before it on.
pub(super) fn of<'a>(asked: Vec<Asked<'a>>, laid: &Laid<'_>) -> Vec<ReplayedRequest<'a>> {
    let mut start = 0;
    let mut end = 0;
    let mut requests = Vec::with_capacity(asked.len());
    for asked in asked {
        let entry = laid.entry_of.get(asked.first_item).copied().unwrap_or(laid.entries.len());
        for at in end..entry {
            if laid.entries[at].role == EntryRole::Summary {
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
