//! Which entries of a recording its session still has, and which were given up when a person went back.
//!
//! It is found out from a few bytes for each entry, so that a recording of any length can be gone over twice: once
//! to learn what was given up, and once more to read the rest.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::num::NonZeroU64;

use infold_core::transcript::Kind;

use crate::error::WireError;
use crate::form::Format;
use crate::reader::{Back, Entry, Kept, Reader};

/// An id, by a hash: of a million in one recording, the chance that two are taken for one another is below one in
/// ten million.
type IdHash = NonZeroU64;

/// What is looked at of an entry.
#[derive(Debug)]
struct Outline {
    id: Option<IdHash>,
    parent: Option<IdHash>,
    is_prompt: bool,
    has_items: bool,
}

/// Outlines of a session's own entries, without those of other agents.
#[derive(Debug, Default)]
pub(crate) struct Outlines {
    entries: Vec<Outline>,
    /// Which of them hold a compaction, and what it keeps by name.
    compactions: Vec<(usize, Vec<IdHash>)>,
    /// Which of them take something back.
    backs: HashMap<usize, Back>,
}

impl Outlines {
    pub(crate) fn of<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> Self {
        let mut outlines = Self::default();
        entries.into_iter().for_each(|entry| outlines.push(entry));
        outlines
    }

    fn push(&mut self, entry: &Entry) {
        let at = self.entries.len();
        if entry.items.iter().any(|item| matches!(item.kind, Kind::Compaction { .. })) {
            let kept = match &entry.kept {
                Kept::Nothing => Vec::new(),
                Kept::From(id) => vec![hash(id)],
                Kept::These(ids) => ids.iter().map(|id| hash(id)).collect(),
            };
            self.compactions.push((at, kept));
        }
        if entry.back != Back::Nowhere {
            self.backs.insert(at, entry.back.clone());
        }
        self.entries.push(Outline {
            id: entry.id.as_deref().map(hash),
            parent: entry.parent.as_deref().map(hash),
            is_prompt: entry.is_prompt,
            has_items: !entry.items.is_empty(),
        });
    }

    /// For each entry whether the session still has it.
    pub(crate) fn live(&self, format: Format) -> Vec<bool> {
        match format {
            Format::ClaudeCode => self.on_the_way(),
            Format::Codex | Format::OpenCode => self.not_taken_back(),
            Format::Anthropic | Format::OpenAi | Format::Infold | Format::Normalized => vec![true; self.entries.len()],
        }
    }

    /// Where entries form a tree: the session is what leads to its last entry. Calls made at once make branches too,
    /// and those belong to it; only a branch that begins with a person's turn was left behind, or one that begins
    /// with a compaction if the person went back to before it. An entry that stands twice counts once.
    fn on_the_way(&self) -> Vec<bool> {
        let (parents, is_repeated) = self.parents();
        let has_place = |at: &usize| self.entries[*at].id.is_some() && self.entries[*at].has_items;
        let mut next = (0..self.entries.len()).rev().find(has_place);
        let mut leads = vec![false; self.entries.len()];
        while let Some(at) = next {
            leads[at] = true;
            next = parents[at];
        }
        let undone = self.undone_compactions(&parents, &leads);
        let mut left_behind = vec![false; self.entries.len()];
        for (at, entry) in self.entries.iter().enumerate() {
            let begins = (entry.is_prompt && entry.id.is_some()) || undone.contains(&at);
            let follows = parents[at].is_some_and(|parent| left_behind[parent]);
            left_behind[at] = !leads[at] && (begins || follows);
        }
        left_behind.iter().zip(is_repeated).map(|(left_behind, repeated)| !left_behind && !repeated).collect()
    }

    /// Where each entry's parent stands, always before it, and which entries stand there for the second time.
    fn parents(&self) -> (Vec<Option<usize>>, Vec<bool>) {
        let mut places: HashMap<IdHash, usize> = HashMap::with_capacity(self.entries.len());
        let mut parents = Vec::with_capacity(self.entries.len());
        let mut is_repeated = vec![false; self.entries.len()];
        for (at, entry) in self.entries.iter().enumerate() {
            // An entry whose parent is not in the file follows the one before it.
            let parent = entry.parent.map(|id| places.get(&id).copied().unwrap_or(at.saturating_sub(1)));
            parents.push(parent.filter(|parent| *parent < at));
            if let Some(id) = entry.id {
                is_repeated[at] = places.contains_key(&id);
                places.entry(id).or_insert(at);
            }
        }
        (parents, is_repeated)
    }

    /// The compactions that a person went back to before: the session goes on, behind each, with a turn that follows
    /// something in front of it which it did not keep.
    fn undone_compactions(&self, parents: &[Option<usize>], leads: &[bool]) -> HashSet<usize> {
        let is_undone = |(at, kept): &&(usize, Vec<IdHash>)| {
            let Some(goes_on) = (*at + 1..leads.len()).find(|next| leads[*next]) else { return false };
            let follows = parents[goes_on].filter(|parent| parent < at);
            !leads[*at]
                && self.entries[goes_on].is_prompt
                && follows.is_some_and(|parent| self.entries[parent].id.is_none_or(|id| !kept.contains(&id)))
        };
        self.compactions.iter().filter(is_undone).map(|(at, _)| *at).collect()
    }

    /// Where entries stand in a row: less what others say was taken back.
    fn not_taken_back(&self) -> Vec<bool> {
        let mut kept: Vec<usize> = Vec::with_capacity(self.entries.len());
        let mut prompts: Vec<usize> = Vec::new();
        let mut until: Option<IdHash> = None;
        for (at, entry) in self.entries.iter().enumerate() {
            match self.backs.get(&at) {
                None | Some(Back::Nowhere) => {}
                Some(Back::Turns(turns)) => {
                    let from = prompts.len().saturating_sub(*turns);
                    kept.truncate(prompts.get(from).copied().unwrap_or(kept.len()));
                    prompts.truncate(from);
                }
                Some(Back::To(id)) => until = Some(hash(id)),
            }
            if entry.is_prompt {
                prompts.push(kept.len());
            }
            kept.push(at);
        }
        let end = until.and_then(|id| kept.iter().position(|at| self.entries[*at].id == Some(id)));
        kept.truncate(end.unwrap_or(kept.len()));
        let mut live = vec![false; self.entries.len()];
        kept.into_iter().for_each(|at| live[at] = true);
        live
    }
}

/// The entries of a recording that its session no longer has.
#[derive(Debug, Default)]
pub struct GivenUp {
    numbers: HashSet<u64>,
}

impl GivenUp {
    /// Goes over a whole recording.
    pub fn of<R: Read>(mut reader: Reader<R>) -> Result<Self, WireError> {
        let mut outlines = Outlines::default();
        let mut numbers = Vec::new();
        while let Some(entry) = reader.next_entry()? {
            let tells = !entry.items.is_empty() || entry.id.is_some() || entry.back != Back::Nowhere;
            if tells && entry.subtask.is_none() {
                outlines.push(&entry);
                numbers.push(entry.number);
            }
        }
        let live = outlines.live(reader.format());
        let numbers = numbers.into_iter().zip(live).filter(|(_, live)| !live).map(|(number, _)| number).collect();
        Ok(Self { numbers })
    }

    /// Whether the session no longer has an entry.
    pub fn has(&self, entry: &Entry) -> bool {
        self.numbers.contains(&entry.number)
    }
}

fn hash(id: &str) -> IdHash {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    NonZeroU64::new(hasher.finish()).unwrap_or(NonZeroU64::MIN)
}
