//! Answers in the form of Anthropic's Messages API.

use infold_core::record::Usage;
use serde_json::{Value, json};

use super::progress::{AnswerProgress, count};
use super::{AnswerFault, Delta, StopReason, arguments};
use crate::ThreadEntry;
use crate::provider::anthropic::REASONING;

/// Most blocks of an answer.
const BLOCKS_MAX: usize = 4096;

/// The blocks that have come so far, each with its index.
#[derive(Debug, Default)]
pub(super) struct MessagesAnswer {
    blocks: Vec<(u64, AnswerBlock)>,
    usage: Usage,
}

/// A block while it is filled.
#[derive(Debug)]
enum AnswerBlock {
    Words(String),
    /// The block itself, which goes back as it came.
    Thought(Value),
    Call {
        id: String,
        tool: String,
        /// The arguments in the block's beginning, which a stream leaves empty.
        input: Value,
        json: String,
    },
    /// A block of a kind that the agent does not ask for.
    Unknown,
}

impl MessagesAnswer {
    pub(super) fn take(&mut self, event: &Value, progress: &mut AnswerProgress, tell: &mut dyn FnMut(Delta)) {
        let index = event["index"].as_u64().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => self.count(&event["message"]["usage"], progress, tell),
            "content_block_start" => self.begin(index, &event["content_block"], progress, tell),
            "content_block_delta" => self.fill(index, &event["delta"], tell),
            "message_delta" => {
                if let Some(reason) = event["delta"]["stop_reason"].as_str() {
                    progress.stop(stop_reason(reason));
                }
                self.count(&event["usage"], progress, tell);
            }
            "message_stop" => progress.end(),
            "error" if !progress.take_error(event) => {
                progress.fail(AnswerFault::Reported { kind: None, message: event.to_string() });
            }
            _ => {}
        }
    }

    fn begin(&mut self, index: u64, block: &Value, progress: &mut AnswerProgress, tell: &mut dyn FnMut(Delta)) {
        if self.blocks.len() == BLOCKS_MAX {
            return progress.fail(AnswerFault::Unreadable("it has too many blocks"));
        }
        let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        let begun = match block["type"].as_str().unwrap_or_default() {
            "text" => {
                tell_text(&text("text"), Delta::Text, tell);
                AnswerBlock::Words(text("text"))
            }
            kind if REASONING.contains(&kind) => {
                tell_text(&text("thinking"), Delta::Reasoning, tell);
                AnswerBlock::Thought(block.clone())
            }
            "tool_use" => {
                tell(Delta::CallBegun { tool: text("name") });
                AnswerBlock::Call {
                    id: text("id"),
                    tool: text("name"),
                    input: block["input"].clone(),
                    json: String::new(),
                }
            }
            _ => AnswerBlock::Unknown,
        };
        self.blocks.push((index, begun));
    }

    fn fill(&mut self, index: u64, delta: &Value, tell: &mut dyn FnMut(Delta)) {
        let Some((_, block)) = self.blocks.iter_mut().rev().find(|(at, _)| *at == index) else { return };
        let text = |name: &str| delta[name].as_str().unwrap_or_default();
        match (block, delta["type"].as_str().unwrap_or_default()) {
            (AnswerBlock::Words(words), "text_delta") => {
                words.push_str(text("text"));
                tell_text(text("text"), Delta::Text, tell);
            }
            (AnswerBlock::Thought(sealed), "thinking_delta") => {
                append(sealed, "thinking", text("thinking"));
                tell_text(text("thinking"), Delta::Reasoning, tell);
            }
            (AnswerBlock::Thought(sealed), "signature_delta") => append(sealed, "signature", text("signature")),
            (AnswerBlock::Call { json, .. }, "input_json_delta") => json.push_str(text("partial_json")),
            _ => {}
        }
    }

    /// Takes token counts. Each is a total for the answer so far; one that is missing stays as it was.
    fn count(&mut self, said: &Value, progress: &mut AnswerProgress, tell: &mut dyn FnMut(Delta)) {
        if !said.is_object() {
            return;
        }
        let usage = &mut self.usage;
        for (place, name) in [
            (&mut usage.fresh_tokens, "input_tokens"),
            (&mut usage.cache_read_tokens, "cache_read_input_tokens"),
            (&mut usage.cache_write_tokens, "cache_creation_input_tokens"),
            (&mut usage.output_tokens, "output_tokens"),
        ] {
            *place = count(said, name).unwrap_or(*place);
        }
        progress.count(*usage, tell);
    }

    pub(super) fn into_entries(self, model: &str) -> Vec<ThreadEntry> {
        let blocks = self.blocks.into_iter();
        blocks
            .filter_map(|(_, block)| match block {
                AnswerBlock::Words(text) => (!text.is_empty()).then_some(ThreadEntry::Assistant { text }),
                AnswerBlock::Thought(sealed) => {
                    is_sealed(&sealed).then(|| ThreadEntry::Reasoning { sealed, model: model.to_owned() })
                }
                AnswerBlock::Call { id, tool, input, json } => {
                    let is_given = input.as_object().is_some_and(|fields| !fields.is_empty());
                    let arguments = if is_given && json.is_empty() { input } else { arguments(&json) };
                    Some(ThreadEntry::Call { id, tool, arguments })
                }
                AnswerBlock::Unknown => None,
            })
            .collect()
    }
}

fn tell_text(text: &str, delta: fn(String) -> Delta, tell: &mut dyn FnMut(Delta)) {
    if !text.is_empty() {
        tell(delta(text.to_owned()));
    }
}

fn append(block: &mut Value, name: &str, part: &str) {
    match &mut block[name] {
        Value::String(text) => text.push_str(part),
        place => *place = json!(part),
    }
}

/// Whether reasoning carries what its provider recognises it by. Without that it would be refused.
fn is_sealed(block: &Value) -> bool {
    ["signature", "data"].iter().any(|name| block[name].as_str().is_some_and(|seal| !seal.is_empty()))
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
        "refusal" => StopReason::Refusal,
        other => StopReason::Other(other.to_owned()),
    }
}
