//! What is seen of each entry in each form: its size, and what can be recognised in it.
//!
//! A sight is worked out once and kept: the same policy asks for it again and again, and several
//! policies share some.

use std::collections::HashMap;

use infold_core::Counter;

use crate::forms::{PromptForm, sent};
use crate::thread::{EntryRole, ThreadEntry};
use crate::words::{PageWords, WholeLines, WordId};

/// Which sight. The sight of an entry as it is has the entry's own number.
pub(crate) type SightId = usize;

/// What is seen of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SeenResult {
    pub tokens: u64,
    pub atoms: Vec<WordId>,
    /// Of the atoms, those in a whole line of the thread; nothing where all of them are.
    pub strict_atoms: Option<Vec<WordId>>,
    pub lines: Vec<WordId>,
}

impl SeenResult {
    /// The atoms that are seen in a whole line of their own.
    pub fn strict_atoms(&self) -> &[WordId] {
        self.strict_atoms.as_deref().unwrap_or(&self.atoms)
    }
}

/// How closely a thread is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Sizes, and what can be recognised.
    Closely,
    /// Sizes only, which is several times as fast.
    ForSizes,
}

/// The sights of one thread's entries.
#[derive(Debug)]
pub(crate) struct Sights {
    counter: Counter,
    look: Look,
    words: PageWords,
    whole_lines: WholeLines,
    all: Vec<SeenResult>,
    /// Of each entry, the other forms that were asked for.
    others: HashMap<usize, Vec<(PromptForm, SightId)>>,
}

impl Sights {
    /// The sights of entries as they are.
    pub fn of(entries: &[ThreadEntry<'_>], counter: Counter, look: Look) -> Self {
        let all = Vec::with_capacity(entries.len());
        let (words, whole_lines) = (PageWords::default(), WholeLines::default());
        let mut sights = Self { counter, look, words, whole_lines, all, others: HashMap::new() };
        for entry in entries {
            let sight = sights.see(entry, entry.text);
            sights.all.push(sight);
            if look == Look::Closely {
                sights.whole_lines.add(&entry.readable(entry.text));
            }
        }
        sights
    }

    /// What is seen of an entry in a form.
    pub fn id(&mut self, entries: &[ThreadEntry<'_>], at: usize, form: PromptForm) -> SightId {
        if form == PromptForm::Whole {
            return at;
        }
        let known = self.others.get(&at).and_then(|forms| forms.iter().find(|(known, _)| *known == form));
        if let Some(&(_, id)) = known {
            return id;
        }
        let entry = &entries[at];
        let id = match sent(entry, form) {
            None => at,
            Some(sent) => self.id_as(entry, &sent),
        };
        self.others.entry(at).or_default().push((form, id));
        id
    }

    /// What is seen of an entry when some other text is sent in its place.
    pub fn id_as(&mut self, entry: &ThreadEntry<'_>, sent: &str) -> SightId {
        let mut sight = self.see(entry, sent);
        if self.look == Look::Closely {
            sight.strict_atoms = Some(self.words.atoms_in_lines_of(&entry.readable(sent), &self.whole_lines));
        }
        self.all.push(sight);
        self.all.len() - 1
    }

    /// Whose tokens are counted.
    pub fn counter(&self) -> Counter {
        self.counter
    }

    pub fn get(&self, id: SightId) -> &SeenResult {
        &self.all[id]
    }

    /// The lines of a text that is not an entry's own.
    pub fn lines(&mut self, text: &str) -> Vec<WordId> {
        match self.look {
            Look::Closely => self.words.lines(text),
            Look::ForSizes => Vec::new(),
        }
    }

    /// How many different words there are so far.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// What is seen of an entry when `sent` is sent of it.
    fn see(&mut self, entry: &ThreadEntry<'_>, sent: &str) -> SeenResult {
        let tokens = match entry.role {
            EntryRole::Other => self.counter.count_other(sent),
            _ => self.counter.count(sent) + self.counter.count(entry.name()),
        };
        match self.look {
            Look::ForSizes => SeenResult { tokens, ..SeenResult::default() },
            Look::Closely => {
                let readable = entry.readable(sent);
                let (atoms, lines) = (self.words.atoms(&readable), self.words.lines(&readable));
                SeenResult { tokens, atoms, strict_atoms: None, lines }
            }
        }
    }
}
