//! Answers in the form of OpenAI's Chat Completions API, and of the many servers that imitate it.

use infold_core::record::Usage;
use serde_json::{Value, json};

use super::progress::{AnswerProgress, count};
use super::{AnswerFault, Delta, StopReason, arguments};
use crate::ThreadEntry;
use crate::provider::chat::{Dialect, REASONING};

/// Most calls of an answer.
const CALLS_MAX: usize = 1024;

/// What has come so far.
#[derive(Debug)]
pub(super) struct ChatAnswer {
    dialect: Dialect,
    /// The provider's id of the answer, from which ids of calls are made that have none.
    id: String,
    words: String,
    thoughts: String,
    calls: Vec<BegunCall>,
}

/// A call while its arguments come in.
#[derive(Debug)]
struct BegunCall {
    index: u64,
    id: String,
    tool: String,
    arguments: String,
}

impl ChatAnswer {
    pub(super) fn new(dialect: Dialect) -> Self {
        let (id, words, thoughts) = (String::new(), String::new(), String::new());
        Self { dialect, id, words, thoughts, calls: Vec::new() }
    }

    pub(super) fn take(&mut self, event: &Value, progress: &mut AnswerProgress, tell: &mut dyn FnMut(Delta)) {
        if progress.take_error(event) {
            return;
        }
        if let Some(id) = event["id"].as_str().filter(|_| self.id.is_empty()) {
            id.clone_into(&mut self.id);
        }
        let choices = event["choices"].as_array().map(Vec::as_slice).unwrap_or_default();
        if let Some(choice) = choices.iter().find(|choice| choice["index"].as_u64().unwrap_or_default() == 0) {
            self.take_delta(&choice["delta"], progress, tell);
            if let Some(reason) = choice["finish_reason"].as_str() {
                progress.stop(stop_reason(reason));
                // Not every server sends the `[DONE]` that ends a stream.
                progress.end();
            }
        }
        let usage = &event["usage"];
        if usage.is_object() {
            let cached = count(&usage["prompt_tokens_details"], "cached_tokens").unwrap_or_default();
            let sent = count(usage, "prompt_tokens").unwrap_or_default();
            let output_tokens = count(usage, "completion_tokens").unwrap_or_default();
            let fresh_tokens = sent.saturating_sub(cached);
            progress.count(Usage { fresh_tokens, cache_read_tokens: cached, output_tokens, ..Usage::default() }, tell);
        }
    }

    fn take_delta(&mut self, delta: &Value, progress: &mut AnswerProgress, tell: &mut dyn FnMut(Delta)) {
        let said =
            |names: [&str; 2]| names.iter().find_map(|name| delta[*name].as_str()).filter(|text| !text.is_empty());
        if let Some(text) = said([REASONING, "reasoning"]) {
            self.thoughts.push_str(text);
            tell(Delta::Reasoning(text.to_owned()));
        }
        if let Some(text) = said(["content", "refusal"]) {
            self.words.push_str(text);
            tell(Delta::Text(text.to_owned()));
        }
        let calls = delta["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (place, call) in (0..).zip(calls) {
            let index = call["index"].as_u64().unwrap_or(place);
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let (id, function) = (text(&call["id"]), &call["function"]);
            // An event that continues a call may repeat its id, or leave it out.
            let goes_on = |begun: &&mut BegunCall| begun.index == index && (id.is_empty() || begun.id == id);
            if let Some(begun) = self.calls.iter_mut().rev().find(goes_on) {
                begun.arguments.push_str(&text(&function["arguments"]));
                continue;
            }
            if self.calls.len() == CALLS_MAX {
                return progress.fail(AnswerFault::Unreadable("it has too many calls"));
            }
            let (tool, arguments) = (text(&function["name"]), text(&function["arguments"]));
            tell(Delta::CallBegun { tool: tool.clone() });
            self.calls.push(BegunCall { index, id, tool, arguments });
        }
    }

    pub(super) fn into_entries(self, model: &str) -> Vec<ThreadEntry> {
        let mut entries = Vec::new();
        if self.dialect == Dialect::Ollama && !self.thoughts.is_empty() {
            let sealed = json!({"type": REASONING, "text": self.thoughts});
            entries.push(ThreadEntry::Reasoning { sealed, model: model.to_owned() });
        }
        if !self.words.is_empty() {
            entries.push(ThreadEntry::Assistant { text: self.words });
        }
        entries.extend(self.calls.into_iter().enumerate().map(|(place, call)| {
            let id = if call.id.is_empty() { format!("call_{}_{place}", self.id) } else { call.id };
            ThreadEntry::Call { id, tool: call.tool, arguments: arguments(&call.arguments) }
        }));
        entries
    }
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "stop" => StopReason::EndTurn,
        "tool_calls" | "function_call" => StopReason::ToolUse,
        "length" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refusal,
        other => StopReason::Other(other.to_owned()),
    }
}
