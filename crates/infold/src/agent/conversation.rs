//! A conversation: a session of infold's agent with somebody in front of it. Whoever is in front (a terminal, an editor) says,
//! approves and interrupts through here, and shows what comes back; none of them decides anything.
//!
//! What must hold: words that were said are on disk before anything else is done with them; one run is under way at most;
//! whatever ends a run, the session is whole and can be gone on with.

use std::path::PathBuf;
use std::sync::Arc;

use infold_agent::session::{AgentSession, NextStep};
use infold_agent::setup::{AgentSetup, ApprovalQuestion, ApprovalReply, WhoIsAsked};
use infold_agent::watch::{AgentEvent, Watcher};
use infold_agent::{CodingAgent, Stop, ThreadEntry};
use infold_core::compaction::CompactResult;
use infold_core::gateway::ServerEntry;
use infold_core::{SessionId, Thread};
use infold_engine::Engine;
use infold_mcp::Gateway;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::figures::SessionFigures;
use super::going_back::{FilesThen, ReadLog, WentBack, go_back};
use super::started::{Started, keep_model, load};
use super::{AgentFlags, AgentRun, beginning, finish_writing, model, prepare};
use crate::commands::Invocation;
use crate::failure::Refused;
use crate::gateway;
use crate::settings::AgentProvider;

/// Something that whoever is in front of a conversation learns.
pub enum FaceEvent {
    /// The agent did something.
    Agent(AgentEvent),
    /// Somebody has to decide whether a call may run.
    Question(PendingQuestion),
    /// The main thread was compacted, or the error says why nothing was changed. [`Conversation::run_ended`] has to be called.
    CompactEnded(Result<CompactResult, String>),
    /// A run is over. [`Conversation::run_ended`] has to be called.
    Ended(Result<(), Stop>),
}

/// A question that waits for its reply. Dropping it refuses the call.
pub struct PendingQuestion {
    /// What is asked.
    pub question: ApprovalQuestion,
    /// Where the reply goes.
    pub reply: oneshot::Sender<ApprovalReply>,
}

/// What a conversation is opened with.
pub struct ConversationStart {
    /// The settings and the environment.
    pub invocation: Invocation,
    /// The engine.
    pub engine: Engine,
    /// Which session, and how it is worked in.
    pub flags: AgentFlags,
    /// The folder that the agent works in, if the session does not say another one.
    pub folder: PathBuf,
    /// Other MCP servers that whoever is in front brings along.
    pub servers: Vec<ServerEntry>,
    /// Where events go.
    pub events: mpsc::UnboundedSender<FaceEvent>,
}

/// How a run ended, as far as it matters for what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnding {
    /// The agent rests: words that wait are said now.
    Rested,
    /// It was interrupted, or broke off: words that wait are for whoever said them to say anew.
    CutShort,
}

/// What became of words that were said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SayOutcome {
    /// A run has begun with them.
    Started,
    /// The agent is at work: they wait, and its model gets them with its next request.
    Waiting,
}

/// A conversation.
pub struct Conversation {
    invocation: Invocation,
    flags: AgentFlags,
    engine: Engine,
    folder: PathBuf,
    gateway: Option<Arc<Gateway>>,
    events: mpsc::UnboundedSender<FaceEvent>,
    cancelled: CancellationToken,
    /// What keeps time for the engine; `None` if somebody else does.
    timers: Option<JoinHandle<()>>,
    /// The agent; `None` only while it is replaced by another one.
    agent: Option<Arc<CodingAgent>>,
    from: Option<String>,
    /// What was said in a session that is taken over, until the first words are said here.
    opening: Vec<ThreadEntry>,
    sandbox: String,
    run: Option<JoinHandle<()>>,
}

impl Conversation {
    /// Opens a conversation that has its engine for itself.
    pub async fn open(start: ConversationStart) -> anyhow::Result<Self> {
        let mut conversation = Self::open_beside(start).await?;
        let (engine, cancelled) = (conversation.engine.clone(), conversation.cancelled.clone());
        conversation.timers = Some(tokio::spawn(async move { engine.run_timers(cancelled).await }));
        Ok(conversation)
    }

    /// The same where several conversations share an engine: whoever has it keeps time for it, and waits at the end until
    /// everything is on disk.
    pub async fn open_beside(start: ConversationStart) -> anyhow::Result<Self> {
        let ConversationStart { mut invocation, engine, flags, folder, servers, events } = start;
        let started = Started::of(&flags, &invocation, &engine, &folder).await?;
        keep_model(&flags, started.session.beginning.as_ref(), &mut invocation);
        let cancelled = CancellationToken::new();
        let gateway = gateway::start(&invocation, &engine, &cancelled, servers);
        let (agent, from, opening, sandbox, run, timers) = (None, None, Vec::new(), String::new(), None, None);
        let mut conversation = Self {
            invocation,
            flags,
            engine,
            folder,
            gateway,
            events,
            cancelled,
            timers,
            agent,
            from,
            opening,
            sandbox,
            run,
        };
        if let Err(error) = conversation.enter(started).await {
            // Its servers would go on without it.
            conversation.cancelled.cancel();
            return Err(error);
        }
        conversation.opening.extend(conversation.flags.pinned());
        Ok(conversation)
    }

    /// Makes another session the one that is talked in.
    async fn enter(&mut self, started: Started) -> anyhow::Result<()> {
        keep_model(&self.flags, started.session.beginning.as_ref(), &mut self.invocation);
        if let Some(beginning) = &started.session.beginning {
            self.folder = PathBuf::from(&beginning.folder);
        }
        let ready = prepare(AgentRun {
            invocation: &self.invocation,
            engine: self.engine.clone(),
            session: started.session_id.clone(),
            folder: self.folder.clone(),
            prompt: String::new(),
            beginning: started.session.beginning.as_ref(),
            output_schema: None,
            skills: self.flags.skill.clone(),
            gateway: self.gateway.clone(),
            watch: self.watcher(),
            asked: self.asker(),
            cancelled: self.cancelled.clone(),
        })
        .await?;
        self.sandbox = ready.sandbox;
        self.from = started.from;
        self.opening = started.taken_over;
        self.agent = Some(Arc::new(CodingAgent::new(ready.setup, started.session)));
        Ok(())
    }

    fn watcher(&self) -> Watcher {
        let events = self.events.clone();
        // Whoever was in front may have gone; the run goes on.
        Arc::new(move |event| drop(events.send(FaceEvent::Agent(event))))
    }

    fn asker(&self) -> WhoIsAsked {
        let events = self.events.clone();
        WhoIsAsked::Person(Arc::new(move |question| {
            let (reply, replied) = oneshot::channel();
            drop(events.send(FaceEvent::Question(PendingQuestion { question, reply })));
            Box::pin(async move { replied.await.unwrap_or(ApprovalReply::Refused { words: None }) })
        }))
    }

    /// Says something. While the agent is at work, the words wait for its next request.
    pub async fn say(&mut self, words: Vec<ThreadEntry>) -> anyhow::Result<SayOutcome> {
        let agent = self.agent()?;
        if self.is_working() {
            agent.say_meanwhile(words).await?;
            return Ok(SayOutcome::Waiting);
        }
        let mut opening = std::mem::take(&mut self.opening);
        opening.extend(words);
        self.start(opening)?;
        Ok(SayOutcome::Started)
    }

    /// Puts on disk what was said in the session that this one begins from, before anything is said here.
    pub async fn keep_opening(&mut self) -> anyhow::Result<()> {
        let (agent, opening) = (self.agent()?, std::mem::take(&mut self.opening));
        let beginning = beginning(&self.invocation, &self.folder, self.from.clone(), agent.memories());
        Ok(agent.take_over(beginning, self.flags.skill.clone(), opening).await?)
    }

    /// Goes on with work that broke off. Returns whether there was some.
    pub fn go_on(&mut self) -> anyhow::Result<bool> {
        let has_work = self.has_work()?;
        if has_work {
            self.start(Vec::new())?;
        }
        Ok(has_work)
    }

    fn start(&mut self, words: Vec<ThreadEntry>) -> anyhow::Result<()> {
        let agent = self.agent()?;
        let beginning = beginning(&self.invocation, &self.folder, self.from.clone(), agent.memories());
        let events = self.events.clone();
        let is_new = agent.session().records == 0;
        let skills = if is_new { self.flags.skill.clone() } else { Vec::new() };
        self.run = Some(tokio::spawn(async move {
            let ended = agent.prompt(beginning, skills, words).await.map(|_last_words| ());
            let outcome = ended.as_ref().err().map_or("done", Stop::name);
            if let Err(error) = agent.finish(outcome).await {
                tracing::warn!(%error, "the end of the run could not be recorded");
            }
            drop(agent);
            drop(events.send(FaceEvent::Ended(ended)));
        }));
        Ok(())
    }

    /// Has to be called once a run has ended. Goes on if words were said at its very end. Returns whether it does.
    pub async fn run_ended(&mut self, ending: RunEnding) -> anyhow::Result<bool> {
        if let Some(run) = self.run.take() {
            run.await?;
        }
        let goes_on = ending == RunEnding::Rested && !self.agent()?.session().waiting.is_empty();
        if goes_on {
            self.start(Vec::new())?;
        }
        Ok(goes_on)
    }

    /// Ends what the agent is at.
    pub fn interrupt(&self) {
        if let Some(agent) = &self.agent {
            agent.interrupt();
        }
    }

    /// Takes words back that wait, for whoever said them to say them anew.
    pub async fn take_back(&self) -> anyhow::Result<Vec<ThreadEntry>> {
        Ok(self.agent()?.take_back_waiting().await?)
    }

    /// Whether a run is under way.
    pub fn is_working(&self) -> bool {
        self.run.as_ref().is_some_and(|run| !run.is_finished())
    }

    /// Compacts the main thread, which may take a model's time; [`FaceEvent::CompactEnded`] tells what came of it.
    pub fn start_compacting(&mut self) -> anyhow::Result<()> {
        self.check_rest()?;
        let (agent, events) = (self.agent()?, self.events.clone());
        self.run = Some(tokio::spawn(async move {
            let outcome = match agent.compact_now().await {
                Ok(outcome) => outcome,
                Err(stop) => Err(stop.to_string()),
            };
            drop(agent);
            drop(events.send(FaceEvent::CompactEnded(outcome)));
        }));
        Ok(())
    }

    /// Whether there is work that broke off.
    pub fn has_work(&self) -> anyhow::Result<bool> {
        Ok(!self.is_working() && self.agent()?.session().next_step(&Thread::Main) != NextStep::Rest)
    }

    /// The session's log with its points.
    pub async fn log(&self) -> anyhow::Result<ReadLog> {
        ReadLog::of(&self.engine, self.session_id()?.as_str()).await
    }

    /// Takes the session back to one of its points.
    pub async fn rewind(&mut self, to: u64, files: FilesThen) -> anyhow::Result<WentBack> {
        self.check_rest()?;
        let read = self.log().await?;
        let went = go_back(&self.engine, &read, to, files, &self.invocation.in_force.settings.agent).await?;
        let session = load(&self.engine, &read.session).await?;
        self.replace(|setup, _| (setup, session))?;
        Ok(went)
    }

    /// Goes over to a new session that begins with all that was said in this one.
    pub async fn fork(&mut self) -> anyhow::Result<SessionId> {
        self.check_rest()?;
        let forked = Started::forked(&self.engine, self.session_id()?.as_str()).await?;
        self.enter(forked).await?;
        self.session_id()
    }

    /// Goes over to another session.
    pub async fn switch(&mut self, named: &str) -> anyhow::Result<SessionId> {
        self.check_rest()?;
        let started = Started::resumed(&self.engine, named).await?;
        self.enter(started).await?;
        self.session_id()
    }

    /// Goes over to a new session.
    pub async fn begin_anew(&mut self) -> anyhow::Result<SessionId> {
        self.check_rest()?;
        self.enter(Started::fresh()).await?;
        self.session_id()
    }

    /// Has another model answer from here on. A name may have its provider in front: `openai/gpt-5.2`.
    pub async fn choose_model(&mut self, named: &str) -> anyhow::Result<()> {
        self.check_rest()?;
        let mut invocation = self.invocation.clone();
        let agent = &mut invocation.in_force.settings.agent;
        let parts = named.split_once('/').and_then(|(provider, model)| Some((AgentProvider::named(provider)?, model)));
        let (provider, model) = parts.unwrap_or((agent.provider, named));
        if model.trim().is_empty() {
            return Err(Refused::new("a model needs a name").into());
        }
        if provider != agent.provider {
            // They are another provider's.
            agent.upstream.clear();
            agent.key_env.clear();
        }
        (agent.provider, agent.model) = (provider, model.trim().to_owned());
        let chosen = model::of(&invocation).await?;
        self.invocation = invocation;
        self.replace(|setup, session| (AgentSetup { model: chosen, ..setup }, session))?;
        let agent = self.agent()?;
        if agent.session().records > 0 {
            agent.record_model(provider.name()).await?;
        }
        Ok(())
    }

    /// Replaces the agent by one of other parts.
    fn replace(
        &mut self,
        make: impl FnOnce(AgentSetup, AgentSession) -> (AgentSetup, AgentSession),
    ) -> anyhow::Result<()> {
        let Some(agent) = self.agent.take() else { return Err(Refused::new("the session could not be opened").into()) };
        let agent = match Arc::try_unwrap(agent) {
            Ok(agent) => agent,
            Err(held) => {
                self.agent = Some(held);
                return Err(Refused::new("the agent is still at work").hint("try it again in a moment").into());
            }
        };
        let (setup, session) = agent.into_parts();
        let (setup, session) = make(setup, session);
        self.agent = Some(Arc::new(CodingAgent::new(setup, session)));
        Ok(())
    }

    fn check_rest(&self) -> anyhow::Result<()> {
        match self.is_working() {
            false => Ok(()),
            true => Err(Refused::new("the agent is at work").hint("wait until it rests, or interrupt it").into()),
        }
    }

    /// The figures of the session: the same that `infold show` prints at this moment.
    pub async fn figures(&self) -> anyhow::Result<SessionFigures> {
        SessionFigures::load(&self.engine, &self.session_id()?, &self.invocation.in_force.settings).await
    }

    /// The session as it is now.
    pub fn agent(&self) -> anyhow::Result<Arc<CodingAgent>> {
        self.agent.clone().ok_or_else(|| Refused::new("the session could not be opened").into())
    }

    /// The session's name.
    pub fn session_id(&self) -> anyhow::Result<SessionId> {
        Ok(self.agent()?.session_id().clone())
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Bytes of an image that can be sent.
    pub fn image_bytes_max(&self) -> u64 {
        self.invocation.in_force.settings.agent.image_bytes_max
    }

    /// The settings and the environment, with the model that answers now.
    pub fn invocation(&self) -> &Invocation {
        &self.invocation
    }

    /// The folder that the agent works in.
    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }

    /// How commands are confined, in words.
    pub fn sandbox(&self) -> &str {
        &self.sandbox
    }

    /// Ends the run that is under way, and the servers, and waits until everything is on disk.
    pub async fn close(mut self) {
        self.interrupt();
        if let Some(run) = self.run.take() {
            drop(tokio::time::timeout(super::ENDING_MAX, run).await);
        }
        self.cancelled.cancel();
        if let Some(timers) = self.timers {
            drop(timers.await);
            finish_writing(&self.engine).await;
        }
    }
}
