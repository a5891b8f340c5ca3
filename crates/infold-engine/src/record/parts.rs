//! What a request is made of, part by part, in the order of the prompt. Clients send everything again each time, and
//! counting is the most expensive thing here, so each part is counted once, by its content.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use infold_core::record::{Part, PartAuthor, PartKind};
use infold_core::view::{Block, BlockKey, BlockKind, Side, ViewPiece};
use infold_core::{Counter, TextSize};

use super::bounded_map::BoundedMap;
use super::label::Intro;
use super::locked;
use crate::Engine;

/// How many parts' sizes are remembered.
const SIZES_MAX: usize = 1 << 16;
/// A result with more bytes per token of its text holds more than text, such as images.
const BYTES_PER_TOKEN_MAX: usize = 16;
/// How many bytes JSON may add to any text.
const FRAME_BYTES: usize = 1_024;

/// A part of the prompt in front of the conversation.
#[derive(Debug, Clone, Copy)]
pub struct PromptFront<'a> {
    /// Whether it is the system prompt or a tool.
    pub kind: FrontKind<'a>,
    /// The part's text, or its JSON.
    pub text: &'a str,
}

/// What can be in front of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontKind<'a> {
    /// The system prompt, or a part of it.
    System,
    /// The definition of a tool that the model is shown.
    Tool {
        /// The MCP server that the tool comes from; `None` for the client's own tools.
        server: Option<&'a str>,
    },
}

/// A request, as far as its parts are counted.
pub struct PromptInput<'a> {
    /// The parts in front of the conversation, in the order of the prompt.
    pub front: &'a [PromptFront<'a>],
    /// The conversation, as the client sent it.
    pub blocks: &'a [Block<'a>],
    /// What was sent of the conversation; `None` if all of it was, unchanged.
    pub pieces: Option<&'a [ViewPiece]>,
    /// Returns the text of the block at an index.
    pub words: &'a dyn Fn(usize) -> Cow<'a, str>,
}

/// What a request was made of. The only text in it is what people may recognise its session by.
#[derive(Debug, Clone, Default)]
pub struct PromptParts {
    wanted: Arc<[Part]>,
    sent: Arc<[Part]>,
    has_opaque: bool,
    pub(super) intro: Arc<Intro>,
}

impl PromptParts {
    /// The parts that the client wanted to send.
    pub fn wanted(&self) -> &[Part] {
        &self.wanted
    }

    /// The parts that were sent on to the provider.
    pub fn sent(&self) -> &[Part] {
        &self.sent
    }

    /// Whether it holds something that only the provider can count, such as images.
    pub fn has_opaque(&self) -> bool {
        self.has_opaque
    }

    /// How many tokens were sent, by a counter that may be calibrated.
    pub fn sent_tokens(&self, counter: &Counter) -> u64 {
        counter.tokens(&self.sent.iter().map(|part| part.size).sum())
    }
}

/// Remembered sizes of parts, by the parts' keys.
pub(crate) struct Sizes(Mutex<BoundedMap<BlockKey, TextSize>>);

impl Default for Sizes {
    fn default() -> Self {
        Self(Mutex::new(BoundedMap::new(SIZES_MAX)))
    }
}

impl Sizes {
    fn of<'t>(&self, key: BlockKey, kind: PartKind, text: impl FnOnce() -> Cow<'t, str>) -> TextSize {
        let remembered = locked(&self.0).get(&key).copied();
        let size = remembered.unwrap_or_else(|| {
            let size = if kind == PartKind::Call { TextSize::of_call(&text()) } else { TextSize::of(&text()) };
            locked(&self.0).insert(key, size);
            size
        });
        // The same words can be a message in one place and something else in another.
        if matches!(kind, PartKind::User | PartKind::Assistant) { size.as_message() } else { size }
    }
}

impl Engine {
    /// Takes a request apart. Counts what was not counted before, so it is best called while the provider is at work on
    /// the answer.
    pub fn parts(&self, input: &PromptInput<'_>) -> PromptParts {
        let counter = PartCounter { sizes: &self.inner.recorder.sizes, input, tools: tools(input.blocks) };
        let front: Vec<Part> = input.front.iter().map(|front| counter.front(front)).collect();
        let conversation = (0..input.blocks.len()).map(|block| counter.unchanged(block));
        let wanted: Arc<[Part]> = front.iter().cloned().chain(conversation).collect();
        let sent = match input.pieces {
            Some(pieces) => front.into_iter().chain(pieces.iter().map(|piece| counter.piece(piece))).collect(),
            None => Arc::clone(&wanted),
        };
        let has_opaque = has_opaque(input.blocks, &wanted[input.front.len()..]);
        PromptParts { wanted, sent, has_opaque, intro: Arc::new(Intro::of(input)) }
    }
}

/// The name of the tool of each call, by the call's id.
fn tools<'a>(blocks: &'a [Block<'a>]) -> HashMap<&'a str, Arc<str>> {
    let mut names: HashMap<&str, Arc<str>> = HashMap::new();
    let mut tools = HashMap::new();
    for block in blocks {
        if let BlockKind::Call(call) = &block.kind {
            let name = names.entry(&call.tool).or_insert_with(|| Arc::from(&*call.tool));
            tools.insert(&*call.id, Arc::clone(name));
        }
    }
    tools
}

struct PartCounter<'l, 's> {
    sizes: &'l Sizes,
    input: &'l PromptInput<'s>,
    tools: HashMap<&'s str, Arc<str>>,
}

impl PartCounter<'_, '_> {
    fn front(&self, front: &PromptFront<'_>) -> Part {
        let (kind, name) = match front.kind {
            FrontKind::System => (PartKind::System, None),
            FrontKind::Tool { server } => (PartKind::Tool, server.map(Arc::from)),
        };
        let key = key_of(front.text.as_bytes());
        let size = self.sizes.of(key, kind, || Cow::Borrowed(front.text));
        Part { kind, name, key, size, by: PartAuthor::Client }
    }

    fn unchanged(&self, at: usize) -> Part {
        let Some(block) = self.input.blocks.get(at) else { return nothing() };
        let (kind, name) = self.kind(block);
        let size = self.sizes.of(block.key, kind, || (self.input.words)(at));
        Part { kind, name, key: block.key, size, by: PartAuthor::Client }
    }

    fn kind(&self, block: &Block<'_>) -> (PartKind, Option<Arc<str>>) {
        match &block.kind {
            BlockKind::Instruction => (PartKind::System, None),
            BlockKind::User { .. } | BlockKind::Attachment => (PartKind::User, None),
            BlockKind::Assistant => (PartKind::Assistant, None),
            BlockKind::Reasoning => (PartKind::Reasoning, None),
            BlockKind::Call(call) => (PartKind::Call, self.tools.get(&*call.id).cloned()),
            BlockKind::Result(result) => (PartKind::Result, self.tools.get(&*result.call).cloned()),
            BlockKind::Other { .. } => (PartKind::Other, None),
        }
    }

    fn piece(&self, piece: &ViewPiece) -> Part {
        match piece {
            ViewPiece::Keep(block) => self.unchanged(*block),
            ViewPiece::Content { block, json } => self.replaced(*block, json),
            ViewPiece::Text { block, text } | ViewPiece::Words { block, text } => {
                self.replaced(*block, text.as_bytes())
            }
            ViewPiece::Quote { block, json: Some(json), .. } => self.replaced(*block, json),
            ViewPiece::Quote { block, json: None, .. } => self.unchanged(*block),
            ViewPiece::Say { text, .. } => {
                let key = key_of(text.as_bytes());
                let size = self.sizes.of(key, PartKind::User, || Cow::Borrowed(text));
                Part { kind: PartKind::User, name: None, key, size, by: PartAuthor::Infold }
            }
        }
    }

    fn replaced(&self, at: usize, content: &[u8]) -> Part {
        let Some(block) = self.input.blocks.get(at) else { return nothing() };
        let (kind, name) = self.kind(block);
        let key = key_of(content);
        let size = self.sizes.of(key, kind, || String::from_utf8_lossy(content));
        Part { kind, name, key, size, by: PartAuthor::Infold }
    }
}

/// Whether something in the conversation is not text. Only results say how many bytes they have.
fn has_opaque(blocks: &[Block<'_>], parts: &[Part]) -> bool {
    blocks.iter().zip(parts).any(|(block, part)| match &block.kind {
        BlockKind::User { .. } | BlockKind::Other { side: Side::User } => part.size.written_tokens == 0,
        BlockKind::Result(result) => {
            let tokens = usize::try_from(part.size.written_tokens).unwrap_or(usize::MAX);
            result.content_bytes > tokens.saturating_mul(BYTES_PER_TOKEN_MAX).saturating_add(FRAME_BYTES)
        }
        BlockKind::Instruction
        | BlockKind::Attachment
        | BlockKind::Assistant
        | BlockKind::Reasoning
        | BlockKind::Call(_)
        | BlockKind::Other { side: Side::Model } => false,
    })
}

fn key_of(bytes: &[u8]) -> BlockKey {
    let mut key = [0; 16];
    key.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    BlockKey(key)
}

/// Replaces a block that a plan names and that does not exist. That is a mistake, but not worth stopping for.
fn nothing() -> Part {
    Part {
        kind: PartKind::Other,
        name: None,
        key: BlockKey([0; 16]),
        size: TextSize::default(),
        by: PartAuthor::Infold,
    }
}
