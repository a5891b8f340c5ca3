//! The form of an answer in Anthropic Messages, as one body and as a stream.

use serde_json::{Value, json};

use super::script::Stopping;
use super::spoken::{Event, OUTPUT_TOKENS, Spoken, Turn};

pub(crate) mod rules;

/// Writes a step of the script as an answer.
pub(crate) fn speak(turn: &Turn<'_>) -> Spoken {
    let blocks = blocks(turn);
    let reason = match turn.step.stopping {
        Stopping::AtLimit => "max_tokens",
        Stopping::Finished if turn.step.calls.is_empty() => "end_turn",
        Stopping::Finished => "tool_use",
    };
    let usage = json!({
        "input_tokens": turn.cache.fresh_tokens,
        "cache_creation_input_tokens": turn.cache.written_tokens(),
        "cache_read_input_tokens": turn.cache.read_tokens,
        "cache_creation": {
            "ephemeral_5m_input_tokens": turn.cache.write_5m_tokens,
            "ephemeral_1h_input_tokens": turn.cache.write_1h_tokens,
        },
        "output_tokens": OUTPUT_TOKENS,
    });
    let message = json!({
        "id": format!("msg_{}", turn.prefix.id("message")),
        "type": "message",
        "role": "assistant",
        "model": turn.body["model"],
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": usage,
    });

    let mut events = vec![Event::named(json!({"type": "message_start", "message": message}))];
    events.push(Event::named(json!({"type": "ping"})));
    for (index, block) in blocks.iter().enumerate() {
        events.extend(block_events(index, block));
    }
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    events.push(Event::named(json!({"type": "message_delta", "delta": delta, "usage": usage})));
    events.push(Event::named(json!({"type": "message_stop"})));

    let mut plain = message;
    plain["content"] = Value::Array(blocks);
    plain["stop_reason"] = json!(reason);
    Spoken { plain, events }
}

fn blocks(turn: &Turn<'_>) -> Vec<Value> {
    let mut blocks = Vec::new();
    let thinking = &turn.body["thinking"];
    let thinks = thinking["type"].as_str().is_some_and(|kind| kind != "disabled");
    if let Some(reasoning) = turn.step.reasoning.as_ref().filter(|_| thinks) {
        // A client that asks not to be shown the words still gets their seal.
        let words = if thinking["display"] == "omitted" { "" } else { reasoning };
        blocks.push(json!({"type": "thinking", "thinking": words, "signature": turn.prefix.seal(words)}));
    }
    blocks.extend(turn.step.text.as_ref().map(|text| json!({"type": "text", "text": text})));
    blocks.extend(turn.step.calls.iter().enumerate().map(|(index, call)| {
        let id = format!("toolu_{}", turn.prefix.id(&format!("call {index}")));
        json!({"type": "tool_use", "id": id, "name": call.tool, "input": call.input})
    }));
    blocks
}

/// The events of a block: an empty start, the deltas that fill it, and the end.
fn block_events(index: usize, block: &Value) -> Vec<Event> {
    let mut start = block.clone();
    let deltas = match block["type"].as_str() {
        Some("thinking") => {
            start["thinking"] = json!("");
            start["signature"] = json!("");
            vec![
                json!({"type": "thinking_delta", "thinking": block["thinking"]}),
                json!({"type": "signature_delta", "signature": block["signature"]}),
            ]
        }
        Some("tool_use") => {
            start["input"] = json!({});
            vec![json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})]
        }
        _ => {
            start["text"] = json!("");
            vec![json!({"type": "text_delta", "text": block["text"]})]
        }
    };
    let mut events = vec![json!({"type": "content_block_start", "index": index, "content_block": start})];
    events
        .extend(deltas.into_iter().map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})));
    events.push(json!({"type": "content_block_stop", "index": index}));
    events.into_iter().map(Event::named).collect()
}
