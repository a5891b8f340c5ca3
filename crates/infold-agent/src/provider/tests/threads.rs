//! Threads for the other tests.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::image::{AttachedImage, KnownImages};
use crate::provider::{Effort, Prompt, ProviderApi, ToolDefinition, outgoing_body, request_body};
use crate::{ResultOutcome, SpokenBy, ThreadEntry};

pub(super) const MODEL: &str = "model-1";
pub(super) const SYSTEM: &str = "You are a coding agent.\n\nThe project has two crates.\n";

const BREAKPOINTS: [usize; 2] = [25, SYSTEM.len()];

pub(super) const APIS: [ProviderApi; 4] =
    [ProviderApi::Anthropic, ProviderApi::Responses, ProviderApi::Chat, ProviderApi::Ollama];

/// The bytes of the one image that entries here have.
static IMAGES: LazyLock<KnownImages> = LazyLock::new(|| {
    let image = image();
    [(image.id, image.data.clone().unwrap())].into()
});

/// A PNG, as far as anybody looks.
pub(super) fn image() -> AttachedImage {
    let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &[0, 0, 4, 0xb0, 0, 0, 3, 0x20], &[0; 9]].concat();
    AttachedImage::of_file("shot.png", &png, 1_000).unwrap()
}

/// Words with the image, twice.
pub(super) fn with_images(text: &str) -> ThreadEntry {
    crate::image::said_with(text, vec![image(), image()])
}

pub(super) fn tools() -> Vec<ToolDefinition> {
    let tool = |name: &str, field: &str| ToolDefinition {
        name: name.to_owned(),
        description: format!("Does {name}."),
        parameters: json!({"type": "object", "properties": {field: {"type": "string"}}, "required": [field]}),
    };
    vec![tool("read", "path"), tool("run", "command")]
}

pub(super) fn user(text: &str) -> ThreadEntry {
    ThreadEntry::user(text, SpokenBy::Person)
}

pub(super) fn said(text: &str) -> ThreadEntry {
    ThreadEntry::Assistant { text: text.to_owned() }
}

pub(super) fn call(id: &str, tool: &str, arguments: Value) -> ThreadEntry {
    ThreadEntry::Call { id: id.to_owned(), tool: tool.to_owned(), arguments }
}

pub(super) fn result(call: &str, tool: &str, text: &str, outcome: ResultOutcome) -> ThreadEntry {
    ThreadEntry::Result { call: call.to_owned(), tool: tool.to_owned(), text: text.to_owned(), outcome }
}

/// What each provider seals its reasoning in, for `MODEL`, and a piece of another model.
pub(super) fn thoughts(api: ProviderApi) -> Vec<ThreadEntry> {
    let of = |sealed: Value, model: &str| ThreadEntry::Reasoning { sealed, model: model.to_owned() };
    let own = match api {
        ProviderApi::Anthropic => vec![
            json!({"type": "thinking", "thinking": "Two files.", "signature": "c2VhbA=="}),
            json!({"type": "redacted_thinking", "data": "cmVkYWN0ZWQ="}),
        ],
        ProviderApi::Responses => vec![json!({
            "type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Two files."}],
            "encrypted_content": "c2VhbA==",
        })],
        ProviderApi::Chat | ProviderApi::Ollama => vec![json!({"type": "reasoning_content", "text": "Two files."})],
    };
    let other = of(json!({"type": "thinking", "thinking": "x", "signature": "b3RoZXI="}), "model-0");
    own.into_iter().map(|sealed| of(sealed, MODEL)).chain([other]).collect()
}

/// Two turns with parallel calls, reasoning, an empty result and a failed one.
pub(super) fn rich(api: ProviderApi) -> Vec<ThreadEntry> {
    let mut entries = vec![user("Why does the build fail?")];
    entries.extend(thoughts(api));
    entries.extend([
        said("I read both files."),
        call("call_1", "read", json!({"path": "a.rs"})),
        call("call_2", "run", json!({"command": "true"})),
        call("call_3", "run", Value::String("{\"command\": \"make".to_owned())),
        result("call_2", "run", "", ResultOutcome::Succeeded),
        result("call_1", "read", "fn main() {}", ResultOutcome::Succeeded),
        result("call_3", "run", "the arguments are no JSON", ResultOutcome::Failed),
        ThreadEntry::user("Budget: half is left.".to_owned(), SpokenBy::Agent),
        said("The file is fine."),
        said("  \n"),
        user("Then what?"),
    ]);
    entries
}

pub(super) fn prompt<'a>(entries: &'a [ThreadEntry], tools: &'a [ToolDefinition]) -> Prompt<'a> {
    Prompt {
        model: MODEL,
        session: "session-1",
        system: SYSTEM,
        breakpoints: &BREAKPOINTS,
        tools,
        entries,
        images: &IMAGES,
        max_output_tokens: 8_000,
        reasoning: Effort::Medium,
    }
}

/// The body as it is sent, when the engine has nothing to edit.
pub(super) fn sent(api: ProviderApi, entries: &[ThreadEntry]) -> Vec<u8> {
    let tools = tools();
    let body = request_body(api, &prompt(entries, &tools));
    outgoing_body(api, body, 32_768).unwrap().to_vec()
}

pub(super) fn sent_json(api: ProviderApi, entries: &[ThreadEntry]) -> Value {
    serde_json::from_slice(&sent(api, entries)).unwrap()
}

/// One entry, of any kind and in any place, with ids and texts that collide, are empty, or are refused.
pub(super) fn any_entry() -> impl Strategy<Value = ThreadEntry> {
    let text = prop_oneof![Just(String::new()), Just(" \n".to_owned()), "[a-zé\"\\\\ ]{1,12}"];
    let id = prop_oneof![Just(String::new()), "[ab]", "call\\.[12]", Just("x".repeat(90))];
    let tool = prop_oneof![Just("read".to_owned()), Just("mcp.server/tool".to_owned())];
    let arguments = prop_oneof![
        Just(json!({"path": "a"})),
        Just(json!({"z": 1, "a": [null, 1.5]})),
        Just(json!("cut {")),
        Just(Value::Null),
        Just(json!([1])),
    ];
    let outcome = prop_oneof![Just(ResultOutcome::Succeeded), Just(ResultOutcome::Failed)];
    prop_oneof![
        2 => text.clone().prop_map(|text| ThreadEntry::user(text, SpokenBy::Person)),
        1 => text.clone().prop_map(|text| with_images(&text)),
        2 => text.clone().prop_map(|text| ThreadEntry::Assistant { text }),
        1 => Just(ThreadEntry::Reasoning { sealed: json!({"type": "thinking"}), model: "model-0".to_owned() }),
        3 => (id.clone(), tool.clone(), arguments).prop_map(|(id, tool, arguments)| ThreadEntry::Call { id, tool, arguments }),
        3 => (id, tool, text, outcome)
            .prop_map(|(call, tool, text, outcome)| ThreadEntry::Result { call, tool, text, outcome }),
    ]
}

/// A whole round: words, reasoning of any origin, an answer, and the results of its calls in any order.
pub(super) fn any_round(api: ProviderApi) -> impl Strategy<Value = Vec<ThreadEntry>> {
    let calls = prop::collection::vec(("[a-c]{1,2}", prop_oneof![Just(""), Just("out")]), 0..24);
    ("[a-z]{1,9}", any::<bool>(), prop_oneof![Just(""), Just("words")], calls).prop_map(
        move |(asked, thinks, words, calls)| {
            let mut entries = vec![user(&asked)];
            entries.extend(thoughts(api).into_iter().filter(|_| thinks));
            entries.push(said(words));
            let answers: Vec<ThreadEntry> =
                calls.iter().map(|(id, text)| result(id, "read", text, ResultOutcome::Succeeded)).collect();
            entries.extend(calls.iter().map(|(id, _)| call(id, "read", json!({"path": id}))));
            entries.extend(answers.into_iter().rev());
            entries
        },
    )
}
