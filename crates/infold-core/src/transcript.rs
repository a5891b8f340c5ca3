//! Transcripts: what was said between an agent and a model, in order, whoever recorded it.
//!
//! An item is the smallest thing that can stand alone: a paragraph of somebody's words, a call, a
//! result. Clients group items into messages in their own ways, so each item says which message it
//! came in, and every rule about messages can be kept without a second shape. Readers in
//! `infold-wire` make items; everything else here only looks at them.
//!
//! What must hold: items are in the order in which the model saw them; `message` never falls; a
//! result names the call that it answers.

/// What stands in place of a result that a client has cleared from its context.
pub const CLEARED: &str = "[Old tool result content cleared]";

/// Whose recording a transcript is, or whose request it was taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Client {
    /// Claude Code's JSONL.
    ClaudeCode,
    /// Codex's rollouts.
    Codex,
    /// OpenCode's export, or the answer of its message API.
    OpenCode,
    /// infold's own sessions.
    Infold,
    /// A request to Anthropic's Messages API.
    Anthropic,
    /// A request to OpenAI's Responses or Chat Completions API.
    OpenAi,
    /// Sessions of several clients in one form, a session a line.
    Normalized,
}

/// Where an item stands in the file or request that it was read from.
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
    /// Where it was read.
    pub place: ItemPosition,
    /// Which of the client's messages it belongs to, counted from 0.
    pub message: u64,
    /// What it is.
    pub kind: Kind,
}

/// Whose words a user message holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// The person's own.
    Person,
    /// Words that the client put in on its own account: reminders, hooks, attachments.
    Client,
}

/// How a call went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOutcome {
    /// The client does not say.
    Unsaid,
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
}

/// Whether the model still gets to see a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldContent {
    /// As it was.
    Whole,
    /// The client has cleared it; the recording may still have it.
    Cleared,
}

/// What an item is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Instructions that stand above the conversation.
    System {
        /// The words.
        text: String,
    },
    /// A user message, or a part of one.
    User {
        /// The words.
        text: String,
        /// Whose they are.
        voice: Voice,
    },
    /// What the model said.
    Assistant {
        /// The words.
        text: String,
    },
    /// What the model thought.
    Reasoning {
        /// What of it can be read.
        text: String,
        /// Length of the signature or the sealed content that came with it.
        sealed_bytes: usize,
    },
    /// A tool was called.
    Call {
        /// The call's id.
        id: String,
        /// The tool.
        tool: String,
        /// What it was called with: JSON, or plain text where the tool takes that.
        input: String,
    },
    /// What a call gave.
    Result {
        /// The id of the call.
        id: String,
        /// The tool; empty where the recording does not say and the call is not there.
        tool: String,
        /// What came back.
        text: String,
        /// How it went.
        outcome: CallOutcome,
        /// Whether the model still sees it.
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
        /// The ids of their calls.
        calls: Vec<String>,
    },
    /// Content of another kind: an image, a document, something newer than this program.
    Other {
        /// What the client calls it.
        name: String,
        /// It, as JSON.
        json: String,
    },
}

impl Item {
    /// The text by which the item takes up room in a context.
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

/// What a provider reported for one request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelUsage {
    /// The model that answered.
    pub model: String,
    /// Prompt tokens that were neither read from nor written to the cache.
    pub fresh_tokens: u64,
    /// Prompt tokens read from the cache.
    pub cache_read_tokens: u64,
    /// Prompt tokens written to the cache.
    pub cache_write_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
}

impl ModelUsage {
    /// The length of the whole prompt.
    pub fn prompt_tokens(&self) -> u64 {
        self.fresh_tokens + self.cache_read_tokens + self.cache_write_tokens
    }
}

/// One request to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCall {
    /// The first item of its answer, as an index into the transcript's items.
    pub first_item: usize,
    /// What it cost.
    pub usage: ModelUsage,
}

/// Work that an agent gave to another agent, which did it out of the first one's sight.
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
    /// Who recorded it.
    pub client: Client,
    /// Its id, if the recording says.
    pub session: Option<String>,
    /// What was said.
    pub items: Vec<Item>,
    /// The requests that were made, in order.
    pub calls: Vec<ModelCall>,
    /// What was done out of sight.
    pub subtasks: Vec<Subtask>,
}
