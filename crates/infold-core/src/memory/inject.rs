//! What a branch that opens is given of memories: as many as fit, as one quoted text that never changes afterwards.
//!
//! Invariants: the text takes no more tokens than its room, and never so many that the branch's brief would not fit;
//! without room there is no text.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::quote::{Note, QuoteCode, QuoteKey, quote};
use super::{InjectionRules, MemoryId};
use crate::{BranchId, Counter, Scrubbed};

/// A memory as a branch is shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownMemory {
    /// Its name.
    pub id: MemoryId,
    /// What infold says of it: its name, numbers and words of infold's own.
    pub header: String,
    /// The lesson in a line.
    pub title: Scrubbed,
    /// The lesson in a few sentences.
    pub lesson: Scrubbed,
}

/// Memories that a branch may be given, the best first.
#[derive(Debug, Clone)]
pub struct Injection {
    /// The memories, the best first.
    pub memories: Vec<ShownMemory>,
    /// How much of them may be shown.
    pub rules: InjectionRules,
    /// The key for the code that closes the quotation.
    pub key: QuoteKey,
}

/// What the opening of a branch says about memories.
#[derive(Debug, Clone)]
pub enum OpeningMemories {
    /// There are none for it.
    Nothing,
    /// As many of these as fit.
    Fitting(Injection),
    /// This text, which the branch was given when it was opened before.
    Given(Scrubbed),
}

/// What a branch was given when it opened. It is repeated byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InjectedContext {
    /// The quoted text.
    pub text: Scrubbed,
    /// Its tokens, by infold's own count.
    pub tokens: u64,
    /// The memories in it, in their order.
    pub memories: Vec<MemoryId>,
}

impl OpeningMemories {
    /// What a branch with this budget is given, if its own brief takes `brief_tokens` of it.
    pub(crate) fn given(
        &self,
        branch: &BranchId,
        budget_tokens: u64,
        brief_tokens: u64,
        counter: &Counter,
    ) -> Option<InjectedContext> {
        match self {
            Self::Nothing => None,
            Self::Given(text) => {
                let memories = named_in(text.as_str());
                Some(InjectedContext { tokens: counter.count(text.as_str()), text: text.clone(), memories })
            }
            Self::Fitting(injection) => injection.fit(branch, budget_tokens, brief_tokens, counter),
        }
    }
}

impl Injection {
    fn fit(
        &self,
        branch: &BranchId,
        budget_tokens: u64,
        brief_tokens: u64,
        counter: &Counter,
    ) -> Option<InjectedContext> {
        let share_tokens = (budget_tokens as f64 * self.rules.budget_ratio) as u64;
        let left_tokens = budget_tokens.saturating_sub(brief_tokens + 1);
        let room_tokens = share_tokens.min(self.rules.tokens_max).min(left_tokens);
        let most = self.memories.len().min(self.rules.items_max);
        InjectedContext::fitting(&self.memories[..most], (&self.key, branch.as_str()), room_tokens, counter)
    }
}

impl InjectedContext {
    /// As many of the first of these as fit, quoted with the key for a reader; `None` if not even the first does.
    pub fn fitting(
        memories: &[ShownMemory],
        (key, reader): (&QuoteKey, &str),
        room_tokens: u64,
        counter: &Counter,
    ) -> Option<Self> {
        (1..=memories.len()).rev().find_map(|count| {
            let memories = &memories[..count];
            let notes: Vec<Note<'_>> = memories.iter().map(ShownMemory::note).collect();
            let text = Scrubbed::composed(quote(&notes, &QuoteCode::of(key, reader, &notes)));
            let tokens = counter.count(text.as_str());
            let ids = memories.iter().map(|memory| memory.id.clone()).collect();
            (tokens <= room_tokens).then_some(Self { text, tokens, memories: ids })
        })
    }
}

impl ShownMemory {
    /// The memory as a note to be quoted.
    pub fn note(&self) -> Note<'_> {
        Note { header: &self.header, title: self.title.as_str(), lesson: self.lesson.as_str() }
    }
}

/// The memories whose headers are in a quoted text.
fn named_in(text: &str) -> Vec<MemoryId> {
    let headers = text.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" · "));
    headers.filter_map(|(id, _)| MemoryId::parse(id)).collect()
}
