//! What an agent is made of: everything that it needs from outside, handed in by the program. It reads no environment, no
//! settings file and no key by itself.

use std::sync::Arc;

use futures::future::BoxFuture;
use infold_core::{CompactionThresholds, Counter, Principal, SessionId, Thread};
use infold_engine::Engine;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::instructions::Instructions;
use crate::provider::{Effort, ProviderApi, SendModel, ToolDefinition};
use crate::tools::approval::{ApprovalRules, Grant, OtherEffect};
use crate::tools::{FileTexts, Workplace};
use crate::watch::Watcher;

/// Everything that an agent needs.
pub struct AgentSetup {
    /// The engine that prepares its requests, takes in its results and keeps its log.
    pub engine: Engine,
    /// Whose session it is.
    pub who: Principal,
    /// The session's name.
    pub session: SessionId,
    /// The model, and the way to it.
    pub model: ModelSetup,
    /// The bounds of its context and of a run.
    pub limits: AgentLimits,
    /// What its model gets before the conversation.
    pub instructions: Instructions,
    /// Where its own tools work.
    pub workplace: Arc<Workplace>,
    /// What may be done without asking.
    pub approvals: ApprovalRules,
    /// Who is asked about the rest.
    pub asked: WhoIsAsked,
    /// Tools of other servers.
    pub others: OtherTools,
    /// Who learns what happens.
    pub watch: Watcher,
    /// Ends the run.
    pub cancelled: CancellationToken,
}

/// Who is asked about what may not be done without asking.
#[derive(Clone)]
pub enum WhoIsAsked {
    /// Nobody is there: it is refused.
    Nobody,
    /// A person, who takes the time that it takes.
    Person(Arc<dyn Fn(ApprovalQuestion) -> BoxFuture<'static, ApprovalReply> + Send + Sync>),
}

/// What a person is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalQuestion {
    /// The thread that the call was made in.
    pub thread: Thread,
    /// The id of the call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// What it is called with.
    pub arguments: Value,
    /// What would be done.
    pub what: String,
    /// Why it is not simply done.
    pub why: String,
    /// What approving it for the whole session would allow; empty if that is not possible.
    pub lasting: Vec<Grant>,
    /// The file that would be changed, before and after.
    pub edited: Option<FileTexts>,
}

/// What a person answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalReply {
    /// This call may run.
    Once,
    /// This call may run, and those that [`ApprovalQuestion::lasting`] names, until the session is closed.
    Session,
    /// It may not.
    Refused {
        /// What the model should do instead, if the person said so.
        words: Option<String>,
    },
}

/// A model, and the way to it.
pub struct ModelSetup {
    /// The API that it is spoken to in.
    pub api: ProviderApi,
    /// Its name.
    pub model: String,
    /// How much it is asked to think.
    pub effort: Effort,
    /// How tokens are counted for it.
    pub counter: Counter,
    /// What sends requests.
    pub send: SendModel,
    /// The variable with its key, for messages; empty if it needs none.
    pub key_variable: String,
}

/// The bounds of an agent's context and of a run. There are no defaults here: the program sets every field.
#[derive(Debug, Clone)]
pub struct AgentLimits {
    /// Tokens that a prompt and its answer may have together.
    pub context_budget_tokens: u64,
    /// Tokens that an answer may have.
    pub max_output_tokens: u64,
    /// When a thread is compacted, and when it has to be.
    pub thresholds: CompactionThresholds,
    /// The share of the effective window that a compaction has to get below.
    pub compact_target: f64,
    /// Answers that a thread is to last between two compactions; 0 means that nothing is kept free for them.
    pub compaction_turns: u64,
    /// Bytes of a file, or of a part that a call names, that are shown whole at most.
    pub part_bytes_max: usize,
    /// The share of the effective window above which the model learns how full it is.
    pub note_at: f64,
    /// Characters of a person's words that a summary holds; the rest is read back by a reference.
    pub words_chars_max: usize,
    /// Bytes that the images of a thread may have together.
    pub images_bytes_max: u64,
    /// Characters of a model's words in a summary.
    pub summary_chars_max: usize,
    /// Compactions in a row that may miss their target.
    pub compactions_max: u32,
    /// Answers of models in one run, in all threads together; 0 means no bound.
    pub turns_max: u64,
    /// Tokens of one run, as providers count them; 0 means no bound.
    pub run_tokens_max: u64,
    /// How often a request is sent before it is given up.
    pub attempts_max: u32,
    /// The wait before the second attempt.
    pub first_wait_ms: u64,
    /// The longest wait that a provider may ask for.
    pub retry_after_max_ms: u64,
}

/// Tools of other servers, behind the gateway.
#[derive(Clone)]
pub struct OtherTools {
    /// Lists those that the model is shown, with a note if some are held back. An error is said once, and the turn goes
    /// on without them.
    pub list: Arc<dyn Fn() -> BoxFuture<'static, Result<ListedTools, String>> + Send + Sync>,
    /// Calls one.
    pub call: Arc<dyn Fn(OtherCall) -> BoxFuture<'static, OtherResult> + Send + Sync>,
}

/// Tools that a model is shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListedTools {
    /// Their definitions.
    pub tools: Vec<ToolDefinition>,
    /// The names of those that only read.
    pub reading: Vec<String>,
    /// What the model learns of those that are held back.
    pub note: Option<String>,
    /// For people: servers whose tools are not among them, and why.
    pub problems: Vec<String>,
}

impl ListedTools {
    /// What a tool may do; `None` if it is not listed.
    pub(crate) fn effect_of(&self, tool: &str) -> Option<OtherEffect> {
        let is_listed = self.tools.iter().any(|listed| listed.name == tool);
        let effect = if self.reading.iter().any(|reading| reading == tool) {
            OtherEffect::Reads
        } else {
            OtherEffect::MayChange
        };
        is_listed.then_some(effect)
    }
}

/// A call of a tool of another server.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherCall {
    /// The tool, as it was listed.
    pub tool: String,
    /// What it is called with.
    pub arguments: Value,
    /// The id of the model's call.
    pub call: String,
    /// The thread that the call was made in.
    pub thread: Thread,
}

/// What a tool of another server gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherResult {
    /// The text.
    pub text: String,
    /// Whether the tool says that it failed.
    pub is_error: bool,
}

impl OtherTools {
    /// No other tools.
    pub fn none() -> Self {
        let gone = |call: OtherCall| OtherResult { text: format!("there is no tool {}", call.tool), is_error: true };
        Self {
            list: Arc::new(|| Box::pin(async { Ok(ListedTools::default()) })),
            call: Arc::new(move |call| Box::pin(async move { gone(call) })),
        }
    }
}
