//! Why a provider's cache missed, and the words for it. The engine finds the cause; this names it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{PartAuthor, PartKind};
use crate::Scrubbed;

/// A place in a prompt, by the part that is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whereabouts {
    /// The part's number, counted from 1.
    pub part: usize,
    /// How many parts the prompt has.
    pub parts: usize,
    /// What kind of part it is.
    pub what: PartKind,
    /// The tool or server that the part belongs to, if it belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Scrubbed>,
}

impl fmt::Display for Whereabouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.as_ref().map(Scrubbed::as_str);
        match (self.what, name) {
            (PartKind::System, _) => f.write_str("the system prompt")?,
            (PartKind::Tool, Some(server)) => write!(f, "a tool of {server}")?,
            (PartKind::Tool, None) => f.write_str("a tool of the client")?,
            (PartKind::User, _) => f.write_str("words on the user's side")?,
            (PartKind::Assistant, _) => f.write_str("the model's words")?,
            (PartKind::Call, _) => f.write_str("a call")?,
            (PartKind::Result, Some(tool)) => write!(f, "a result of {tool}")?,
            (PartKind::Result, None) => f.write_str("a result")?,
            (PartKind::Reasoning, _) => f.write_str("reasoning")?,
            (PartKind::Other, _) => f.write_str("a part of another kind")?,
        }
        write!(f, " (part {} of {})", self.part, self.parts)
    }
}

/// Why the cache did not give what it could have given: how the request goes on from the one before it in
/// its thread, or what else is known to make caches miss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Cause {
    /// The thread is new; only what it shares with another could have been read.
    FirstOfThread,
    /// infold has not seen the request before this one, because it was started since.
    NotSeen,
    /// The request before went to another model.
    ModelChanged {
        /// The model that answered the request before.
        from: Scrubbed,
    },
    /// The request before was longer ago than caches last.
    Lapsed {
        /// Time since the request before.
        idle_ms: u64,
    },
    /// The request goes back to an earlier point of its thread and goes on from there.
    CutBack {
        /// The first part that differs from the request before.
        place: Whereabouts,
    },
    /// Something in the middle of the prompt is different, with the same parts after it.
    Changed {
        /// The first part that differs from the request before.
        place: Whereabouts,
        /// Whether the client or infold changed the part.
        by: PartAuthor,
    },
    /// The request extends the one before it, and the provider had not cached that.
    NotCached,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FirstOfThread => f.write_str("first request of its thread"),
            Self::NotSeen => f.write_str("infold was started since the request before"),
            Self::ModelChanged { from } => write!(f, "the request before went to {}", from.as_str()),
            Self::Lapsed { idle_ms } => {
                write!(f, "the request before was {} min ago: the cache has lapsed", idle_ms / 60_000)
            }
            Self::CutBack { place } => write!(f, "went back to {place}"),
            Self::Changed { place, by: PartAuthor::Client } => write!(f, "the client changed {place}"),
            Self::Changed { place, by: PartAuthor::Infold } => write!(f, "infold changed {place}"),
            Self::NotCached => f.write_str("the previous request was not cached by the provider"),
        }
    }
}
