//! Which entries of a recording its session still has, and which were given up when a person went back.
//!
//! It is found out from a few bytes for each entry, so that a recording of any length can be gone over twice: once
//! to learn what was given up, and once more to read the rest.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::num::NonZeroU32;

use infold_core::transcript::Kind;

use crate::error::WireError;
use crate::form::Format;
use crate::numbers::Group;
use crate::reader::{Back, Entry, KeptBytes, Reader};

/// An id, by a hash: of a million in one recording, the chance that two are taken for one another is below one in
/// ten million.
type IdHash = u64;

/// What is kept of a session's own entries, a few bytes for each, without those of other agents.
#[derive(Debug, Default)]
pub(crate) struct Outlines {
    /// Where the entry with each id stands first.
    places: HashMap<IdHash, u32>,
    /// Where each entry's parent stands, always before it.
    parents: Vec<Option<NonZeroU32>>,
    /// The answer that each entry is a piece of; 0 for none.
    answers: Vec<IdHash>,
    marks: Vec<Marks>,
    /// Which entries hold a compaction, and what it keeps by name.
    compactions: Vec<(usize, Vec<IdHash>)>,
    /// Which entries take something back.
    backs: HashMap<usize, Back>,
}

/// What an entry is.
#[derive(Debug, Clone, Copy)]
struct Marks {
    is_prompt: bool,
    has_id: bool,
    has_items: bool,
    /// Whether an entry with its id stands before it.
    is_repeated: bool,
    /// Whether it goes on with what its parent began: results of calls, a further piece of the same answer, a compaction.
    is_continued: bool,
}

impl Outlines {
    pub(crate) fn of<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> Self {
        let mut outlines = Self::default();
        entries.into_iter().for_each(|entry| outlines.push(entry));
        outlines
    }

    pub(crate) fn push(&mut self, entry: &Entry) {
        let at = self.marks.len();
        let is_compaction = entry.items.iter().any(|item| matches!(item.kind, Kind::Compaction { .. }));
        if is_compaction {
            let kept = match &entry.kept {
                KeptBytes::Nothing => Vec::new(),
                KeptBytes::From(id) => vec![hash(id)],
                KeptBytes::These(ids) => ids.iter().map(|id| hash(id)).collect(),
            };
            self.compactions.push((at, kept));
        }
        if entry.back != Back::Nowhere {
            self.backs.insert(at, entry.back.clone());
        }
        // An entry whose parent is not in the file follows the one before it.
        let parent = entry.parent.as_deref().map(|id| self.place(hash(id)).unwrap_or(at.saturating_sub(1)));
        self.parents.push(parent.filter(|parent| *parent < at).and_then(numbered));
        let is_repeated = entry.id.as_deref().is_some_and(|id| self.place(hash(id)).is_some());
        if let Some(id) = entry.id.as_deref().filter(|_| !is_repeated) {
            self.places.insert(hash(id), u32::try_from(at).unwrap_or(u32::MAX));
        }
        let answer = if let Group::Answer(id) = &entry.group { hash(id) } else { 0 };
        let is_piece = answer != 0 && self.parent(at).is_some_and(|parent| self.answers[parent] == answer);
        self.answers.push(answer);
        self.marks.push(Marks {
            is_prompt: entry.is_prompt,
            has_id: entry.id.is_some(),
            has_items: !entry.items.is_empty(),
            is_repeated,
            is_continued: is_piece || is_compaction || entry.group == Group::Results,
        });
    }

    /// Where the entry with an id stands.
    pub(crate) fn place_of(&self, id: &str) -> Option<usize> {
        self.place(hash(id))
    }

    fn place(&self, id: IdHash) -> Option<usize> {
        self.places.get(&id).map(|place| *place as usize)
    }

    fn parent(&self, at: usize) -> Option<usize> {
        self.parents[at].map(|number| number.get() as usize - 1)
    }

    /// For each entry whether the session still has it.
    pub(crate) fn live(&self, format: Format) -> Vec<bool> {
        match format {
            Format::ClaudeCode => self.on_the_way(),
            Format::Codex | Format::OpenCode => self.not_taken_back(),
            Format::Anthropic | Format::OpenAi | Format::Infold | Format::Normalized => vec![true; self.marks.len()],
        }
    }

    /// Where entries form a tree: the session is what leads to its last entry. Calls made at once make branches too,
    /// and those belong to it; left behind is a branch that begins with a person's turn, or beside a later one, or with
    /// a compaction if the person went back to before it. An entry that stands twice counts once.
    fn on_the_way(&self) -> Vec<bool> {
        let leads = self.leads();
        // The turns of the person's that the session goes on with, by the entries that they follow.
        let turns: HashMap<usize, usize> = (0..leads.len())
            .filter(|at| leads[*at] && self.marks[*at].is_prompt)
            .filter_map(|at| Some((self.parent(at)?, at)))
            .collect();
        let undone = self.undone_compactions(&leads);
        let mut left_behind = vec![false; self.marks.len()];
        for (at, marks) in self.marks.iter().enumerate() {
            let parent = self.parent(at);
            let is_beside = parent.and_then(|parent| turns.get(&parent)).is_some_and(|turn| *turn > at);
            let begins = marks.has_id && (marks.is_prompt || (is_beside && !marks.is_continued));
            let follows = parent.is_some_and(|parent| left_behind[parent]);
            left_behind[at] = !leads[at] && (begins || follows || undone.contains(&at));
        }
        left_behind.iter().zip(&self.marks).map(|(left_behind, marks)| !left_behind && !marks.is_repeated).collect()
    }

    /// For each entry of a tree whether it leads to the last one.
    pub(crate) fn leads(&self) -> Vec<bool> {
        let mut leads = vec![false; self.marks.len()];
        let mut next = self.marks.iter().rposition(|marks| marks.has_id && marks.has_items);
        while let Some(at) = next {
            leads[at] = true;
            next = self.parent(at);
        }
        leads
    }

    /// The compactions that a person went back to before: the session goes on, behind each, with a turn that follows
    /// something in front of it which it did not keep.
    fn undone_compactions(&self, leads: &[bool]) -> HashSet<usize> {
        let mut undone = HashSet::new();
        let (mut goes_on, mut seen_from) = (None, leads.len());
        for (at, kept) in self.compactions.iter().rev() {
            goes_on = (at + 1..seen_from).find(|next| leads[*next]).or(goes_on);
            seen_from = at + 1;
            let turn = goes_on.filter(|next| self.marks[*next].is_prompt && !leads[*at]);
            let follows = turn.and_then(|next| self.parent(next)).filter(|parent| parent < at);
            let is_kept = |parent: usize| kept.iter().any(|id| self.place(*id) == Some(parent));
            if follows.is_some_and(|parent| !is_kept(parent)) {
                undone.insert(*at);
            }
        }
        undone
    }

    /// Where entries stand in a row: less what others say was taken back.
    fn not_taken_back(&self) -> Vec<bool> {
        let mut live = vec![true; self.marks.len()];
        if self.backs.is_empty() {
            return live;
        }
        let mut kept: Vec<usize> = Vec::with_capacity(self.marks.len());
        let mut prompts: Vec<usize> = Vec::new();
        let mut until: Option<IdHash> = None;
        for (at, marks) in self.marks.iter().enumerate() {
            match self.backs.get(&at) {
                None | Some(Back::Nowhere) => {}
                Some(Back::Turns(turns)) => {
                    let from = prompts.len().saturating_sub(*turns);
                    kept.truncate(prompts.get(from).copied().unwrap_or(kept.len()));
                    prompts.truncate(from);
                }
                Some(Back::To(id)) => until = Some(hash(id)),
            }
            if marks.is_prompt {
                prompts.push(kept.len());
            }
            kept.push(at);
        }
        let end = until.and_then(|id| self.place(id)).and_then(|place| kept.iter().position(|at| *at == place));
        kept.truncate(end.unwrap_or(kept.len()));
        live.fill(false);
        kept.into_iter().for_each(|at| live[at] = true);
        live
    }
}

/// A place as a number that is never nothing.
fn numbered(place: usize) -> Option<NonZeroU32> {
    NonZeroU32::new(u32::try_from(place).ok()?.checked_add(1)?)
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
        let mut numbers: Vec<u32> = Vec::new();
        while let Some(entry) = reader.next_entry()? {
            let tells = !entry.items.is_empty() || entry.id.is_some() || entry.back != Back::Nowhere;
            if tells && entry.subtask.is_none() {
                outlines.push(&entry);
                numbers.push(u32::try_from(entry.number).unwrap_or(u32::MAX));
            }
        }
        let live = outlines.live(reader.format());
        let gone = numbers.into_iter().zip(live).filter(|(_, live)| !live);
        let numbers = gone.map(|(number, _)| u64::from(number)).collect();
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
    hasher.finish()
}
