//! Works out what a model sees of each entry in each form: its size in tokens, and the atoms and lines in it.
//!
//! This is done once for each text and then remembered, because a policy asks for the same text again and again, and
//! policies share texts.

use std::collections::HashMap;

use infold_core::Counter;

use crate::forms::{PromptForm, sent};
use crate::thread::{EntryRole, ThreadEntry};
use crate::words::{ThreadWords, WholeLines, WordId};

/// The index of a text in [`SeenTexts`]. An entry's own text has the entry's index.
pub(crate) type SeenId = usize;

/// What a model sees of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SeenText {
    pub tokens: u64,
    pub atoms: Vec<WordId>,
    /// Of the atoms, those in a whole line of the thread; `None` if all of them are.
    pub strict_atoms: Option<Vec<WordId>>,
    pub lines: Vec<WordId>,
}

impl SeenText {
    /// The atoms that are in a whole line of the thread.
    pub fn strict_atoms(&self) -> &[WordId] {
        self.strict_atoms.as_deref().unwrap_or(&self.atoms)
    }
}

/// How closely a thread is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Sizes, atoms and lines are worked out.
    Closely,
    /// Only sizes are worked out, which is several times as fast.
    ForSizes,
}

/// The texts that are sent for the entries of one thread.
#[derive(Debug)]
pub(crate) struct SeenTexts {
    counter: Counter,
    look: Look,
    words: ThreadWords,
    whole_lines: WholeLines,
    all: Vec<SeenText>,
    /// For each entry, the other forms that were asked for.
    others: HashMap<usize, Vec<(PromptForm, SeenId)>>,
}

impl SeenTexts {
    /// Starts with the own texts of all entries.
    pub fn of(entries: &[ThreadEntry<'_>], counter: Counter, look: Look) -> Self {
        let all = Vec::with_capacity(entries.len());
        let (words, whole_lines) = (ThreadWords::default(), WholeLines::default());
        let mut texts = Self { counter, look, words, whole_lines, all, others: HashMap::new() };
        for entry in entries {
            let seen = texts.see(entry, entry.text);
            texts.all.push(seen);
            if look == Look::Closely {
                texts.whole_lines.add(&entry.readable(entry.text));
            }
        }
        texts
    }

    /// The id of the text that is sent for an entry in a form.
    pub fn id(&mut self, entries: &[ThreadEntry<'_>], at: usize, form: PromptForm) -> SeenId {
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

    /// Adds another text that is sent in place of an entry, and returns its id.
    pub fn id_as(&mut self, entry: &ThreadEntry<'_>, sent: &str) -> SeenId {
        let mut seen = self.see(entry, sent);
        if self.look == Look::Closely {
            seen.strict_atoms = Some(self.words.atoms_in_lines_of(&entry.readable(sent), &self.whole_lines));
        }
        self.all.push(seen);
        self.all.len() - 1
    }

    /// The counter of tokens for the thread's model.
    pub fn counter(&self) -> Counter {
        self.counter
    }

    pub fn get(&self, id: SeenId) -> &SeenText {
        &self.all[id]
    }

    /// The lines in a text that is not sent itself, such as the old text of an edit.
    pub fn lines(&mut self, text: &str) -> Vec<WordId> {
        match self.look {
            Look::Closely => self.words.lines(text),
            Look::ForSizes => Vec::new(),
        }
    }

    /// How many different atoms and lines there are so far.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    /// Works out what a model sees if `sent` is sent for an entry.
    fn see(&mut self, entry: &ThreadEntry<'_>, sent: &str) -> SeenText {
        let tokens = match entry.role {
            EntryRole::Other => self.counter.count_other(sent),
            _ => self.counter.count(sent) + self.counter.count(entry.name()),
        };
        match self.look {
            Look::ForSizes => SeenText { tokens, ..SeenText::default() },
            Look::Closely => {
                let readable = entry.readable(sent);
                let (atoms, lines) = (self.words.atoms(&readable), self.words.lines(&readable));
                SeenText { tokens, atoms, strict_atoms: None, lines }
            }
        }
    }
}
