//! `infold chat --demo`: a recorded session with a scripted model on loopback: no key, no network. The words of the model are
//! scripted; the requests, the branch, the files, the questions and the figures are real. It works in a folder of its own,
//! which is gone afterwards.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use axum::routing::post;
use axum::{Json, Router};
use futures::StreamExt as _;
use infold_core::{Counter, Family};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::commands::Invocation;
use crate::demo::bill::Bill;
use crate::demo::scene::FILES;
use crate::settings::{AgentApproval, AgentProvider, AgentSandbox};

/// What is asked first.
pub const PROMPT: &str = "Which of these files keep secrets out of requests, and how? Note it in NOTES.md.";
/// The variable that the demonstration's key is in; the model does not look at it.
const KEY: &str = "INFOLD_DEMO_KEY";
/// Files that are in the folder.
const FILES_SHOWN: usize = 8;
/// Characters that come at once.
const DELTA_CHARS: usize = 6;
/// The time between two of those.
const DELTA_EVERY: Duration = Duration::from_millis(12);

const TASK: &str = "find out which files keep secrets out of requests";
const RETURNED: &str = "`scrub.rs` is the way in: it looks at every text once and hands it to `scrub/engine.rs`, which runs the rules of \
`scrub/rules.rs` and puts a placeholder (`scrub/placeholder.rs`) where a secret was. Private keys are found by \
`scrub/private_key.rs`, because they span lines. `scrubbing.rs` in the engine calls it for everything that is stored or sent.";
const NOTES: &str = "# Secrets\n\n- `scrub.rs`: the way in\n- `scrub/engine.rs`, `scrub/rules.rs`: find them\n- `scrub/placeholder.rs`: \
what takes their place\n- `scrub/private_key.rs`: keys over several lines\n";
const LAST: &str = "Five files work together, and `NOTES.md` has them.\n\n| file | what it does |\n|---|---|\n| `scrub.rs` | the way in |\n\
| `scrub/engine.rs` | runs the rules |\n| `scrub/placeholder.rs` | what takes a secret's place |\n\n\
The branch read eight files, and **none of them is in this conversation any more**: only what it returned. `/context` shows what is \
left, `/branch` what was folded, `Ctrl-O` everything that happened.\n\n```rust\nlet scrubbed = scrubber.scrub(text);\n```\n\n\
This is a recorded session: whatever you say now, I have one more answer only.";
const MORE: &str = "That was all that was recorded. `/quit` leaves; with a key of your own, `infold chat` is the real thing.";

/// The demonstration's model and folder. Both are gone when this is dropped.
pub struct ChatDemo {
    place: TempDir,
    server: JoinHandle<()>,
}

impl ChatDemo {
    /// Makes the folder, starts the model, and has the settings point at both.
    pub async fn start(invocation: &mut Invocation) -> anyhow::Result<Self> {
        let place = tempfile::tempdir().context("cannot create a temporary folder")?;
        let work = place.path().join("work");
        for file in &FILES[..FILES_SHOWN] {
            let path = work.join(file.path);
            std::fs::create_dir_all(path.parent().unwrap_or(&work))?;
            std::fs::write(path, file.text)?;
        }
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await;
        let listener = listener.context("the scripted model finds no free port")?;
        let settings = &mut invocation.in_force.settings;
        settings.data = place.path().join("data").display().to_string();
        let agent = &mut settings.agent;
        agent.upstream = format!("http://{}", listener.local_addr()?);
        crate::demo::MODEL.clone_into(&mut agent.model);
        KEY.clone_into(&mut agent.key_env);
        agent.provider = AgentProvider::Anthropic;
        agent.approval = AgentApproval::Ask;
        agent.sandbox = AgentSandbox::Best;
        invocation.surroundings.variables.insert(KEY.into(), "demo".into());
        let bill = Arc::new(Mutex::new(Bill::new(Counter::new(Family::ClaudeNew))));
        let router = Router::new().route("/v1/messages", post(answer)).with_state(bill);
        let server = tokio::spawn(async move {
            if let Err(problem) = axum::serve(listener, router).await {
                tracing::warn!(%problem, "the scripted model broke down");
            }
        });
        Ok(Self { place, server })
    }

    /// The folder that is worked in.
    pub fn folder(&self) -> std::path::PathBuf {
        self.place.path().join("work")
    }
}

impl Drop for ChatDemo {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// What the model says and calls.
struct ScriptedTurn {
    says: &'static str,
    calls: Vec<(&'static str, Value)>,
}

async fn answer(State(bill): State<Arc<Mutex<Bill>>>, Json(body): Json<Value>) -> Response {
    let turn = turn(&body);
    let (usage, output_tokens) = {
        let mut bill = bill.lock().unwrap_or_else(PoisonError::into_inner);
        (bill.ask(&body), bill.count(turn.says) + 40 * turn.calls.len() as u64)
    };
    let started = json!({
        "type": "message_start",
        "message": {
            "id": "msg_demo", "type": "message", "role": "assistant", "model": crate::demo::MODEL, "content": [],
            "stop_reason": null, "stop_sequence": null,
            "usage": {
                "input_tokens": usage.fresh_tokens, "cache_read_input_tokens": usage.cache_read_tokens,
                "cache_creation_input_tokens": usage.cache_write_tokens, "output_tokens": 1,
            },
        },
    });
    let stop_reason = if turn.calls.is_empty() { "end_turn" } else { "tool_use" };
    let mut events = vec![started];
    if !turn.says.is_empty() {
        events.push(json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}));
        let letters: Vec<char> = turn.says.chars().collect();
        events.extend(letters.chunks(DELTA_CHARS).map(|piece| {
            let text: String = piece.iter().collect();
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})
        }));
        events.push(json!({"type": "content_block_stop", "index": 0}));
    }
    let asked = body["messages"].as_array().map_or(0, Vec::len);
    for (at, (tool, input)) in turn.calls.iter().enumerate() {
        let (index, id) = (at + 1, format!("toolu_demo_{asked}_{at}_{tool}"));
        let block = json!({"type": "tool_use", "id": id, "name": tool, "input": {}});
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        let delta = json!({"type": "input_json_delta", "partial_json": input.to_string()});
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let usage = json!({"output_tokens": output_tokens});
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    let pieces = futures::stream::iter(events).then(|event| async move {
        tokio::time::sleep(DELTA_EVERY).await;
        let kind = event["type"].as_str().unwrap_or_default();
        Ok::<_, Infallible>(format!("event: {kind}\ndata: {event}\n\n"))
    });
    let mut response = Response::new(Body::from_stream(pieces));
    response.headers_mut().insert(CONTENT_TYPE, axum::http::HeaderValue::from_static("text/event-stream"));
    response
}

/// The answer to a request, which follows from what it shows.
fn turn(body: &Value) -> ScriptedTurn {
    let says = |says: &'static str| ScriptedTurn { says, calls: Vec::new() };
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let first = messages.first().map(Value::to_string).unwrap_or_default();
    let newest = messages.last().map(Value::to_string).unwrap_or_default();
    if first.contains(TASK) && first.contains("[branch ") {
        let results = messages.iter().map(|message| message.to_string().matches("\"tool_result\"").count()).sum::<usize>();
        let reads = |range: std::ops::Range<usize>| {
            FILES[range].iter().map(|file| ("read", json!({"path": file.path}))).collect::<Vec<_>>()
        };
        return match results {
            0 => ScriptedTurn { says: "I read them in two steps.", calls: reads(0..4) },
            1..=4 => ScriptedTurn { says: "", calls: reads(4..FILES_SHOWN) },
            _ => ScriptedTurn { says: "", calls: vec![("branch_return", json!({"message": RETURNED}))] },
        };
    }
    if newest.contains("_branch_create") && newest.contains("tool_result") {
        return ScriptedTurn {
            says: "The branch is back with what matters. I write it down.",
            calls: vec![("write", json!({"path": "NOTES.md", "content": NOTES}))],
        };
    }
    match () {
        () if newest.contains("created NOTES.md") || newest.contains("NOTES.md has had") => says(LAST),
        () if newest.contains("tool_result") => says("Then it is not written down. Say what to do instead, or `/quit`."),
        () if newest.contains(PROMPT) => ScriptedTurn {
            says: "That means reading a lot. I give it to a branch, so that this conversation stays **small**.",
            calls: vec![("branch_create", json!({"description": TASK, "prompt": "Read the files below crates/ and say which keep secrets out of requests."}))],
        },
        () => says(MORE),
    }
}
