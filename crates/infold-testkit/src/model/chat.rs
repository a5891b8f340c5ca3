//! The form of an answer in OpenAI Chat Completions, as one body and as a stream.

use serde_json::{Value, json};

use super::script::Stopping;
use super::spoken::{Event, OUTPUT_TOKENS, Spoken, Turn};

pub(crate) mod rules;

/// Writes a step of the script as an answer.
pub(crate) fn speak(turn: &Turn<'_>) -> Spoken {
    let calls: Vec<Value> = turn
        .step
        .calls
        .iter()
        .enumerate()
        .map(|(index, call)| {
            let id = format!("call_{}", turn.prefix.id(&format!("call {index}")));
            let function = json!({"name": call.tool, "arguments": call.input.to_string()});
            json!({"index": index, "id": id, "type": "function", "function": function})
        })
        .collect();
    let reason = match turn.step.stopping {
        Stopping::AtLimit => "length",
        Stopping::Finished if calls.is_empty() => "stop",
        Stopping::Finished => "tool_calls",
    };
    let usage = json!({
        "prompt_tokens": turn.cache.total_tokens(),
        "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": turn.cache.total_tokens() + OUTPUT_TOKENS,
        "prompt_tokens_details": {"cached_tokens": turn.cache.read_tokens},
    });

    let mut message = json!({"role": "assistant", "content": turn.step.text});
    if let Some(reasoning) = &turn.step.reasoning {
        message["reasoning_content"] = json!(reasoning);
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let mut plain = envelope(turn, "chat.completion");
    plain["choices"] = json!([{"index": 0, "message": message, "finish_reason": reason}]);
    plain["usage"] = usage.clone();

    let chunk = |delta: Value, reason: Value| {
        let mut chunk = envelope(turn, "chat.completion.chunk");
        chunk["choices"] = json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
        Event::unnamed(chunk.to_string())
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    let reasoning = turn.step.reasoning.iter().map(|reasoning| json!({"reasoning_content": reasoning}));
    let text = turn.step.text.iter().map(|text| json!({"content": text}));
    let calls = calls.into_iter().map(|call| json!({"tool_calls": [call]}));
    events.extend(reasoning.chain(text).chain(calls).map(|delta| chunk(delta, Value::Null)));
    events.push(chunk(json!({}), json!(reason)));
    let mut last = envelope(turn, "chat.completion.chunk");
    last["choices"] = json!([]);
    last["usage"] = usage;
    events.push(Event::unnamed(last.to_string()));
    events.push(Event::unnamed("[DONE]".to_owned()));
    Spoken { plain, events }
}

/// The fields that every chunk and every body has.
fn envelope(turn: &Turn<'_>, object: &str) -> Value {
    let id = format!("chatcmpl-{}", turn.prefix.id("completion"));
    json!({"id": id, "object": object, "created": 1, "model": turn.body["model"]})
}
