//! Parts of a prompt in their order, and the first part in which one prompt differs from another.
//!
//! A cache reads a prompt only up to the first part that differs, so this says how much it could have given.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::TextSize;
use crate::view::BlockKey;

/// What kind of content a part of a prompt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// The system prompt, or instructions among the messages.
    System,
    /// The definition of a tool; its name is that of the server it comes from.
    Tool,
    /// Words on the user's side: a person's, or the client's in a message of the user.
    User,
    /// The model's words, without calls and reasoning.
    Assistant,
    /// A call of a tool by the model.
    Call,
    /// What a call gave; its name is that of the tool.
    Result,
    /// The model's reasoning, readable or sealed.
    Reasoning,
    /// An image, a document, or anything else.
    Other,
}

/// Who wrote a part of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartAuthor {
    /// The client; the part is as it came.
    Client,
    /// infold, which added the part or replaced one of the client's.
    Infold,
}

/// One part of a prompt: a definition of a tool, or a block of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What kind of content it is.
    pub kind: PartKind,
    /// The server or tool that it belongs to; not scrubbed.
    pub name: Option<Arc<str>>,
    /// A hash of its content: parts with the same key are the same.
    pub key: BlockKey,
    /// How large it is, for a counter of any family; with the frame of a call or message.
    pub size: TextSize,
    /// Whether the client or infold wrote it.
    pub by: PartAuthor,
}

impl Part {
    /// The first bytes of its key, which is all that is remembered of a prompt to compare the next one with.
    pub fn mark(&self) -> u64 {
        let mut head = [0; 8];
        head.copy_from_slice(&self.key.0[..8]);
        u64::from_le_bytes(head)
    }
}

/// How a prompt goes on from the one before it in its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Divergence {
    /// It begins with all of the earlier prompt.
    Extends,
    /// It goes back to an earlier point, and nothing that came after that point is in it.
    CutBack {
        /// How many parts both prompts begin with.
        shared: usize,
    },
    /// Something in the middle is different, and parts that came after it are still there.
    Changed {
        /// How many parts both prompts begin with.
        shared: usize,
    },
}

impl Divergence {
    /// How many parts both prompts begin with, where the earlier one had `before` parts.
    pub fn shared(self, before: usize) -> usize {
        match self {
            Self::Extends => before,
            Self::CutBack { shared } | Self::Changed { shared } => shared,
        }
    }
}

/// Says how the prompt `now` goes on from an earlier one, of whose parts only the marks are known.
pub fn diverge(before: &[u64], now: &[Part]) -> Divergence {
    let shared = before.iter().zip(now).take_while(|(mark, part)| **mark == part.mark()).count();
    if shared == before.len() {
        return Divergence::Extends;
    }
    let behind: HashSet<u64> = before[shared..].iter().copied().collect();
    let is_still_there = now[shared..].iter().any(|part| behind.contains(&part.mark()));
    if is_still_there { Divergence::Changed { shared } } else { Divergence::CutBack { shared } }
}
