//! Reads entries of the Chat Completions API: a message of the model holds its words and its calls, and each result is
//! a message.

use infold_core::view::BlockKind;

use super::super::json::{At, JsonShape};
use super::super::{BlockForm, RequestEntry, RequestError, Seat, Speaker, keys};
use super::Reading;

/// The fields that hold the model's reasoning; servers use different names.
const REASONING: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];

impl Reading<'_> {
    pub(super) fn chat_entry(&mut self, at: At) -> Result<RequestEntry, RequestError> {
        let keys = ["role", "content", "tool_calls", "tool_call_id"];
        let [role, content, calls, call] = self.document.fields(at, keys)?;
        let role = role.and_then(|role| self.document.text(role));
        let call = call.and_then(|call| self.document.text(call));
        if let (Some("tool"), Some(call)) = (role.as_deref(), call) {
            let loads = self.found(&call, content);
            let (key, kind) = self.result(at, call, content, loads)?;
            let mark_inside = content.and_then(|content| self.mark_inside(content));
            self.push_seated(Seat { form: BlockForm::Whole, content, mark: None, mark_inside }, key, kind);
            return Ok(RequestEntry { at, speaker: Speaker::Closed, content, calls: None, blocks: 0..0 });
        }
        let speaker = Speaker::of_role(role.as_deref());
        if speaker == Speaker::Model {
            self.chat_reasoning(at)?;
        }
        let calls = calls.filter(|calls| self.document.shape(*calls) == JsonShape::List);
        // Beside calls, empty words are no block: there is nothing to keep or to leave out.
        let is_empty = |content: &At| calls.is_some() && self.document.raw(*content) == "\"\"";
        if let Some(content) = content.filter(|content| !is_empty(content)) {
            self.content(speaker, content)?;
        }
        let elements: Vec<At> = calls.map_or_else(Vec::new, |calls| self.document.elements(calls).collect());
        elements.into_iter().try_for_each(|element| self.chat_call(element))?;
        Ok(RequestEntry { at, speaker, content, calls, blocks: 0..0 })
    }

    fn chat_reasoning(&mut self, at: At) -> Result<(), RequestError> {
        self.document.fields(at, REASONING)?;
        for name in REASONING {
            let Some((key, value)) = self.document.member(at, name) else { continue };
            if self.document.raw(value) != "null" {
                self.push(BlockForm::Field(key, value), keys::of_block(&self.document, value), BlockKind::Reasoning);
            }
        }
        Ok(())
    }

    fn chat_call(&mut self, at: At) -> Result<(), RequestError> {
        let [id, function, custom] = self.document.fields(at, ["id", "function", "custom"])?;
        let inner = function.or(custom);
        let fields = inner.map(|inner| self.document.fields(inner, ["name", "arguments", "input"])).transpose()?;
        let [name, arguments, input] = fields.unwrap_or_default();
        let text_of = |at: Option<At>| at.and_then(|at| self.document.text(at));
        let key = keys::of_block(&self.document, at);
        let kind = match (text_of(id), text_of(name)) {
            (Some(id), Some(name)) => self.call(id, name, arguments.or(input)),
            _ => super::other(Speaker::Model),
        };
        self.push(BlockForm::Call(at), key, kind);
        Ok(())
    }
}
