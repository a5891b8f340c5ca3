//! Where sessions are cut, and what was used after each cut.

use std::borrow::Cow;
use std::collections::HashSet;

use infold_core::transcript::{Item, Kind, Transcript};

use crate::text;
use crate::words::{PageWords, WordId};

/// A session is cut before every so many-th request.
const CUT_REQUESTS: usize = 20;
/// What so many requests after it used is what counts.
const AHEAD_REQUESTS: usize = 10;

/// What was used after a cut, each once.
#[derive(Debug, Default)]
pub(super) struct Needed {
    pub atoms: Vec<WordId>,
    pub lines: Vec<WordId>,
}

/// A place where a child is forked.
#[derive(Debug)]
pub(super) struct Cut {
    /// The first item that the child does not have.
    pub item: usize,
    pub needed: Needed,
}

/// What can be recognised in an item.
struct NeededText {
    atoms: Vec<WordId>,
    lines: Vec<WordId>,
}

/// The cuts of a session.
pub(super) fn cuts(transcript: &Transcript, words: &mut PageWords) -> Vec<Cut> {
    let items = &transcript.items;
    let calls = &transcript.calls;
    if calls.len() <= CUT_REQUESTS {
        return Vec::new();
    }
    let sights: Vec<NeededText> = items
        .iter()
        .map(|item| {
            let text = readable(item);
            NeededText { atoms: words.atoms(&text), lines: words.lines(&text) }
        })
        .collect();

    let mut seen: HashSet<WordId> = HashSet::new();
    let mut looked = 0;
    let mut cuts = Vec::new();
    for at in (CUT_REQUESTS..calls.len()).step_by(CUT_REQUESTS) {
        let item = calls[at].first_item.min(items.len());
        for sight in &sights[looked.min(item)..item] {
            seen.extend(sight.atoms.iter().chain(&sight.lines));
        }
        looked = looked.max(item);
        let end = calls.get(at + AHEAD_REQUESTS).map_or(items.len(), |call| call.first_item.min(items.len()));
        let ahead = item..end.max(item);
        cuts.push(Cut { item, needed: needed(&items[ahead.clone()], &sights[ahead], &seen, words) });
    }
    cuts
}

/// What these items used that had been seen, and that they had not been shown again.
fn needed(items: &[Item], sights: &[NeededText], seen: &HashSet<WordId>, words: &mut PageWords) -> Needed {
    let mut shown: HashSet<WordId> = HashSet::new();
    let (mut atoms, mut lines) = (HashSet::new(), HashSet::new());
    for (item, sight) in items.iter().zip(sights) {
        match &item.kind {
            Kind::Call { input, .. } => {
                atoms.extend(sight.atoms.iter().filter(|word| seen.contains(word) && !shown.contains(word)));
                if let Some(old) = text::old_of_edit(input) {
                    let old = words.lines(&old);
                    lines.extend(old.into_iter().filter(|word| seen.contains(word) && !shown.contains(word)));
                }
            }
            Kind::Result { .. } | Kind::User { .. } | Kind::Compaction { .. } => {
                shown.extend(sight.atoms.iter().chain(&sight.lines));
            }
            Kind::System { .. }
            | Kind::Assistant { .. }
            | Kind::Reasoning { .. }
            | Kind::Clearing { .. }
            | Kind::Other { .. } => {}
        }
    }
    let sorted = |words: HashSet<WordId>| {
        let mut words: Vec<WordId> = words.into_iter().collect();
        words.sort_unstable();
        words
    };
    Needed { atoms: sorted(atoms), lines: sorted(lines) }
}

fn readable(item: &Item) -> Cow<'_, str> {
    match &item.kind {
        Kind::Call { input, .. } => Cow::Owned(infold_core::plain_arguments(input)),
        Kind::System { .. }
        | Kind::User { .. }
        | Kind::Assistant { .. }
        | Kind::Reasoning { .. }
        | Kind::Result { .. }
        | Kind::Compaction { .. }
        | Kind::Clearing { .. } => Cow::Borrowed(item.text()),
        Kind::Other { json, .. } => infold_core::readable_of_other(json),
    }
}
