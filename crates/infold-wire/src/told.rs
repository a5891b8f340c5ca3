//! A conversation that a client tells as one text, to have it summarised: OpenCode's compaction.
//!
//! ```text
//! Here is the conversation so far:
//!
//! <conversation>
//! [User]: fix the bug
//!
//! [Assistant]: Looking.
//! [Assistant tool call]: read({"filePath":"a.rs"})
//! [Tool result]: fn main() {}
//!
//! </conversation>
//!
//! Create a summary ...
//! ```
//!
//! It is read into blocks, so that what stands in it can be left out by the same plan as everywhere, and written
//! again. What a tool printed can look like the beginning of something else; then less is recognised, and shown.

use std::borrow::Cow;

use infold_core::transcript::Voice;
use infold_core::view::{Block, BlockKind, CallBlock, ResultBlock, ViewPiece};

use crate::request::key_of_words;
use infold_core::ToolEffect;

const OPENING: &str = "<conversation>\n";
const CLOSING: &str = "\n</conversation>";

/// Who speaks in a part, by how it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Teller {
    User,
    Model,
    Call,
    Result,
}

const TELLERS: [(&str, Teller); 4] = [
    ("[User]: ", Teller::User),
    ("[Assistant]: ", Teller::Model),
    ("[Assistant tool call]: ", Teller::Call),
    ("[Tool result]: ", Teller::Result),
];

/// A conversation that is told.
#[derive(Debug)]
pub struct Told<'a> {
    /// What stands in front of the conversation, and behind it.
    around: (&'a str, &'a str),
    parts: Vec<ToldPart<'a>>,
}

#[derive(Debug)]
struct ToldPart<'a> {
    teller: Teller,
    /// All of it, with how it begins and the lines behind it.
    whole: &'a str,
    /// What is told.
    text: &'a str,
}

impl<'a> Told<'a> {
    /// Reads a text, if it tells a conversation.
    pub fn read(text: &'a str) -> Option<Self> {
        let from = text.find(OPENING)? + OPENING.len();
        let to = from + text[from..].rfind(CLOSING)? + 1;
        let parts = parts(&text[from..to]);
        (!parts.is_empty()).then_some(Self { around: (&text[..from], &text[to..]), parts })
    }

    /// The conversation as blocks, and behind them what asks for the summary.
    pub fn blocks(&self) -> Vec<Block<'a>> {
        let mut last = None;
        let mut blocks: Vec<Block<'a>> = Vec::with_capacity(self.parts.len() + 1);
        for (entry, part) in self.parts.iter().enumerate() {
            let kind = part.kind(entry, &mut last);
            blocks.push(Block { entry, key: key_of_words(part.whole), kind });
        }
        let kind = BlockKind::User { voice: Voice::Client };
        blocks.push(Block { entry: self.parts.len(), key: key_of_words(self.around.1), kind });
        blocks
    }

    /// The text that `pieces` ask for.
    pub fn write(&self, pieces: &[ViewPiece]) -> String {
        let mut text = self.around.0.to_owned();
        for piece in pieces {
            match piece {
                ViewPiece::Keep(at) => text.push_str(self.parts.get(*at).map_or("", |part| part.whole)),
                ViewPiece::Text { text: told, .. } => text.push_str(&format!("[Tool result]: {told}\n\n")),
                ViewPiece::Words { text: told, .. } | ViewPiece::Say { text: told, .. } => {
                    text.push_str(&format!("[User]: {told}\n\n"));
                }
                ViewPiece::Quote { block, head, .. } => {
                    let quoted = self.parts.get(*block).map_or("", |part| part.text);
                    text.push_str(&format!("[User]: {head}\n{quoted}\n\n"));
                }
                ViewPiece::Content { json, .. } => {
                    text.push_str(&format!("[Tool result]: {}\n\n", String::from_utf8_lossy(json)));
                }
            }
        }
        text.push_str(self.around.1);
        text
    }
}

impl<'a> ToldPart<'a> {
    /// What it is. A result answers the call in front of it; both are named by where the call stands.
    fn kind(&self, entry: usize, last: &mut Option<(usize, bool)>) -> BlockKind<'a> {
        match self.teller {
            Teller::User => BlockKind::User { voice: Voice::Person },
            Teller::Model => BlockKind::Assistant,
            Teller::Call => {
                let (tool, arguments) = self.text.trim_end().split_once('(').unwrap_or((self.text.trim_end(), ""));
                let is_ours = ToolEffect::of(tool).is_some();
                *last = Some((entry, is_ours));
                let arguments = is_ours.then(|| Cow::Borrowed(arguments.trim_end_matches(')')));
                BlockKind::Call(CallBlock { id: Cow::Owned(name(entry)), tool: Cow::Borrowed(tool), arguments })
            }
            Teller::Result => {
                let (call, is_ours) = last.take().unwrap_or((entry, false));
                BlockKind::Result(ResultBlock {
                    call: Cow::Owned(name(call)),
                    content: key_of_words(self.text),
                    content_bytes: self.text.len(),
                    text: is_ours.then_some(Cow::Borrowed(self.text.trim_end())),
                    loads: Vec::new(),
                    remarks: Vec::new(),
                })
            }
        }
    }
}

fn name(entry: usize) -> String {
    format!("told-{entry}")
}

/// The parts of a conversation. What stands in front of the first belongs to it.
fn parts(conversation: &str) -> Vec<ToldPart<'_>> {
    let mut starts: Vec<(usize, usize, Teller)> = Vec::new();
    let mut at = 0;
    for line in conversation.split_inclusive('\n') {
        let teller = TELLERS.iter().find(|(opening, _)| line.starts_with(opening));
        starts.extend(teller.map(|(opening, teller)| (at, at + opening.len(), *teller)));
        at += line.len();
    }
    let ends = starts.iter().skip(1).map(|(start, ..)| *start).chain([conversation.len()]);
    let part = |((start, text, teller), end): (&(usize, usize, Teller), usize)| ToldPart {
        teller: *teller,
        whole: &conversation[*start..end],
        text: &conversation[*text..end],
    };
    starts.iter().zip(ends).map(part).collect()
}

#[cfg(test)]
mod tests;
