//! What the answer to each request made use of that had been shown before.

use crate::sights::{SeenResult, Sights};
use crate::text;
use crate::words::WordId;

use super::{EntryRole, ReplayedRequest, ThreadEntry};

/// A result is far if at least this many came after what was seen in it.
const NEAR_RESULTS: usize = 10;

/// A word that an answer used, and the entry that had shown it last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Need {
    pub word: WordId,
    pub entry: usize,
}

/// What one answer used.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    pub atoms: Vec<Need>,
    pub lines: Vec<Need>,
    /// Entries before this one are far.
    pub near_from: usize,
}

/// Finds what each request's answer used, of what the run before it had shown.
pub(super) fn find(entries: &[ThreadEntry<'_>], sights: &mut Sights, requests: &mut [ReplayedRequest<'_>]) {
    let mut seen = Seen::default();
    let mut at = 0;
    let ends: Vec<usize> = requests.iter().skip(1).map(|request| request.end).chain([entries.len()]).collect();
    for (request, next_end) in requests.iter_mut().zip(ends) {
        while at < request.end {
            seen.take(at, &entries[at], sights.get(at));
            at += 1;
        }
        for (at, entry) in entries.iter().enumerate().take(next_end).skip(request.end) {
            if entry.role != EntryRole::Call {
                continue;
            }
            seen.need(&sights.get(at).atoms, &mut request.needs.atoms);
            if let Some(old) = text::old_of_edit(entry.text) {
                seen.need(&sights.lines(&old), &mut request.needs.lines);
            }
        }
        request.needs.near_from = seen.near_from();
        for needs in [&mut request.needs.atoms, &mut request.needs.lines] {
            needs.sort_unstable_by_key(|need| need.word);
            needs.dedup();
        }
    }
}

/// Which entry of the run showed each word last.
#[derive(Default)]
struct Seen {
    last: Vec<Option<usize>>,
    results: Vec<usize>,
}

impl Seen {
    fn take(&mut self, at: usize, entry: &ThreadEntry<'_>, sight: &SeenResult) {
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
        for &word in sight.atoms.iter().chain(&sight.lines) {
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
