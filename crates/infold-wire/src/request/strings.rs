//! The strings of a body, one by one: those that tools gave, or all of them. Whoever searches them for secrets replaces
//! some, and everything between them keeps its bytes.
//!
//! Must hold: a string is left out only if it names a call, is a word of the API, or is a picture by its type. Where a
//! key is there twice, both values count, because providers differ in which one they take. Nothing here recurses.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use infold_core::view::BlockKind;
use memchr::memchr3;

use super::json::{At, Document, JsonShape, quote, unescaped};
use super::splice::Splices;
use super::{Request, RequestError, parts};

/// Words of the APIs that are in most results. They are left out, so that most requests have nothing to search here.
const API_WORDS: [&str; 26] = [
    "type",
    "text",
    "content",
    "role",
    "tool",
    "user",
    "name",
    "id",
    "status",
    "completed",
    "is_error",
    "tool_result",
    "tool_use_id",
    "tool_call_id",
    "call_id",
    "output",
    "function_call_output",
    "custom_tool_call_output",
    "input_text",
    "cache_control",
    "ephemeral",
    "ttl",
    "source",
    "image",
    "base64",
    "media_type",
];

/// Fields of a result that name its call: another name would part the two.
const CALL_IDS: [&str; 4] = ["id", "call_id", "tool_use_id", "tool_call_id"];

/// Fields that name the type of the `data` beside them.
const MEDIA_KEYS: [&str; 4] = ["media_type", "mimeType", "mime_type", "format"];

/// How the types begin of what is no text: pictures, sounds, films, printed pages.
const MEDIA_TYPES: [&str; 8] = ["image/", "audio/", "video/", "application/pdf", "wav", "mp3", "pcm16", "flac"];

/// How far into a text its `data:` address is looked for, in bytes.
const DATA_ADDRESS_BYTES: usize = 128;

/// Where a body has its conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversationPlace {
    /// In `messages`, as both Messages and Chat have it.
    Messages,
    /// In `input`, as Responses has it.
    Input,
    /// In `items`, as stored conversations have it.
    Items,
    /// In `messages` of the `params` of each of several `requests`.
    Batch,
}

impl ConversationPlace {
    /// The keys on the way to the conversation. A list on the way is gone through.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Messages => &["messages"],
            Self::Input => &["input"],
            Self::Items => &["items"],
            Self::Batch => &["requests", "params", "messages"],
        }
    }
}

/// A body that is JSON, whatever it says.
#[derive(Debug)]
pub struct JsonBody<'a> {
    pub(super) document: Document<'a>,
}

impl<'a> JsonBody<'a> {
    /// Reads a body, or says why it is not JSON.
    pub fn read(body: &'a [u8]) -> Result<Self, RequestError> {
        Ok(Self { document: Document::read(body)? })
    }

    /// Every string in it, keys too.
    pub fn strings(&self) -> JsonStrings<'_, 'a> {
        let document = &self.document;
        let places = strings_in(document, 0, |_| false);
        JsonStrings { document, places }
    }

    /// The strings of what tools gave in its conversation.
    pub fn strings_in_results(&self, place: ConversationPlace) -> JsonStrings<'_, 'a> {
        let document = &self.document;
        let entries = entries(document, place);
        let places = entries.into_iter().flat_map(|entry| results_in(document, entry));
        let in_result = |result: At| {
            let ids = ids_of(document, result);
            strings_in(document, result, |at| ids.contains(&at))
        };
        let places = places.flat_map(in_result).collect();
        JsonStrings { document, places }
    }
}

/// Some strings of a body, in order.
#[derive(Debug)]
pub struct JsonStrings<'d, 'a> {
    document: &'d Document<'a>,
    places: Vec<At>,
}

impl<'a> JsonStrings<'_, 'a> {
    /// The strings, unescaped.
    pub fn texts(&self) -> Vec<Cow<'a, str>> {
        self.places.iter().filter_map(|at| self.document.text(*at)).collect()
    }

    /// The name of each of [`Self::texts`] that has one, because it is a member of an object; words of the API say nothing.
    pub fn names(&self) -> Vec<Option<Cow<'a, str>>> {
        let objects = (0..self.document.after(0)).filter(|at| self.document.shape(*at) == JsonShape::Object);
        let members = objects.flat_map(|object| self.document.members(object));
        let members = members.filter(|(name, _)| api_word(self.document.raw(*name)).is_none());
        let name_of: HashMap<At, At> = members.map(|(name, value)| (value, name)).collect();
        self.places.iter().map(|at| self.document.text(*name_of.get(at)?)).collect()
    }

    /// The texts that are parts of one list, such as those of a result, by their places in [`Self::texts`]: whoever reads
    /// them reads one behind the other. A text that is alone is in none of these.
    pub fn parts(&self) -> Vec<Vec<usize>> {
        if self.places.len() < 2 {
            return Vec::new();
        }
        let mut list_of = HashMap::new();
        for list in (0..self.document.after(0)).filter(|at| self.document.shape(*at) == JsonShape::List) {
            let texts = self.document.elements(list).flat_map(|part| members_called(self.document, part, "text"));
            list_of.extend(texts.map(|text| (text, list)));
        }
        let mut parts: BTreeMap<At, Vec<usize>> = BTreeMap::new();
        for (number, at) in self.places.iter().enumerate() {
            if let Some(list) = list_of.get(at) {
                parts.entry(*list).or_default().push(number);
            }
        }
        parts.into_values().filter(|texts| texts.len() > 1).collect()
    }

    /// The body with other strings in it: one element for each of [`Self::texts`], where `None` leaves it as it is.
    pub fn replaced(&self, texts: &[Option<String>]) -> Vec<u8> {
        let mut splices = Splices::default();
        for (at, text) in self.places.iter().zip(texts) {
            if let Some(text) = text {
                let mut json = Vec::with_capacity(text.len() + 16);
                quote(text, &mut json);
                splices.replace(self.document, *at, json);
            }
        }
        let body = self.document.body();
        let mut out = Vec::with_capacity(body.len());
        splices.write(body, 0..body.len(), &mut out);
        out
    }
}

/// The strings in results of a request that are not among the texts of its result blocks.
pub(super) fn beside_texts<'d, 'a>(request: &'d Request<'a>) -> JsonStrings<'d, 'a> {
    let document = &request.document;
    let results = request.entries.iter().flat_map(|entry| results_in(document, entry.at));
    let results: Vec<At> = results.collect();
    if results.is_empty() {
        return JsonStrings { document, places: Vec::new() };
    }
    let of_blocks = request.blocks.iter().zip(&request.seats).filter_map(|(block, seat)| match block.kind {
        BlockKind::Result(_) => seat.content,
        _ => None,
    });
    let mut texts: Vec<At> = of_blocks.flat_map(|content| parts::places(document, content)).collect();
    texts.sort_unstable();
    let beside = |result: At| {
        let ids = ids_of(document, result);
        strings_in(document, result, |at| ids.contains(&at) || texts.binary_search(&at).is_ok())
    };
    JsonStrings { document, places: results.into_iter().flat_map(beside).collect() }
}

/// The entries of the conversation at this place.
fn entries(document: &Document<'_>, place: ConversationPlace) -> Vec<At> {
    let mut here = vec![0];
    for key in place.keys() {
        let values = here.into_iter().flat_map(|at| members_called(document, at, key));
        here = values.flat_map(|value| elements_or_itself(document, value)).collect();
    }
    here
}

fn members_called(document: &Document<'_>, at: At, key: &str) -> Vec<At> {
    document.members(at).filter(|(name, _)| document.says(*name, key)).map(|(_, value)| value).collect()
}

fn elements_or_itself(document: &Document<'_>, at: At) -> Vec<At> {
    if document.shape(at) == JsonShape::List { document.elements(at).collect() } else { vec![at] }
}

/// The values in an entry that tools gave: the entry itself, parts of its content, or the output of a call that its
/// provider made.
fn results_in(document: &Document<'_>, entry: At) -> Vec<At> {
    let mut found = Vec::new();
    for (key, value) in document.members(entry) {
        let Some(key) = document.text(key) else { continue };
        match &*key {
            "role" if is_one_of(document, value, &["tool", "function"]) => return vec![entry],
            "type" if is_result_type(document, value) => return vec![entry],
            "content" => {
                let parts = elements_or_itself(document, value).into_iter();
                found.extend(parts.filter(|part| {
                    members_called(document, *part, "type").into_iter().any(|kind| is_result_type(document, kind))
                }));
            }
            "output" | "outputs" | "results" => found.push(value),
            _ => {}
        }
    }
    found
}

fn is_result_type(document: &Document<'_>, kind: At) -> bool {
    document.text(kind).is_some_and(|kind| kind == "tool_result" || kind.ends_with("_output"))
}

fn is_one_of(document: &Document<'_>, at: At, words: &[&str]) -> bool {
    document.text(at).is_some_and(|text| words.contains(&&*text))
}

/// The fields of a result that name its call.
fn ids_of(document: &Document<'_>, result: At) -> Vec<At> {
    let ids = document.members(result).filter(|(key, _)| is_one_of(document, *key, &CALL_IDS));
    ids.map(|(_, value)| value).collect()
}

/// Every string in a value, keys too.
fn strings_of<'d>(document: &'d Document<'_>, at: At) -> impl Iterator<Item = At> + 'd {
    (at..document.after(at)).filter(|at| document.is_text(*at))
}

/// The strings in a value that are searched. Those that are known are left out.
fn strings_in(document: &Document<'_>, at: At, is_known: impl Fn(At) -> bool) -> Vec<At> {
    let is_searched = |at: &At| {
        let raw = document.raw(*at);
        api_word(raw).is_none() && !is_known(*at) && !is_data_address(raw)
    };
    let mut strings: Vec<At> = strings_of(document, at).filter(is_searched).collect();
    if !strings.is_empty() {
        let media = media_below(document, at);
        strings.retain(|at| !media.contains(at));
    }
    strings
}

/// The word of the APIs that the JSON of a string is, if it is one.
pub(super) fn api_word(raw: &str) -> Option<&'static str> {
    const WORD_BYTES_MAX: usize = 24;
    let word = &raw[1..raw.len() - 1];
    // Most strings are too long to be one.
    if word.len() > WORD_BYTES_MAX { None } else { API_WORDS.into_iter().find(|known| *known == word) }
}

/// The strings in a value that are pictures or the like.
pub(super) fn media_below(document: &Document<'_>, at: At) -> HashSet<At> {
    (at..document.after(at)).filter_map(|at| media_in(document, at)).collect()
}

/// The data in an object that is a picture or the like, if it is one.
fn media_in(document: &Document<'_>, at: At) -> Option<At> {
    if document.shape(at) != JsonShape::Object {
        return None;
    }
    let data = document.field(at, "data").filter(|data| document.is_text(*data))?;
    let mut kinds = MEDIA_KEYS.iter().filter_map(|key| document.text_field(at, key));
    (kinds.any(|kind| is_media_type(&kind)) && is_base64(document.raw(data))).then_some(data)
}

fn is_media_type(kind: &str) -> bool {
    MEDIA_TYPES.iter().any(|media| kind.starts_with(media))
}

/// Whether the JSON of a string is an address that holds a picture or the like in itself.
pub(super) fn is_data_address(raw: &str) -> bool {
    let Some(kind) = raw.strip_prefix("\"data:") else { return false };
    let head = &kind[..kind.floor_char_boundary(DATA_ADDRESS_BYTES)];
    is_media_type(&unescaped(head)) && head.find(";base64,").is_some_and(|comma| is_base64(&kind[comma..]))
}

/// Whether nothing in a text speaks against base64. Tokens and words have characters that base64 lacks.
fn is_base64(raw: &str) -> bool {
    memchr3(b'_', b' ', b'-', raw.as_bytes()).is_none()
}

#[cfg(test)]
mod tests;
