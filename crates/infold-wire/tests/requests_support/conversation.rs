//! Conversations made up at random, in the form of each API.

use infold_wire::request::Api;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// One turn of a conversation.
#[derive(Debug, Clone)]
pub struct Turn {
    /// What the user says; `None` makes the turn an exchange of calls and results.
    words: Option<Vec<String>>,
    /// What the model says in front of its calls.
    says: Option<String>,
    reasoning: bool,
    /// What each of its calls gives, as one text or as several.
    results: Vec<Vec<String>>,
    /// Whether the last block has a mark for the cache.
    mark: bool,
    /// The value of a field that no API has.
    unknown: Value,
}

impl Turn {
    /// A turn in which a person says something.
    pub fn words(text: &str) -> Self {
        Self { words: Some(vec![text.to_owned()]), ..Self::exchange(0) }
    }

    /// A turn in which the model makes so many calls.
    pub fn exchange(calls: usize) -> Self {
        let results = vec![vec!["r".to_owned()]; calls];
        Self { words: None, says: None, reasoning: true, results, mark: false, unknown: Value::Null }
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~]{1,30}", "\\PC{1,12}", Just("<system-reminder>x".to_owned()), Just("\u{1}\"\\\n".to_owned())]
}

fn unknown() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from),
        Just(json!({"type": "tool_use", "cache_control": 1, "content": [], "role": "user"})),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..3)
                .prop_map(|members| Value::from(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

pub fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let texts = |most: usize| prop::collection::vec(text(), 1..=most);
    let turn = (
        prop::option::of(texts(3)),
        prop::option::of(text()),
        any::<bool>(),
        prop::collection::vec(texts(2), 0..4),
        prop::bool::weighted(0.2),
        unknown(),
    );
    let turn = turn.prop_map(|(words, says, reasoning, results, mark, unknown)| Turn {
        words,
        says,
        reasoning,
        results,
        mark,
        unknown,
    });
    prop::collection::vec(turn, 0..8)
}

/// The body of a request with these turns.
pub fn body(api: Api, turns: &[Turn]) -> Value {
    let mut entries = Vec::new();
    for (number, turn) in turns.iter().enumerate() {
        match (api, &turn.words) {
            (Api::Messages, Some(words)) => entries.push(with(turn, messages_words(turn, words))),
            (Api::Responses, Some(words)) => {
                entries.push(with(
                    turn,
                    json!({"type": "message", "role": "user", "content": parts("input_text", words)}),
                ));
            }
            (Api::Chat, Some(words)) => {
                let content = if words.len() == 1 { json!(words[0]) } else { parts("text", words) };
                entries.push(with(turn, json!({"role": "user", "content": content})));
            }
            (Api::Messages, None) => entries.extend(messages_exchange(turn, number)),
            (Api::Responses, None) => entries.extend(responses_exchange(turn, number)),
            (Api::Chat, None) => entries.extend(chat_exchange(turn, number)),
        }
    }
    let list = if api == Api::Responses { "input" } else { "messages" };
    json!({"model": "m", "max_tokens": 1.5e3, list: entries, "tools": [{"name": "Bash"}], "stream": true})
}

fn with(turn: &Turn, mut entry: Value) -> Value {
    entry["x_unknown"] = turn.unknown.clone();
    entry
}

fn parts(kind: &str, texts: &[String]) -> Value {
    texts.iter().map(|text| json!({"type": kind, "text": text})).collect()
}

fn content(kind: &str, texts: &[String]) -> Value {
    if texts.len() == 1 { json!(texts[0]) } else { parts(kind, texts) }
}

fn messages_words(turn: &Turn, words: &[String]) -> Value {
    if words.len() == 1 && !turn.mark && !turn.reasoning {
        return json!({"role": "user", "content": words[0]});
    }
    let mut content = parts("text", words);
    if turn.mark {
        content[words.len() - 1]["cache_control"] = json!({"type": "ephemeral"});
    }
    json!({"role": "user", "content": content})
}

fn messages_exchange(turn: &Turn, number: usize) -> Vec<Value> {
    let mut said = Vec::new();
    if turn.reasoning {
        said.push(json!({"type": "thinking", "thinking": "", "signature": format!("s{number}")}));
    }
    said.extend(turn.says.iter().map(|text| json!({"type": "text", "text": text})));
    let calls = 0..turn.results.len();
    said.extend(
        calls.map(|call| json!({"type": "tool_use", "id": id(number, call), "name": "Bash", "input": turn.unknown})),
    );
    let mut results: Vec<Value> = turn
        .results
        .iter()
        .enumerate()
        .map(|(call, texts)| json!({"type": "tool_result", "tool_use_id": id(number, call), "content": content("text", texts)}))
        .collect();
    if let (true, Some(last)) = (turn.mark, results.last_mut()) {
        last["cache_control"] = json!({"type": "ephemeral"});
    }
    let mut entries = vec![with(turn, json!({"role": "assistant", "content": said}))];
    if !results.is_empty() {
        entries.push(with(turn, json!({"role": "user", "content": results})));
    }
    entries
}

fn responses_exchange(turn: &Turn, number: usize) -> Vec<Value> {
    let mut entries = Vec::new();
    if turn.reasoning {
        entries
            .push(with(turn, json!({"type": "reasoning", "summary": [], "encrypted_content": format!("s{number}")})));
    }
    if let Some(text) = &turn.says {
        entries
            .push(json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}));
    }
    let calls = 0..turn.results.len();
    entries.extend(
        calls.map(
            |call| json!({"type": "function_call", "call_id": id(number, call), "name": "exec", "arguments": "{}"}),
        ),
    );
    entries.extend(turn.results.iter().enumerate().map(|(call, texts)| {
        with(turn, json!({"type": "function_call_output", "call_id": id(number, call), "output": content("input_text", texts)}))
    }));
    entries
}

fn chat_exchange(turn: &Turn, number: usize) -> Vec<Value> {
    let mut said = json!({"role": "assistant", "content": turn.says});
    if turn.reasoning && (turn.says.is_some() || !turn.results.is_empty()) {
        said["reasoning_content"] = json!(format!("s{number}"));
    }
    if !turn.results.is_empty() {
        said["tool_calls"] = (0..turn.results.len())
            .map(|call| json!({"id": id(number, call), "type": "function", "function": {"name": "bash", "arguments": "{}"}}))
            .collect();
    }
    let results = turn.results.iter().enumerate();
    let results = results.map(|(call, texts)| {
        with(turn, json!({"role": "tool", "tool_call_id": id(number, call), "content": content("text", texts)}))
    });
    std::iter::once(with(turn, said)).chain(results).collect()
}

fn id(number: usize, call: usize) -> String {
    format!("call_{number}_{call}")
}
