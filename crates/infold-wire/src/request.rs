//! Reads what agents send to model APIs as borrowed blocks, and edits it in its own bytes.
//!
//! [`Request::read`] finds the blocks of a conversation without copying it. [`Request::apply`] writes the body that a
//! plan asks for. What no piece of the plan changes keeps its bytes, down to the white space between two entries. A
//! body that cannot be read as a conversation is refused; [`JsonBody`] has the strings of one that is JSON at all.
//!
//! Nothing is decided here: `infold-core` decides what is kept, and [`crate::identify()`] finds out whose request it
//! is.

mod apply;
mod error;
mod head;
pub(crate) mod json;
mod keys;
mod parts;
mod pieces;
mod read;
mod remarks;
mod splice;
mod strings;

use std::borrow::Cow;
use std::ops::Range;

use infold_core::view::{Block, BlockKey, BlockKind, RequestKind, TranscriptStart, ViewPiece};

use json::{At, Document};
use std::collections::HashMap;
use std::sync::OnceLock;

pub use error::RequestError;
pub use head::ListedTool;
pub(crate) use head::joined;
pub use json::unescaped;
pub use pieces::{JsonPieces, StringPiece};
pub use strings::{ConversationPlace, JsonBody, JsonStrings};

/// One of the HTTP APIs that clients use to talk to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Api {
    /// Anthropic's Messages API.
    Messages,
    /// OpenAI's Responses API.
    Responses,
    /// OpenAI's Chat Completions API, and everything compatible with it.
    Chat,
}

impl Api {
    /// The short name that the recorder and its readers use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Responses => "responses",
            Self::Chat => "chat",
        }
    }
}

/// The fields that name a conversation which the provider stores.
const STORED_CONVERSATIONS: [&str; 2] = ["previous_response_id", "conversation"];

/// The key of words that are not a block of a request, by which they are found again.
pub(crate) fn key_of_words(text: &str) -> BlockKey {
    keys::of_words(text)
}

/// One request as its client sent it, with the places of its blocks.
#[derive(Debug)]
pub struct Request<'a> {
    api: Api,
    document: Document<'a>,
    /// The value that holds the conversation; `None` if it is missing, which only the Responses API allows.
    list: Option<At>,
    entries: Vec<RequestEntry>,
    blocks: Vec<Block<'a>>,
    /// The place of each block, in the order of `blocks`.
    seats: Vec<Seat>,
    /// The index of each call's block, by the call's id; filled when it is first needed.
    calls: OnceLock<HashMap<String, usize>>,
}

/// One entry of the client's list: a message or an item.
#[derive(Debug)]
struct RequestEntry {
    /// The value of the entry. In the Responses API plain text is allowed in place of the list; it is a message of the
    /// user.
    at: At,
    speaker: Speaker,
    /// The value of its field `content`, if it has one.
    content: Option<At>,
    /// The value of its list of calls (Chat only).
    calls: Option<At>,
    /// The indexes of its blocks in [`Request::blocks`].
    blocks: Range<usize>,
}

/// Who an entry comes from, and so what may be put into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    /// Whoever wrote the instructions.
    System,
    /// The user's side; words can be added to such a message.
    User,
    Model,
    /// A tool or the client, in an entry that cannot take words: a result by itself, or something unknown.
    Closed,
}

/// The place of a block in its entry.
#[derive(Debug, Clone, Copy)]
struct Seat {
    form: BlockForm,
    /// Of a result: the value of its content, which is replaced when something else is shown for it.
    content: Option<At>,
    /// The value of `cache_control` on the block, a mark that steers the provider's cache.
    mark: Option<At>,
    /// The first such mark inside a result's content.
    mark_inside: Option<At>,
}

/// Which part of its entry a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockForm {
    /// The whole entry.
    Whole,
    /// The content of the entry, which is plain text.
    Text(At),
    /// One element of the entry's content.
    Element(At),
    /// One of the entry's calls (Chat only).
    Call(At),
    /// The value of another field of the entry (Chat only); key and value.
    Field(At, At),
}

impl<'a> Request<'a> {
    /// Reads the body of a request to this API. A body that is not JSON is refused.
    pub fn read(api: Api, body: &'a [u8]) -> Result<Self, RequestError> {
        read::read(api, body)
    }

    /// The API that the request is for, as the caller gave it.
    pub fn api(&self) -> Api {
        self.api
    }

    /// The bytes that the client sent, unchanged.
    pub fn body(&self) -> &'a [u8] {
        self.document.body().as_bytes()
    }

    /// The blocks of the conversation, in order. Every entry has at least one.
    pub fn blocks(&self) -> &[Block<'a>] {
        &self.blocks
    }

    /// Writes the body that `pieces` ask for. If they keep all blocks in order, it is the client's own bytes.
    pub fn apply(&self, pieces: &[ViewPiece]) -> Vec<u8> {
        apply::apply(self, pieces)
    }

    /// Writes the body without the model's reasoning. Everything else stays.
    pub fn without_reasoning(&self) -> Vec<u8> {
        let is_reasoning = |block: &Block<'_>| matches!(block.kind, BlockKind::Reasoning);
        let kept = self.blocks.iter().enumerate().filter(|(_, block)| !is_reasoning(block));
        self.apply(&kept.map(|(index, _)| ViewPiece::Keep(index)).collect::<Vec<_>>())
    }

    /// The kind of request, as far as its form shows; a client can also say it in a header ([`crate::identify()`]).
    pub fn kind_hint(&self) -> RequestKind {
        head::kind_hint(self)
    }

    /// The name of the model that is asked; `None` if the body names none.
    pub fn model(&self) -> Option<Cow<'a, str>> {
        self.document.text_field(0, "model")
    }

    /// Whether the client asks for the answer as a stream of events.
    pub fn stream(&self) -> bool {
        self.document.field(0, "stream").is_some_and(|value| self.document.raw(value) == "true")
    }

    /// The id of the answer or conversation that the request continues, if the provider stores the conversation, which
    /// only the Responses API offers. Such a request cannot be planned, because it does not contain what came before.
    pub fn previous_response(&self) -> Option<Cow<'a, str>> {
        let keys = if self.api == Api::Responses { &STORED_CONVERSATIONS[..] } else { &[] };
        keys.iter().find_map(|key| {
            let value = self.document.field(0, key)?;
            let raw = self.document.raw(value);
            self.document.text(value).or_else(|| (raw != "null").then_some(Cow::Borrowed(raw)))
        })
    }

    /// The client's id for its user (Anthropic's `metadata.user_id`); Claude Code puts the session into it.
    pub fn user_id(&self) -> Option<Cow<'a, str>> {
        self.document.text_field(self.document.field(0, "metadata")?, "user_id")
    }

    /// The key by which requests share a cache (OpenAI's `prompt_cache_key`); to Codex it is the session.
    pub fn prompt_cache_key(&self) -> Option<Cow<'a, str>> {
        self.document.text_field(0, "prompt_cache_key")
    }

    /// The tools that the request lists, in order; those in a namespace are listed one by one.
    pub fn tools(&self) -> Vec<ListedTool<'a>> {
        head::tools(self)
    }

    /// The names of the tools that the model can call without loading them first, as the client spells them.
    pub fn tools_in_reach(&self) -> Vec<String> {
        let tools = head::tools(self).into_iter();
        tools.filter(|tool| !tool.is_deferred).map(|tool| tool.name.into_owned()).collect()
    }

    /// The definitions of the tools that the model sees, as JSON, each with the MCP server in the tool's name.
    pub fn shown_tools(&self) -> Vec<(Option<String>, &'a str)> {
        head::shown_tools(self)
    }

    /// The system prompt as JSON, from whichever field the API has it in.
    pub fn system(&self) -> impl Iterator<Item = &'a str> {
        let fields = ["system", "instructions"].into_iter().filter_map(|key| self.document.field(0, key));
        fields.map(|field| self.document.raw(field)).filter(|text| *text != "null")
    }

    /// The tool and the arguments of the call with this id; both are empty if there is no such call.
    pub fn call(&self, id: &str) -> (String, String) {
        let calls = self.calls.get_or_init(|| {
            let calls = self.blocks.iter().enumerate().filter_map(|(at, block)| match &block.kind {
                BlockKind::Call(call) => Some((call.id.clone().into_owned(), at)),
                _ => None,
            });
            calls.collect()
        });
        let Some(at) = calls.get(id).copied() else { return Default::default() };
        let tool = match &self.blocks[at].kind {
            BlockKind::Call(call) => call.tool.clone().into_owned(),
            _ => String::new(),
        };
        (tool, self.arguments(at).unwrap_or_default().into_owned())
    }

    /// The texts of a block, in order: those in a result, a call's arguments, or the words of another block.
    pub fn text_parts(&self, block: usize) -> Vec<Cow<'a, str>> {
        parts::texts(self, block)
    }

    /// The texts in a result that the tool printed, without the remarks that the client added after them.
    pub fn printed(&self, block: usize) -> Vec<Cow<'a, str>> {
        remarks::part(parts::texts(self, block)).printed
    }

    /// The strings in results that are not among their texts: fields that nobody knows, addresses, and results in a
    /// form that is no block. A secret can be in any of them.
    pub fn strings_beside_texts(&self) -> JsonStrings<'_, 'a> {
        strings::beside_texts(self)
    }

    /// Whether the conversation begins with a summary of an earlier one or with somebody's words.
    pub fn beginning(&self) -> TranscriptStart {
        head::beginning(self)
    }

    /// Whether the words of a block ask the model to summarise the whole conversation.
    pub fn asks_for_compaction(&self, block: usize) -> bool {
        crate::client_words::asks_for_compaction(&parts::words(self, block))
    }

    /// Whether a result holds only text, so that another text can replace all of it.
    pub fn is_all_text(&self, block: usize) -> bool {
        parts::is_all_text(self, block)
    }

    /// The text of a block in one piece: its words, a call's arguments, or a result's texts on lines of their own.
    pub fn words(&self, block: usize) -> Cow<'a, str> {
        parts::words(self, block)
    }

    /// The arguments of a call, as JSON where the tool takes JSON; `None` for other blocks.
    pub fn arguments(&self, block: usize) -> Option<Cow<'a, str>> {
        parts::arguments(self, block)
    }

    /// The content of a result as JSON, with some of its texts replaced. `texts` has one element for each text in
    /// [`Self::text_parts`]; `None` leaves that text as it is. Cache marks are left out, because clients move theirs
    /// from request to request, and this content is sent again and again. Everything else keeps its bytes.
    pub fn content_json(&self, block: usize, texts: &[Option<String>]) -> Vec<u8> {
        parts::content_json(self, block, texts)
    }

    /// The content of a result as JSON, with `text` in place of all of it.
    pub fn content_of_text(&self, block: usize, text: &str) -> Vec<u8> {
        parts::content_of_text(self, block, text)
    }

    /// A digest of the conversation up to and including each entry. By these digests one request is known to extend
    /// another. Cache marks do not count, and plain text is the same as a list of that one text.
    pub fn digests(&self) -> Vec<[u8; 32]> {
        keys::digests(self)
    }
}
