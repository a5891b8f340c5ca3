//! A session and its branches, as far as people are shown them.

use super::style::{Style, Tone};

/// What state a branch is in, for the eye.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Recorded.
    Created,
    /// At work.
    Active,
    /// Folded.
    Completed,
    /// Out of budget or time.
    Timeout,
    /// Could not do what it was asked.
    Failed,
    /// A rollback went back to before it.
    Discarded,
}

impl Mark {
    /// The state in a word.
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

    /// The tone it is told in.
    pub fn tone(self) -> Tone {
        match self {
            Self::Created | Self::Active => Tone::Busy,
            Self::Completed => Tone::Good,
            Self::Timeout => Tone::Warn,
            Self::Failed => Tone::Bad,
            Self::Discarded => Tone::Faint,
        }
    }

    /// The state as a symbol.
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

/// A branch, as far as it is drawn.
#[derive(Debug, Clone)]
pub struct BranchView {
    /// Its id.
    pub id: String,
    /// The branch that opened it; `None` for the main thread.
    pub parent: Option<String>,
    /// What it is for.
    pub description: String,
    /// Its state.
    pub mark: Mark,
    /// Tokens it has used.
    pub used_tokens: u64,
    /// Tokens it may use.
    pub budget_tokens: u64,
    /// How often it has been opened.
    pub generation: u32,
    /// When it opened.
    pub opened_at_ms: u64,
    /// When it ended.
    pub ended_at_ms: Option<u64>,
    /// When its time is over.
    pub deadline_ms: u64,
    /// Why it ended, or what else is to be said of its state.
    pub reason: Option<String>,
    /// What it handed back.
    pub message: Option<String>,
}

/// What a session is headed with.
#[derive(Debug, Clone)]
pub struct HeadView {
    /// Its name.
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
    /// When something last happened.
    pub active_at_ms: u64,
    /// How full its main thread is, if that is known.
    pub main: Option<MainView>,
}

/// How full a main thread is.
#[derive(Debug, Clone)]
pub struct MainView {
    /// Its tokens.
    pub used_tokens: u64,
    /// Tokens that it should stay below.
    pub limit_tokens: u64,
    /// What else there is to say of it, such as the model and how full that is in a word.
    pub about: Vec<String>,
}

/// A session with its branches, as far as it is drawn.
#[derive(Debug, Clone)]
pub struct SessionView {
    /// What it is headed with.
    pub head: HeadView,
    /// Tokens that were folded away.
    pub folded_tokens: u64,
    /// Tokens of the messages that came back instead.
    pub returned_tokens: u64,
    /// Its branches, in the order they were opened.
    pub branches: Vec<BranchView>,
}
