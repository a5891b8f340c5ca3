//! What each form's entries mean.
//!
//! A parser takes the text of one entry and gives its items. It remembers what it needs from earlier entries (the
//! tools of open calls, a boundary waiting for its summary) and nothing that grows with the recording.

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

/// One entry to be read.
pub(crate) struct Unit<'t> {
    /// Its text, without the end of the line.
    pub(crate) text: &'t str,
    /// Its number.
    pub(crate) number: u64,
    /// What of a document it is.
    pub(crate) piece: &'t DocumentPiece,
}

/// The parser of one form.
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

    /// Reads one entry. An error leaves the parser as it was.
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

    /// Items that were waiting for an entry that never came.
    pub(crate) fn finish(&mut self) -> Vec<Item> {
        match self {
            Self::ClaudeCode(parser) => parser.finish(),
            Self::Codex(_) | Self::OpenCode(_) | Self::Requests(_) | Self::Infold | Self::Normalized => Vec::new(),
        }
    }
}
