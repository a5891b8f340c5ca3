//! Entries: what was said in a thread of the agent's, in the order in which its model sees it.
//!
//! What must hold: an entry is scrubbed before it is one, so that the log and the requests have the same words; a result
//! names a call in front of it; entries are only ever appended.

use infold_core::Counter;
use infold_core::transcript::{CallOutcome, HeldContent, Kind, Voice};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::image::AttachedImage;

/// One entry of a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ThreadEntry {
    /// Words on the user's side.
    User {
        /// The words, as the model sees them.
        text: String,
        /// Whose words they are.
        by: SpokenBy,
        /// Images that were sent with them. The text names each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<AttachedImage>,
    },
    /// What the model said.
    Assistant {
        /// The model's words, without calls and reasoning.
        text: String,
    },
    /// What the model thought, as its provider wants it back. It is sent to no other model.
    Reasoning {
        /// The provider's own block or item, unchanged.
        sealed: Value,
        /// Which model made it.
        model: String,
    },
    /// The model calls a tool.
    Call {
        /// The id that its result names.
        id: String,
        /// The tool.
        tool: String,
        /// What it was called with: an object, or a string if the model wrote no valid JSON.
        arguments: Value,
    },
    /// What a tool gave for a call.
    Result {
        /// The id of the call.
        call: String,
        /// The tool.
        tool: String,
        /// What the model is shown, before the engine shapes it.
        text: String,
        /// How the call went.
        outcome: ResultOutcome,
    },
}

/// Whose words on the user's side are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpokenBy {
    /// A person's.
    Person,
    /// A person's, pinned: they stay word for word whatever is compacted.
    PersonPinned,
    /// The agent's own: a brief, a summary, a note.
    Agent,
}

/// How a call of a tool went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultOutcome {
    /// It did what it was asked for.
    Succeeded,
    /// It failed, or was refused; the text says why.
    Failed,
}

impl ThreadEntry {
    /// Words on the user's side, without images.
    pub fn user(text: impl Into<String>, by: SpokenBy) -> Self {
        Self::User { text: text.into(), by, images: Vec::new() }
    }

    /// The images that were sent with it.
    pub fn images(&self) -> &[AttachedImage] {
        match self {
            Self::User { images, .. } => images,
            Self::Assistant { .. } | Self::Reasoning { .. } | Self::Call { .. } | Self::Result { .. } => &[],
        }
    }

    /// Whether it is the model's side.
    pub(crate) fn is_models(&self) -> bool {
        match self {
            Self::Assistant { .. } | Self::Reasoning { .. } | Self::Call { .. } => true,
            Self::User { .. } | Self::Result { .. } => false,
        }
    }

    /// The same as an item of a transcript.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::User { text, by, .. } => {
                let voice = match by {
                    SpokenBy::Person | SpokenBy::PersonPinned => Voice::Person,
                    SpokenBy::Agent => Voice::Client,
                };
                Kind::User { text: text.clone(), voice }
            }
            Self::Assistant { text } => Kind::Assistant { text: text.clone() },
            Self::Reasoning { sealed, .. } => {
                Kind::Reasoning { text: String::new(), sealed_bytes: sealed.to_string().len() }
            }
            Self::Call { id, tool, arguments } => {
                Kind::Call { id: id.clone(), tool: tool.clone(), input: arguments.to_string() }
            }
            Self::Result { call, tool, text, outcome } => Kind::Result {
                id: call.clone(),
                tool: tool.clone(),
                text: text.clone(),
                outcome: match outcome {
                    ResultOutcome::Succeeded => CallOutcome::Succeeded,
                    ResultOutcome::Failed => CallOutcome::Failed,
                },
                held: HeldContent::Whole,
            },
        }
    }

    /// What it takes of a prompt.
    pub(crate) fn tokens(&self, counter: &Counter) -> u64 {
        let place = infold_core::transcript::ItemPosition::default();
        let words = counter.count_item(&infold_core::transcript::Item { place, message: 0, kind: self.kind() });
        words + self.images().iter().map(|image| image.tokens(counter)).sum::<u64>()
    }
}
