//! One session of an editor's: a conversation, and what the editor was shown of it.
//!
//! What must hold: one turn is under way at most; it can be cancelled at any time, and ends as cancelled; what is chosen in
//! the middle of a turn applies from its next call on.

mod turn;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    ConfigOptionUpdate, CurrentModeUpdate, SessionConfigOption, SessionId, SessionNotification, SessionUpdate,
};
use infold_agent::CodingAgent;
use infold_agent::tools::approval::ApprovalMode;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Editor;
use super::commands;
use super::errors::{error_of, under_way};
use super::options::{SessionOptions, id_of};
use super::updates::{ShownSession, said};
use crate::agent::{AgentFlags, Conversation, ConversationStart, ENDING_MAX, FaceEvent};

pub use turn::EditorTurn;

/// A session of an editor's.
pub struct EditorSession {
    id: SessionId,
    /// The folder that it works in.
    pub folder: PathBuf,
    /// Bytes of an image that is taken.
    pub image_bytes_max: u64,
    /// The conversation, which a turn has for itself until it is over; `None` once the session is closed.
    talk: Arc<tokio::sync::Mutex<Option<Talk>>>,
    /// The agent, for what cannot wait for the end of a turn; nobody while it is replaced.
    agent: Mutex<Weak<CodingAgent>>,
    /// Ends the turn that is under way.
    turn: Mutex<CancellationToken>,
    options: Mutex<SessionOptions>,
    /// What the person should know from the start.
    notes: Vec<SessionUpdate>,
}

/// A conversation with an editor.
pub struct Talk {
    /// The conversation.
    pub conversation: Conversation,
    events: UnboundedReceiver<FaceEvent>,
    shown: ShownSession,
    /// Questions that the editor has not answered.
    questions: JoinSet<()>,
}

impl Talk {
    /// A conversation whose events come from `events`.
    pub fn new(conversation: Conversation, events: UnboundedReceiver<FaceEvent>, shown: ShownSession) -> Self {
        Self { conversation, events, shown, questions: JoinSet::new() }
    }
}

/// The model that answers, with its provider in front.
pub fn model_of(conversation: &Conversation) -> String {
    let agent = &conversation.invocation().in_force.settings.agent;
    format!("{}/{}", agent.provider.name(), agent.model)
}

impl EditorSession {
    /// A session that is open.
    pub fn new(id: SessionId, talk: Talk, options: SessionOptions, notes: Vec<SessionUpdate>) -> Self {
        let session = Self {
            id,
            folder: talk.conversation.folder().to_owned(),
            image_bytes_max: talk.conversation.image_bytes_max(),
            agent: Mutex::default(),
            talk: Arc::new(tokio::sync::Mutex::new(None)),
            turn: Mutex::default(),
            options: Mutex::new(options),
            notes,
        };
        session.reach(&talk.conversation);
        Self { talk: Arc::new(tokio::sync::Mutex::new(Some(talk))), ..session }
    }

    /// Its id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Tells the editor something. If it is gone, there is nobody to tell.
    pub fn tell(&self, editor: &Editor, update: SessionUpdate) {
        drop(editor.send_notification(SessionNotification::new(self.id.clone(), update)));
    }

    /// Says what can be done in the session, and what the person should know.
    pub fn announce(&self, editor: &Editor) {
        self.tell(editor, commands::available());
        self.notes.iter().for_each(|note| self.tell(editor, note.clone()));
    }

    /// Says something to the person that no model said.
    pub fn say(&self, editor: &Editor, words: &str) {
        self.tell(editor, said(words));
    }

    /// What is chosen.
    pub fn options(&self) -> SessionOptions {
        self.lock_options().clone()
    }

    fn lock_options(&self) -> MutexGuard<'_, SessionOptions> {
        self.options.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell_options(&self, editor: &Editor) {
        self.tell(editor, SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(self.options().all())));
    }

    /// Nobody reaches the agent from outside of the turn any more: it is about to be replaced.
    pub fn without_agent(&self) {
        *self.agent.lock().unwrap_or_else(PoisonError::into_inner) = Weak::new();
    }

    /// The conversation's agent is the one to reach again. The editor learns if another model answers now.
    pub fn with_agent_of(&self, conversation: &Conversation, editor: &Editor) {
        self.reach(conversation);
        let model = model_of(conversation);
        let before = std::mem::replace(&mut self.lock_options().model, model.clone());
        if before != model {
            self.tell_options(editor);
        }
    }

    /// The conversation's agent is the one to reach. It does what was chosen meanwhile.
    fn reach(&self, conversation: &Conversation) {
        let Ok(agent) = conversation.agent() else { return };
        let mode = self.lock_options().mode;
        agent.approve_by(mode);
        *self.agent.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&agent);
    }

    /// Changes what may be done without asking.
    pub fn set_mode(&self, mode: ApprovalMode, editor: &Editor) -> Vec<SessionConfigOption> {
        self.lock_options().mode = mode;
        // The agent is not replaced while it is held.
        let agent = self.agent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(agent) = agent.upgrade() {
            agent.approve_by(mode);
        }
        drop(agent);
        self.tell(editor, SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(id_of(mode))));
        self.tell_options(editor);
        self.options().all()
    }

    /// Has another model answer, between two turns.
    pub async fn set_model(&self, named: &str, editor: &Editor) -> Result<Vec<SessionConfigOption>, Error> {
        let mut talk = self.talk.try_lock().map_err(|_| under_way())?;
        let talk = talk.as_mut().ok_or_else(|| super::errors::not_open(&self.id.0))?;
        self.without_agent();
        let chosen = talk.conversation.choose_model(named).await;
        self.with_agent_of(&talk.conversation, editor);
        chosen.map_err(|error| error_of(&error))?;
        Ok(self.options().all())
    }

    /// Ends the turn that is under way.
    pub fn cancel(&self) {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner).cancel();
    }

    /// A new turn, with what ends it.
    fn fresh_turn(&self) -> CancellationToken {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        *turn = CancellationToken::new();
        turn.clone()
    }

    /// Whether a turn is under way.
    pub fn is_working(&self) -> bool {
        self.talk.try_lock().is_err()
    }

    /// Ends what is under way, and the session's servers. What was done is on disk.
    pub async fn close(&self) {
        self.cancel();
        let talk = match tokio::time::timeout(ENDING_MAX, self.talk.lock()).await {
            Ok(mut talk) => talk.take(),
            Err(_) => None,
        };
        if let Some(talk) = talk {
            self.without_agent();
            talk.conversation.close().await;
        }
    }

    /// Stores a new session that begins with all that was said in this one, and stays in this one: an id of the protocol's
    /// always means the same session.
    pub async fn fork(&self, conversation: &Conversation) -> anyhow::Result<String> {
        let flags = AgentFlags { fork: Some(self.id.0.to_string()), ..AgentFlags::default() };
        let (events, _nobody_watches) = unbounded_channel();
        let (invocation, engine) = (conversation.invocation().clone(), conversation.engine().clone());
        let (folder, servers) = (self.folder.clone(), Vec::new());
        let mut forked =
            Conversation::open_beside(ConversationStart { invocation, engine, flags, folder, servers, events }).await?;
        let kept = forked.keep_opening().await;
        let id = forked.session_id();
        forked.close().await;
        kept?;
        let id = id?;
        Ok(format!(
            "session {id} begins with all that was said here, and this one stays as it is\nopen it from the editor's list \
             of sessions, or with: infold chat --resume {id}"
        ))
    }
}
