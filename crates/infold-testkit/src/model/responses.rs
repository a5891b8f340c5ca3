//! OpenAI Responses: what an answer looks like, whole and as a stream.

use serde_json::{Value, json};

use super::spoken::{Event, OUTPUT_TOKENS, Spoken, Turn};

pub(crate) mod rules;

/// What a client puts last when it wants its history compacted by the provider.
const COMPACTION_TRIGGER: &str = "compaction_trigger";

/// Says a step.
pub(crate) fn speak(turn: &Turn<'_>) -> Spoken {
    let items = if wants_compaction(turn.body) { vec![compaction(turn)] } else { items(turn) };
    let usage = json!({
        "input_tokens": turn.input_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": OUTPUT_TOKENS,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": turn.input_tokens + OUTPUT_TOKENS,
    });
    let id = format!("resp_{}", turn.prefix.id("response"));
    let begun =
        json!({"id": id, "object": "response", "status": "in_progress", "model": turn.body["model"], "output": []});
    let mut plain = begun.clone();
    plain["status"] = json!("completed");
    plain["output"] = json!(items);
    plain["usage"] = usage;

    let mut events = vec![json!({"type": "response.created", "response": begun})];
    for (index, item) in items.iter().enumerate() {
        events.extend(item_events(index, item));
    }
    events.push(json!({"type": "response.completed", "response": plain}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    Spoken { plain, events: events.into_iter().map(Event::named).collect() }
}

fn wants_compaction(body: &Value) -> bool {
    body["input"].as_array().and_then(|input| input.last()).is_some_and(|item| item["type"] == COMPACTION_TRIGGER)
}

/// The one opaque item that stands for everything before it.
fn compaction(turn: &Turn<'_>) -> Value {
    let id = turn.prefix.id("compaction");
    json!({"type": "compaction", "id": format!("cmp_{id}"), "encrypted_content": format!("compacted.{id}")})
}

fn items(turn: &Turn<'_>) -> Vec<Value> {
    let id = |kind: &str, index: usize| format!("{kind}_{}", turn.prefix.id(&format!("{kind} {index}")));
    let mut items = Vec::new();
    if let Some(reasoning) = &turn.step.reasoning {
        items.push(json!({
            "type": "reasoning",
            "id": id("rs", 0),
            "summary": [{"type": "summary_text", "text": reasoning}],
            "encrypted_content": turn.prefix.seal(reasoning),
        }));
    }
    items.extend(turn.step.text.as_ref().map(|text| {
        let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
        json!({"type": "message", "id": id("msg", 0), "role": "assistant", "status": "completed", "content": content})
    }));
    items.extend(turn.step.calls.iter().enumerate().map(|(index, call)| match &call.input {
        Value::String(input) => json!({
            "type": "custom_tool_call", "id": id("ctc", index), "call_id": id("call", index),
            "name": call.tool, "input": input, "status": "completed",
        }),
        input => json!({
            "type": "function_call", "id": id("fc", index), "call_id": id("call", index),
            "name": call.tool, "arguments": input.to_string(), "status": "completed",
        }),
    }));
    items
}

/// An item as it is streamed: added, filled if it is text, and done.
fn item_events(index: usize, item: &Value) -> Vec<Value> {
    let mut events = vec![json!({"type": "response.output_item.added", "output_index": index, "item": item})];
    if item["type"] == "message" {
        let delta = &item["content"][0]["text"];
        events.push(json!({
            "type": "response.output_text.delta", "item_id": item["id"], "output_index": index,
            "content_index": 0, "delta": delta,
        }));
    }
    events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    events
}
