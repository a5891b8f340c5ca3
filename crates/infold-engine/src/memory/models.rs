//! Models of the user's that memories may use, if the user names any. How they are reached is the program's to say: the
//! engine knows no HTTP.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use infold_core::Scrubbed;
use infold_core::memory::FileModel;

/// The models that memories use.
#[derive(Debug, Clone)]
pub struct MemoryModels {
    /// Writes lessons of ended branches whose agents wrote none; `None` if no model is asked.
    pub distiller: Option<Distiller>,
    /// Says what texts mean.
    pub embedder: Embedder,
    /// How long a search waits for it.
    pub embedding_wait_ms: u64,
}

impl MemoryModels {
    /// No model of the user's.
    pub fn none() -> Self {
        Self { distiller: None, embedder: Embedder::BuiltIn, embedding_wait_ms: 0 }
    }
}

/// A model that says what texts mean.
#[derive(Debug, Clone)]
pub enum Embedder {
    /// The one inside the program.
    BuiltIn,
    /// One in files of the user's.
    Files(FileEmbedder),
    /// One that is asked.
    Endpoint(EndpointEmbedder),
}

type ReadFiles = dyn Fn() -> Result<FileModel, String> + Send + Sync;

/// A model in files, which are read when it is first needed.
#[derive(Clone)]
pub struct FileEmbedder {
    reading: Arc<ReadFiles>,
    read: Arc<OnceLock<Result<FileModel, String>>>,
}

impl FileEmbedder {
    /// A model that this function reads. Its error is for people, and says what to do.
    pub fn new(reading: impl Fn() -> Result<FileModel, String> + Send + Sync + 'static) -> Self {
        Self { reading: Arc::new(reading), read: Arc::default() }
    }

    /// The model. The first call reads the files.
    pub(crate) fn read(&self) -> Result<&FileModel, String> {
        self.read.get_or_init(|| (self.reading)()).as_ref().map_err(String::clone)
    }

    /// Its name, if the files are read.
    pub(crate) fn name(&self) -> Option<&str> {
        self.read.get()?.as_ref().ok().map(FileModel::name)
    }
}

impl fmt::Debug for FileEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileEmbedder({:?})", self.name())
    }
}

/// A model that is asked.
#[derive(Debug, Clone)]
pub struct EndpointEmbedder {
    /// The name that its vectors are stored under.
    pub name: String,
    /// The way to it.
    pub embed: EmbedTexts,
}

type EmbeddedTexts = Pin<Box<dyn Future<Output = Result<Vec<Vec<f32>>, AskFault>> + Send>>;

/// The way to a model that says what texts mean.
#[derive(Clone)]
pub struct EmbedTexts(Arc<dyn Fn(Vec<Scrubbed>) -> EmbeddedTexts + Send + Sync>);

impl EmbedTexts {
    /// A way to a model that is this function. It gives a vector for each text, in order.
    pub fn new<F, R>(embed: F) -> Self
    where
        F: Fn(Vec<Scrubbed>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Vec<Vec<f32>>, AskFault>> + Send + 'static,
    {
        Self(Arc::new(move |texts| Box::pin(embed(texts))))
    }

    pub(crate) async fn embed(&self, texts: Vec<Scrubbed>) -> Result<Vec<Vec<f32>>, AskFault> {
        (self.0)(texts).await
    }
}

impl fmt::Debug for EmbedTexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EmbedTexts(..)")
    }
}

/// A model that writes lessons.
#[derive(Debug, Clone)]
pub struct Distiller {
    /// Its name.
    pub model: String,
    /// The way to it.
    pub ask: AskModel,
    /// Tokens that it may take a day, of what it is sent and what it answers.
    pub tokens_per_day: u64,
    /// Bytes of a branch's record that one request has at most.
    pub record_bytes_max: usize,
    /// Tokens that one answer may have.
    pub answer_tokens_max: u64,
    /// The pause after the first request in vain, doubled for each further one.
    pub pause_ms: u64,
}

/// What a model is asked.
#[derive(Debug, Clone)]
pub struct ModelQuestion {
    /// What to do.
    pub instructions: String,
    /// What it is about.
    pub text: Scrubbed,
    /// Tokens that the answer may have.
    pub answer_tokens_max: u64,
}

/// What a model answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelReply {
    /// Its words.
    pub words: String,
    /// Tokens of question and answer, if its provider reports them.
    pub tokens: Option<u64>,
}

/// Why a model gives no answer. The words are for people, and say what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskFault {
    /// It cannot be asked as things are set: there is no key, or the provider knows neither key nor model.
    Unusable(String),
    /// It cannot be reached now, or has had too many requests.
    Busy {
        /// How long to wait, if its provider says so.
        after_ms: Option<u64>,
        /// What happened.
        problem: String,
    },
    /// Its provider failed, or refuses this very question. Nothing was taken for it.
    Failed(String),
    /// Its provider said nothing in time, or something that is no answer. Nobody knows what was taken for it.
    Lost(String),
}

impl AskFault {
    /// What happened, in words.
    pub fn problem(&self) -> &str {
        match self {
            Self::Unusable(problem) | Self::Busy { problem, .. } | Self::Failed(problem) | Self::Lost(problem) => {
                problem
            }
        }
    }
}

type Replying = Pin<Box<dyn Future<Output = Result<ModelReply, AskFault>> + Send>>;

/// The way to a model.
#[derive(Clone)]
pub struct AskModel(Arc<dyn Fn(ModelQuestion) -> Replying + Send + Sync>);

impl AskModel {
    /// A way to a model that is this function.
    pub fn new<F, R>(ask: F) -> Self
    where
        F: Fn(ModelQuestion) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ModelReply, AskFault>> + Send + 'static,
    {
        Self(Arc::new(move |question| Box::pin(ask(question))))
    }

    /// Asks, and waits for the answer.
    pub(crate) async fn ask(&self, question: ModelQuestion) -> Result<ModelReply, AskFault> {
        (self.0)(question).await
    }
}

impl fmt::Debug for AskModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AskModel(..)")
    }
}
