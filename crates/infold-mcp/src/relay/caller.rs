//! Who makes a call of a server's tool: for which session and branch, in which project, and how they hear of it.

use std::path::PathBuf;

use infold_core::{Principal, SessionId};
use infold_engine::{CallPlace, Engine, RunningScript, arguments_hash};
use rmcp::RoleServer;
use rmcp::model::JsonObject;
use rmcp::service::RequestContext;
use serde_json::Value;

use crate::call::{BRANCH_ID, CALL_IDS, folder_in, session_in};
use crate::client_line::ClientLine;

/// The `_meta` key that names the session of a call.
const SESSION_ID: &str = "infold/sessionId";

/// The maker of one call.
pub(crate) struct RelayCaller {
    pub(super) who: Principal,
    pub(super) place: CallPlace,
    pub(super) call_id: Option<String>,
    pub(super) client: ClientLine,
}

impl RelayCaller {
    /// The maker of a call of the tool `tool`, as the client named it, with these arguments.
    pub(crate) fn new(
        engine: &Engine,
        who: Principal,
        (tool, arguments): (&str, &JsonObject),
        context: RequestContext<RoleServer>,
    ) -> Self {
        let client = ClientLine::new(context);
        let meta = client.meta();
        let call_id = CALL_IDS.iter().find_map(|key| meta.get(*key)?.as_str()).map(str::to_owned);
        let hash = || arguments_hash(&serde_json::to_string(arguments).unwrap_or_default());
        let issued = engine.issued_place(&who, call_id.as_deref(), tool, hash);
        let place = issued.unwrap_or_else(|| unseen_place(engine, &who, meta));
        Self { who, place, call_id, client }
    }

    /// The project that the call is made in, if its client says so.
    pub(super) fn project(&self) -> Option<PathBuf> {
        folder_in(self.client.meta()).filter(|path| path.is_dir())
    }
}

/// The place of a call that no model was seen to make.
fn unseen_place(engine: &Engine, who: &Principal, meta: &JsonObject) -> CallPlace {
    let of_client = session_in(meta);
    if let Some(session) = &of_client
        && matches!(engine.running_script(who, session), RunningScript::Awaited { .. })
    {
        return CallPlace::Script;
    }
    let named = meta.get(SESSION_ID).and_then(Value::as_str).and_then(|session| SessionId::parse(session).ok());
    match named.or(of_client) {
        Some(session) => {
            let branch = meta.get(BRANCH_ID).and_then(Value::as_str).map(str::to_owned);
            CallPlace::Meta { session, branch }
        }
        None => CallPlace::OnlyOpen,
    }
}
