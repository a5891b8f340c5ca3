//! The sessions of an editor: opens, lists, finds and closes them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, Implementation, InitializeRequest, InitializeResponse, ListSessionsRequest,
    ListSessionsResponse, LoadSessionRequest, LoadSessionResponse, McpCapabilities, McpServer, NewSessionRequest,
    NewSessionResponse, NoticeSeverity, PromptCapabilities, PromptRequest, PromptResponse, ResumeSessionRequest,
    ResumeSessionResponse, SessionCapabilities, SessionCloseCapabilities, SessionConfigOption, SessionId, SessionInfo,
    SessionListCapabilities, SessionResumeCapabilities, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse,
};
use agent_client_protocol::{Error, Responder, V1};
use futures::future::join_all;
use infold_agent::record::{Beginning, SessionRecord};
use infold_core::Principal;
use infold_engine::Engine;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::task::TaskTracker;

use super::Editor;
use super::errors::{error_of, not_open, under_way, wrong};
use super::options::{MODE, MODEL, SessionOptions, mode_named};
use super::prompt::words_of;
use super::servers::handed_over;
use super::session::{EditorSession, EditorTurn, Talk, model_of};
use super::updates::{EditorShows, ShownSession};
use crate::agent::{AgentFlags, Conversation, ConversationStart, ENDING_MAX, folder_of, take_flags};
use crate::commands::Invocation;
use crate::failure::Refused;
use crate::parts::command_error;

/// Sessions that may be open at once.
const OPEN_MAX: usize = 64;
/// Sessions on a page of the list.
const PAGE: usize = 50;
/// Models to choose from.
const MODELS_MAX: usize = 20;

/// The sessions of an editor.
pub struct EditorSessions {
    invocation: Invocation,
    flags: AgentFlags,
    engine: Engine,
    shows: Mutex<EditorShows>,
    open: Mutex<HashMap<SessionId, Arc<EditorSession>>>,
    /// What is done for requests that are not answered yet.
    pub tasks: TaskTracker,
}

impl EditorSessions {
    /// None is open yet.
    pub fn new(invocation: Invocation, flags: AgentFlags, engine: Engine) -> Self {
        let (shows, open, tasks) = (Mutex::default(), Mutex::default(), TaskTracker::new());
        Self { invocation, flags, engine, shows, open, tasks }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<EditorSession>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self, id: &SessionId) -> Result<Arc<EditorSession>, Error> {
        self.sessions().get(id).cloned().ok_or_else(|| not_open(&id.0))
    }

    /// What this agent can do.
    pub fn introduce(&self, request: &InitializeRequest) -> InitializeResponse {
        *self.shows.lock().unwrap_or_else(PoisonError::into_inner) = EditorShows::of(&request.client_capabilities);
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new());
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().embedded_context(true).image(true))
            .mcp_capabilities(McpCapabilities::new().http(true))
            .session_capabilities(sessions);
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .agent_info(Implementation::new("infold", env!("CARGO_PKG_VERSION")).title("infold".to_owned()))
    }

    /// Begins a new session.
    pub async fn begin(&self, request: NewSessionRequest) -> Result<(NewSessionResponse, Arc<EditorSession>), Error> {
        let opened = self.open(self.flags.clone(), &request.cwd, request.mcp_servers).await;
        let session = self.keep(opened.map_err(|error| error_of(&error))?);
        let options = session.options();
        let response =
            NewSessionResponse::new(session.id().clone()).modes(options.modes()).config_options(options.all());
        Ok((response, session))
    }

    /// Opens a session again, and shows all of it.
    pub async fn load(
        &self,
        request: LoadSessionRequest,
        editor: &Editor,
    ) -> Result<(LoadSessionResponse, Arc<EditorSession>), Error> {
        let session = self.reopen(&request.session_id, &request.cwd, request.mcp_servers).await?;
        session.replay(editor).await?;
        let options = session.options();
        Ok((LoadSessionResponse::new().modes(options.modes()).config_options(options.all()), session))
    }

    /// Opens a session again, for an editor that still shows it.
    pub async fn resume(
        &self,
        request: ResumeSessionRequest,
    ) -> Result<(ResumeSessionResponse, Arc<EditorSession>), Error> {
        let session = self.reopen(&request.session_id, &request.cwd, request.mcp_servers).await?;
        let options = session.options();
        Ok((ResumeSessionResponse::new().modes(options.modes()).config_options(options.all()), session))
    }

    /// Opens a session that was there before. If it is open already, it is closed first.
    async fn reopen(&self, id: &SessionId, cwd: &Path, servers: Vec<McpServer>) -> Result<Arc<EditorSession>, Error> {
        let known = self.sessions().get(id).cloned();
        if let Some(known) = known {
            if known.is_working() {
                return Err(under_way());
            }
            self.sessions().remove(id);
            known.close().await;
        }
        let opened = async {
            // Only the whole id names a session here; elsewhere its first characters do.
            let logs = self.engine.agent_logs(&Principal::local()).await.map_err(command_error)?;
            if !logs.iter().any(|log| log.session.as_str() == &*id.0) {
                let words = format!("there is no session {id} of infold's agent");
                return Err(Refused::new(words).code("session_not_found").into());
            }
            let flags = AgentFlags { resume: Some(id.0.to_string()), ..self.flags.clone() };
            self.open(flags, cwd, servers).await
        };
        Ok(self.keep(opened.await.map_err(|error: anyhow::Error| error_of(&error))?))
    }

    /// Opens a session in a folder, by the settings that hold there.
    async fn open(&self, flags: AgentFlags, cwd: &Path, servers: Vec<McpServer>) -> anyhow::Result<EditorSession> {
        if !cwd.is_absolute() {
            return Err(Refused::new(format!("cwd {} is not a whole path", cwd.display())).into());
        }
        if self.sessions().len() >= OPEN_MAX {
            return Err(Refused::new(format!("{OPEN_MAX} sessions are open: close one first")).into());
        }
        let folder = folder_of(Some(cwd), &self.invocation)?;
        let mut invocation = self.invocation.in_folder(&folder)?;
        take_flags(&self.flags, &mut invocation);
        let handed = handed_over(servers, &invocation.in_force.settings.gateway);
        let (sender, events) = unbounded_channel();
        let conversation = Conversation::open_beside(ConversationStart {
            invocation,
            engine: self.engine.clone(),
            flags,
            folder: folder.clone(),
            servers: handed.entries,
            events: sender,
        })
        .await?;
        if conversation.folder() != folder {
            let words =
                format!("the session works in {}, and not in {}", conversation.folder().display(), cwd.display());
            conversation.close().await;
            return Err(Refused::new(words).hint("open it with that folder").into());
        }
        let options = SessionOptions {
            mode: conversation.agent()?.rules_now().mode,
            model: model_of(&conversation),
            models: self.models().await,
        };
        let shows = *self.shows.lock().unwrap_or_else(PoisonError::into_inner);
        let id = SessionId::new(conversation.session_id()?.as_str());
        let talk = Talk::new(conversation, events, ShownSession::new(folder, shows));
        let notes = handed.notes.iter().map(|note| shows.notice(NoticeSeverity::Warning, note)).collect();
        Ok(EditorSession::new(id, talk, options, notes))
    }

    fn keep(&self, session: EditorSession) -> Arc<EditorSession> {
        let session = Arc::new(session);
        self.sessions().insert(session.id().clone(), Arc::clone(&session));
        session
    }

    /// Models that sessions began with, the latest first.
    async fn models(&self) -> Vec<String> {
        let logs = self.engine.agent_logs(&Principal::local()).await.unwrap_or_default();
        let mut models: Vec<String> = Vec::new();
        for Beginning { provider, model, .. } in logs.iter().filter_map(|log| beginning(&log.first)) {
            let name = format!("{provider}/{model}");
            if models.len() < MODELS_MAX && !models.contains(&name) {
                models.push(name);
            }
        }
        models
    }

    /// The sessions of infold's agent, whichever face they began in, the latest first.
    pub async fn list(&self, request: &ListSessionsRequest) -> Result<ListSessionsResponse, Error> {
        let first = match &request.cursor {
            Some(cursor) => cursor.parse().map_err(|_| wrong("this cursor is not one of infold's"))?,
            None => 0,
        };
        let who = Principal::local();
        let failed = |error| error_of(&command_error(error));
        let logs = self.engine.agent_logs(&who).await.map_err(failed)?;
        let known = self.engine.listed_sessions(&who).await.map_err(failed)?;
        let title = |id: &infold_core::SessionId| {
            let words = known.iter().find(|known| known.id == *id)?.overview.first_words.as_ref()?;
            Some(words.as_str().to_owned())
        };
        let here = |folder: &str| request.cwd.as_ref().is_none_or(|cwd| cwd == Path::new(folder));
        let all = logs.iter().filter_map(|log| Some((log, beginning(&log.first)?.folder)));
        let mut rest = all.filter(|(_, folder)| here(folder)).skip(first);
        let page = rest.by_ref().take(PAGE).map(|(log, folder)| {
            SessionInfo::new(log.session.to_string(), folder)
                .title(title(&log.session))
                .updated_at(infold_control::moment_text(log.last_at_ms))
        });
        let response = ListSessionsResponse::new(page.collect());
        Ok(match rest.next() {
            Some(_) => response.next_cursor((first + PAGE).to_string()),
            None => response,
        })
    }

    /// Begins a turn with a prompt.
    pub fn begin_turn(
        &self,
        request: PromptRequest,
        responder: &Responder<PromptResponse, V1>,
    ) -> Result<EditorTurn, Error> {
        let session = self.session(&request.session_id)?;
        let words = words_of(&request.prompt, &session.folder, session.image_bytes_max)?;
        EditorTurn::begin(session, words, responder.cancellation())
    }

    /// Ends the turn of a session. A session that is not open has none.
    pub fn cancel(&self, id: &SessionId) {
        if let Ok(session) = self.session(id) {
            session.cancel();
        }
    }

    /// Changes what may be done without asking.
    pub fn set_mode(&self, id: &SessionId, mode: &str, editor: &Editor) -> Result<Vec<SessionConfigOption>, Error> {
        let (session, mode) = (self.session(id)?, mode_named(mode)?);
        Ok(session.set_mode(mode, editor))
    }

    /// Changes what is chosen in a session.
    pub async fn set_option(
        &self,
        request: &SetSessionConfigOptionRequest,
        editor: &Editor,
    ) -> Result<SetSessionConfigOptionResponse, Error> {
        let value = request.value.as_value_id().ok_or_else(|| wrong("the value has to be one of the options'"))?;
        let all = match &*request.config_id.0 {
            MODE => self.set_mode(&request.session_id, &value.0, editor)?,
            MODEL => self.session(&request.session_id)?.set_model(&value.0, editor).await?,
            other => return Err(wrong(format!("there is no option {other}: {MODE} or {MODEL}"))),
        };
        Ok(SetSessionConfigOptionResponse::new(all))
    }

    /// Closes a session. It can be opened again.
    pub async fn close(&self, id: &SessionId) -> Result<(), Error> {
        let session = self.session(id)?;
        self.sessions().remove(id);
        session.close().await;
        Ok(())
    }

    /// Closes everything: turns are interrupted, and what was done is on disk.
    pub async fn end(&self) {
        self.tasks.close();
        for _ in 0..2 {
            let open: Vec<Arc<EditorSession>> = self.sessions().drain().map(|(_, session)| session).collect();
            join_all(open.iter().map(|session| session.close())).await;
            // A session that was being opened is closed in the second round.
            drop(tokio::time::timeout(ENDING_MAX, self.tasks.wait()).await);
        }
    }
}

fn beginning(first: &str) -> Option<Beginning> {
    match serde_json::from_str(first) {
        Ok(SessionRecord::Began(beginning)) => Some(beginning),
        Ok(_) | Err(_) => None,
    }
}
