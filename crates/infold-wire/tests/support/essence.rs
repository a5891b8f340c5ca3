//! What of a transcript is the same in every form.
//!
//! Forms number places and messages in their own ways, and some cannot tell a client's words from a person's. Two
//! transcripts say the same if their essences are equal: the same items in the same order, with the same texts, ids,
//! tools, inputs and outcomes.

use infold_core::transcript::{CallOutcome, HeldContent, Item, Kind};

/// What one item says, whichever form says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Essence {
    System(String),
    /// Words of a user message, whether the person's or the client's.
    User(String),
    Assistant(String),
    /// The model's thoughts, as far as they can be read.
    Reasoning(String),
    Call {
        id: String,
        tool: String,
        /// What it was called with; JSON without space between its parts.
        input: String,
    },
    Result {
        /// The id of its call.
        id: String,
        tool: String,
        text: String,
        outcome: CallOutcome,
        /// Whether the model still sees it.
        held: HeldContent,
    },
    /// A compaction, with its summary if there is one.
    Compaction(Option<String>),
    /// Calls whose results were cleared.
    Clearing(Vec<String>),
    /// Other content, as JSON without space between its parts.
    Other(String),
}

/// What these items say, without what differs between forms.
pub fn essence(items: &[Item]) -> Vec<Essence> {
    items.iter().map(|item| of(&item.kind)).collect()
}

fn of(kind: &Kind) -> Essence {
    match kind.clone() {
        Kind::System { text } => Essence::System(text),
        Kind::User { text, .. } => Essence::User(text),
        Kind::Assistant { text } => Essence::Assistant(text),
        Kind::Reasoning { text, .. } => Essence::Reasoning(text),
        Kind::Call { id, tool, input } => Essence::Call { id, tool, input: dense(input) },
        Kind::Result { id, tool, text, outcome, held } => Essence::Result { id, tool, text, outcome, held },
        Kind::Compaction { summary, .. } => Essence::Compaction(summary),
        Kind::Clearing { calls } => Essence::Clearing(calls),
        Kind::Other { json, .. } => Essence::Other(dense(json)),
    }
}

/// JSON without space between its parts; other text as it is.
fn dense(json: String) -> String {
    serde_json::from_str::<serde_json::Value>(&json).map_or(json, |value| value.to_string())
}
