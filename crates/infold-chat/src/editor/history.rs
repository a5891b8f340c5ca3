//! What was sent before, and where in it the person is looking.
//!
//! What must hold: whoever looks through it comes back to the draft that was left.

/// Texts that can be looked through; older ones are forgotten.
const ENTRIES_MAX: usize = 1_000;

/// Texts that were sent, the oldest first. The caller loads and saves them.
#[derive(Debug, Default)]
pub struct History {
    entries: Vec<String>,
    looking: Option<Looking>,
}

/// Somebody is looking at an entry.
#[derive(Debug)]
struct Looking {
    at: usize,
    /// What was in the input, with its marks of pastes.
    draft: String,
}

/// What to show next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HistoryText {
    /// A text that was sent.
    Entry(String),
    /// What was in the input before, with its marks of pastes.
    Draft(String),
}

impl History {
    /// A history with texts that were sent in earlier sessions, the oldest first.
    pub fn new(entries: Vec<String>) -> Self {
        let mut history = Self::default();
        entries.iter().for_each(|text| history.push(text));
        history
    }

    /// All texts, the oldest first.
    pub fn entries(&self) -> &[String] {
        &self.entries
    }

    /// Remembers a text, unless it is blank or the same as the last one.
    pub fn push(&mut self, text: &str) {
        let is_new = self.entries.last().is_none_or(|last| last != text);
        if is_new && !text.trim().is_empty() {
            self.entries.push(text.to_owned());
        }
        let over = self.entries.len().saturating_sub(ENTRIES_MAX);
        self.entries.drain(..over);
        self.looking = None;
    }

    /// The entry before the one that is shown; the input is kept as the draft when looking begins.
    pub(super) fn older(&mut self, shown: &str) -> Option<HistoryText> {
        let at = self.looking.as_ref().map_or(self.entries.len(), |looking| looking.at);
        let at = at.checked_sub(1)?;
        let entry = self.entries.get(at)?.clone();
        let draft = self.looking.take().map_or_else(|| shown.to_owned(), |looking| looking.draft);
        self.looking = Some(Looking { at, draft });
        Some(HistoryText::Entry(entry))
    }

    /// The entry after the one that is shown, and after the last one the draft.
    pub(super) fn newer(&mut self) -> Option<HistoryText> {
        let looking = self.looking.take()?;
        match self.entries.get(looking.at + 1) {
            Some(entry) => {
                self.looking = Some(Looking { at: looking.at + 1, ..looking });
                Some(HistoryText::Entry(entry.clone()))
            }
            None => Some(HistoryText::Draft(looking.draft)),
        }
    }

    /// The input was emptied: the draft is no longer wanted.
    pub(super) fn stop_looking(&mut self) {
        self.looking = None;
    }
}
