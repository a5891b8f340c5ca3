//! OpenAI's rules for a Responses request, its wording when one is broken, and the reasoning that it silently drops.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::model::refusal::Refusal;
use crate::model::seal::{Prefix, Verdict};

#[cfg(test)]
mod tests;

/// What was found out about a request that broke no rule.
pub(crate) struct Checked {
    /// The request's whole content, to which the answer's reasoning is bound.
    pub(crate) prefix: Prefix,
    /// How many pieces of reasoning come after something else than they were made on. The provider ignores them.
    pub(crate) reasoning_dropped: usize,
    /// How many calls lack the reasoning that came before them.
    pub(crate) reasoning_missing: usize,
}

/// Checks a request. `seals` has the seal of the reasoning that came before each call, by the call's id.
pub(crate) fn check(body: &Value, seals: &HashMap<String, String>) -> Result<Checked, Refusal> {
    let input = body["input"].as_array().map(Vec::as_slice).unwrap_or_default();
    // A request that names an earlier response may answer calls that are only in that response.
    if body["previous_response_id"].is_null() {
        check_pairs(input)?;
        check_ids(input)?;
    }
    let reasoning_missing = check_lost_reasoning(body, input, seals)?;
    Ok(Checked { reasoning_missing, ..check_reasoning(body, input)? })
}

/// Refuses two items with the same id.
fn check_ids(input: &[Value]) -> Result<(), Refusal> {
    let mut seen = HashSet::new();
    match input.iter().filter_map(|item| item["id"].as_str()).find(|id| !seen.insert(*id)) {
        None => Ok(()),
        Some(id) => {
            let message =
                format!("Duplicate item found with id {id}. Remove duplicate items from your input and try again.");
            Err(Refusal::openai(message, "input", None))
        }
    }
}

/// Counts the calls that have lost the reasoning before them. A provider that stores its answers refuses such
/// calls; with `store: false` it cannot notice.
fn check_lost_reasoning(body: &Value, input: &[Value], seals: &HashMap<String, String>) -> Result<usize, Refusal> {
    let present: HashSet<&str> = input.iter().filter_map(|item| item["encrypted_content"].as_str()).collect();
    let bare = |item: &&Value| {
        let seal = call_kind(item).and_then(|_| seals.get(item["call_id"].as_str()?));
        seal.is_some_and(|seal| !present.contains(seal.as_str()))
    };
    match input.iter().find(bare) {
        Some(call) if body["store"] != false && body["previous_response_id"].is_null() => {
            let (id, kind) = (call["id"].as_str().unwrap_or("(no id)"), call["type"].as_str().unwrap_or_default());
            let message = format!("Item '{id}' of type '{kind}' was provided without its required 'reasoning' item.");
            Err(Refusal::openai(message, "input", None))
        }
        _ => Ok(input.iter().filter(bare).count()),
    }
}

/// The kind of a call that needs an output; `None` for other items.
fn call_kind(item: &Value) -> Option<&str> {
    let kind = item["type"].as_str()?;
    (kind.ends_with("_call") && item["call_id"].is_string()).then_some(kind)
}

/// The kind of call that an output answers; `None` for other items.
fn answered_kind(item: &Value) -> Option<&str> {
    let kind = item["type"].as_str()?;
    let kind = kind.strip_suffix("_output")?;
    item["call_id"].is_string().then_some(kind)
}

/// A kind of call as the provider's messages spell it.
fn spelled(kind: &str) -> String {
    kind.trim_end_matches("_call").replace('_', " ")
}

/// Refuses a call without an output after it, and an output without its call.
fn check_pairs(input: &[Value]) -> Result<(), Refusal> {
    let mut open: HashMap<&str, &str> = HashMap::new();
    for item in input {
        let id = item["call_id"].as_str().unwrap_or_default();
        if let Some(kind) = call_kind(item) {
            open.insert(id, kind);
        } else if let Some(kind) = answered_kind(item)
            && open.remove(id).is_none()
        {
            let message = format!("No tool call found for {} call output with call_id {id}.", spelled(kind));
            return Err(Refusal::openai(message, "input", None));
        }
    }
    match open.into_iter().min() {
        None => Ok(()),
        Some((id, kind)) => {
            let message = format!("No tool output found for {} call {id}.", spelled(kind));
            Err(Refusal::openai(message, "input", None))
        }
    }
}

/// Refuses reasoning that is not the provider's own, or that is not followed by what it led to.
fn check_reasoning(body: &Value, input: &[Value]) -> Result<Checked, Refusal> {
    let mut prefix = Prefix::default();
    prefix.take("instructions", &body["instructions"]);
    for tool in body["tools"].as_array().into_iter().flatten() {
        prefix.take("tool", tool);
    }
    let mut reasoning_dropped = 0;
    for (at, item) in input.iter().enumerate() {
        if item["type"] == "reasoning" {
            refuse_alone(item, input.get(at + 1))?;
            let seal = item["encrypted_content"].as_str().unwrap_or_default();
            match prefix.verdict(seal, &summary_text(item)) {
                Verdict::Holds => {}
                Verdict::OtherPrefix => reasoning_dropped += 1,
                Verdict::Forged | Verdict::Changed => return Err(forged(item)),
            }
        }
        prefix.take("item", &comparable(item));
    }
    Ok(Checked { prefix, reasoning_dropped, reasoning_missing: 0 })
}

/// The words that a reasoning item's seal covers.
fn summary_text(reasoning: &Value) -> String {
    let parts = reasoning["summary"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect()
}

/// Refuses a reasoning item that is not followed by an item of the model.
fn refuse_alone(reasoning: &Value, next: Option<&Value>) -> Result<(), Refusal> {
    let led_to = next.is_some_and(|next| {
        let from_model = next["role"] == "assistant" || call_kind(next).is_some();
        from_model || next["type"].as_str().is_some_and(|kind| kind == "reasoning" || kind.ends_with("_call"))
    });
    if led_to {
        return Ok(());
    }
    let id = reasoning["id"].as_str().unwrap_or("(no id)");
    let message = format!("Item '{id}' of type 'reasoning' was provided without its required following item.");
    Err(Refusal::openai(message, "input", None))
}

fn forged(reasoning: &Value) -> Refusal {
    let id = reasoning["id"].as_str().unwrap_or("(no id)");
    let message = format!("The encrypted content for item {id} could not be verified.");
    Refusal::openai(message, "input", Some("invalid_encrypted_content"))
}

/// An item without the fields that clients add or leave out when they send it back.
fn comparable(item: &Value) -> Value {
    let kept =
        ["type", "role", "content", "call_id", "name", "arguments", "input", "output", "summary", "namespace", "tools"];
    let fields = item
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| kept.contains(&name.as_str()) && !value.is_null());
    Value::Object(fields.map(|(name, value)| (name.clone(), value.clone())).collect())
}
