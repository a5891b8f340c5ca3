//! The form of an answer of Ollama's `/api/chat`, as one body and as lines.

use serde_json::{Value, json};

use super::script::Stopping;
use super::spoken::{Event, OUTPUT_TOKENS, Spoken, Turn};

pub(crate) mod rules;

/// Writes a step of the script as an answer. Thoughts come only if the request asks for them, calls have no ids, and the
/// counts come with the last line.
pub(crate) fn speak(turn: &Turn<'_>) -> Spoken {
    let calls: Vec<Value> =
        turn.step.calls.iter().map(|call| json!({"function": {"name": call.tool, "arguments": call.input}})).collect();
    let thinks = turn.body["think"] == true || turn.body["think"].is_string();
    let thinking = turn.step.reasoning.as_ref().filter(|_| thinks);
    let line = |fields: Value| {
        let mut message = json!({"role": "assistant", "content": ""});
        for (name, value) in fields.as_object().into_iter().flatten() {
            message[name] = value.clone();
        }
        json!({
            "model": turn.body["model"], "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false,
        })
    };
    let mut lines: Vec<Value> = Vec::new();
    lines.extend(thinking.map(|thinking| line(json!({ "thinking": thinking }))));
    lines.extend(turn.step.text.as_ref().map(|text| line(json!({ "content": text }))));
    if !calls.is_empty() {
        lines.push(line(json!({ "tool_calls": calls })));
    }
    let mut last = line(json!({}));
    end(&mut last, turn);
    lines.push(last.clone());

    let mut plain = last;
    let text = turn.step.text.clone().unwrap_or_default();
    plain["message"] = json!({"role": "assistant", "content": text});
    if let Some(thinking) = thinking {
        plain["message"]["thinking"] = json!(thinking);
    }
    if !calls.is_empty() {
        plain["message"]["tool_calls"] = json!(calls);
    }
    Spoken { plain, events: lines.iter().map(Event::line).collect() }
}

fn end(line: &mut Value, turn: &Turn<'_>) {
    line["done"] = json!(true);
    line["done_reason"] = json!(match turn.step.stopping {
        Stopping::Finished => "stop",
        Stopping::AtLimit => "length",
    });
    for name in ["total_duration", "load_duration", "prompt_eval_duration", "eval_duration"] {
        line[name] = json!(1);
    }
    line["prompt_eval_count"] = json!(turn.cache.total_tokens());
    line["eval_count"] = json!(OUTPUT_TOKENS);
}
