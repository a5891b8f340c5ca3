//! The agent: carries out what its session needs next, until it rests.
//!
//! [`AgentSession`] says what a thread needs; here it is done. Everything that happens is on disk before the next step is
//! taken from it, and what was stored is what counts: the log and the session in memory have the same words.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use infold_core::compaction::CompactionBreaker;
use infold_core::record::Usage;
use infold_core::view::RequestKind;
use infold_core::{SessionId, Thread};
use infold_engine::OwnThread;
use tokio_util::sync::CancellationToken;

use crate::image::with_data;
use crate::record::{Beginning, SessionRecord, SkillPlace};
use crate::session::{AgentSession, NextStep};
use crate::setup::{AgentSetup, ListedTools};
use crate::stop::Stop;
use crate::tools::approval::ApprovalRules;
use crate::watch::AgentEvent;
use crate::{SpokenBy, ThreadEntry};

/// A coding agent at work in one session.
pub struct CodingAgent {
    pub(crate) setup: AgentSetup,
    state: Mutex<AgentSession>,
    /// Held while records are appended, so that they are in one order in the log and in memory.
    appending: tokio::sync::Mutex<()>,
    pub(crate) run: Mutex<RunState>,
    /// What may be done: by the settings, and by what a person has approved since.
    pub(crate) approvals: Mutex<ApprovalRules>,
    /// Ends what the agent is at, and not the agent.
    interrupted: Mutex<CancellationToken>,
}

/// What is known of the current run and not part of the session.
#[derive(Default)]
pub(crate) struct RunState {
    /// Answers of models so far.
    pub(crate) turns: u64,
    /// The tokens that providers reported so far.
    pub(crate) usage: Usage,
    /// Warnings that were said: each one is said once.
    said: HashSet<String>,
    /// Tools of other servers, as they were listed last.
    pub(crate) listed: Option<ListedTools>,
    /// Entries of a thread up to which reasoning is not sent, because its provider refused it.
    pub(crate) without_reasoning: HashMap<Thread, usize>,
    /// Ends compactions that lead nowhere, for each thread.
    pub(crate) breakers: HashMap<Thread, CompactionBreaker>,
    /// Tokens of each thread's entries, as far as they were counted.
    pub(crate) counted: HashMap<Thread, Vec<u64>>,
    /// Tokens of instructions and tools, as they were counted last.
    pub(crate) fixed_tokens: Option<u64>,
    /// The ids of the session's calls, with those of answers that are not recorded yet.
    pub(crate) calls: BTreeSet<String>,
}

impl CodingAgent {
    /// An agent in a session: a new one, or one that its log led to.
    pub fn new(setup: AgentSetup, session: AgentSession) -> Self {
        let run = Mutex::new(RunState { calls: session.calls.clone(), ..RunState::default() });
        let approvals = Mutex::new(setup.approvals.clone());
        let interrupted = Mutex::new(setup.cancelled.child_token());
        let appending = tokio::sync::Mutex::new(());
        Self { setup, state: Mutex::new(session), appending, run, approvals, interrupted }
    }

    /// The agent's parts and its session, for another agent: one with another model, say.
    pub fn into_parts(self) -> (AgentSetup, AgentSession) {
        let approvals = self.approvals.into_inner().unwrap_or_else(PoisonError::into_inner);
        let session = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        (AgentSetup { approvals, ..self.setup }, session)
    }

    /// Says something to the agent as a person, and works until its main thread rests. Returns the model's last words.
    pub async fn prompt(
        &self,
        beginning: Beginning,
        skills: Vec<String>,
        words: Vec<ThreadEntry>,
    ) -> Result<String, Stop> {
        self.begin_run();
        self.take_over(beginning, skills, words).await?;
        self.work(&Thread::Main).await?;
        Ok(self.last_words())
    }

    /// Adds words to the main thread, and asks nobody. They are on disk when this returns.
    pub async fn take_over(
        &self,
        beginning: Beginning,
        skills: Vec<String>,
        words: Vec<ThreadEntry>,
    ) -> Result<(), Stop> {
        self.check_images(&words)?;
        let mut records = Vec::new();
        if self.session().records == 0 {
            records.push(SessionRecord::Began(beginning));
        }
        let (is_instructed, mut active) = {
            let session = self.session();
            (session.system.is_some(), session.skills.clone())
        };
        active.extend(skills.iter().cloned());
        records.extend(skills.into_iter().map(|name| SessionRecord::SkillUsed { name, place: SkillPlace::InPrompt }));
        if !is_instructed {
            records.push(SessionRecord::Instructed(self.instructions(&active)));
        }
        if !words.is_empty() {
            records.extend(self.abandon_branches().await?);
            records.extend(self.close_main());
            records.extend(self.new_images(&words));
            records.push(SessionRecord::Said { thread: Thread::Main, entries: words });
        }
        self.run_state().breakers.values_mut().for_each(CompactionBreaker::person_spoke);
        self.record(records).await
    }

    /// A new run: its bounds count from here, and it can be interrupted by itself.
    pub(crate) fn begin_run(&self) {
        let mut run = self.run_state();
        (run.turns, run.usage) = (0, Usage::default());
        *self.interrupted.lock().unwrap_or_else(PoisonError::into_inner) = self.setup.cancelled.child_token();
    }

    /// Says something to the agent while it is at work. The words are on disk when this returns, and the model gets them with
    /// its next request.
    pub async fn say_meanwhile(&self, words: Vec<ThreadEntry>) -> Result<(), Stop> {
        self.check_images(&words)?;
        let mut records = self.new_images(&words);
        records.push(SessionRecord::Waiting { entries: words });
        self.record(records).await
    }

    /// Takes back what was said and no model has seen yet, for the person to say it anew.
    pub async fn take_back_waiting(&self) -> Result<Vec<ThreadEntry>, Stop> {
        let waiting = {
            let session = self.session();
            with_data(session.waiting.clone(), &session.images)
        };
        if !waiting.is_empty() {
            self.record(vec![SessionRecord::WaitingTaken { count: waiting.len() }]).await?;
        }
        Ok(waiting)
    }

    /// Memories that its model was given, quoted.
    pub fn memories(&self) -> &str {
        &self.setup.instructions.memories
    }

    /// Ends what the agent is at. The session stays whole.
    pub fn interrupt(&self) {
        self.cancelled().cancel();
    }

    /// Ends with the run, or with the agent.
    pub(crate) fn cancelled(&self) -> CancellationToken {
        self.interrupted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Has another model answer from here on; the caller has put it into the setup.
    pub async fn record_model(&self, provider: &str) -> Result<(), Stop> {
        let (provider, model) = (provider.to_owned(), self.setup.model.model.clone());
        self.record(vec![SessionRecord::ModelChosen { provider, model }]).await
    }

    /// The last words of the main thread's model.
    pub fn last_words(&self) -> String {
        self.with_thread(&Thread::Main, |thread| thread.last_words())
    }

    /// Records that a run has ended.
    pub async fn finish(&self, outcome: &str) -> Result<(), Stop> {
        self.record(vec![SessionRecord::Finished { outcome: outcome.to_owned() }]).await
    }

    /// Says something to the model on the agent's own account, and goes on.
    pub async fn remark(&self, text: String) -> Result<String, Stop> {
        let entries = vec![ThreadEntry::user(text, SpokenBy::Agent)];
        self.record(vec![SessionRecord::Said { thread: Thread::Main, entries }]).await?;
        self.work(&Thread::Main).await?;
        Ok(self.last_words())
    }

    /// Does what a thread needs, until it needs nothing.
    pub(crate) async fn work(&self, thread: &Thread) -> Result<(), Stop> {
        loop {
            if self.cancelled().is_cancelled() {
                return Err(Stop::Cancelled);
            }
            let step = self.session().next_step(thread);
            match step {
                NextStep::Rest => return Ok(()),
                NextStep::SayWaiting => {
                    let entries = self.session().waiting.clone();
                    let taken = SessionRecord::WaitingTaken { count: entries.len() };
                    let said = SessionRecord::Said { thread: thread.clone(), entries };
                    self.record(vec![taken, said]).await?;
                    self.tell(AgentEvent::WaitingTaken);
                }
                NextStep::RunCalls(calls) => self.run_calls(thread, calls).await?,
                NextStep::AskModel => {
                    self.check_limits()?;
                    self.take_turn(thread).await?;
                }
            }
        }
    }

    /// Results for calls of the main thread that a person speaks over.
    pub(crate) fn close_main(&self) -> Vec<SessionRecord> {
        let closing = self.with_thread(&Thread::Main, |thread| crate::provider::close_open_calls(&thread.entries));
        let result = |entry| SessionRecord::Result { thread: Thread::Main, entry, changes: Vec::new(), command: None };
        closing.into_iter().map(result).collect()
    }

    /// Appends records to the log, and goes on from what was stored. They are on disk when this returns.
    pub(crate) async fn record(&self, records: Vec<SessionRecord>) -> Result<(), Stop> {
        if records.is_empty() {
            return Ok(());
        }
        let _order = self.appending.lock().await;
        let AgentSetup { engine, who, session, .. } = &self.setup;
        let values = records.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>();
        let values = values.map_err(|error| Stop::Fault(format!("a record could not be written: {error}")))?;
        let decided_on = self.session().records;

        let stored = engine.append_agent_log(who, session, decided_on, &values).await.map_err(Stop::of_engine)?;

        let mut state = self.session();
        for value in stored {
            let record = serde_json::from_value(value);
            state.apply(record.map_err(|error| Stop::Fault(format!("a record could not be read back: {error}")))?);
        }
        Ok(())
    }

    /// The session as it is now.
    pub fn session(&self) -> MutexGuard<'_, AgentSession> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks something of a thread as it is now; an empty one if nothing was said in it yet.
    pub(crate) fn with_thread<T>(&self, thread: &Thread, ask: impl FnOnce(&crate::session::ThreadState) -> T) -> T {
        let session = self.session();
        match session.threads.get(thread) {
            Some(thread) => ask(thread),
            None => ask(&crate::session::ThreadState::default()),
        }
    }

    pub(crate) fn run_state(&self) -> MutexGuard<'_, RunState> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session's name.
    pub fn session_id(&self) -> &SessionId {
        &self.setup.session
    }

    /// The tokens that providers reported for this run so far, and how many answers there were.
    pub fn spent(&self) -> (Usage, u64) {
        let run = self.run_state();
        (run.usage, run.turns)
    }

    pub(crate) fn own(&self, thread: &Thread) -> OwnThread {
        OwnThread {
            session: self.setup.session.clone(),
            thread: thread.clone(),
            kind: RequestKind::Turn,
            window_tokens: self.setup.limits.context_budget_tokens,
        }
    }

    pub(crate) fn tell(&self, event: AgentEvent) {
        (self.setup.watch)(event);
    }

    /// Warns of something, once in a run.
    pub(crate) fn warn_once(&self, message: String) {
        let is_new = self.run_state().said.insert(message.clone());
        if is_new {
            self.tell(AgentEvent::Warning { message });
        }
    }

    /// Ends the run if one of its bounds is reached.
    fn check_limits(&self) -> Result<(), Stop> {
        let limits = &self.setup.limits;
        let (usage, turns) = self.spent();
        if limits.turns_max > 0 && turns >= limits.turns_max {
            return Err(Stop::Limit(format!("the run has had {turns} turns, which is its limit")));
        }
        let tokens = usage.prompt_tokens().saturating_add(usage.output_tokens);
        if limits.run_tokens_max > 0 && tokens >= limits.run_tokens_max {
            return Err(Stop::Limit(format!(
                "the run has used {} tokens, its limit is {}",
                infold_core::grouped(tokens),
                infold_core::grouped(limits.run_tokens_max)
            )));
        }
        Ok(())
    }
}
