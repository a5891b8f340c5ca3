//! Requests in the form of OpenAI's Responses API, without anything that the provider would store.

use serde_json::{Map, Value, json};

use super::rounds::{Round, Said, SentWords, rounds};
use super::{Prompt, ToolDefinition};

/// The type of an item with reasoning.
pub(super) const REASONING: &str = "reasoning";

/// Writes a request.
pub(super) fn body(prompt: &Prompt<'_>) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(prompt.model));
    body.insert("stream".to_owned(), json!(true));
    body.insert("store".to_owned(), json!(false));
    if let Some(effort) = prompt.reasoning.word() {
        // A model that does not think refuses both.
        body.insert("reasoning".to_owned(), json!({"effort": effort, "summary": "auto"}));
        body.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
    }
    body.insert("max_output_tokens".to_owned(), json!(prompt.max_output_tokens));
    body.insert("prompt_cache_key".to_owned(), json!(prompt.session));
    if !prompt.system.is_empty() {
        body.insert("instructions".to_owned(), json!(prompt.system));
    }
    if !prompt.tools.is_empty() {
        body.insert("tools".to_owned(), prompt.tools.iter().map(tool).collect());
        body.insert("parallel_tool_calls".to_owned(), json!(true));
    }
    let rounds = rounds(prompt, &[REASONING]);
    body.insert("input".to_owned(), rounds.into_iter().flat_map(items).collect());
    Value::Object(body)
}

fn tool(tool: &ToolDefinition) -> Value {
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": false,
    })
}

fn items(round: Round<'_>) -> Vec<Value> {
    let results = round
        .results
        .into_iter()
        .map(|result| json!({"type": "function_call_output", "call_id": result.id, "output": result.text}));
    let words = round.words.into_iter().map(said_by_user);
    let said = round.said.into_iter().map(|said| match said {
        Said::Words(text) => message("assistant", "output_text", text),
        Said::Thought(sealed) => sealed.clone(),
        Said::Call(call) => json!({
            "type": "function_call",
            "call_id": call.id,
            "name": call.tool,
            "arguments": call.arguments.to_string(),
        }),
    });
    results.chain(words).chain(said).collect()
}

fn said_by_user(words: SentWords<'_>) -> Value {
    let mut message = message("user", "input_text", words.text);
    if let Some(content) = message["content"].as_array_mut() {
        let image = |address: String| json!({"type": "input_image", "image_url": address, "detail": "auto"});
        content.extend(words.images.iter().map(|sent| image(sent.address())));
    }
    message
}

fn message(role: &str, kind: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
}
