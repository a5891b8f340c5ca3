//! Makes the JSON that replaces a result, and that is stored: all of its strings are scrubbed, whatever they were
//! before.

use std::collections::HashMap;

use infold_core::view::{JsonString, ScrubbedJson};
use infold_core::{ScrubError, Scrubbed};
use infold_wire::request::{JsonBody, JsonPieces, StringPiece};

use crate::{Engine, Failure};

impl Engine {
    /// Scrubs every string of a JSON value. Those in `known` were scrubbed before.
    pub(crate) async fn scrub_json(&self, json: &[u8], known: &[&Scrubbed]) -> Result<ScrubbedJson, Failure> {
        let body = JsonBody::read(json).map_err(|_| Failure::Planning)?;
        let JsonPieces { between, strings } = body.pieces();
        let mut scrubbed: HashMap<&str, Scrubbed> = known.iter().map(|text| (text.as_str(), (*text).clone())).collect();
        self.scrub_others(&strings, &mut scrubbed).await?;

        let words: HashMap<&str, Scrubbed> = words_in(&strings);
        let pieces = strings.iter().map(|string| match string {
            StringPiece::Word { raw, word } => words.get(word).map(|text| JsonString::Scrubbed { raw, text }),
            StringPiece::Media { raw } => Some(JsonString::Media(raw)),
            StringPiece::Text { raw, text } => scrubbed.get(&**text).map(|text| JsonString::Scrubbed { raw, text }),
        });
        let pieces: Option<Vec<JsonString<'_>>> = pieces.collect();
        pieces.and_then(|pieces| ScrubbedJson::put_together(&between, &pieces)).ok_or(Failure::Planning)
    }

    /// Scrubs the strings that are not known yet.
    async fn scrub_others<'s>(
        &self,
        strings: &'s [StringPiece<'_>],
        scrubbed: &mut HashMap<&'s str, Scrubbed>,
    ) -> Result<(), ScrubError> {
        let texts = strings.iter().filter_map(|string| match string {
            StringPiece::Text { text, .. } => Some(&**text),
            StringPiece::Word { .. } | StringPiece::Media { .. } => None,
        });
        let mut new: Vec<&str> = texts.filter(|text| !scrubbed.contains_key(text)).collect();
        new.sort_unstable();
        new.dedup();
        if !new.is_empty() {
            let found = self.scrub_or_withhold(new.iter().map(|text| (*text).to_owned()).collect()).await?;
            scrubbed.extend(new.into_iter().zip(found));
        }
        Ok(())
    }
}

fn words_in<'s>(strings: &'s [StringPiece<'_>]) -> HashMap<&'s str, Scrubbed> {
    let words = strings.iter().filter_map(|string| match string {
        StringPiece::Word { word, .. } => Some((*word, Scrubbed::fixed(word))),
        StringPiece::Media { .. } | StringPiece::Text { .. } => None,
    });
    words.collect()
}

#[cfg(test)]
mod tests;
