//! Parses requests to a provider: a single one as a JSON document, or many, one on each line, either bare or in a
//! record of path and body.
//!
//! In a document, the elements of `messages` or `input` are the entries. On lines, each request is an entry and a
//! session of its own, because the next request repeats most of it.

use infold_core::transcript::{Kind, Voice};
use serde::Deserialize;

use super::Unit;
use super::openai_item::{ItemSource, OpenAiItem};
use crate::content::{Content, Speaker, kinds};
use crate::detect::Layout;
use crate::document::DocumentPiece;
use crate::loose::{List, Loose, Maybe, Str, text_of};
use crate::numbers::{CalledTools, EntryGroup, Numbers, items};
use crate::reader::Entry;

/// The provider whose API the requests are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoggedApi {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's Responses and Chat Completions APIs.
    OpenAi,
}

/// What the parser remembers from entry to entry.
pub(crate) struct Requests {
    api: LoggedApi,
    layout: Layout,
    tools: CalledTools,
    numbers: Numbers,
}

/// A message in a request to Anthropic.
#[derive(Default, Deserialize)]
#[serde(default)]
struct LoggedMessage<'a> {
    #[serde(borrow)]
    role: Str<'a>,
    #[serde(borrow)]
    content: Content<'a>,
}

/// A line of recorded requests: the path and the body, if the request is wrapped.
#[derive(Default, Deserialize)]
#[serde(default)]
struct LoggedRequest<'a> {
    #[serde(borrow)]
    path: Str<'a>,
    #[serde(borrow)]
    body: Maybe<LoggedBody<'a>>,
}

/// The fields of a request's body that are read, of all APIs.
#[derive(Default, Deserialize)]
#[serde(default)]
struct LoggedBody<'a> {
    #[serde(borrow)]
    system: Content<'a>,
    instructions: Loose,
    #[serde(borrow)]
    messages: List<&'a serde_json::value::RawValue>,
    #[serde(borrow)]
    input: Option<&'a serde_json::value::RawValue>,
    tools: List<serde::de::IgnoredAny>,
    #[serde(borrow)]
    prompt_cache_key: Str<'a>,
}

impl Requests {
    pub(crate) fn new(api: LoggedApi, layout: Layout) -> Self {
        Self { api, layout, tools: CalledTools::default(), numbers: Numbers::default() }
    }

    pub(crate) fn parse(&mut self, unit: &Unit<'_>) -> Result<Entry, serde_json::Error> {
        if self.layout == Layout::Lines {
            return self.line(unit);
        }
        let kinds = match unit.piece {
            DocumentPiece::Between => Vec::new(),
            DocumentPiece::Member(name) => member(name, unit.text)?,
            DocumentPiece::Element => element(self.api, unit.text, unit.number)?,
        };
        let mut entry = Entry::default();
        if !kinds.is_empty() {
            let message = self.numbers.number(EntryGroup::Alone);
            entry.items = items(unit.number, message, kinds, &mut self.tools);
        }
        Ok(entry)
    }

    /// Parses a line that is a whole request.
    fn line(&mut self, unit: &Unit<'_>) -> Result<Entry, serde_json::Error> {
        let recorded: LoggedRequest<'_> = serde_json::from_str(unit.text)?;
        let (body, system_pointer) = match recorded.body.0 {
            Some(body) => (body, "/body/system"),
            None => (serde_json::from_str(unit.text)?, "/system"),
        };
        let mut parts: Vec<Vec<(u32, Kind)>> = Vec::new();
        parts.push(kinds(body.system, Speaker::System, unit.text, system_pointer));
        parts.push(body.instructions.0.map(|text| (0, Kind::System { text })).into_iter().collect());
        for message in &body.messages.0 {
            parts.push(element(self.api, message.get(), unit.number)?);
        }
        match body.input.map(serde_json::value::RawValue::get) {
            Some(list) if list.starts_with('[') => {
                let elements: Vec<&serde_json::value::RawValue> = serde_json::from_str(list)?;
                for item in elements {
                    parts.push(element(self.api, item.get(), unit.number)?);
                }
            }
            Some(text) if text.starts_with('"') => parts.push(member("input", text)?),
            Some(_) | None => {}
        }
        let mut entry = Entry {
            session: body.prompt_cache_key.given(),
            // A request to count tokens is not answered by the model.
            offers_tools: !body.tools.0.is_empty() && !recorded.path.as_str().contains("count_tokens"),
            ..Entry::default()
        };
        let mut tools = CalledTools::default();
        // Parts are numbered through the whole line, because its messages have no entry number of their own.
        let mut before = 0;
        for (message, kinds) in (0..).zip(parts.into_iter().filter(|kinds| !kinds.is_empty())) {
            let parts = kinds.last().map_or(0, |(part, _)| part + 1);
            let counted = kinds.into_iter().map(|(part, kind)| (before + part, kind)).collect();
            entry.items.extend(items(unit.number, message, counted, &mut tools));
            before += parts;
        }
        Ok(entry)
    }
}

/// Parses a member of a request beside its messages.
fn member(name: &str, json: &str) -> Result<Vec<(u32, Kind)>, serde_json::Error> {
    Ok(match name {
        "system" => kinds(serde_json::from_str(json)?, Speaker::System, json, ""),
        "instructions" if json.starts_with('"') => vec![(0, Kind::System { text: text_of(json) })],
        "input" if json.starts_with('"') => vec![(0, Speaker::User(Voice::Person).says(text_of(json)))],
        _ => Vec::new(),
    })
}

/// Parses one message or item of a request.
fn element(api: LoggedApi, text: &str, number: u64) -> Result<Vec<(u32, Kind)>, serde_json::Error> {
    match api {
        LoggedApi::Anthropic => {
            let message: LoggedMessage<'_> = serde_json::from_str(text)?;
            let speaker = match message.role.as_str() {
                "assistant" => Speaker::Model,
                "system" | "developer" => Speaker::System,
                _ => Speaker::User(Voice::Person),
            };
            Ok(kinds(message.content, speaker, text, "/content"))
        }
        LoggedApi::OpenAi => {
            let item: OpenAiItem<'_> = serde_json::from_str(text)?;
            Ok(item.kinds(ItemSource { text, pointer: "", number }))
        }
    }
}

#[cfg(test)]
mod tests;
