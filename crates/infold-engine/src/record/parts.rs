//! What a request is made of, part by part, in the order of the prompt. Each part is counted once: clients
//! send everything again each time, and counting is the dearest thing that is done here.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use infold_core::Counter;
use infold_core::record::{By, Part, PartKind};
use infold_core::view::{Block, BlockKey, BlockKind, Side, ViewPiece};

use super::kept::BoundedMap;
use super::label::Intro;
use super::locked;
use crate::Engine;

/// Parts whose counts are remembered.
const COUNTS_MAX: usize = 1 << 16;
/// A result with more bytes for each token of its text holds more than text, such as images.
const BYTES_PER_TOKEN_MAX: usize = 16;
/// Bytes that JSON may add to any text.
const FRAME_BYTES: usize = 1_024;

/// A part in front of the conversation.
#[derive(Debug, Clone, Copy)]
pub struct PromptFront<'a> {
    /// What it is.
    pub kind: FrontKind<'a>,
    /// Its text, or its JSON.
    pub text: &'a str,
}

/// What stands in front of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontKind<'a> {
    /// The system prompt.
    System,
    /// The definition of a tool that the model is shown.
    Tool {
        /// The server it comes from; the client's own if none is named.
        server: Option<&'a str>,
    },
}

/// A request, as far as it is looked at.
pub struct PromptInput<'a> {
    /// What stands in front of the conversation, in the order of the prompt.
    pub front: &'a [PromptFront<'a>],
    /// The conversation, as the client sent it.
    pub blocks: &'a [Block<'a>],
    /// What was sent of it; none means all, as it came.
    pub pieces: Option<&'a [ViewPiece]>,
    /// The text of a block.
    pub words: &'a dyn Fn(usize) -> Cow<'a, str>,
}

/// What a request was made of. It holds no text but what its session may be recognised by.
#[derive(Debug, Clone, Default)]
pub struct PromptParts {
    wanted: Arc<[Part]>,
    sent: Arc<[Part]>,
    has_opaque: bool,
    pub(super) intro: Arc<Intro>,
}

impl PromptParts {
    /// What the client wanted to send.
    pub fn wanted(&self) -> &[Part] {
        &self.wanted
    }

    /// What was sent.
    pub fn sent(&self) -> &[Part] {
        &self.sent
    }

    /// Whether it holds what only the provider can count, such as images.
    pub fn has_opaque(&self) -> bool {
        self.has_opaque
    }

    /// What was sent, by an uncalibrated or calibrated counter.
    pub fn sent_tokens(&self, counter: &Counter) -> u64 {
        let calls = self.sent.iter().filter(|part| part.kind == PartKind::Call).count() as u64;
        let text: u64 = self.sent.iter().map(|part| part.vocabulary_tokens).sum();
        counter.scaled(text) + calls * counter.per_call_tokens()
    }
}

/// Counts of parts, by their keys.
pub(crate) struct Counts(Mutex<BoundedMap<BlockKey, u32>>);

impl Default for Counts {
    fn default() -> Self {
        Self(Mutex::new(BoundedMap::new(COUNTS_MAX)))
    }
}

impl Counts {
    fn of<'t>(&self, key: BlockKey, text: impl FnOnce() -> Cow<'t, str>) -> u64 {
        if let Some(tokens) = locked(&self.0).get(&key) {
            return u64::from(*tokens);
        }
        let tokens = Counter::vocabulary_tokens(&text());
        locked(&self.0).insert(key, u32::try_from(tokens).unwrap_or(u32::MAX));
        tokens
    }
}

impl Engine {
    /// Says what a request is made of. Counts what was not counted before, so it is best done while the
    /// provider is at work on the answer.
    pub fn parts(&self, sight: &PromptInput<'_>) -> PromptParts {
        let look = PartCounter { counts: &self.inner.recorder.counts, sight, tools: tools(sight.blocks) };
        let front: Vec<Part> = sight.front.iter().map(|front| look.front(front)).collect();
        let conversation = (0..sight.blocks.len()).map(|block| look.kept(block));
        let wanted: Arc<[Part]> = front.iter().cloned().chain(conversation).collect();
        let sent = match sight.pieces {
            Some(pieces) => front.into_iter().chain(pieces.iter().map(|piece| look.piece(piece))).collect(),
            None => Arc::clone(&wanted),
        };
        let has_opaque = has_opaque(sight.blocks, &wanted[sight.front.len()..]);
        PromptParts { wanted, sent, has_opaque, intro: Arc::new(Intro::of(sight)) }
    }
}

/// The tool of each call.
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
    counts: &'l Counts,
    sight: &'l PromptInput<'s>,
    tools: HashMap<&'s str, Arc<str>>,
}

impl PartCounter<'_, '_> {
    fn front(&self, front: &PromptFront<'_>) -> Part {
        let (kind, name) = match front.kind {
            FrontKind::System => (PartKind::System, None),
            FrontKind::Tool { server } => (PartKind::Tool, server.map(Arc::from)),
        };
        let key = key_of(front.text.as_bytes());
        let vocabulary_tokens = self.counts.of(key, || Cow::Borrowed(front.text));
        Part { kind, name, key, vocabulary_tokens, by: By::Client }
    }

    fn kept(&self, at: usize) -> Part {
        let Some(block) = self.sight.blocks.get(at) else { return nothing() };
        let (kind, name) = self.kind(block);
        let vocabulary_tokens = self.counts.of(block.key, || (self.sight.words)(at));
        Part { kind, name, key: block.key, vocabulary_tokens, by: By::Client }
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
            ViewPiece::Keep(block) => self.kept(*block),
            ViewPiece::Content { block, json } => self.replaced(*block, json),
            ViewPiece::Text { block, text } | ViewPiece::Words { block, text } => {
                self.replaced(*block, text.as_bytes())
            }
            ViewPiece::Quote { block, json: Some(json), .. } => self.replaced(*block, json),
            ViewPiece::Quote { block, json: None, .. } => self.kept(*block),
            ViewPiece::Say { text, .. } => {
                let key = key_of(text.as_bytes());
                let vocabulary_tokens = self.counts.of(key, || Cow::Borrowed(text));
                Part { kind: PartKind::User, name: None, key, vocabulary_tokens, by: By::Infold }
            }
        }
    }

    fn replaced(&self, at: usize, content: &[u8]) -> Part {
        let Some(block) = self.sight.blocks.get(at) else { return nothing() };
        let (kind, name) = self.kind(block);
        let key = key_of(content);
        let vocabulary_tokens = self.counts.of(key, || String::from_utf8_lossy(content));
        Part { kind, name, key, vocabulary_tokens, by: By::Infold }
    }
}

/// Whether something in the conversation is no text. Only results say how many bytes they have.
fn has_opaque(blocks: &[Block<'_>], parts: &[Part]) -> bool {
    blocks.iter().zip(parts).any(|(block, part)| match &block.kind {
        BlockKind::User { .. } | BlockKind::Other { side: Side::User } => part.vocabulary_tokens == 0,
        BlockKind::Result(result) => {
            let tokens = usize::try_from(part.vocabulary_tokens).unwrap_or(usize::MAX);
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

/// A plan names only blocks that are there; one that does not is not worth stopping for.
fn nothing() -> Part {
    Part { kind: PartKind::Other, name: None, key: BlockKey([0; 16]), vocabulary_tokens: 0, by: By::Infold }
}
