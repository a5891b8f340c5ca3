//! Cuts sessions, and finds what was used after each cut.

use std::borrow::Cow;
use std::collections::HashSet;

use infold_core::transcript::{Item, Kind, Transcript};

use crate::text;
use crate::words::{ThreadWords, WordId};

/// A session is cut after every this many requests.
const CUT_REQUESTS: usize = 20;
/// How many requests after a cut count.
const AHEAD_REQUESTS: usize = 10;

/// The atoms and lines that were used after a cut, each once.
#[derive(Debug, Default)]
pub(super) struct Needed {
    pub atoms: Vec<WordId>,
    pub lines: Vec<WordId>,
}

/// A point in a session where a child is forked.
#[derive(Debug)]
pub(super) struct Cut {
    /// The first item that the child does not have.
    pub item: usize,
    pub needed: Needed,
}

/// The atoms and lines in the text of an item.
struct NeededText {
    atoms: Vec<WordId>,
    lines: Vec<WordId>,
}

/// The cuts of a session, with what was used after each.
pub(super) fn cuts(transcript: &Transcript, words: &mut ThreadWords) -> Vec<Cut> {
    let items = &transcript.items;
    let calls = &transcript.calls;
    if calls.len() <= CUT_REQUESTS {
        return Vec::new();
    }
    let texts: Vec<NeededText> = items
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
        for text in &texts[looked.min(item)..item] {
            seen.extend(text.atoms.iter().chain(&text.lines));
        }
        looked = looked.max(item);
        let end = calls.get(at + AHEAD_REQUESTS).map_or(items.len(), |call| call.first_item.min(items.len()));
        let ahead = item..end.max(item);
        cuts.push(Cut { item, needed: needed(&items[ahead.clone()], &texts[ahead], &seen, words) });
    }
    cuts
}

/// What the calls among these items used of things that were seen before them, unless it was shown again first.
fn needed(items: &[Item], texts: &[NeededText], seen: &HashSet<WordId>, words: &mut ThreadWords) -> Needed {
    let mut shown: HashSet<WordId> = HashSet::new();
    let (mut atoms, mut lines) = (HashSet::new(), HashSet::new());
    for (item, text) in items.iter().zip(texts) {
        match &item.kind {
            Kind::Call { input, .. } => {
                atoms.extend(text.atoms.iter().filter(|word| seen.contains(word) && !shown.contains(word)));
                if let Some(old) = text::old_of_edit(input) {
                    let old = words.lines(&old);
                    lines.extend(old.into_iter().filter(|word| seen.contains(word) && !shown.contains(word)));
                }
            }
            Kind::Result { .. } | Kind::User { .. } | Kind::Compaction { .. } => {
                shown.extend(text.atoms.iter().chain(&text.lines));
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
