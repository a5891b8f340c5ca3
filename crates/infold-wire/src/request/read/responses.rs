//! Reads entries of the Responses API: items, each of which is a message, a call, an output, reasoning or something
//! else.

use std::borrow::Cow;

use infold_core::transcript::Voice;
use infold_core::view::{BlockKind, Side};

use super::super::head::ADDITIONAL_TOOLS;
use super::super::json::At;
use super::super::{BlockForm, RequestEntry, RequestError, Seat, Speaker, head, keys};
use super::Reading;

impl<'a> Reading<'a> {
    pub(super) fn responses_entry(&mut self, at: At) -> Result<RequestEntry, RequestError> {
        let [kind, role, content] = self.document.fields(at, ["type", "role", "content"])?;
        let text_of = |at: Option<At>| at.and_then(|at| self.document.text(at));
        let role = text_of(role);
        match text_of(kind).as_deref() {
            Some("message") | None if role.is_some() => {
                let speaker = Speaker::of_role(role.as_deref());
                let first = self.blocks.len();
                if let Some(content) = content {
                    self.content(speaker, content)?;
                }
                if speaker == Speaker::User {
                    self.attribute_parts(first, at);
                }
                Ok(RequestEntry { at, speaker, content, calls: None, blocks: 0..0 })
            }
            kind => {
                let speaker = self.item(at, kind.unwrap_or_default())?;
                Ok(RequestEntry { at, speaker, content: None, calls: None, blocks: 0..0 })
            }
        }
    }

    /// Sets who said each part of a message to what Codex itself says. Where Codex says it, how the part begins does
    /// not count. Only blocks from `first` on are changed.
    fn attribute_parts(&mut self, first: usize, at: At) {
        let kinds = self.document.field(at, "internal_chat_message_metadata_passthrough");
        let Some(kinds) = kinds.and_then(|passed| self.document.field(passed, "content_item_kinds")) else { return };
        let words: Vec<_> = self.document.elements(kinds).map(|kind| self.document.text(kind)).collect();
        for (block, word) in self.blocks[first..].iter_mut().zip(words) {
            match word.as_deref() {
                None | Some("unknown") => {}
                Some(word) if word.starts_with("user.") => block.kind = BlockKind::User { voice: Voice::Person },
                Some(_) => block.kind = BlockKind::User { voice: Voice::Client },
            }
        }
    }

    /// Adds the block of an item that is not a message. Its type says what it is; a call and its output share a call
    /// id.
    fn item(&mut self, at: At, kind: &str) -> Result<Speaker, RequestError> {
        let keys = ["id", "call_id", "name", "namespace", "arguments", "input", "output", "tools"];
        let [id, call, name, namespace, arguments, input, output, tools] = self.document.fields(at, keys)?;
        let text_of = |at: Option<At>| at.and_then(|at| self.document.text(at));
        // An output of the local shell names its call in `id`.
        let call = text_of(call).or_else(|| text_of(id).filter(|_| kind == "local_shell_call_output"));
        let mut seat = Seat { form: BlockForm::Whole, content: None, mark: None, mark_inside: None };
        let (key, kind) = match call {
            Some(call) if kind.ends_with("_output") => {
                seat.content = output.or(tools);
                let loads = tools.map_or_else(Vec::new, |tools| head::names(&self.document, tools));
                self.result(at, call, seat.content, loads)?
            }
            Some(call) if kind.ends_with("_call") => {
                let name = text_of(name).unwrap_or_else(|| Cow::Owned(kind.trim_end_matches("_call").to_owned()));
                let tool = head::joined(text_of(namespace).as_deref(), name);
                (keys::of_block(&self.document, at), self.call(call, tool, arguments.or(input)))
            }
            _ => (keys::of_block(&self.document, at), unpaired(kind)),
        };
        let speaker = if kind.side() == Side::Model { Speaker::Model } else { Speaker::Closed };
        self.push_seated(seat, key, kind);
        Ok(speaker)
    }
}

/// The block for an item that belongs to no call.
fn unpaired<'a>(kind: &str) -> BlockKind<'a> {
    let is_of_the_client = ["_output", "_response", "_trigger"].iter().any(|end| kind.ends_with(end));
    match kind {
        "reasoning" => BlockKind::Reasoning,
        ADDITIONAL_TOOLS => BlockKind::Instruction,
        _ if is_of_the_client => BlockKind::Other { side: Side::User },
        _ => BlockKind::Other { side: Side::Model },
    }
}
