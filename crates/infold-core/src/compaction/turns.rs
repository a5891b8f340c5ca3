//! Turns: where a thread may be cut without parting a call from its result.
//!
//! A turn is what was said to the model, its answer, and the results of the calls in that answer. A call that is not
//! answered yet belongs to the last turn, whatever was said behind it: its result is still to come.

use std::collections::HashMap;

use crate::transcript::{Item, Kind};

/// The turns of a thread, and which call belongs to which result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Turns {
    /// The first item of each turn, in order; the first is 0 unless there are no items.
    starts: Vec<usize>,
    /// For a call its result, for a result its call.
    partners: Vec<Option<usize>>,
    /// Where the last turn starts.
    last_start: usize,
}

impl Turns {
    pub fn of(items: &[Item]) -> Self {
        let partners = partners(items);
        let (mut starts, mut open) = (Vec::new(), 0_usize);
        let (mut is_answered, mut has_results) = (false, false);
        for (at, item) in items.iter().enumerate() {
            let part = TurnPart::of(&item.kind);
            let begins = match part {
                TurnPart::Said => is_answered,
                TurnPart::Model | TurnPart::Call => has_results,
                TurnPart::Result | TurnPart::Mark => false,
            };
            if at == 0 || (begins && open == 0) {
                starts.push(at);
                (is_answered, has_results) = (false, false);
            }
            match part {
                TurnPart::Model => is_answered = true,
                TurnPart::Call => {
                    is_answered = true;
                    open += usize::from(partners[at].is_some());
                }
                TurnPart::Result => {
                    has_results = true;
                    open -= usize::from(partners[at].is_some());
                }
                TurnPart::Said | TurnPart::Mark => {}
            }
        }
        let last_start = last_start(items, &starts, &partners);
        Self { starts, partners, last_start }
    }

    /// Where the last turn starts.
    pub fn last_start(&self) -> usize {
        self.last_start
    }

    /// Where the last `count` turns start, never behind the start of the last one.
    pub fn start_of_last(&self, count: usize) -> usize {
        let at = self.starts.len().saturating_sub(count.max(1));
        self.starts.get(at).copied().unwrap_or_default().min(self.last_start)
    }

    /// All starts of turns from an item on, up to that of the last turn.
    pub fn starts_from(&self, first: usize) -> impl Iterator<Item = usize> {
        self.starts.iter().copied().filter(move |start| (first..=self.last_start).contains(start))
    }

    /// The result of a call, or the call of a result.
    pub fn partner(&self, at: usize) -> Option<usize> {
        self.partners[at]
    }

    /// Whether an item is a call or a result that has lost its other half. A call of the last turn is only waiting.
    pub fn is_unpaired(&self, at: usize, item: &Item) -> bool {
        match item.kind {
            Kind::Call { .. } => self.partners[at].is_none() && at < self.last_start,
            Kind::Result { .. } => self.partners[at].is_none(),
            Kind::System { .. }
            | Kind::User { .. }
            | Kind::Assistant { .. }
            | Kind::Reasoning { .. }
            | Kind::Compaction { .. }
            | Kind::Clearing { .. }
            | Kind::Other { .. } => false,
        }
    }
}

/// What an item does to a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnPart {
    /// It is said to the model.
    Said,
    /// The model says or thinks it.
    Model,
    Call,
    Result,
    /// It only marks something.
    Mark,
}

impl TurnPart {
    fn of(kind: &Kind) -> Self {
        match kind {
            Kind::System { .. } | Kind::User { .. } | Kind::Compaction { .. } | Kind::Other { .. } => Self::Said,
            Kind::Assistant { .. } | Kind::Reasoning { .. } => Self::Model,
            Kind::Call { .. } => Self::Call,
            Kind::Result { .. } => Self::Result,
            Kind::Clearing { .. } => Self::Mark,
        }
    }
}

/// Which call belongs to which result. An id can be used again, so a result answers the latest call of its id that has
/// no result yet.
fn partners(items: &[Item]) -> Vec<Option<usize>> {
    let mut partners = vec![None; items.len()];
    let mut open: HashMap<&str, usize> = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        match &item.kind {
            Kind::Call { id, .. } => {
                open.insert(id, at);
            }
            Kind::Result { id, .. } => {
                if let Some(call) = open.remove(id.as_str()) {
                    (partners[at], partners[call]) = (Some(call), Some(at));
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
    partners
}

/// The start of the last turn; of the one before it if a call there waits for its result and the model has said nothing
/// since.
fn last_start(items: &[Item], starts: &[usize], partners: &[Option<usize>]) -> usize {
    let last = starts.last().copied().unwrap_or_default();
    let is_model = |at: &usize| matches!(TurnPart::of(&items[*at].kind), TurnPart::Model | TurnPart::Call);
    let Some(spoke) = (0..items.len()).rev().find(is_model) else { return last };
    let answer_start = starts.iter().rev().find(|start| **start <= spoke).copied().unwrap_or_default();
    let waits = |at: usize| matches!(items[at].kind, Kind::Call { .. }) && partners[at].is_none();
    if (answer_start..=spoke).any(waits) { answer_start } else { last }
}
