//! Finds what the answer to each request used of things that had been shown before.

use crate::seen_texts::{SeenText, SeenTexts};
use crate::text;
use crate::words::WordId;

use super::{EntryRole, ReplayedRequest, ThreadEntry};

/// How many of the latest results are near; what was last seen before them is far.
const NEAR_RESULTS: usize = 10;

/// A word that an answer used, and the entry that had shown it last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Need {
    pub word: WordId,
    pub entry: usize,
}

/// The atoms and lines that one answer used.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    pub atoms: Vec<Need>,
    pub lines: Vec<Need>,
    /// The first entry that is near; entries before it are far.
    pub near_from: usize,
}

/// Finds for each request what its answer used of things that its run had shown.
pub(super) fn find(entries: &[ThreadEntry<'_>], texts: &mut SeenTexts, requests: &mut [ReplayedRequest<'_>]) {
    let mut seen = LastShown::default();
    let mut at = 0;
    let ends: Vec<usize> = requests.iter().skip(1).map(|request| request.end).chain([entries.len()]).collect();
    for (request, next_end) in requests.iter_mut().zip(ends) {
        while at < request.end {
            seen.take(at, &entries[at], texts.get(at));
            at += 1;
        }
        for (at, entry) in entries.iter().enumerate().take(next_end).skip(request.end) {
            if entry.role != EntryRole::Call {
                continue;
            }
            seen.need(&texts.get(at).atoms, &mut request.needs.atoms);
            if let Some(old) = text::old_of_edit(entry.text) {
                seen.need(&texts.lines(&old), &mut request.needs.lines);
            }
        }
        request.needs.near_from = seen.near_from();
        for needs in [&mut request.needs.atoms, &mut request.needs.lines] {
            needs.sort_unstable_by_key(|need| need.word);
            needs.dedup();
        }
    }
}

/// The entry of the current run that showed each word last, by the word's id.
#[derive(Default)]
struct LastShown {
    last: Vec<Option<usize>>,
    results: Vec<usize>,
}

impl LastShown {
    fn take(&mut self, at: usize, entry: &ThreadEntry<'_>, text: &SeenText) {
        match entry.role {
            EntryRole::Summary => {
                self.last.clear();
                self.results.clear();
            }
            EntryRole::Result => self.results.push(at),
            EntryRole::User
            | EntryRole::Assistant
            | EntryRole::SealedReasoning
            | EntryRole::Reasoning
            | EntryRole::Call
            | EntryRole::Clearing
            | EntryRole::Other => {}
        }
        for &word in text.atoms.iter().chain(&text.lines) {
            let word = word as usize;
            if word >= self.last.len() {
                self.last.resize(word + 1, None);
            }
            self.last[word] = Some(at);
        }
    }

    fn need(&self, words: &[WordId], needs: &mut Vec<Need>) {
        needs.extend(words.iter().filter_map(|&word| {
            let entry = self.last.get(word as usize).copied().flatten()?;
            Some(Need { word, entry })
        }));
    }

    fn near_from(&self) -> usize {
        self.results.len().checked_sub(NEAR_RESULTS).map_or(0, |first| self.results[first])
    }
}
