//! What agents send to model APIs, read as borrowed blocks and edited in its own bytes.
//!
//! [`Request::read`] finds the blocks of a conversation without copying it; [`Request::apply`] writes the body
//! that a plan asks for. What no piece of the plan changes keeps its bytes, to the space between two entries.
//! What cannot be read is refused as a whole, and the caller sends the client's own bytes on.
//!
//! It decides nothing: what is kept is for `infold-core`, whose request it is for [`crate::whose()`].

mod apply;
mod error;
mod head;
pub(crate) mod json;
mod keys;
mod parts;
mod read;
mod remarks;
mod splice;

use std::borrow::Cow;
use std::ops::Range;

use infold_core::view::{Block, BlockKey, BlockKind, RequestKind, TranscriptStart, ViewPiece};

use json::{At, Document};
use std::collections::HashMap;
use std::sync::OnceLock;

pub use error::RequestError;
pub use head::ListedTool;
pub(crate) use head::joined;

/// A way to talk to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Api {
    /// Anthropic Messages.
    Messages,
    /// OpenAI Responses.
    Responses,
    /// OpenAI Chat Completions, and everything compatible.
    Chat,
}

impl Api {
    /// It in a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Responses => "responses",
            Self::Chat => "chat",
        }
    }
}

/// What tells words that are no block of a request from others.
pub(crate) fn key_of_words(text: &str) -> BlockKey {
    keys::of_words(text)
}

/// One request, as its client sent it.
#[derive(Debug)]
pub struct Request<'a> {
    api: Api,
    document: Document<'a>,
    /// Where the conversation stands; none if there is none, which only Responses allows.
    list: Option<At>,
    entries: Vec<RequestEntry>,
    blocks: Vec<Block<'a>>,
    /// Where each of the blocks stands.
    seats: Vec<Seat>,
    /// The block of each call, by its id; made when it is first asked for.
    calls: OnceLock<HashMap<String, usize>>,
}

/// One entry of the client's list.
#[derive(Debug)]
struct RequestEntry {
    /// The entry. Text alone stands for a message of the user's (Responses).
    at: At,
    speaker: Speaker,
    /// Its content, if it has such a field.
    content: Option<At>,
    /// Its list of calls (Chat).
    calls: Option<At>,
    /// Its blocks.
    blocks: Range<usize>,
}

/// Whose entry it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    /// Instructions.
    System,
    /// A message on the user's side, which can take more words.
    User,
    /// The model's.
    Model,
    /// An entry that is one result, or anything else that can take no words.
    Closed,
}

/// Where a block stands in its entry.
#[derive(Debug, Clone, Copy)]
struct Seat {
    form: BlockForm,
    /// The content of a result: the value that is replaced when another is shown in its place.
    content: Option<At>,
    /// The mark on it that steers the cache: the value of `cache_control`.
    mark: Option<At>,
    /// The first such mark inside of a result's content.
    mark_inside: Option<At>,
}

/// What of its entry a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockForm {
    /// All of it.
    Whole,
    /// Its content, which is plain text.
    Text(At),
    /// One element of its content.
    Element(At),
    /// One of its calls (Chat).
    Call(At),
    /// A field of its own (Chat): key and value.
    Field(At, At),
}

impl<'a> Request<'a> {
    /// Reads a body.
    pub fn read(api: Api, body: &'a [u8]) -> Result<Self, RequestError> {
        read::read(api, body)
    }

    /// The API that it is for.
    pub fn api(&self) -> Api {
        self.api
    }

    /// The client's own bytes.
    pub fn body(&self) -> &'a [u8] {
        self.document.body().as_bytes()
    }

    /// The conversation, in order. Every entry has at least one block.
    pub fn blocks(&self) -> &[Block<'a>] {
        &self.blocks
    }

    /// The body that `pieces` ask for. All blocks kept in order are the client's own bytes.
    pub fn apply(&self, pieces: &[ViewPiece]) -> Vec<u8> {
        apply::apply(self, pieces)
    }

    /// The body without the model's reasoning, and with everything else.
    pub fn without_reasoning(&self) -> Vec<u8> {
        let is_reasoning = |block: &Block<'_>| matches!(block.kind, BlockKind::Reasoning);
        let kept = self.blocks.iter().enumerate().filter(|(_, block)| !is_reasoning(block));
        self.apply(&kept.map(|(index, _)| ViewPiece::Keep(index)).collect::<Vec<_>>())
    }

    /// What kind of request its form shows it to be; clients may say more ([`crate::whose()`]).
    pub fn kind_hint(&self) -> RequestKind {
        head::kind_hint(self)
    }

    /// The model that is asked.
    pub fn model(&self) -> Option<Cow<'a, str>> {
        self.document.text_field(0, "model")
    }

    /// Whether the answer is to be streamed.
    pub fn stream(&self) -> bool {
        self.document.field(0, "stream").is_some_and(|value| self.document.raw(value) == "true")
    }

    /// The answer that it goes on from, if the provider keeps the conversation. It cannot be planned then: what came
    /// before is not in it.
    pub fn previous_response(&self) -> Option<Cow<'a, str>> {
        ["previous_response_id", "conversation"].iter().find_map(|key| {
            let value = self.document.field(0, key)?;
            let raw = self.document.raw(value);
            self.document.text(value).or_else(|| (raw != "null").then_some(Cow::Borrowed(raw)))
        })
    }

    /// What the client says of its user (Anthropic's `metadata.user_id`).
    pub fn user_id(&self) -> Option<Cow<'a, str>> {
        self.document.text_field(self.document.field(0, "metadata")?, "user_id")
    }

    /// What the client wants to share a cache by (OpenAI's `prompt_cache_key`).
    pub fn prompt_cache_key(&self) -> Option<Cow<'a, str>> {
        self.document.text_field(0, "prompt_cache_key")
    }

    /// The tools that it lists, in order.
    pub fn tools(&self) -> Vec<ListedTool<'a>> {
        head::tools(self)
    }

    /// Tools that the model can call without loading them first, as the client spells them.
    pub fn tools_in_reach(&self) -> Vec<String> {
        let tools = head::tools(self).into_iter();
        tools.filter(|tool| !tool.is_deferred).map(|tool| tool.name.into_owned()).collect()
    }

    /// The definitions of the tools that the model is shown, each as it stands, with the server that its name names.
    pub fn shown_tools(&self) -> Vec<(Option<String>, &'a str)> {
        head::shown_tools(self)
    }

    /// The system prompt, wherever the interface puts it, as JSON.
    pub fn system(&self) -> impl Iterator<Item = &'a str> {
        let fields = ["system", "instructions"].into_iter().filter_map(|key| self.document.field(0, key));
        fields.map(|field| self.document.raw(field)).filter(|text| *text != "null")
    }

    /// The tool that a call was of and what it was called with; both empty if there is no such call.
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

    /// The texts in a result, in order; of other blocks, what they say.
    pub fn text_parts(&self, block: usize) -> Vec<Cow<'a, str>> {
        parts::texts(self, block)
    }

    /// What a tool printed, text by text, without what the client put behind it.
    pub fn printed(&self, block: usize) -> Vec<Cow<'a, str>> {
        remarks::part(parts::texts(self, block)).printed
    }

    /// How the conversation begins.
    pub fn beginning(&self) -> TranscriptStart {
        head::beginning(self)
    }

    /// Whether words tell a whole conversation, to have it summarised.
    pub fn tells_conversation(&self, block: usize) -> bool {
        crate::client_words::asks_for_compaction(&parts::words(self, block))
    }

    /// Whether a result holds nothing but text, so that text can stand for all of it.
    pub fn is_all_text(&self, block: usize) -> bool {
        parts::is_all_text(self, block)
    }

    /// What a block says: its words, a call's arguments, a result's text.
    pub fn words(&self, block: usize) -> Cow<'a, str> {
        parts::words(self, block)
    }

    /// What a call was made with, as JSON where the tool takes JSON.
    pub fn arguments(&self, block: usize) -> Option<Cow<'a, str>> {
        parts::arguments(self, block)
    }

    /// The content of a result with some of its texts replaced, as JSON: one in `texts` for each in
    /// [`Self::text_parts`], none to leave it. Marks for the cache are left out, because they move from request to
    /// request and this is sent again for ever; everything else is as it stands.
    pub fn content_json(&self, block: usize, texts: &[Option<String>]) -> Vec<u8> {
        parts::content_json(self, block, texts)
    }

    /// The content of a result that is this text instead, as JSON.
    pub fn content_of_text(&self, block: usize, text: &str) -> Vec<u8> {
        parts::content_of_text(self, block, text)
    }

    /// A digest of the conversation after each entry, by which one request is known to extend another. Marks for
    /// the cache are left out, and text is the same as a list of one text.
    pub fn digests(&self) -> Vec<[u8; 32]> {
        keys::digests(self)
    }
}
