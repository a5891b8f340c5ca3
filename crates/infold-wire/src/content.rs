//! Reads the content of messages, which every provider and client writes as text or as a list of typed blocks.
//!
//! One shape serves them all, because their blocks differ only in a few names. A block of an unknown kind keeps its
//! JSON byte for byte; it is looked up in the text that it was read from.

use std::cell::LazyCell;
use std::fmt;

use infold_core::transcript::{CLEARED, CallOutcome, HeldContent, Kind, Voice};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::client_words::voice_of;
use crate::json_text::elements;
use crate::loose::{Flag, Loose, Str, otherwise};

/// The content of a message or of a result.
#[derive(Debug, Default)]
pub(crate) enum Content<'a> {
    /// There is no content, or it is neither text nor a list.
    #[default]
    Absent,
    Text(String),
    Blocks(Vec<ContentBlock<'a>>),
}

/// One block, with the fields of all kinds of blocks that are read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ContentBlock<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Str<'a>,
    pub(crate) text: Loose,
    pub(crate) thinking: Loose,
    pub(crate) refusal: Loose,
    #[serde(borrow)]
    pub(crate) signature: Str<'a>,
    #[serde(borrow)]
    pub(crate) data: Str<'a>,
    #[serde(borrow)]
    pub(crate) id: Str<'a>,
    #[serde(borrow)]
    pub(crate) name: Str<'a>,
    #[serde(borrow)]
    pub(crate) input: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) tool_use_id: Str<'a>,
    #[serde(borrow)]
    pub(crate) content: Content<'a>,
    pub(crate) is_error: Flag,
}

impl ContentBlock<'_> {
    /// The text of a block that is nothing but text; `None` for other kinds.
    pub(crate) fn words(&self) -> Option<&str> {
        match self.kind.as_str() {
            "text" | "input_text" | "output_text" | "summary_text" | "reasoning_text" => {
                Some(self.text.0.as_deref().unwrap_or_default())
            }
            "refusal" => Some(self.refusal.0.as_deref().unwrap_or_default()),
            _ => None,
        }
    }
}

impl Content<'_> {
    pub(crate) fn blocks(&self) -> &[ContentBlock<'_>] {
        match self {
            Self::Absent | Self::Text(_) => &[],
            Self::Blocks(blocks) => blocks,
        }
    }

    /// All text in the content; each block begins on a new line.
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::Absent => String::new(),
            Self::Text(text) => text,
            Self::Blocks(blocks) => blocks.iter().filter_map(ContentBlock::words).collect::<Vec<_>>().join("\n"),
        }
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Content::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut blocks = Vec::new();
        while let Some(block) = list.next_element::<AnyBlock<'de>>()? {
            blocks.push(block.0);
        }
        Ok(Content::Blocks(blocks))
    }

    otherwise!(Content::Absent; truth numbers null map);
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

/// A block, or plain text in a list of blocks.
struct AnyBlock<'a>(ContentBlock<'a>);

struct AnyBlockVisitor;

impl<'de> Visitor<'de> for AnyBlockVisitor {
    type Value = AnyBlock<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        let kind = Str("text".into());
        Ok(AnyBlock(ContentBlock { kind, text: Loose(Some(text.to_owned())), ..ContentBlock::default() }))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        ContentBlock::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(AnyBlock)
    }

    otherwise!(AnyBlock(ContentBlock::default()); truth numbers null list);
}

impl<'de: 'a, 'a> Deserialize<'de> for AnyBlock<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyBlockVisitor)
    }
}

/// Who the message comes from that content is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaker {
    /// Whoever wrote the instructions.
    System,
    /// The user's side. A person's message can still hold words of the client, which are known by their beginning.
    User(Voice),
    Model,
}

impl Speaker {
    /// Makes an item of text in such a message.
    pub(crate) fn says(self, text: String) -> Kind {
        match self {
            Self::System => Kind::System { text },
            Self::User(Voice::Client) => Kind::User { text, voice: Voice::Client },
            Self::User(Voice::Person) => Kind::User { voice: voice_of(&text), text },
            Self::Model => Kind::Assistant { text },
        }
    }
}

/// Makes items of a message's content, each with the number of its block. `text` is the JSON that the content was read
/// from, and `pointer` is the content's place in it.
pub(crate) fn kinds(content: Content<'_>, speaker: Speaker, text: &str, pointer: &str) -> Vec<(u32, Kind)> {
    let blocks = match content {
        Content::Absent => return Vec::new(),
        Content::Text(words) => return vec![(0, speaker.says(words))],
        Content::Blocks(blocks) => blocks,
    };
    let unread = LazyCell::new(|| elements(text, pointer));
    let mut kinds = Vec::with_capacity(blocks.len());
    for (part, block) in (0..).zip(blocks) {
        match block.kind.as_str() {
            "thinking" => kinds.push((
                part,
                Kind::Reasoning {
                    text: block.thinking.0.unwrap_or_default(),
                    sealed_bytes: block.signature.as_str().len(),
                },
            )),
            "redacted_thinking" => {
                kinds.push((part, Kind::Reasoning { text: String::new(), sealed_bytes: block.data.as_str().len() }));
            }
            "tool_use" => kinds.push((
                part,
                Kind::Call {
                    id: block.id.0.into_owned(),
                    tool: block.name.0.into_owned(),
                    input: block.input.map_or_else(|| "{}".to_owned(), compact),
                },
            )),
            "tool_result" => result(part, block, || json_at(&unread, part), &mut kinds),
            _ => match block.words() {
                Some(words) => kinds.push((part, speaker.says(words.to_owned()))),
                None => kinds.push((part, other(&block, json_at(&unread, part)))),
            },
        }
    }
    kinds
}

/// Makes an item of a result, and one of each block in it that is not text. `own_json` gives the JSON of the result's
/// block.
fn result<'t>(part: u32, block: ContentBlock<'_>, own_json: impl FnOnce() -> &'t str, kinds: &mut Vec<(u32, Kind)>) {
    let outcome = match block.is_error.0 {
        Some(true) => CallOutcome::Failed,
        Some(false) => CallOutcome::Succeeded,
        None => CallOutcome::Unsaid,
    };
    let unread = LazyCell::new(|| elements(own_json(), "/content"));
    let others: Vec<(u32, Kind)> = (0..)
        .zip(block.content.blocks())
        .filter(|(_, inner)| inner.words().is_none())
        .map(|(index, inner)| (part, other(inner, json_at(&unread, index))))
        .collect();
    let words = block.content.into_text();
    let held = held(&words);
    kinds.push((
        part,
        Kind::Result { id: block.tool_use_id.0.into_owned(), tool: String::new(), text: words, outcome, held },
    ));
    kinds.extend(others);
}

/// Whether a client has cleared a result, which shows by the fixed text in its place.
pub(crate) fn held(words: &str) -> HeldContent {
    if words == CLEARED { HeldContent::Cleared } else { HeldContent::Whole }
}

/// Makes an item of a block of an unknown kind, with its JSON unchanged.
pub(crate) fn other(block: &ContentBlock<'_>, json: &str) -> Kind {
    Kind::Other { name: block.kind.as_str().to_owned(), json: json.to_owned() }
}

/// The JSON of one element of a list; empty if there is none at this index.
pub(crate) fn json_at<'t>(list: &[&'t RawValue], at: u32) -> &'t str {
    list.get(at as usize).map_or("", |element| element.get())
}

/// JSON without the white space between its parts, which would waste tokens where a recording is indented.
pub(crate) fn compact(json: &RawValue) -> String {
    let mut compacted = String::with_capacity(json.get().len());
    let (mut in_string, mut escaped) = (false, false);
    for char in json.get().chars() {
        if in_string || !char.is_ascii_whitespace() {
            compacted.push(char);
        }
        if in_string && char == '\\' && !escaped {
            escaped = true;
            continue;
        }
        if char == '"' && !escaped {
            in_string = !in_string;
        }
        escaped = false;
    }
    compacted
}
