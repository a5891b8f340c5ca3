//! The form of an answer in OpenAI Responses, as one body and as a stream.

use serde_json::{Value, json};

use super::reach::ToolKind;
use super::script::Call;
use super::script::Stopping;
use super::spoken::{Event, OUTPUT_TOKENS, Spoken, Turn};

pub(crate) mod rules;

/// The type of the last item of a request in which a client asks the provider to compact its history.
const COMPACTION_TRIGGER: &str = "compaction_trigger";

/// Writes a step of the script as an answer.
pub(crate) fn speak(turn: &Turn<'_>) -> Spoken {
    let items = if wants_compaction(turn.body) { vec![compaction(turn)] } else { items(turn) };
    let usage = json!({
        "input_tokens": turn.cache.total_tokens(),
        "input_tokens_details": {"cached_tokens": turn.cache.read_tokens},
        "output_tokens": OUTPUT_TOKENS,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": turn.cache.total_tokens() + OUTPUT_TOKENS,
    });
    let id = format!("resp_{}", turn.prefix.id("response"));
    let begun =
        json!({"id": id, "object": "response", "status": "in_progress", "model": turn.body["model"], "output": []});
    let mut plain = begun.clone();
    let (status, last) = match turn.step.stopping {
        Stopping::Finished => ("completed", "response.completed"),
        Stopping::AtLimit => {
            plain["incomplete_details"] = json!({"reason": "max_output_tokens"});
            ("incomplete", "response.incomplete")
        }
    };
    plain["status"] = json!(status);
    plain["output"] = json!(items);
    plain["usage"] = usage;

    let mut events = vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.in_progress", "response": begun}),
    ];
    for (index, item) in items.iter().enumerate() {
        events.extend(item_events(index, item));
    }
    events.push(json!({"type": last, "response": plain}));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    Spoken { plain, events: events.into_iter().map(Event::named).collect() }
}

/// The seal of the reasoning that came before each call of an answer, by the id of the call.
pub(crate) fn seals_by_call(answer: &Value) -> Vec<(String, String)> {
    let items = answer["output"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(seal) = items.iter().find_map(|item| item["encrypted_content"].as_str()) else { return Vec::new() };
    items.iter().filter_map(|item| Some((item["call_id"].as_str()?.to_owned(), seal.to_owned()))).collect()
}

fn wants_compaction(body: &Value) -> bool {
    body["input"].as_array().and_then(|input| input.last()).is_some_and(|item| item["type"] == COMPACTION_TRIGGER)
}

/// The one opaque item that replaces everything before it.
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
    items.extend(turn.step.calls.iter().enumerate().map(|(index, call)| call_item(turn, index, call)));
    items
}

/// A call, in the form that its kind of tool has.
fn call_item(turn: &Turn<'_>, index: usize, call: &Call) -> Value {
    let id = |kind: &str| format!("{kind}_{}", turn.prefix.id(&format!("{kind} {index}")));
    let tool = turn.tool(&call.tool);
    let name = tool.map_or(call.tool.as_str(), |tool| &tool.name);
    match (&call.input, tool.map(|tool| tool.kind)) {
        (input, Some(ToolKind::Search)) => json!({
            "type": "tool_search_call", "id": id("tsc"), "call_id": id("call"), "status": "completed",
            "execution": "client", "arguments": input,
        }),
        (Value::String(input), _) => json!({
            "type": "custom_tool_call", "id": id("ctc"), "call_id": id("call"), "name": name, "input": input,
            "status": "completed",
        }),
        (input, _) => {
            let mut item = json!({
                "type": "function_call", "id": id("fc"), "call_id": id("call"), "name": name,
                "arguments": input.to_string(), "status": "completed",
            });
            if let Some(namespace) = tool.and_then(|tool| tool.namespace.as_ref()) {
                item["namespace"] = json!(namespace);
            }
            item
        }
    }
}

/// The events of an item: added, filled if it is text, and done.
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
