//! Brings calls and results into pairs, as providers want them.
//!
//! Providers refuse a call without a result and a result without a call. Both occur in recordings, if a session broke
//! off or its beginning is missing. What has no counterpart is left out here and added to the losses.

use std::collections::HashMap;

use infold_core::transcript::{Item, ItemPosition, Kind};

use super::Losses;

/// The items without calls and results that have no counterpart.
pub(crate) fn paired<'a>(items: &'a [Item], losses: &mut Losses) -> Vec<&'a Item> {
    // The indexes of the call and of the result with each id. Only the first of each counts.
    let mut pairs: HashMap<&str, (Option<usize>, Option<usize>)> = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        match &item.kind {
            // Without an id nothing says which call a result answers.
            Kind::Call { id, .. } | Kind::Result { id, .. } if id.is_empty() => {}
            Kind::Call { id, .. } => _ = pairs.entry(id).or_default().0.get_or_insert(at),
            Kind::Result { id, .. } => {
                let pair = pairs.entry(id).or_default();
                if pair.0.is_some() {
                    pair.1.get_or_insert(at);
                }
            }
            _ => {}
        }
    }
    let mut kept = Vec::with_capacity(items.len());
    let mut left_out = None;
    for (at, item) in items.iter().enumerate() {
        let pair = match &item.kind {
            Kind::Call { id, .. } | Kind::Result { id, .. } => pairs.get(id.as_str()).copied(),
            // Images and the like in a result go with it.
            Kind::Other { .. } if left_out == Some(item.place) => continue,
            _ => {
                kept.push(item);
                continue;
            }
        };
        if matches!(pair, Some((Some(call), Some(result))) if at == call || at == result) {
            kept.push(item);
        } else if matches!(item.kind, Kind::Result { .. }) {
            left_out = Some(item.place);
            losses.add(item, "results without a call");
        } else {
            losses.add(item, "calls without a result");
        }
    }
    kept
}

/// Whether an item is other content (an image, for example) of the result at this position.
pub(crate) fn is_beside(item: &Item, result: Option<ItemPosition>) -> bool {
    matches!(item.kind, Kind::Other { .. }) && result == Some(item.place)
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PairRole {
    Model,
    /// Everyone else: the person, the client, tools.
    User,
}

#[derive(Debug)]
pub(crate) struct PairedMessage<'a> {
    pub(crate) role: PairRole,
    pub(crate) items: Vec<&'a Item>,
}

/// Groups items into messages in which user and model take turns. The results of a message's calls come at the
/// beginning of the next message. The items must be paired.
pub(crate) fn in_turns<'a>(items: &[&'a Item]) -> Vec<PairedMessage<'a>> {
    let mut results: HashMap<&str, Vec<&'a Item>> = results_of(items);
    let mut messages: Vec<PairedMessage<'a>> = Vec::new();
    let mut result = None;
    for item in items {
        let role = match &item.kind {
            Kind::Assistant { .. } | Kind::Reasoning { .. } | Kind::Call { .. } => PairRole::Model,
            Kind::Result { .. } => {
                result = Some(item.place);
                answer(&mut messages, &mut results);
                continue;
            }
            Kind::Other { .. } if is_beside(item, result) => continue,
            Kind::Other { .. }
            | Kind::System { .. }
            | Kind::User { .. }
            | Kind::Compaction { .. }
            | Kind::Clearing { .. } => PairRole::User,
        };
        if role == PairRole::User {
            answer(&mut messages, &mut results);
        }
        match messages.last_mut() {
            Some(last) if last.role == role => last.items.push(item),
            _ => messages.push(PairedMessage { role, items: vec![item] }),
        }
    }
    messages
}

/// Each result by its call's id, followed by the other content that belongs to it.
fn results_of<'a>(items: &[&'a Item]) -> HashMap<&'a str, Vec<&'a Item>> {
    let mut results: HashMap<&str, Vec<&Item>> = HashMap::new();
    let mut current: Option<(&str, ItemPosition)> = None;
    for item in items {
        match (&item.kind, current) {
            (Kind::Result { id, .. }, _) => {
                results.insert(id, vec![item]);
                current = Some((id, item.place));
            }
            (Kind::Other { .. }, Some((id, place))) if is_beside(item, Some(place)) => {
                results.entry(id).or_default().push(item);
            }
            _ => {}
        }
    }
    results
}

/// If the last message has calls, adds a message with all their results.
fn answer<'a>(messages: &mut Vec<PairedMessage<'a>>, results: &mut HashMap<&str, Vec<&'a Item>>) {
    let Some(PairedMessage { role: PairRole::Model, items }) = messages.last() else { return };
    let answers: Vec<&Item> = items
        .iter()
        .filter_map(|item| match &item.kind {
            Kind::Call { id, .. } => results.remove(id.as_str()),
            _ => None,
        })
        .flatten()
        .collect();
    if !answers.is_empty() {
        messages.push(PairedMessage { role: PairRole::User, items: answers });
    }
}

#[cfg(test)]
mod tests;
