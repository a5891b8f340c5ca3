//! Asks an endpoint that speaks OpenAI's embeddings what texts mean.

use std::sync::Arc;

use infold_core::Scrubbed;
use infold_engine::{AskFault, EmbedTexts};
use serde::Deserialize;
use serde_json::json;

use super::{OwnModel, OwnRequests};

/// The longest vector that is taken.
const DIMENSIONS_MAX: usize = 8_192;

/// An answer, as far as it is read.
#[derive(Deserialize)]
struct EmbeddingsAnswer {
    data: Vec<EmbeddingEntry>,
}

#[derive(Deserialize)]
struct EmbeddingEntry {
    index: usize,
    embedding: Vec<f32>,
}

/// The way to a model that says what texts mean, for the engine.
pub fn embed_texts(model: OwnModel) -> EmbedTexts {
    let (name, requests) = (model.model, Arc::new(OwnRequests::new(model.way)));
    EmbedTexts::new(move |texts| {
        let (name, requests) = (name.clone(), Arc::clone(&requests));
        async move { embed(&requests, &name, &texts).await }
    })
}

async fn embed(requests: &OwnRequests, model: &str, texts: &[Scrubbed]) -> Result<Vec<Vec<f32>>, AskFault> {
    let input: Vec<&str> = texts.iter().map(Scrubbed::as_str).collect();
    let body = json!({"model": model, "input": input, "encoding_format": "float"});
    let answer = requests.post("/v1/embeddings", &body).await?;
    if !answer.status.is_success() {
        return Err(requests.fault(&answer));
    }
    read(&answer.body, texts.len()).ok_or_else(|| {
        let way = &requests.way;
        AskFault::Lost(format!(
            "{} answered with something other than vectors: see {}",
            way.upstream, way.settings.upstream
        ))
    })
}

/// The vectors of an answer, one for each text and all of one length; `None` if they are not there.
fn read(body: &[u8], texts: usize) -> Option<Vec<Vec<f32>>> {
    let mut entries = serde_json::from_slice::<EmbeddingsAnswer>(body).ok()?.data;
    entries.sort_by_key(|entry| entry.index);
    let length = entries.first()?.embedding.len();
    let is_whole = entries.len() == texts && entries.iter().zip(0..).all(|(entry, index)| entry.index == index);
    let is_even = length > 0 && length <= DIMENSIONS_MAX && entries.iter().all(|entry| entry.embedding.len() == length);
    (is_whole && is_even).then(|| entries.into_iter().map(|entry| entry.embedding).collect())
}
