//! An endpoint on loopback that speaks OpenAI's embeddings: it stores what it is sent, and answers, fails or says nothing as a
//! test wishes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How many numbers a vector has.
const DIMENSIONS: usize = 16;

/// What an endpoint does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingsMood {
    /// It answers.
    Answers,
    /// It refuses with a status.
    Refuses(u16),
    /// It says nothing, and keeps the connection open.
    Stalls,
    /// It answers so many requests, and then stalls.
    AnswersFirst(usize),
}

/// A running endpoint. It stops when it is dropped.
#[derive(Debug)]
pub struct Embeddings {
    base_url: String,
    state: Arc<EndpointState>,
    server: JoinHandle<std::io::Result<()>>,
}

#[derive(Debug)]
struct EndpointState {
    received: Mutex<Vec<(Option<String>, Value)>>,
    mood: watch::Sender<EmbeddingsMood>,
}

impl Embeddings {
    /// Starts an endpoint on a free port of the loopback address.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("cannot listen")?;
        let base_url = format!("http://{}", listener.local_addr()?);
        let mood = watch::Sender::new(EmbeddingsMood::Answers);
        let state = Arc::new(EndpointState { received: Mutex::default(), mood });
        let router = Router::new().route("/v1/embeddings", post(answer)).with_state(Arc::clone(&state));
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { base_url, state, server })
    }

    /// Where it listens, without a trailing slash.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Changes what it does with requests from now on.
    pub fn set_mood(&self, mood: EmbeddingsMood) {
        self.state.mood.send_replace(mood);
    }

    /// All texts that it was sent, in order.
    pub fn texts(&self) -> Vec<String> {
        let received = self.state.received();
        let inputs = received.iter().flat_map(|(_, body)| body["input"].as_array().cloned().unwrap_or_default());
        inputs.filter_map(|text| text.as_str().map(str::to_owned)).collect()
    }

    /// The header `authorization` of the first request.
    pub fn key(&self) -> Option<String> {
        self.state.received().first()?.0.clone()
    }

    /// How many requests it was sent.
    pub fn requests(&self) -> usize {
        self.state.received().len()
    }
}

impl Drop for Embeddings {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl EndpointState {
    fn received(&self) -> MutexGuard<'_, Vec<(Option<String>, Value)>> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn answer(
    State(shared): State<Arc<EndpointState>>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> (StatusCode, Json<Value>) {
    let key = headers.get("authorization").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let texts = body["input"].as_array().cloned().unwrap_or_default();
    shared.received().push((key, body));
    let mood = match *shared.mood.borrow() {
        EmbeddingsMood::AnswersFirst(count) if shared.received().len() <= count => EmbeddingsMood::Answers,
        EmbeddingsMood::AnswersFirst(_) => EmbeddingsMood::Stalls,
        mood => mood,
    };
    match mood {
        EmbeddingsMood::Answers => {
            let data: Vec<Value> = texts
                .iter()
                .enumerate()
                .map(|(index, text)| json!({"object": "embedding", "index": index, "embedding": vector(text)}))
                .collect();
            (StatusCode::OK, Json(json!({"object": "list", "data": data, "model": "scripted"})))
        }
        EmbeddingsMood::Refuses(status) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (status, Json(json!({"error": {"message": "refused by the test", "type": "server_error"}})))
        }
        EmbeddingsMood::Stalls | EmbeddingsMood::AnswersFirst(_) => std::future::pending().await,
    }
}

/// A vector that depends on the words of a text.
fn vector(text: &Value) -> Vec<f32> {
    let mut numbers = vec![0.1; DIMENSIONS];
    for word in text.as_str().unwrap_or_default().split_whitespace() {
        let place = word.bytes().fold(7_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte)));
        numbers[place % DIMENSIONS] += 1.0;
    }
    numbers
}
