//! What is drawn of a session and its branches, as plain values.

use super::style::{Style, Tone};

/// The state of a branch, with its word, tone and symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It is recorded and has not worked yet.
    Created,
    /// It is open and at work.
    Active,
    /// It has folded.
    Completed,
    /// It ran out of budget or time.
    Timeout,
    /// It could not do what it was asked.
    Failed,
    /// A rollback went back to a point before it was opened.
    Discarded,
}

impl Mark {
    /// The state in one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Active => "active",
            Self::Completed => "completed",
            Self::Timeout => "timeout",
            Self::Failed => "failed",
            Self::Discarded => "discarded",
        }
    }

    /// The tone of the word and the symbol.
    pub fn tone(self) -> Tone {
        match self {
            Self::Created | Self::Active => Tone::Busy,
            Self::Completed => Tone::Good,
            Self::Timeout => Tone::Warn,
            Self::Failed => Tone::Bad,
            Self::Discarded => Tone::Faint,
        }
    }

    /// The state as one character, which the style's character set has.
    pub fn symbol(self, style: &Style) -> &'static str {
        match self {
            Self::Created => style.either("○", "o"),
            Self::Active => style.either("●", "*"),
            Self::Completed => style.either("✓", "+"),
            Self::Timeout => style.either("⧗", "!"),
            Self::Failed => style.either("✗", "x"),
            Self::Discarded => style.either("↶", "<"),
        }
    }
}

/// What is drawn of a branch.
#[derive(Debug, Clone)]
pub struct BranchView {
    pub id: String,
    /// The branch that opened it; `None` for the main thread.
    pub parent: Option<String>,
    /// What the branch is for, in the model's words.
    pub description: String,
    pub mark: Mark,
    /// Tokens it has used.
    pub used_tokens: u64,
    /// Tokens it may use.
    pub budget_tokens: u64,
    /// How many memories it was given.
    pub memories: usize,
    /// How often it has been opened: once, and once more with each rollback.
    pub generation: u32,
    pub opened_at_ms: u64,
    /// When it ended; `None` while it is open.
    pub ended_at_ms: Option<u64>,
    /// When it is folded by force if it is still open.
    pub deadline_ms: u64,
    /// Why it ended, or that it is the one at work; `None` if the state says enough.
    pub reason: Option<String>,
    /// The message that it gave its parent; `None` while it is open.
    pub message: Option<String>,
}

/// What is drawn above a session's branches.
#[derive(Debug, Clone)]
pub struct HeadView {
    pub id: String,
    /// Its agent, if that is known.
    pub agent: Option<String>,
    /// The folder that the agent works in, if that is known.
    pub folder: Option<String>,
    /// The first words of a person in it, if they are known.
    pub first_words: Option<String>,
    /// Its project, if it has one.
    pub project: Option<String>,
    /// The session it was forked from, if it was.
    pub forked_from: Option<String>,
    /// Whether it is active, ended or only recorded, in a word.
    pub state: String,
    /// When something last happened in it.
    pub active_at_ms: u64,
    /// How full its main thread is, if that is known.
    pub main: Option<MainView>,
}

/// How full a main thread is.
#[derive(Debug, Clone)]
pub struct MainView {
    /// Tokens that it takes.
    pub used_tokens: u64,
    /// Tokens that it should stay below.
    pub limit_tokens: u64,
    /// Notes on it, such as the model, and in words how full it is.
    pub about: Vec<String>,
}

/// A memory in a drawing.
#[derive(Debug, Clone)]
pub struct MemoryView {
    pub id: String,
    /// Its title; `None` if it was forgotten since.
    pub title: Option<String>,
    /// Notes on it, such as how many branches were given it.
    pub about: Vec<String>,
}

/// What a session was given of memories, and what was learnt from it.
#[derive(Debug, Clone, Default)]
pub struct MemoriesView {
    /// How many memories branches were given, counted for each branch.
    pub given: usize,
    /// How many branches were given some.
    pub branches: usize,
    /// The tokens of what they were given.
    pub tokens: u64,
    /// The memories that were given, each once.
    pub given_memories: Vec<MemoryView>,
    /// The memories that were made from the session.
    pub learnt_memories: Vec<MemoryView>,
    /// How many of those wait for review.
    pub waiting: usize,
}

/// What is drawn of a session with its branches.
#[derive(Debug, Clone)]
pub struct SessionView {
    pub head: HeadView,
    /// Tokens of branches' work that left the prompts.
    pub folded_tokens: u64,
    /// Tokens of the messages that replaced them.
    pub returned_tokens: u64,
    /// Its branches, in the order they were opened.
    pub branches: Vec<BranchView>,
}
