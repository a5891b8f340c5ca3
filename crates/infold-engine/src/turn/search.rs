//! Searches for secrets where no plan does: in the strings of results that are not their texts, and in bodies that are
//! no turn of a conversation.
//!
//! Must hold: what is passed on was searched, whatever its form; what cannot be read or searched is withheld with a
//! reason. Placeholders are made with the database's key, so the same body gives the same bytes ever after, and nothing
//! has to be stored.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use bytes::Bytes;
use infold_core::{ScrubError, Scrubbed, strip_hostile_in};
use infold_wire::request::{ConversationPlace, JsonBody, JsonStrings, Request};
use serde_json::Value;

use super::{ModelRequest, Withheld};
use crate::{Engine, Error, Failure};

/// How many bytes of strings are searched at once. Each round has the scrubber's whole time.
const ROUND_BYTES_MAX: usize = 256 << 10;

/// What of a body is searched before it is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchScope {
    /// What tools gave, in the conversation at this place of the body.
    Results(ConversationPlace),
    /// Everything. The body has to be JSON.
    Json,
    /// Everything. The body may be any text.
    Text,
}

/// What becomes of a string that could not be searched to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unfinished {
    /// A text in its place says that it is withheld, because a tool gave it.
    Replaced,
    /// Nothing is sent, because it may be a person's words.
    Refused,
}

/// How texts that are searched at once belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextRelation {
    Apart,
    /// They are read one behind the other: a secret may begin in one and end in another.
    InARow,
}

/// A request's body without the secrets that are beside its results' texts, if there were any.
#[derive(Debug, Clone, Default)]
pub struct SearchedBody(OnceLock<Bytes>);

impl SearchedBody {
    pub(super) fn get(&self) -> Option<&Bytes> {
        self.0.get()
    }
}

impl Engine {
    /// Searches a body that is no turn, and returns what is passed on of it: the same bytes if it holds no secrets.
    pub async fn search_body(&self, body: &Bytes, scope: SearchScope) -> Result<Bytes, Withheld> {
        let read = JsonBody::read(body);
        let searched = match (&read, scope) {
            (Ok(json), SearchScope::Results(place)) => {
                self.without_secrets(&json.strings_in_results(place), Unfinished::Replaced).await?
            }
            (Ok(json), SearchScope::Json | SearchScope::Text) => {
                self.without_secrets(&json.strings(), Unfinished::Refused).await?
            }
            (Err(_), SearchScope::Text) => self.search_text(body).await?,
            (Err(error), SearchScope::Results(_) | SearchScope::Json) => {
                return Err(Withheld::Unreadable(error.to_string()));
            }
        };
        Ok(searched.map_or_else(|| body.clone(), Bytes::from))
    }

    /// A JSON value of a tool's result without its secrets. Images and the like stay as they are.
    pub(crate) async fn scrub_value(&self, value: &Value) -> Result<Value, Error> {
        let body = value.to_string();
        let json = JsonBody::read(body.as_bytes()).map_err(|_| Failure::Planning)?;
        let searched = self.without_secrets(&json.strings(), Unfinished::Replaced).await;
        let searched = searched.map_err(|_| Failure::Scrubbing(ScrubError::Missing))?;
        match searched {
            None => Ok(value.clone()),
            Some(body) => Ok(serde_json::from_slice(&body).map_err(|_| Failure::Planning)?),
        }
    }

    /// What a server says beside the texts of its results, without secrets and without what cannot be seen.
    pub async fn clean_value(&self, value: &Value) -> Result<Value, Error> {
        self.scrub_value(&strip_hostile_in(value)).await
    }

    /// Reads a turn without the secrets beside its results' texts; `None` if it cannot be read as a conversation.
    pub(super) async fn read_turn<'a>(&self, asked: &'a ModelRequest) -> Result<Option<Request<'a>>, Withheld> {
        let unreadable = |error| tracing::debug!(%error, "a request cannot be read as a conversation");
        let Ok(request) = Request::read(asked.api, &asked.body).map_err(unreadable) else { return Ok(None) };
        match self.without_secrets(&request.strings_beside_texts(), Unfinished::Replaced).await? {
            None => Ok(Some(request)),
            Some(body) => {
                let body = asked.searched.0.get_or_init(|| body.into());
                Ok(Request::read(asked.api, body).map_err(unreadable).ok())
            }
        }
    }

    /// The body of these strings without their secrets; `None` if they have none.
    async fn without_secrets(
        &self,
        strings: &JsonStrings<'_, '_>,
        unfinished: Unfinished,
    ) -> Result<Option<Vec<u8>>, Withheld> {
        let texts = strings.texts();
        if texts.is_empty() {
            return Ok(None);
        }
        let (names, parts) = (strings.names(), strings.parts());
        let in_parts: HashSet<usize> = parts.iter().flatten().copied().collect();
        let written: Vec<WrittenText<'_>> = texts.iter().zip(&names).map(|(text, name)| written(text, name)).collect();
        let alone = written.iter().enumerate().filter(|(at, _)| !in_parts.contains(at)).map(|(_, written)| written);
        let mut clean: HashMap<&str, Option<String>> = HashMap::new();
        for round in rounds(alone.map(|written| &*written.searched)) {
            let found = self.search_round(&round, TextRelation::Apart, unfinished).await?;
            clean.extend(round.into_iter().zip(found));
        }
        let mut replaced: Vec<Option<String>> = written.iter().map(|written| written.replaced_in(&clean)).collect();
        for places in parts {
            let of_one: Vec<&str> = places.iter().map(|at| &*texts[*at]).collect();
            let found = self.search_round(&of_one, TextRelation::InARow, unfinished).await?;
            places.into_iter().zip(found).for_each(|(at, text)| replaced[at] = text);
        }
        Ok(replaced.iter().any(Option::is_some).then(|| strings.replaced(&replaced)))
    }

    /// What is sent in place of each text; `None` for one that has no secrets.
    async fn search_round(
        &self,
        texts: &[&str],
        relation: TextRelation,
        unfinished: Unfinished,
    ) -> Result<Vec<Option<String>>, Withheld> {
        let owned = texts.iter().map(|text| (*text).to_owned()).collect();
        let scrubbed = match (relation, unfinished) {
            (TextRelation::Apart, Unfinished::Replaced) => self.scrub_or_withhold(owned).await,
            (TextRelation::Apart, Unfinished::Refused) => self.scrub_list(owned).await,
            (TextRelation::InARow, Unfinished::Replaced) => self.scrub_parts_or_withhold(owned).await,
            (TextRelation::InARow, Unfinished::Refused) => self.scrub_parts(owned).await,
        };
        let scrubbed = scrubbed.map_err(|error| match error {
            ScrubError::Missing => Withheld::Unscrubbed(error),
            other => Withheld::Unsearched(other),
        })?;
        let changed = |(before, after): (&&str, Scrubbed)| (*before != after.as_str()).then(|| after.into_string());
        Ok(texts.iter().zip(scrubbed).map(changed).collect())
    }

    /// A text that is not JSON, without its secrets; `None` if it has none.
    async fn search_text(&self, body: &Bytes) -> Result<Option<Vec<u8>>, Withheld> {
        // Other control characters mean that it is no text, or one in another encoding, such as UTF-16.
        let is_text = body.iter().all(|byte| *byte >= b' ' || matches!(byte, b'\n' | b'\r' | b'\t'));
        let Some(text) = std::str::from_utf8(body).ok().filter(|_| is_text) else {
            return Err(Withheld::Unreadable("the body is neither JSON nor plain text".to_owned()));
        };
        let found = self.search_round(&[text], TextRelation::Apart, Unfinished::Refused).await?;
        let searched = found.into_iter().next().flatten();
        Ok(searched.map(String::into_bytes))
    }
}

/// A text as it is searched: with its name before it, which may say that it is secret.
struct WrittenText<'t> {
    searched: Cow<'t, str>,
    /// How many bytes are before and behind the text.
    around: (usize, usize),
}

/// Writes a text as a member of an object is written.
fn written<'t>(text: &'t str, name: &Option<Cow<'_, str>>) -> WrittenText<'t> {
    match name {
        Some(name) => WrittenText {
            searched: Cow::Owned(format!("\"{name}\": \"{text}\"")),
            around: (name.len() + "\"\": \"".len(), "\"".len()),
        },
        None => WrittenText { searched: Cow::Borrowed(text), around: (0, 0) },
    }
}

impl WrittenText<'_> {
    /// What is sent in place of the text; `None` if it stays.
    fn replaced_in(&self, clean: &HashMap<&str, Option<String>>) -> Option<String> {
        let clean = clean.get(&*self.searched)?.as_deref()?;
        let (before, behind) = self.around;
        let is_around = |clean: &str| {
            clean.len() >= before + behind
                && clean.is_char_boundary(before)
                && clean[..before] == self.searched[..before]
                && clean.is_char_boundary(clean.len() - behind)
        };
        // A find that reaches beyond the text takes all of it.
        Some(if is_around(clean) { clean[before..clean.len() - behind].to_owned() } else { clean.to_owned() })
    }
}

/// Divides texts into rounds of a bounded length, each text once.
fn rounds<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<Vec<&'t str>> {
    let mut seen = HashSet::new();
    let mut rounds: Vec<Vec<&str>> = Vec::new();
    let mut bytes = usize::MAX;
    for text in texts {
        if !seen.insert(text) {
            continue;
        }
        if bytes.saturating_add(text.len()) > ROUND_BYTES_MAX {
            rounds.push(Vec::new());
            bytes = 0;
        }
        bytes += text.len();
        if let Some(round) = rounds.last_mut() {
            round.push(text);
        }
    }
    rounds
}

#[cfg(test)]
mod tests;
