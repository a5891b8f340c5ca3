//! The parsers, one for each form: they turn the text of an entry into items.
//!
//! A parser remembers what it needs from earlier entries (the tools of open calls, a compaction that waits for its
//! summary), and nothing that grows with the recording. Cutting the input into entries is left to `reader`; what
//! concerns several entries, such as going back, to `assemble`.

mod claude_code;
mod codex;
mod infold;
mod normalized;
mod openai_item;
mod opencode;
mod requests;

use infold_core::transcript::Item;

use crate::detect::Layout;
use crate::document::DocumentPiece;
use crate::form::Format;
use crate::reader::Entry;

pub(crate) use infold::transcript as infold_transcript;
pub(crate) use openai_item::outcome_of;

/// The text of one entry, for a parser.
pub(crate) struct Unit<'t> {
    /// The JSON of the entry, without the end of the line.
    pub(crate) text: &'t str,
    /// The line or element, counted from 1; 0 for a member beside the list.
    pub(crate) number: u64,
    /// The kind of piece it is in a document; a line counts as an element.
    pub(crate) piece: &'t DocumentPiece,
}

/// The parser of one form, with what it remembers.
pub(crate) enum Parser {
    ClaudeCode(Box<claude_code::ClaudeCode>),
    Codex(Box<codex::Codex>),
    OpenCode(Box<opencode::OpenCode>),
    Requests(Box<requests::Requests>),
    Infold,
    Normalized,
}

impl Parser {
    pub(crate) fn new(format: Format, layout: Layout) -> Self {
        match format {
            Format::ClaudeCode => Self::ClaudeCode(Box::default()),
            Format::Codex => Self::Codex(Box::default()),
            Format::OpenCode => Self::OpenCode(Box::default()),
            Format::Anthropic => {
                Self::Requests(Box::new(requests::Requests::new(requests::LoggedApi::Anthropic, layout)))
            }
            Format::OpenAi => Self::Requests(Box::new(requests::Requests::new(requests::LoggedApi::OpenAi, layout))),
            Format::Infold => Self::Infold,
            Format::Normalized => Self::Normalized,
        }
    }

    /// Parses one entry. After an error the parser is as it was before.
    pub(crate) fn parse(&mut self, unit: Unit<'_>) -> Result<Entry, serde_json::Error> {
        match self {
            Self::ClaudeCode(parser) => parser.parse(&unit),
            Self::Codex(parser) => parser.parse(&unit),
            Self::OpenCode(parser) => parser.parse(&unit),
            Self::Requests(parser) => parser.parse(&unit),
            Self::Infold => infold::parse(&unit),
            Self::Normalized => normalized::parse(&unit),
        }
    }

    /// The items that waited for an entry which never came; called at the end of the recording.
    pub(crate) fn finish(&mut self) -> Vec<Item> {
        match self {
            Self::ClaudeCode(parser) => parser.finish(),
            Self::Codex(_) | Self::OpenCode(_) | Self::Requests(_) | Self::Infold | Self::Normalized => Vec::new(),
        }
    }
}
