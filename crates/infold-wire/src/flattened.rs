//! Reads and writes a conversation that a client has flattened into one text, to have it summarised: OpenCode's
//! compaction.
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
//! It is read into blocks, so that a plan can leave parts of it out as in any other request, and then written again.
//! What a tool printed can look like the beginning of another part; then less is recognised, and more is shown.

use std::borrow::Cow;

use infold_core::transcript::Voice;
use infold_core::view::{Block, BlockKind, CallBlock, ResultBlock, ViewPiece};

use crate::request::key_of_words;
use infold_core::ToolEffect;

const OPENING: &str = "<conversation>\n";
const CLOSING: &str = "\n</conversation>";

/// Who speaks in a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartSpeaker {
    User,
    Model,
    Call,
    Result,
}

const PART_OPENINGS: [(&str, PartSpeaker); 4] = [
    ("[User]: ", PartSpeaker::User),
    ("[Assistant]: ", PartSpeaker::Model),
    ("[Assistant tool call]: ", PartSpeaker::Call),
    ("[Tool result]: ", PartSpeaker::Result),
];

/// A conversation that was flattened into one text.
#[derive(Debug)]
pub struct FlattenedConversation<'a> {
    /// The text before the conversation and the text after it.
    around: (&'a str, &'a str),
    parts: Vec<FlattenedPart<'a>>,
}

#[derive(Debug)]
struct FlattenedPart<'a> {
    speaker: PartSpeaker,
    /// The whole part, with its opening and the empty lines after it.
    whole: &'a str,
    /// The part without its opening.
    text: &'a str,
}

impl<'a> FlattenedConversation<'a> {
    /// Reads a text; `None` if it is not a flattened conversation.
    pub fn read(text: &'a str) -> Option<Self> {
        let from = text.find(OPENING)? + OPENING.len();
        let to = from + text[from..].rfind(CLOSING)? + 1;
        let parts = parts(&text[from..to]);
        (!parts.is_empty()).then_some(Self { around: (&text[..from], &text[to..]), parts })
    }

    /// The parts of the conversation as blocks, and after them one for the text that asks for the summary.
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

    /// Writes the text that `pieces` ask for, with the text before and after the conversation unchanged.
    pub fn write(&self, pieces: &[ViewPiece]) -> String {
        let mut text = self.around.0.to_owned();
        for piece in pieces {
            match piece {
                ViewPiece::Keep(at) => text.push_str(self.parts.get(*at).map_or("", |part| part.whole)),
                ViewPiece::Text { text: shown, .. } => text.push_str(&format!("[Tool result]: {shown}\n\n")),
                ViewPiece::Words { text: shown, .. } | ViewPiece::Say { text: shown, .. } => {
                    text.push_str(&format!("[User]: {shown}\n\n"));
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

impl<'a> FlattenedPart<'a> {
    /// The kind of block that the part is. A result belongs to the call before it, and both get an id from the call's
    /// index. `last` is that call, and whether its tool is one of infold's.
    fn kind(&self, entry: usize, last: &mut Option<(usize, bool)>) -> BlockKind<'a> {
        match self.speaker {
            PartSpeaker::User => BlockKind::User { voice: Voice::Person },
            PartSpeaker::Model => BlockKind::Assistant,
            PartSpeaker::Call => {
                let (tool, arguments) = self.text.trim_end().split_once('(').unwrap_or((self.text.trim_end(), ""));
                let is_ours = ToolEffect::of(tool).is_some();
                *last = Some((entry, is_ours));
                let arguments = is_ours.then(|| Cow::Borrowed(arguments.trim_end_matches(')')));
                BlockKind::Call(CallBlock { id: Cow::Owned(name(entry)), tool: Cow::Borrowed(tool), arguments })
            }
            PartSpeaker::Result => {
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

/// Cuts a conversation into its parts. What comes before the first opening is dropped.
fn parts(conversation: &str) -> Vec<FlattenedPart<'_>> {
    let mut starts: Vec<(usize, usize, PartSpeaker)> = Vec::new();
    let mut at = 0;
    for line in conversation.split_inclusive('\n') {
        let speaker = PART_OPENINGS.iter().find(|(opening, _)| line.starts_with(opening));
        starts.extend(speaker.map(|(opening, speaker)| (at, at + opening.len(), *speaker)));
        at += line.len();
    }
    let ends = starts.iter().skip(1).map(|(start, ..)| *start).chain([conversation.len()]);
    let part = |((start, text, speaker), end): (&(usize, usize, PartSpeaker), usize)| FlattenedPart {
        speaker: *speaker,
        whole: &conversation[*start..end],
        text: &conversation[*text..end],
    };
    starts.iter().zip(ends).map(part).collect()
}

#[cfg(test)]
mod tests;
