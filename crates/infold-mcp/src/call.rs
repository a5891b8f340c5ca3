//! One call of a tool: who calls, what its `_meta` says, and the way back to the client.

use std::sync::{Arc, OnceLock};

use infold_core::view::ScriptedCall;
use infold_core::{ContextState, Principal, Refusal, SessionId, Start, Thread, ToolEffect};
use infold_engine::{
    CallKind, Engine, Error, Observation, Observed, RunningScript, SessionRef, Verdict, arguments_hash,
};
use rmcp::RoleServer;
use rmcp::model::{JsonObject, ProgressNotificationParam};
use rmcp::service::RequestContext;
use serde_json::Value;

use crate::answer;
use crate::arguments::Arguments;
use crate::http::HttpCall;
use crate::settings::SessionFrom;

/// Makes repeating a call safe; as good as the argument `idempotency_key`.
const IDEMPOTENCY_KEY: &str = "infold/idempotencyKey";
/// The open branch that a call belongs to, where it is not the active one.
const BRANCH_ID: &str = "infold/branchId";
/// Where clients put their own id of a call, so that it can be found in a transcript.
const CALL_IDS: [&str; 2] = ["claudecode/toolUseId", "callId"];

/// Where Codex says of which session and turn a call is.
const TURN: &str = "x-codex-turn-metadata";

/// Where a call is made, and of what.
#[derive(Clone, Copy)]
pub(crate) struct Made<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) session_from: SessionFrom,
    pub(crate) tool: &'static str,
}

/// One call of a tool.
pub(crate) struct ToolCall {
    pub(crate) engine: Engine,
    pub(crate) who: Principal,
    /// The thread the call belongs to, if `_meta` names one or the proxy saw it.
    pub(crate) thread: Option<String>,
    /// Where the proxy saw the model make the call, if it did.
    issued: Option<(SessionId, Thread)>,
    script: Script,
    session_from: SessionFrom,
    tool: &'static str,
    arguments: String,
    call_id: Option<String>,
    idempotency_key: Option<String>,
    session: OnceLock<SessionRef>,
    http: Option<Arc<HttpCall>>,
    context: RequestContext<RoleServer>,
}

/// The script that a call came from.
enum Script {
    /// None.
    None,
    /// One that was run by the call with this id.
    RunBy(String),
}

/// Where a call belongs that no model was seen to make: into the script that the model waits for in the session that
/// the client names. What changes the tree is refused where the model would not notice.
fn scripted(
    made: Made<'_>,
    who: &Principal,
    meta: &JsonObject,
) -> Result<(Option<(SessionId, Thread)>, Script), Refusal> {
    let Some(session) = session_in(meta) else { return Ok((None, Script::None)) };
    match made.engine.running_script(who, &session) {
        RunningScript::Awaited { run_by, thread } => Ok((Some((session, thread)), Script::RunBy(run_by))),
        RunningScript::LeftAlone if changes_tree(made.tool) => {
            let problem = "names no session here: the script that made this call is not waited for. \
                           Call wait for its cell, and make this call in a script of its own";
            Err(Refusal::Invalid { field: "session_id", problem: problem.to_owned() })
        }
        RunningScript::LeftAlone | RunningScript::Unseen => Ok((None, Script::None)),
    }
}

/// The session and the agent that Codex names beside a call, as one of ours.
fn session_in(meta: &JsonObject) -> Option<SessionId> {
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
        made: Made<'_>,
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
        let http = context.extensions.get::<http::request::Parts>();
        let arguments = arguments.and_then(|arguments| serde_json::to_string(arguments).ok()).unwrap_or_default();
        let issued = made.engine.issued(&who, call_id.as_deref(), made.tool, &arguments_hash(&arguments));
        let (issued, script) = match issued {
            Some(issued) => (Some(issued), Script::None),
            None => scripted(made, &who, &context.meta)?,
        };
        let seen_in = issued.as_ref().map(|(_, thread)| thread.to_string());
        Ok(Self {
            engine: made.engine.clone(),
            who,
            thread: text(BRANCH_ID)?.or(seen_in),
            issued,
            script,
            session_from: made.session_from,
            tool: made.tool,
            arguments,
            call_id,
            idempotency_key: text(IDEMPOTENCY_KEY)?,
            session: OnceLock::new(),
            http: http.and_then(|parts| parts.extensions.get::<Arc<HttpCall>>()).cloned(),
            context,
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

    /// The session that the call belongs to: where the proxy saw it made, else the one that `session_id` names.
    pub(crate) fn session_by_id(&self, arguments: &mut Arguments) -> Result<SessionRef, Refusal> {
        let named = arguments.optional_text("session_id")?;
        let session = match (self.issued_session(), named) {
            (Some(session), _) => session,
            (None, Some(named)) => SessionRef::by_id(&named)?,
            (None, None) => return Err(self.unnamed("session_id")),
        };
        Ok(self.in_session(session))
    }

    /// The same, by a project's path.
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

    /// Whether it would change a tree behind the proxy, and nobody saw it made.
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

    /// The thread to open a branch under: the one that the call was seen in, else the one that is named.
    pub(crate) fn parent(&self, arguments: &mut Arguments) -> Result<Option<String>, Refusal> {
        let named = arguments.optional_id("parent_branch_id")?;
        Ok(self.issued.as_ref().map(|(_, thread)| thread.to_string()).or(named))
    }

    /// When the time of a branch begins to run that this call opens: behind the proxy, branches of one parent
    /// run one after another.
    pub(crate) fn start(&self) -> Start {
        if self.issued.is_some() { Start::InTurn } else { Start::AtOnce }
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

    /// Takes note of the session that the arguments name, for the case that the call is refused.
    pub(crate) fn in_session(&self, session: SessionRef) -> SessionRef {
        self.session.get_or_init(|| session.clone());
        session
    }

    /// The session that the arguments name.
    pub(crate) fn session(&self) -> Option<&SessionRef> {
        self.session.get()
    }

    /// Counts this call and what it is about to answer, in the thread it belongs to. What passes through the
    /// proxy is counted there.
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

    /// Keeps what this call is answered with, if a script made it and it changes the tree: no transcript will show it.
    pub(crate) async fn keep_scripted(&self, answer: String) -> Result<(), Error> {
        let (Script::RunBy(run_by), Some((session, _))) = (&self.script, &self.issued) else { return Ok(()) };
        if !changes_tree(self.tool) {
            return Ok(());
        }
        let call = ScriptedCall { tool: self.tool.to_owned(), arguments: self.arguments.clone(), answer };
        self.engine.keep_scripted(&self.who, session, run_by, call).await
    }

    /// Waits until the client takes the call back or goes away.
    pub(crate) async fn cancelled(&self) {
        let taken_back = async {
            match &self.http {
                Some(http) => http.cancelled.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.context.ct.cancelled() => {}
            () = taken_back => {}
        }
    }

    /// Whether the client wants to hear how far the call is.
    pub(crate) fn wants_progress(&self) -> bool {
        self.context.meta.get_progress_token().is_some()
    }

    /// Tells the client how far the call is, if it wants to know.
    pub(crate) async fn tell_progress(&self, done: u64, total: u64, message: String) {
        let Some(token) = self.context.meta.get_progress_token() else {
            return;
        };
        let progress =
            ProgressNotificationParam::new(token, done as f64).with_total(total as f64).with_message(message);
        if let Err(problem) = self.context.peer.notify_progress(progress).await {
            // The client may have gone away; the answer's own sending will show.
            tracing::debug!(%problem, "progress was not delivered");
        }
    }

    /// Puts the context's figures where the response header is made, if the call came over HTTP.
    pub(crate) fn show_context(&self, state: &ContextState) {
        if let (Some(http), Some(header)) = (&self.http, answer::header(state)) {
            http.show_context(header);
        }
    }
}
