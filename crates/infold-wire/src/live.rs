//! Finds out which entries of a recording are still part of its session, and which were given up when a person went
//! back.
//!
//! Only a few bytes are held for each entry, so that a recording of any length can be read twice: once to learn what
//! was given up, and once more to use the rest.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::num::NonZeroU32;

use infold_core::transcript::Kind;

use crate::error::WireError;
use crate::form::Format;
use crate::numbers::EntryGroup;
use crate::reader::{Entry, KeptEntries, Reader, Undo};

/// A hash that replaces an id. With a million ids in a recording, the chance that two of them are mixed up is below one
/// in ten million.
type IdHash = u64;

/// The links between the entries of a session, a few bytes for each. Entries of subagents are not included. Entries are
/// named by their index.
#[derive(Debug, Default)]
pub(crate) struct Outlines {
    /// The first entry with each id.
    places: HashMap<IdHash, u32>,
    /// The parent of each entry, which always comes before it, as [`numbered`] stores it.
    parents: Vec<Option<NonZeroU32>>,
    /// The answer that each entry is a piece of; 0 if it is not part of an answer.
    answers: Vec<IdHash>,
    marks: Vec<Marks>,
    /// The entries that hold a compaction, each with the ids of the entries that it keeps.
    compactions: Vec<(usize, Vec<IdHash>)>,
    /// The entries that undo earlier ones, and what they undo.
    undos: HashMap<usize, Undo>,
}

/// What is remembered of one entry.
#[derive(Debug, Clone, Copy)]
struct Marks {
    is_prompt: bool,
    has_id: bool,
    has_items: bool,
    /// Whether an earlier entry has the same id.
    is_repeated: bool,
    /// Whether it continues what its parent began: results of calls, a further piece of the same answer, a compaction.
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
                KeptEntries::Nothing => Vec::new(),
                KeptEntries::From(id) => vec![hash(id)],
                KeptEntries::These(ids) => ids.iter().map(|id| hash(id)).collect(),
            };
            self.compactions.push((at, kept));
        }
        if entry.undoes != Undo::Nothing {
            self.undos.insert(at, entry.undoes.clone());
        }
        // An entry whose parent is not in the file follows the one before it.
        let parent = entry.parent.as_deref().map(|id| self.place(hash(id)).unwrap_or(at.saturating_sub(1)));
        self.parents.push(parent.filter(|parent| *parent < at).and_then(numbered));
        let is_repeated = entry.id.as_deref().is_some_and(|id| self.place(hash(id)).is_some());
        if let Some(id) = entry.id.as_deref().filter(|_| !is_repeated) {
            self.places.insert(hash(id), u32::try_from(at).unwrap_or(u32::MAX));
        }
        let answer = if let EntryGroup::Answer(id) = &entry.group { hash(id) } else { 0 };
        let is_piece = answer != 0 && self.parent(at).is_some_and(|parent| self.answers[parent] == answer);
        self.answers.push(answer);
        self.marks.push(Marks {
            is_prompt: entry.is_prompt,
            has_id: entry.id.is_some(),
            has_items: !entry.items.is_empty(),
            is_repeated,
            is_continued: is_piece || is_compaction || entry.group == EntryGroup::Results,
        });
    }

    /// The first entry with this id.
    pub(crate) fn place_of(&self, id: &str) -> Option<usize> {
        self.place(hash(id))
    }

    fn place(&self, id: IdHash) -> Option<usize> {
        self.places.get(&id).map(|place| *place as usize)
    }

    fn parent(&self, at: usize) -> Option<usize> {
        self.parents[at].map(|number| number.get() as usize - 1)
    }

    /// For each entry, whether it is still part of the session.
    pub(crate) fn live(&self, format: Format) -> Vec<bool> {
        match format {
            Format::ClaudeCode => self.on_the_path(),
            Format::Codex | Format::OpenCode => self.not_undone(),
            Format::Anthropic | Format::OpenAi | Format::Infold | Format::Normalized => vec![true; self.marks.len()],
        }
    }

    /// The same for entries that form a tree. The session is the path that leads to the last entry. Calls made at once
    /// make branches in the tree too, and those belong to the session. A branch is left behind if it begins with a
    /// person's turn, or beside a later turn, or with a compaction that the person undid by going back to before it. Of
    /// entries with the same id only the first counts.
    fn on_the_path(&self) -> Vec<bool> {
        let leads = self.leads();
        // The person's turns on the path, by the entries that they follow.
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

    /// For each entry of a tree, whether it is on the path to the last entry.
    pub(crate) fn leads(&self) -> Vec<bool> {
        let mut leads = vec![false; self.marks.len()];
        let mut next = self.marks.iter().rposition(|marks| marks.has_id && marks.has_items);
        while let Some(at) = next {
            leads[at] = true;
            next = self.parent(at);
        }
        leads
    }

    /// The compactions that a person undid: after each of them the session continues with a turn whose parent comes
    /// before the compaction and was not kept by it.
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

    /// The same for entries in a row: all except those that other entries undo.
    fn not_undone(&self) -> Vec<bool> {
        let mut live = vec![true; self.marks.len()];
        if self.undos.is_empty() {
            return live;
        }
        let mut kept: Vec<usize> = Vec::with_capacity(self.marks.len());
        let mut prompts: Vec<usize> = Vec::new();
        let mut until: Option<IdHash> = None;
        for (at, marks) in self.marks.iter().enumerate() {
            match self.undos.get(&at) {
                None | Some(Undo::Nothing) => {}
                Some(Undo::Turns(turns)) => {
                    let from = prompts.len().saturating_sub(*turns);
                    kept.truncate(prompts.get(from).copied().unwrap_or(kept.len()));
                    prompts.truncate(from);
                }
                Some(Undo::From(id)) => until = Some(hash(id)),
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

/// An index as a number that is never zero, so that an `Option` of it takes no more memory.
fn numbered(place: usize) -> Option<NonZeroU32> {
    NonZeroU32::new(u32::try_from(place).ok()?.checked_add(1)?)
}

/// The entries of a recording that are no longer part of its session, because a person went back and gave them up.
#[derive(Debug, Default)]
pub struct GivenUp {
    numbers: HashSet<u64>,
}

impl GivenUp {
    /// Reads a whole recording to find its given-up entries.
    pub fn of<R: Read>(mut reader: Reader<R>) -> Result<Self, WireError> {
        let mut outlines = Outlines::default();
        let mut numbers: Vec<u32> = Vec::new();
        while let Some(entry) = reader.next_entry()? {
            let is_needed = !entry.items.is_empty() || entry.id.is_some() || entry.undoes != Undo::Nothing;
            if is_needed && entry.subtask.is_none() {
                outlines.push(&entry);
                numbers.push(u32::try_from(entry.number).unwrap_or(u32::MAX));
            }
        }
        let live = outlines.live(reader.format());
        let gone = numbers.into_iter().zip(live).filter(|(_, live)| !live);
        let numbers = gone.map(|(number, _)| u64::from(number)).collect();
        Ok(Self { numbers })
    }

    /// Whether an entry of the same recording was given up.
    pub fn has(&self, entry: &Entry) -> bool {
        self.numbers.contains(&entry.number)
    }
}

fn hash(id: &str) -> IdHash {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
