//! Reads entries of Anthropic's Messages API: messages with a list of blocks or with plain text.

use std::borrow::Cow;

use infold_core::transcript::Voice;
use infold_core::view::{Block, BlockKind, Side};

use super::super::json::{At, JsonShape};
use super::super::{BlockForm, RequestEntry, RequestError, Seat, Speaker, keys};
use super::{MARK, Reading, other};
use crate::client_words::is_media;

impl<'a> Reading<'a> {
    pub(super) fn messages_entry(&mut self, at: At) -> Result<RequestEntry, RequestError> {
        let [role, content] = self.document.fields(at, ["role", "content"])?;
        let role = role.and_then(|role| self.document.text(role));
        let speaker = Speaker::of_role(role.as_deref());
        if let Some(content) = content {
            self.content(speaker, content)?;
        }
        Ok(RequestEntry { at, speaker, content, calls: None, blocks: 0..0 })
    }

    /// Adds the blocks of a message's content. The other two APIs share this.
    pub(super) fn content(&mut self, speaker: Speaker, content: At) -> Result<(), RequestError> {
        if self.document.is_text(content) {
            let kind = self.says(speaker, content);
            self.push(BlockForm::Text(content), keys::of_block(&self.document, content), kind);
        }
        if self.document.shape(content) == JsonShape::List {
            let first = self.blocks.len();
            let elements: Vec<At> = self.document.elements(content).collect();
            elements.into_iter().try_for_each(|element| self.element(speaker, element))?;
            if speaker == Speaker::User {
                self.pictures(first);
            }
        }
        Ok(())
    }

    /// Attributes images and the like in a user's message to the person, unless the client says that a tool made them.
    /// Only blocks from `first` on are looked at.
    fn pictures(&mut self, first: usize) {
        let is_picture = |block: &Block<'_>| matches!(block.kind, BlockKind::Other { side: Side::User });
        let text_of = |seat: &Seat| match seat.form {
            BlockForm::Element(at) => self.document.text_field(at, "text"),
            BlockForm::Whole | BlockForm::Text(_) | BlockForm::Call(_) | BlockForm::Field(..) => None,
        };
        let is_a_tools = self.seats[first..].iter().any(|seat| text_of(seat).is_some_and(|text| is_media(&text)));
        if !is_a_tools {
            let pictures = self.blocks[first..].iter_mut().filter(|block| is_picture(block));
            pictures.for_each(|block| block.kind = BlockKind::User { voice: Voice::Person });
        }
    }

    fn element(&mut self, speaker: Speaker, at: At) -> Result<(), RequestError> {
        let keys = ["type", "text", "id", "name", "input", "tool_use_id", "content", MARK];
        let [kind, text, id, name, input, call, content, mark] = self.document.fields(at, keys)?;
        let text_of = |at: Option<At>| at.and_then(|at| self.document.text(at));
        let mut seat = Seat { form: BlockForm::Element(at), content: None, mark, mark_inside: None };
        let word = text_of(kind);
        let (key, kind) = match (word.as_deref(), text_of(call), text_of(id), text_of(name), text) {
            (Some("tool_result"), Some(call), ..) => {
                seat.content = content;
                seat.mark_inside = content.and_then(|content| self.mark_inside(content));
                self.result(at, call, content, self.references(content))?
            }
            // The provider itself runs calls with such ids, so no result of the client belongs to them.
            (Some("tool_use"), _, Some(id), Some(name), _) if !id.starts_with("srvtoolu_") => {
                (keys::of_block(&self.document, at), self.call(id, name, input))
            }
            (Some("thinking" | "redacted_thinking"), ..) => (keys::of_block(&self.document, at), BlockKind::Reasoning),
            (Some(kind), .., Some(text)) if keys::TEXT_KINDS.contains(&kind) => {
                (keys::of_block(&self.document, at), self.says(speaker, text))
            }
            _ => (keys::of_block(&self.document, at), other(speaker)),
        };
        self.push_seated(seat, key, kind);
        Ok(())
    }

    /// The names of the tools that a result makes known to the model by references.
    fn references(&self, content: Option<At>) -> Vec<Cow<'a, str>> {
        let Some(content) = content else { return Vec::new() };
        let elements = self.document.elements(content);
        let references = elements.filter(|element| {
            self.document.field(*element, "type").is_some_and(|kind| self.document.says(kind, "tool_reference"))
        });
        references.filter_map(|reference| self.document.text_field(reference, "tool_name")).collect()
    }
}
