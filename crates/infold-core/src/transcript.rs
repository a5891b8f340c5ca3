//! Transcripts: what was said between an agent and a model, in order, whoever recorded it.
//!
//! An item is the smallest thing that makes sense alone: a paragraph of somebody's words, a call, a result. Clients
//! group items into messages in their own ways, so each item says which message it came in, and no second type for
//! messages is needed. Readers in `infold-wire` make items; everything else here only looks at them.
//!
//! What must hold: items are in the order in which the model saw them; `message` never falls; a
//! result names the call that it answers.

use crate::record::Usage;

/// The text that replaces a result which a client has cleared from its context.
pub const CLEARED: &str = "[Old tool result content cleared]";

/// Whose recording a transcript is, or whose request it was taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Client {
    /// Claude Code's recordings, JSON a line.
    ClaudeCode,
    /// Codex's recordings, which it calls rollouts.
    Codex,
    /// OpenCode's export, or the answer of its message API.
    OpenCode,
    /// The log of one of infold's own sessions.
    Infold,
    /// A request to Anthropic's Messages API.
    Anthropic,
    /// A request to OpenAI's Responses or Chat Completions API.
    OpenAi,
    /// A file with sessions of several clients in one common form, one session a line.
    Normalized,
}

/// Where an item is in the file or request that it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct ItemPosition {
    /// The line, or the element of the list of messages, counted from 1.
    pub entry: u64,
    /// The part within it, counted from 0.
    pub part: u32,
}

/// One entry of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its position in the file or request that it was read from.
    pub place: ItemPosition,
    /// Which of the client's messages it belongs to, counted from 0.
    pub message: u64,
    /// What sort of entry it is, with its content.
    pub kind: Kind,
}

/// Whose words a user message holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// Words of the person who uses the client.
    Person,
    /// Words that the client put in on its own account: reminders, hooks, attachments.
    Client,
}

/// How a tool call went, as far as the client records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOutcome {
    /// The client does not record whether the call succeeded.
    Unsaid,
    /// The client says that the call succeeded.
    Succeeded,
    /// The client says that the call failed.
    Failed,
}

/// Whether the model still gets to see a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldContent {
    /// The model sees it as the tool gave it.
    Whole,
    /// The client has cleared it; the recording may still have it.
    Cleared,
}

/// What sort of entry an item is, and its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Instructions from the client that come before the conversation.
    System {
        /// The instructions, in full.
        text: String,
    },
    /// A user message, or a part of one.
    User {
        /// What it says, as the model sees it.
        text: String,
        /// Whether the person or the client wrote it.
        voice: Voice,
    },
    /// What the model said to the user.
    Assistant {
        /// The model's words, without calls and reasoning.
        text: String,
    },
    /// What the model thought before it answered.
    Reasoning {
        /// The part that is readable; empty where all of it is sealed.
        text: String,
        /// Length of the signature or the sealed content that came with it.
        sealed_bytes: usize,
    },
    /// A call of a tool by the model.
    Call {
        /// The id that its result refers to.
        id: String,
        /// The tool's name as the client spells it.
        tool: String,
        /// What it was called with: JSON, or plain text where the tool takes that.
        input: String,
    },
    /// The result of a call.
    Result {
        /// The id of the call that it answers.
        id: String,
        /// The tool's name; empty where the recording does not say and the call is not there.
        tool: String,
        /// The whole result as the tool gave it, even if the client has cleared it since.
        text: String,
        /// Whether the call succeeded.
        outcome: CallOutcome,
        /// Whether the model still sees the text.
        held: HeldContent,
    },
    /// The client replaced what was before by a summary.
    Compaction {
        /// The summary, if it can be read: some providers seal theirs.
        summary: Option<String>,
        /// Items from before that the client repeats after it.
        kept: Vec<Item>,
    },
    /// The client cleared earlier results from its context.
    Clearing {
        /// The ids of the calls that the results answer.
        calls: Vec<String>,
    },
    /// Content of another kind: an image, a document, something newer than this program.
    Other {
        /// The client's word for this kind of content.
        name: String,
        /// The whole content as JSON.
        json: String,
    },
}

impl Item {
    /// The text that the item puts into a prompt; empty for one that only marks something.
    pub fn text(&self) -> &str {
        match &self.kind {
            Kind::System { text }
            | Kind::User { text, .. }
            | Kind::Assistant { text }
            | Kind::Reasoning { text, .. } => text,
            Kind::Call { input, .. } => input,
            Kind::Result { held: HeldContent::Cleared, .. } => CLEARED,
            Kind::Result { text, .. } => text,
            Kind::Compaction { summary, .. } => summary.as_deref().unwrap_or_default(),
            Kind::Clearing { .. } => "",
            Kind::Other { json, .. } => json,
        }
    }
}

/// One request to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCall {
    /// The first item of its answer, as an index into the transcript's items.
    pub first_item: usize,
    /// The model that answered.
    pub model: String,
    /// The tokens that the provider reported for it.
    pub usage: Usage,
}

/// Work that an agent gave to another agent, whose steps the first one did not see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subtask {
    /// The id of the call that started it.
    pub call: String,
    /// What the other agent saw and did.
    pub items: Vec<Item>,
}

/// A whole recorded session. Work that must not hold one in memory takes items one by one instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// The client that recorded it.
    pub client: Client,
    /// The client's id for the session, if the recording has one.
    pub session: Option<String>,
    /// What was said and done, in the order in which the model saw it.
    pub items: Vec<Item>,
    /// The requests to the model that the recording has usage for, in order.
    pub calls: Vec<ModelCall>,
    /// Work of other agents, which is not among the items.
    pub subtasks: Vec<Subtask>,
}
