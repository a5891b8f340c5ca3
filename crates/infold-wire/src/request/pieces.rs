//! A JSON value taken apart into its strings and what is between them, so that it can be put together again.

use std::borrow::Cow;

use infold_core::view::is_media;

use super::JsonBody;
use super::strings::{api_word, is_data_address, media_below};

/// A value in pieces. `between` has one piece more than there are strings.
#[derive(Debug)]
pub struct JsonPieces<'a> {
    /// Punctuation, numbers and white space around the strings.
    pub between: Vec<&'a str>,
    /// All strings in order, keys too.
    pub strings: Vec<StringPiece<'a>>,
}

/// A string of a value. `raw` is its JSON, with its quotes.
#[derive(Debug, Clone)]
pub enum StringPiece<'a> {
    /// A word of the API, which holds no secret.
    Word {
        /// The JSON of the string.
        raw: &'a str,
        /// The word itself.
        word: &'static str,
    },
    /// A picture or the like, in base64.
    Media {
        /// The JSON of the string.
        raw: &'a str,
    },
    /// Anything else.
    Text {
        /// The JSON of the string.
        raw: &'a str,
        /// What it says.
        text: Cow<'a, str>,
    },
}

impl<'a> JsonBody<'a> {
    /// Takes the value apart.
    pub fn pieces(&self) -> JsonPieces<'a> {
        let document = &self.document;
        let media = media_below(document, 0);
        let mut pieces = JsonPieces { between: Vec::new(), strings: Vec::new() };
        let mut done = 0;
        for at in (0..document.after(0)).filter(|at| document.is_text(*at)) {
            let (span, raw) = (document.span(at), document.raw(at));
            pieces.between.push(&document.body()[done..span.start]);
            done = span.end;
            let is_picture = media.contains(&at) || is_data_address(raw);
            pieces.strings.push(match (api_word(raw), document.text(at)) {
                (Some(word), _) => StringPiece::Word { raw, word },
                (None, _) if is_picture && is_media(raw) => StringPiece::Media { raw },
                (None, text) => StringPiece::Text { raw, text: text.unwrap_or_default() },
            });
        }
        pieces.between.push(&document.body()[done..]);
        pieces
    }
}

#[cfg(test)]
mod tests;
