//! Parts of a prompt in their order, and where one prompt leaves the way of another.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::view::BlockKey;

/// What a part of a prompt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// The system prompt, or instructions among the messages.
    System,
    /// The definition of a tool; its name is that of the server it comes from.
    Tool,
    /// Words on the user's side.
    User,
    /// The model's words.
    Assistant,
    /// A call.
    Call,
    /// What a call gave; its name is that of the tool.
    Result,
    /// The model's reasoning.
    Reasoning,
    /// Anything else.
    Other,
}

/// Who put a part there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The client.
    Client,
    /// infold.
    Infold,
}

/// One part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// The server or tool that it belongs to; not scrubbed.
    pub name: Option<Arc<str>>,
    /// What tells it from others.
    pub key: BlockKey,
    /// Its tokens in the vocabulary: a counter scales them for a family of models.
    pub vocabulary_tokens: u64,
    /// Who put it there.
    pub by: By,
}

impl Part {
    /// What is kept of its key to compare it with later ones.
    pub fn mark(&self) -> u64 {
        let mut head = [0; 8];
        head.copy_from_slice(&self.key.0[..8]);
        u64::from_le_bytes(head)
    }
}

/// How a prompt goes on from the one before it in its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Divergence {
    /// It has all of it, and more behind.
    Extends,
    /// It goes back to an earlier point and goes on from there.
    CutBack {
        /// Parts that both have.
        shared: usize,
    },
    /// Something in the middle is not as it was, and what stood behind it is still there.
    Changed {
        /// Parts that both have.
        shared: usize,
    },
}

impl Divergence {
    /// Parts that both prompts begin with.
    pub fn shared(self, before: usize) -> usize {
        match self {
            Self::Extends => before,
            Self::CutBack { shared } | Self::Changed { shared } => shared,
        }
    }
}

/// Says how `now` goes on from a prompt of which the marks are known.
pub fn diverge(before: &[u64], now: &[Part]) -> Divergence {
    let shared = before.iter().zip(now).take_while(|(mark, part)| **mark == part.mark()).count();
    if shared == before.len() {
        return Divergence::Extends;
    }
    let behind: HashSet<u64> = before[shared..].iter().copied().collect();
    let is_still_there = now[shared..].iter().any(|part| behind.contains(&part.mark()));
    if is_still_there { Divergence::Changed { shared } } else { Divergence::CutBack { shared } }
}
