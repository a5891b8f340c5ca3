//! The scripted model: an Anthropic Messages API on loopback. It gives the answers of the scene, records the requests
//! that it gets, and reports usage as a provider with a prompt cache would.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use infold_core::Counter;
use infold_core::record::Usage;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::bill::Bill;
use super::scene::{Call, FILES, ScriptedAnswer, TASKS};
use super::tools::PREFIX;

/// Characters of a branch's id: `br_` and a uuid.
const BRANCH_ID_CHARS: usize = 39;

/// A request as the model got it.
#[derive(Clone)]
pub struct Got {
    pub body: Value,
    /// Its tokens, as they were reported to the client.
    pub usage: Usage,
}

/// A running model. It stops when it is dropped.
pub struct ScriptedModel {
    /// Where it listens, without a slash at the end.
    pub base_url: String,
    state: Arc<Mutex<ModelState>>,
    server: JoinHandle<()>,
}

struct ModelState {
    bill: Bill,
    got: Vec<Got>,
}

impl ScriptedModel {
    /// Starts a model on a free port of the loopback address.
    pub async fn start(counter: Counter) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await;
        let listener = listener.context("the scripted model finds no free port")?;
        let base_url = format!("http://{}", listener.local_addr()?);
        let state = Arc::new(Mutex::new(ModelState { bill: Bill::new(counter), got: Vec::new() }));
        let router = Router::new().route("/v1/messages", post(answer)).with_state(Arc::clone(&state));
        let server = tokio::spawn(async move {
            if let Err(problem) = axum::serve(listener, router).await {
                tracing::warn!(%problem, "the scripted model broke down");
            }
        });
        Ok(Self { base_url, state, server })
    }

    /// All requests so far, in order.
    pub fn got(&self) -> Vec<Got> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).got.clone()
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(state): State<Arc<Mutex<ModelState>>>, Json(body): Json<Value>) -> Json<Value> {
    let mut model = state.lock().unwrap_or_else(PoisonError::into_inner);
    let number = model.got.len();
    let content = match TASKS.iter().flat_map(|task| task.answers).nth(number) {
        Some(scripted) => answer_content(number, scripted, &body),
        None => json!([{"type": "text", "text": "There is nothing more to do."}]),
    };
    let mut usage = model.bill.ask(&body);
    usage.output_tokens = model.bill.count(&content.to_string());
    let calls = content.as_array().is_some_and(|blocks| blocks.iter().any(|block| block["type"] == "tool_use"));
    let answer = json!({
        "id": format!("msg_demo_{number}"),
        "type": "message",
        "role": "assistant",
        "model": super::MODEL,
        "content": content,
        "stop_reason": if calls { "tool_use" } else { "end_turn" },
        "stop_sequence": null,
        "usage": {
            "input_tokens": usage.fresh_tokens,
            "cache_read_input_tokens": usage.cache_read_tokens,
            "cache_creation_input_tokens": usage.cache_write_tokens,
            "output_tokens": usage.output_tokens,
        },
    });
    model.got.push(Got { body, usage });
    Json(answer)
}

fn answer_content(number: usize, scripted: &ScriptedAnswer, body: &Value) -> Value {
    let mut content = Vec::new();
    if !scripted.says.is_empty() {
        content.push(json!({"type": "text", "text": scripted.says}));
    }
    for (at, call) in scripted.calls.iter().enumerate() {
        let (name, input) = tool_and_input(call, body);
        content
            .push(json!({"type": "tool_use", "id": format!("toolu_demo_{number}_{at}"), "name": name, "input": input}));
    }
    Value::Array(content)
}

fn tool_and_input(call: &Call, body: &Value) -> (String, Value) {
    match call {
        Call::Open { description, prompt } => {
            (format!("{PREFIX}branch_create"), json!({"description": description, "prompt": prompt}))
        }
        Call::Read(file) => ("Read".to_owned(), json!({"file_path": FILES[*file].path})),
        Call::Return { message } => {
            let input = json!({"branch_id": latest_branch(body), "message": message});
            (format!("{PREFIX}branch_return"), input)
        }
        Call::Write { path, content } => ("Write".to_owned(), json!({"file_path": path, "content": content})),
    }
}

/// The id of the latest branch, found as a model would find it: in the text of the request.
fn latest_branch(body: &Value) -> String {
    let shown = body["messages"].to_string();
    let ids = shown.match_indices("br_").filter_map(|(at, _)| shown.get(at..at + BRANCH_ID_CHARS));
    let is_id = |id: &&str| id[3..].chars().all(|c| c == '-' || c.is_ascii_hexdigit());
    ids.filter(is_id).last().unwrap_or_default().to_owned()
}
