//! What texts mean, by the built-in model and by one that the user names.
//!
//! The built-in vector of a memory is made when the memory is. Those of the user's model are made in the background, also for
//! memories that have one of another model; until then a memory is found by its words alone, and so is everything as long as
//! the user's model cannot be used. That is said once. Nothing waits for a model longer than a setting says.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use infold_core::Scrubbed;
use infold_core::memory::TextVector;
use infold_store::EmbeddedMemory;
use tokio_util::sync::CancellationToken;

use super::models::{Embedder, EndpointEmbedder, FileEmbedder};
use crate::{Engine, Error};

/// Memories whose vectors are made at once.
const BATCH_MAX: usize = 32;
/// Texts that were looked for, whose vectors are remembered.
const REMEMBERED_MAX: usize = 64;
/// Different problems that are said.
const SAID_MAX: usize = 8;
/// What is sent of a text.
const TEXT_BYTES_MAX: usize = 6_000;
/// The pause after a model could not be used, doubled up to the longest.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(300);
/// After it could not be used for a search, searches do without it for so long.
const REST_MS: u64 = 10_000;
/// The longest pause between two looks: another process may have written a memory.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(5);

/// What an engine knows of the user's model.
#[derive(Default)]
pub(crate) struct Embedding {
    known: Mutex<KnownMeanings>,
}

#[derive(Default)]
struct KnownMeanings {
    /// Texts that were looked for, as hashes, with their vectors; the newest last.
    remembered: VecDeque<([u8; 32], TextVector)>,
    /// Searches do without the model until then.
    rests_until_ms: u64,
    /// What was said about it since it was last of use, so that it is said once.
    said: Vec<String>,
    /// The last of that, for the next branch that opens.
    note: Option<String>,
}

impl Embedding {
    fn known(&self) -> std::sync::MutexGuard<'_, KnownMeanings> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A sentence for the caller of an opening, once, if memories are found by words alone.
    pub(super) fn take_note(&self) -> Option<String> {
        self.known().note.take()
    }

    fn failed(&self, problem: &str) {
        let mut known = self.known();
        if known.said.len() < SAID_MAX && !known.said.iter().any(|said| said == problem) {
            tracing::warn!(
                problem,
                "the model that memory.embedding_model names cannot be used: memories are found by words"
            );
            known.note = Some(format!("memories are found by words alone: {problem}"));
            known.said.push(problem.to_owned());
        }
    }

    fn worked(&self) {
        let mut known = self.known();
        if !std::mem::take(&mut known.said).is_empty() {
            tracing::info!("the model that memory.embedding_model names is used again");
        }
        known.note = None;
    }
}

impl Engine {
    /// What a text that is looked for means, by the model in use; `None` if that cannot be said in time.
    pub(super) async fn meaning_of(&self, text: &str) -> Option<TextVector> {
        match &self.inner.settings.memory_models.embedder {
            Embedder::BuiltIn => TextVector::built_in(text),
            Embedder::Files(files) => self.meaning_by_files(files, text).await,
            Embedder::Endpoint(endpoint) => self.meaning_by_endpoint(endpoint, text).await,
        }
    }

    /// The name of the model in use. As long as files are not read nobody knows theirs, and nothing is stored under it.
    pub(super) fn embedding_model(&self) -> String {
        match &self.inner.settings.memory_models.embedder {
            Embedder::BuiltIn => TextVector::built_in_name().to_owned(),
            Embedder::Files(files) => files.name().unwrap_or_default().to_owned(),
            Embedder::Endpoint(endpoint) => endpoint.name.clone(),
        }
    }

    async fn meaning_by_files(&self, files: &FileEmbedder, text: &str) -> Option<TextVector> {
        let wait = Duration::from_millis(self.inner.settings.memory_models.embedding_wait_ms);
        let (files, text) = (files.clone(), text.to_owned());
        let read = tokio::task::spawn_blocking(move || files.read().map(|model| model.vector(&text)));
        // Reading them takes a moment once; it goes on beside a search that does not wait for it.
        match tokio::time::timeout(wait, read).await.ok()?.ok()? {
            Ok(vector) => vector,
            Err(problem) => {
                self.inner.embedding.failed(&problem);
                None
            }
        }
    }

    async fn meaning_by_endpoint(&self, endpoint: &EndpointEmbedder, text: &str) -> Option<TextVector> {
        let hash = *blake3::hash(text.as_bytes()).as_bytes();
        {
            let known = self.inner.embedding.known();
            if let Some((_, vector)) = known.remembered.iter().find(|(of, _)| *of == hash) {
                return Some(vector.clone());
            }
            if self.now_ms() < known.rests_until_ms {
                return None;
            }
        }
        let wait_ms = self.inner.settings.memory_models.embedding_wait_ms;
        let asked = async {
            let [text] = self.scrub([cut(text)]).await.map_err(|error| error.to_string())?;
            let vectors = endpoint.embed.embed(vec![text]).await.map_err(|fault| fault.problem().to_owned())?;
            vectors.into_iter().next().ok_or_else(|| "it gave no vector".to_owned())
        };
        let problem = match tokio::time::timeout(Duration::from_millis(wait_ms), asked).await {
            Ok(Ok(numbers)) => {
                let vector = TextVector::of_numbers(&endpoint.name, &numbers)?;
                self.inner.embedding.worked();
                let mut known = self.inner.embedding.known();
                known.remembered.push_back((hash, vector.clone()));
                if known.remembered.len() > REMEMBERED_MAX {
                    known.remembered.pop_front();
                }
                return Some(vector);
            }
            Ok(Err(problem)) => problem,
            Err(_) => format!("it took longer than {wait_ms} ms (memory.embedding_wait_ms)"),
        };
        self.inner.embedding.failed(&problem);
        self.inner.embedding.known().rests_until_ms = self.now_ms().saturating_add(REST_MS);
        None
    }

    /// Makes vectors of memories that have none of the models in use, until it is cancelled.
    pub(crate) async fn keep_embedding(&self, cancel: &CancellationToken) {
        let mut pause = PAUSE_FIRST;
        loop {
            let embedded = tokio::select! {
                () = cancel.cancelled() => return,
                embedded = self.embed_some() => embedded,
            };
            let rest = match embedded {
                Ok(BATCH_MAX..) => Duration::ZERO,
                Ok(_) => {
                    pause = PAUSE_FIRST;
                    LOOK_AT_LEAST_EVERY
                }
                Err(problem) => {
                    self.inner.embedding.failed(&problem);
                    let rest = pause;
                    pause = (pause * 2).min(PAUSE_MAX);
                    rest
                }
            };
            tokio::select! {
                () = cancel.cancelled() => return,
                () = tokio::time::sleep(rest) => {}
            }
        }
    }

    /// Makes the vectors of a few memories. Returns of how many, or why it cannot.
    async fn embed_some(&self) -> Result<usize, String> {
        let built_in = TextVector::built_in_name();
        let numbers =
            |texts: &[Scrubbed]| texts.iter().map(|text| bytes_of(TextVector::built_in(text.as_str()))).collect();
        let count = self.embedded(built_in, async |texts: Vec<Scrubbed>| Ok(numbers(&texts))).await?;
        let of_user = match &self.inner.settings.memory_models.embedder {
            Embedder::BuiltIn => 0,
            Embedder::Files(files) => {
                let read = files.clone();
                let read = tokio::task::spawn_blocking(move || read.read().map(|model| model.name().to_owned())).await;
                let name = read.map_err(|error| error.to_string())??;
                let vectors = async |texts: Vec<Scrubbed>| {
                    let files = files.clone();
                    let work = move || {
                        let model = files.read()?;
                        Ok(texts.iter().map(|text| bytes_of(model.vector(text.as_str()))).collect())
                    };
                    tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?
                };
                self.embedded(&name, vectors).await?
            }
            Embedder::Endpoint(endpoint) => {
                let vectors = async |texts: Vec<Scrubbed>| self.embedded_there(endpoint, texts).await;
                self.embedded(&endpoint.name, vectors).await?
            }
        };
        Ok(count.max(of_user))
    }

    /// Vectors of memories' texts by an endpoint.
    async fn embedded_there(&self, endpoint: &EndpointEmbedder, texts: Vec<Scrubbed>) -> Result<Vec<Vec<u8>>, String> {
        let cut = texts.iter().map(|text| cut(text.as_str())).collect();
        let cut = self.scrub_list(cut).await.map_err(|error| error.to_string())?;
        let vectors = endpoint.embed.embed(cut).await.map_err(|fault| fault.problem().to_owned())?;
        if vectors.len() != texts.len() {
            return Err("it gave another number of vectors than it was sent texts".to_owned());
        }
        Ok(vectors.iter().map(|numbers| bytes_of(TextVector::of_numbers(&endpoint.name, numbers))).collect())
    }

    /// Has vectors of a few memories made that have none of a model, and writes them. Returns of how many.
    async fn embedded(
        &self,
        model: &str,
        vectors: impl AsyncFnOnce(Vec<Scrubbed>) -> Result<Vec<Vec<u8>>, String>,
    ) -> Result<usize, String> {
        let of_store = |error: infold_store::StoreError| Error::from(error).to_string();
        let waiting = self.inner.store.unembedded_memories(model.to_owned(), BATCH_MAX).await.map_err(of_store)?;
        if waiting.is_empty() {
            return Ok(0);
        }
        let vectors = vectors(waiting.iter().map(|(_, text)| text.clone()).collect()).await?;
        let made = waiting.into_iter().zip(vectors).map(|((id, text), bytes)| EmbeddedMemory { id, text, bytes });
        let made: Vec<EmbeddedMemory> = made.collect();
        let count = made.len();
        let beside = match model == TextVector::built_in_name() {
            true => self.embedding_model(),
            false => TextVector::built_in_name().to_owned(),
        };
        self.inner.store.embed_memories(model.to_owned(), beside, made).await.map_err(of_store)?;
        Ok(count)
    }
}

/// A vector as it is stored; empty if there is none.
fn bytes_of(vector: Option<TextVector>) -> Vec<u8> {
    vector.map(|vector| vector.bytes()).unwrap_or_default()
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned()
}
