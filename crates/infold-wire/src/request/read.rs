//! Reads a body into blocks. This file has what the three APIs have in common; what differs is in `messages`,
//! `responses` and `chat`.

mod chat;
mod messages;
mod responses;

use std::borrow::Cow;
use std::collections::HashSet;

use infold_core::transcript::Voice;
use infold_core::view::{Block, BlockKey, BlockKind, CallBlock, ResultBlock, Side, runs_scripts};

use super::json::{At, Document, JsonShape};
use super::keys::{self, MARK};
use super::{Api, BlockForm, Request, RequestEntry, RequestError, Seat, Speaker, parts, remarks};
use crate::client_words::{WordsOwner, is_command, is_note, words_of};
use crate::wrapped;
use infold_core::ToolEffect;
use std::sync::OnceLock;

/// Reads the body of a request to this API.
pub(super) fn read(api: Api, body: &[u8]) -> Result<Request<'_>, RequestError> {
    let document = Document::read(body)?;
    let key = match api {
        Api::Messages | Api::Chat => "messages",
        Api::Responses => "input",
    };
    let [list] = document.fields(0, [key])?;
    let mut reading = Reading::new(document);
    match (list, api) {
        (None, Api::Responses) => {}
        (Some(text), Api::Responses) if reading.document.is_text(text) => reading.lone_words(text),
        (Some(list), _) if reading.document.shape(list) == JsonShape::List => reading.entries(api, list)?,
        _ => return Err(RequestError::NoList { key }),
    }
    let Reading { document, entries, blocks, seats, .. } = reading;
    Ok(Request { api, document, list, entries, blocks, seats, calls: OnceLock::new() })
}

impl Speaker {
    /// Who speaks in an entry with this role.
    fn of_role(role: Option<&str>) -> Self {
        match role {
            Some("system" | "developer") => Self::System,
            Some("user") => Self::User,
            Some("assistant") => Self::Model,
            _ => Self::Closed,
        }
    }
}

/// A request while it is read.
struct Reading<'a> {
    document: Document<'a>,
    entries: Vec<RequestEntry>,
    blocks: Vec<Block<'a>>,
    seats: Vec<Seat>,
    /// The ids of calls to infold's own tools, and of scripts that may call them. Only the results of these are read as
    /// text.
    ours: HashSet<String>,
    /// The ids of calls that searched for tools.
    searches: HashSet<String>,
}

impl<'a> Reading<'a> {
    fn new(document: Document<'a>) -> Self {
        Self {
            document,
            entries: Vec::new(),
            blocks: Vec::new(),
            seats: Vec::new(),
            ours: HashSet::new(),
            searches: HashSet::new(),
        }
    }

    fn entries(&mut self, api: Api, list: At) -> Result<(), RequestError> {
        let entries: Vec<At> = self.document.elements(list).collect();
        for at in entries {
            if self.document.shape(at) != JsonShape::Object {
                return Err(RequestError::OddEntry { entry: self.entries.len() });
            }
            let first = self.blocks.len();
            let mut entry = match api {
                Api::Messages => self.messages_entry(at),
                Api::Responses => self.responses_entry(at),
                Api::Chat => self.chat_entry(at),
            }?;
            if self.blocks.len() == first {
                self.push(BlockForm::Whole, keys::of_block(&self.document, at), other(entry.speaker));
            }
            entry.blocks = first..self.blocks.len();
            self.entries.push(entry);
        }
        Ok(())
    }

    /// Reads a conversation that is a single plain text of the user.
    fn lone_words(&mut self, text: At) {
        let kind = self.says(Speaker::User, text);
        self.push(BlockForm::Whole, keys::of_block(&self.document, text), kind);
        self.entries.push(RequestEntry { at: text, speaker: Speaker::User, content: None, calls: None, blocks: 0..1 });
    }

    /// Adds a block without cache marks and without content that could be replaced.
    fn push(&mut self, form: BlockForm, key: BlockKey, kind: BlockKind<'a>) {
        self.push_seated(Seat { form, content: None, mark: None, mark_inside: None }, key, kind);
    }

    fn push_seated(&mut self, seat: Seat, key: BlockKey, kind: BlockKind<'a>) {
        self.blocks.push(Block { entry: self.entries.len(), key, kind });
        self.seats.push(seat);
    }

    /// The kind of a block of words, by who says them.
    fn says(&self, speaker: Speaker, text: At) -> BlockKind<'a> {
        match speaker {
            Speaker::System => BlockKind::Instruction,
            Speaker::Model => BlockKind::Assistant,
            Speaker::User if is_note(self.document.raw(text)) => BlockKind::User { voice: Voice::Client },
            Speaker::User => self.user_says(text),
            Speaker::Closed => BlockKind::Other { side: Side::User },
        }
    }

    fn user_says(&self, text: At) -> BlockKind<'a> {
        let mut words = parts::beginning(&self.document, text);
        if is_command(&words) {
            words = self.document.text(text).unwrap_or_default();
        }
        match words_of(&words) {
            WordsOwner::Person => BlockKind::User { voice: Voice::Person },
            WordsOwner::Client => BlockKind::User { voice: Voice::Client },
            WordsOwner::Attached => BlockKind::Attachment,
            WordsOwner::Media => BlockKind::Other { side: Side::User },
        }
    }

    /// Makes a call block. Its arguments are read if the tool is one of infold's, or runs scripts that may call one.
    fn call(&mut self, id: Cow<'a, str>, tool: Cow<'a, str>, arguments: Option<At>) -> BlockKind<'a> {
        if let Some(inside) = self.call_inside(&id, &tool, arguments) {
            return inside;
        }
        let is_ours = ToolEffect::of(&tool).is_some() || runs_scripts(&tool);
        if is_ours {
            self.ours.insert(id.clone().into_owned());
        }
        let arguments = arguments.filter(|_| is_ours).map(|at| parts::arguments_at(&self.document, at));
        BlockKind::Call(CallBlock { id, tool, arguments })
    }

    /// Makes a call block of a call to one of infold's tools that goes through a client's own tool for calling others;
    /// `None` for any other call.
    fn call_inside(&mut self, id: &str, tool: &str, arguments: Option<At>) -> Option<BlockKind<'a>> {
        if tool == wrapped::SEARCH {
            self.searches.insert(id.to_owned());
        }
        let (tool, arguments) = wrapped::unwrapped(tool, &parts::arguments_at(&self.document, arguments?))?;
        self.ours.insert(id.to_owned());
        Some(BlockKind::Call(CallBlock {
            id: Cow::Owned(id.to_owned()),
            tool: Cow::Owned(tool),
            arguments: Some(Cow::Owned(arguments)),
        }))
    }

    /// The names of the tools that a result makes known to the model, if it is the result of a search for tools.
    fn found(&self, call: &str, content: Option<At>) -> Vec<Cow<'a, str>> {
        let content = content.filter(|_| self.searches.contains(call));
        let texts = content.map_or_else(Vec::new, |content| parts::texts_in(&self.document, content));
        texts.iter().flat_map(|text| wrapped::found(text)).map(Cow::Owned).collect()
    }

    /// Makes the key and the block of a result. Its text is read if the call was to one of infold's tools.
    fn result(
        &self,
        at: At,
        call: Cow<'a, str>,
        content: Option<At>,
        loads: Vec<Cow<'a, str>>,
    ) -> Result<(BlockKey, BlockKind<'a>), RequestError> {
        let document = &self.document;
        // If a part had a key twice, this program could check one value and the provider read the other.
        let parts = content.into_iter().flat_map(|content| document.elements(content));
        parts
            .map(|part| document.fields(part, ["type", "text", "content", "source", MARK]))
            .try_for_each(|part| part.map(drop))?;
        let content_key = content.map_or(BlockKey([0; 16]), |content| keys::of_content(document, content));
        let text = self.ours.contains(call.as_ref()).then(|| {
            let texts = content.map_or_else(Vec::new, |content| parts::texts_in(document, content));
            parts::lines(remarks::part(texts).printed)
        });
        let remarks = remarks::in_content(document, content);
        let key = keys::of_result(document, at, content.map(|content| (content, content_key)));
        let content_bytes = content.map_or(0, |content| document.raw(content).len());
        Ok((key, BlockKind::Result(ResultBlock { call, content: content_key, content_bytes, text, loads, remarks })))
    }

    /// The cache mark on an object.
    fn mark(&self, at: At) -> Option<At> {
        self.document.field(at, MARK)
    }

    /// The first cache mark on an element of a list.
    fn mark_inside(&self, list: At) -> Option<At> {
        self.document.elements(list).find_map(|element| self.mark(element))
    }
}

/// The block for content of an unknown kind, and for an entry without content.
fn other<'a>(speaker: Speaker) -> BlockKind<'a> {
    match speaker {
        Speaker::System => BlockKind::Instruction,
        Speaker::User | Speaker::Closed => BlockKind::Other { side: Side::User },
        Speaker::Model => BlockKind::Other { side: Side::Model },
    }
}
