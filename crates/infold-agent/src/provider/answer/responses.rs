//! Answers in the form of OpenAI's Responses API.

use infold_core::record::Usage;
use serde_json::Value;

use super::progress::{AnswerProgress, count};
use super::{AnswerFault, Delta, StopReason, arguments};
use crate::ThreadEntry;
use crate::provider::responses::REASONING;

/// Most items of an answer.
const ITEMS_MAX: usize = 4096;

/// The items that are whole so far.
#[derive(Debug, Default)]
pub(super) struct ResponsesAnswer {
    items: Vec<Value>,
}

impl ResponsesAnswer {
    pub(super) fn take(&mut self, event: &Value, progress: &mut AnswerProgress, tell: &mut dyn FnMut(Delta)) {
        let delta = || event["delta"].as_str().unwrap_or_default().to_owned();
        match event["type"].as_str().unwrap_or_default() {
            "response.output_text.delta" | "response.refusal.delta" => tell(Delta::Text(delta())),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                tell(Delta::Reasoning(delta()))
            }
            "response.reasoning_summary_part.added" if event["summary_index"].as_u64() > Some(0) => {
                tell(Delta::Reasoning("\n\n".to_owned()));
            }
            "response.output_item.added" if event["item"]["type"] == "function_call" => {
                let tool = event["item"]["name"].as_str().unwrap_or_default().to_owned();
                tell(Delta::CallBegun { tool });
            }
            "response.output_item.done" if self.items.len() == ITEMS_MAX => {
                progress.fail(AnswerFault::Unreadable("it has too many items"));
            }
            "response.output_item.done" => self.items.push(event["item"].clone()),
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                self.end(&event["response"], progress, tell);
            }
            "error" if !progress.take_error(event) => {
                let text = |name: &str| event[name].as_str().map(str::to_owned);
                let message = text("message").unwrap_or_else(|| event.to_string());
                progress.fail(AnswerFault::Reported { kind: text("code"), message });
            }
            _ => {}
        }
    }

    /// Takes the copy of the whole answer that the stream ends with.
    fn end(&mut self, response: &Value, progress: &mut AnswerProgress, tell: &mut dyn FnMut(Delta)) {
        if self.items.is_empty() {
            let items = response["output"].as_array().map(Vec::as_slice).unwrap_or_default();
            self.items.extend(items.iter().take(ITEMS_MAX).cloned());
        }
        let usage = &response["usage"];
        if usage.is_object() {
            let cached = count(&usage["input_tokens_details"], "cached_tokens").unwrap_or_default();
            let sent = count(usage, "input_tokens").unwrap_or_default();
            let output_tokens = count(usage, "output_tokens").unwrap_or_default();
            let fresh_tokens = sent.saturating_sub(cached);
            progress.count(Usage { fresh_tokens, cache_read_tokens: cached, output_tokens, ..Usage::default() }, tell);
        }
        let status = response["status"].as_str().unwrap_or("completed");
        match (status, response["incomplete_details"]["reason"].as_str()) {
            ("completed", _) if self.has_refusal() => progress.stop(StopReason::Refusal),
            ("completed", _) => progress.stop(StopReason::EndTurn),
            ("incomplete", Some("max_output_tokens")) => progress.stop(StopReason::MaxTokens),
            ("incomplete", Some("content_filter")) => progress.stop(StopReason::Refusal),
            ("incomplete", reason) => progress.stop(StopReason::Other(reason.unwrap_or("incomplete").to_owned())),
            _ if progress.take_error(response) => {}
            _ => progress.fail(AnswerFault::Reported { kind: None, message: format!("the response is {status}") }),
        }
        progress.end();
    }

    fn has_refusal(&self) -> bool {
        self.items.iter().flat_map(parts).any(|part| part["type"] == "refusal")
    }

    pub(super) fn into_entries(self, model: &str) -> Vec<ThreadEntry> {
        self.items.into_iter().filter_map(|item| entry(item, model)).collect()
    }
}

fn parts(item: &Value) -> &[Value] {
    item["content"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn entry(item: Value, model: &str) -> Option<ThreadEntry> {
    let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
    match item["type"].as_str()? {
        "message" => {
            let said =
                parts(&item).iter().filter_map(|part| part["text"].as_str().or_else(|| part["refusal"].as_str()));
            let text: String = said.collect();
            (!text.is_empty()).then_some(ThreadEntry::Assistant { text })
        }
        // Without its seal the provider, which stores nothing, would not know it again.
        REASONING => {
            let is_sealed = item["encrypted_content"].is_string();
            is_sealed.then(|| ThreadEntry::Reasoning { sealed: item, model: model.to_owned() })
        }
        "function_call" => Some(ThreadEntry::Call {
            id: text("call_id"),
            tool: text("name"),
            arguments: arguments(&text("arguments")),
        }),
        _ => None,
    }
}
