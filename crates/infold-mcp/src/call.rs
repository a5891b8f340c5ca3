//! One call of a tool: who makes it, which session and thread it belongs to, what its `_meta` says, and how
//! progress and figures get back to the client. What the tool does is in `tools`.

use std::path::PathBuf;
use std::sync::OnceLock;

use infold_core::view::ScriptedCall;
use infold_core::{ContextState, OwnTool, Principal, Refusal, SessionId, Start, Thread, ToolEffect};
use infold_engine::{
    CallKind, Engine, Error, Observation, Observed, RunningScript, SessionRef, Verdict, arguments_hash,
};
use rmcp::RoleServer;
use rmcp::model::JsonObject;
use rmcp::service::RequestContext;
use serde_json::Value;

use crate::answer;
use crate::arguments::Arguments;
use crate::client_line::ClientLine;
use crate::settings::SessionFrom;

/// The `_meta` key that makes repeating a call safe, like the argument `idempotency_key`.
const IDEMPOTENCY_KEY: &str = "infold/idempotencyKey";
/// The `_meta` key that names the open branch of a call, if that is not the active one.
pub(crate) const BRANCH_ID: &str = "infold/branchId";
/// The `_meta` keys under which clients send their own id of a call, by which it is found in a transcript.
pub(crate) const CALL_IDS: [&str; 2] = ["claudecode/toolUseId", "callId"];

/// The `_meta` key that names the project of a call.
const PROJECT_PATH: &str = "infold/projectPath";
/// The `_meta` key under which Codex names the session and the turn of a call.
pub(crate) const TURN: &str = "x-codex-turn-metadata";

/// What [`ToolCall::new`] needs from the server: its engine, its settings and the tool's name.
#[derive(Clone, Copy)]
pub(crate) struct CallSetup<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) session_from: SessionFrom,
    pub(crate) tool: &'static str,
}

/// One call of a tool, with everything that is known about where it came from.
pub(crate) struct ToolCall {
    pub(crate) engine: Engine,
    pub(crate) who: Principal,
    /// The thread that the call belongs to, if `_meta` names one or the proxy saw the model make the call.
    pub(crate) thread: Option<String>,
    /// The session and thread in which the proxy saw the model make the call, if it did.
    issued: Option<(SessionId, Thread)>,
    script: Script,
    session_from: SessionFrom,
    tool: &'static str,
    arguments: String,
    call_id: Option<String>,
    idempotency_key: Option<String>,
    session: OnceLock<SessionRef>,
    pub(crate) client: ClientLine,
}

/// Whether a script made the call rather than the model itself.
enum Script {
    /// No script made it.
    None,
    /// A script that was started by the model's call with this id.
    RunBy(String),
}

/// Where a call belongs that the proxy did not see a model make. If the client names a session whose model waits for a
/// script, the call comes from that script. If the model has left the script alone, a call that changes the tree of
/// branches is refused, because the model would not notice the change.
fn scripted(
    setup: CallSetup<'_>,
    who: &Principal,
    meta: &JsonObject,
) -> Result<(Option<(SessionId, Thread)>, Script), Refusal> {
    let Some(session) = session_in(meta) else { return Ok((None, Script::None)) };
    match setup.engine.running_script(who, &session) {
        RunningScript::Awaited { run_by, thread } => Ok((Some((session, thread)), Script::RunBy(run_by))),
        RunningScript::LeftAlone if changes_tree(setup.tool) => {
            let problem = "names no session here: the script that made this call is not waited for. \
                           Call wait for its cell, and make this call in a script of its own";
            Err(Refusal::Invalid { field: "session_id", problem: problem.to_owned() })
        }
        RunningScript::LeftAlone | RunningScript::Unseen => Ok((None, Script::None)),
    }
}

/// The folder that a call is made in, if its client says so.
pub(crate) fn folder_in(meta: &JsonObject) -> Option<PathBuf> {
    let named = meta.get(PROJECT_PATH).and_then(Value::as_str);
    // Codex names the folders of a turn; one that is alone is the project.
    let folders = || meta.get(TURN)?.get("workspaces")?.as_object();
    let only = || folders().filter(|folders| folders.len() == 1)?.keys().next().map(String::as_str);
    named.or_else(only).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The session and the agent that Codex names in `_meta`, as one of infold's session ids.
pub(crate) fn session_in(meta: &JsonObject) -> Option<SessionId> {
    let turn = meta.get(TURN)?;
    let text = |key: &str| turn.get(key)?.as_str();
    let session = text("session_id")?;
    Some(SessionId::of_client(session, text("thread_id").filter(|thread| *thread != session)))
}

fn changes_tree(tool: &str) -> bool {
    ToolEffect::of(tool).is_some_and(ToolEffect::changes_tree)
}

impl ToolCall {
    /// A call by `who`, with its arguments as they came.
    pub(crate) fn new(
        setup: CallSetup<'_>,
        who: Principal,
        arguments: Option<&JsonObject>,
        context: RequestContext<RoleServer>,
    ) -> Result<Self, Refusal> {
        let text = |key: &str| match context.meta.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Refusal::Invalid { field: "_meta", problem: format!("must have a string for {key}") }),
        };
        let call_id = CALL_IDS.iter().find_map(|key| context.meta.get(*key)?.as_str()).map(str::to_owned);
        let arguments = arguments.and_then(|arguments| serde_json::to_string(arguments).ok()).unwrap_or_default();
        let issued = setup.engine.issued(&who, call_id.as_deref(), setup.tool, &arguments_hash(&arguments));
        let (issued, script) = match issued {
            Some(issued) => (Some(issued), Script::None),
            None => scripted(setup, &who, &context.meta)?,
        };
        let seen_in = issued.as_ref().map(|(_, thread)| thread.to_string());
        Ok(Self {
            engine: setup.engine.clone(),
            who,
            thread: text(BRANCH_ID)?.or(seen_in),
            issued,
            script,
            session_from: setup.session_from,
            tool: setup.tool,
            arguments,
            call_id,
            idempotency_key: text(IDEMPOTENCY_KEY)?,
            session: OnceLock::new(),
            client: ClientLine::new(context),
        })
    }

    /// The key that makes repeating this call safe, from the argument or from `_meta`.
    pub(crate) fn idempotency_key(&self, arguments: &mut Arguments) -> Result<Option<String>, Refusal> {
        let argument = arguments.optional_text("idempotency_key")?;
        match (&argument, &self.idempotency_key) {
            (Some(argument), Some(meta)) if argument != meta => {
                let problem = format!("differs from {IDEMPOTENCY_KEY} in _meta: pass one of them, or the same in both");
                Err(Refusal::Invalid { field: "idempotency_key", problem })
            }
            _ => Ok(argument.or_else(|| self.idempotency_key.clone())),
        }
    }

    /// The session that the call belongs to: the one in which the proxy saw it, else the one that `session_id` names.
    pub(crate) fn session_by_id(&self, arguments: &mut Arguments) -> Result<SessionRef, Refusal> {
        let named = arguments.optional_text("session_id")?;
        let session = match (self.issued_session(), named) {
            (Some(session), _) => session,
            (None, Some(named)) => SessionRef::by_id(&named)?,
            (None, None) => return Err(self.unnamed("session_id")),
        };
        Ok(self.in_session(session))
    }

    /// The session that the call belongs to: the one in which the proxy saw it, else the one of `project_path`.
    pub(crate) fn session_by_project(&self, arguments: &mut Arguments) -> Result<SessionRef, Refusal> {
        let path = arguments.optional_text("project_path")?;
        let named = arguments.optional_text("session_id")?;
        let session = match (self.issued_session(), path) {
            (Some(session), _) => session,
            (None, Some(path)) => SessionRef::by_project(&path, named.as_deref())?,
            (None, None) => return Err(self.unnamed("project_path")),
        };
        Ok(self.in_session(session))
    }

    /// The session that the call belongs to, if the proxy saw it or the arguments name one or its project.
    pub(crate) fn session_if_named(&self, arguments: &mut Arguments) -> Result<Option<SessionRef>, Refusal> {
        let id = arguments.optional_text("session_id")?;
        let path = arguments.optional_text("project_path")?;
        let session = match (self.issued_session(), id, path) {
            (Some(session), _, _) => Some(session),
            (None, id, Some(path)) => Some(SessionRef::by_project(&path, id.as_deref())?),
            (None, Some(id), None) => Some(SessionRef::by_id(&id)?),
            (None, None, None) => None,
        };
        Ok(session.map(|session| self.in_session(session)))
    }

    /// Whether the call would change a tree of branches behind the proxy although the proxy saw no model make it.
    pub(crate) fn is_unplaced(&self) -> bool {
        self.session_from == SessionFrom::Proxy && self.issued.is_none() && changes_tree(self.tool)
    }

    /// The session in which the proxy saw the model make this call.
    pub(crate) fn issued_session(&self) -> Option<SessionRef> {
        self.issued.as_ref().map(|(session, _)| SessionRef::Id(session.clone()))
    }

    /// The branch in which the proxy saw the model make this call.
    pub(crate) fn issued_branch(&self) -> Option<String> {
        self.issued.as_ref().and_then(|(_, thread)| thread.branch()).map(ToString::to_string)
    }

    /// The thread to open a branch under: the one in which the call was seen, else the one that the arguments name.
    pub(crate) fn parent(&self, arguments: &mut Arguments) -> Result<Option<String>, Refusal> {
        let named = arguments.optional_id("parent_branch_id")?;
        Ok(self.issued.as_ref().map(|(_, thread)| thread.to_string()).or(named))
    }

    /// When the time of a branch that this call opens begins to run. Behind the proxy, branches of one parent run one
    /// after another, so each waits for its turn.
    pub(crate) fn start(&self) -> Start {
        if self.issued.is_some() { Start::InTurn } else { Start::AtOnce }
    }

    /// The folder that the call is made in, if its client says so.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        folder_in(self.client.meta())
    }

    fn unnamed(&self, field: &'static str) -> Refusal {
        let problem = match self.session_from {
            SessionFrom::Caller => "is required: pass a string",
            SessionFrom::Proxy => {
                "is required here: infold did not see a model make this call. Send the agent's model requests \
                 through infold, as `infold run` does, or pass it"
            }
        };
        Refusal::Invalid { field, problem: problem.to_owned() }
    }

    /// Remembers the call's session, so that a refusal can show the session's figures; gives it back.
    pub(crate) fn in_session(&self, session: SessionRef) -> SessionRef {
        self.session.get_or_init(|| session.clone());
        session
    }

    /// The session that [`Self::in_session`] remembered first.
    pub(crate) fn session(&self) -> Option<&SessionRef> {
        self.session.get()
    }

    /// Counts this call and its answer in the thread that it belongs to. A call that the proxy saw is not counted
    /// here, because the proxy counts it.
    pub(crate) async fn observe(&self, session: SessionRef, kind: CallKind, result: String) -> Result<Observed, Error> {
        if self.issued.is_some() {
            let state = self.engine.session(&self.who, &session).await?.state;
            return Ok(Observed { verdict: Verdict::Show, tokens: 0, state, notices: Vec::new() });
        }
        let observation = Observation {
            session,
            thread: self.thread.clone(),
            kind,
            tool: self.tool.to_owned(),
            call_id: self.call_id.clone(),
            arguments: self.arguments.clone(),
            result,
        };
        self.engine.observe(&self.who, observation).await
    }

    /// Stores the call's answer if a script made the call and it changes the tree or the prompt, because no transcript
    /// shows it.
    pub(crate) async fn store_scripted(&self, answer: String) -> Result<(), Error> {
        let (Script::RunBy(run_by), Some((session, _))) = (&self.script, &self.issued) else { return Ok(()) };
        if !changes_tree(self.tool) && self.tool != OwnTool::CompactContext.name() {
            return Ok(());
        }
        let call = ScriptedCall { tool: self.tool.to_owned(), arguments: self.arguments.clone(), answer };
        self.engine.store_scripted(&self.who, session, run_by, call).await
    }

    /// Hands the context's figures to the HTTP side for the response header, if the call came over HTTP.
    pub(crate) fn show_context(&self, state: &ContextState) {
        if let (Some(http), Some(header)) = (&self.client.http, answer::header(state)) {
            http.show_context(header);
        }
    }
}
