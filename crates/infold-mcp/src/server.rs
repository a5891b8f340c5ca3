//! The MCP server: what it says of itself, which tools it lists, and where a call goes.
//!
//! One server serves every request of every client; nothing in it belongs to a connection.

mod handler;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use infold_core::{OwnTool, Principal};
use infold_engine::Engine;
use rmcp::model::{CallToolResponse, ErrorCode, JsonObject, ServerCapabilities, Tool};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use crate::answer::ToolAnswer;
use crate::call::{Made, ToolCall};
use crate::fixtures::FixtureSet;
use crate::metrics::McpMetrics;
use crate::refused::ToolRefused;
use crate::settings::{ErrorStyle, Fixtures, Settings};
use crate::tools;

/// The MCP server. Cheap to clone.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
    /// Who asks, where requests do not say so themselves.
    caller: Option<Principal>,
}

struct Shared {
    engine: Engine,
    settings: Settings,
    listed: Vec<Tool>,
    all: HashMap<Cow<'static, str>, Tool>,
    fixtures: Option<FixtureSet>,
    metrics: McpMetrics,
}

impl Server {
    /// A server on `engine` that takes the principal from each HTTP request.
    pub fn new(engine: Engine, settings: Settings) -> Self {
        let mut all: Vec<Tool> =
            OwnTool::ALL.into_iter().map(|tool| tools::definition(tool, engine.limits())).collect();
        let shown = OwnTool::ALL.into_iter().filter(|tool| tools::is_listed(*tool, &settings.families));
        let mut listed: Vec<Tool> =
            shown.map(|tool| tools::listed(tool, engine.limits(), settings.session_from)).collect();
        let fixtures = match settings.fixtures {
            Fixtures::Off => None,
            Fixtures::On => {
                listed.extend(FixtureSet::tools());
                all.extend(FixtureSet::tools());
                Some(FixtureSet::new())
            }
        };
        let all = all.into_iter().map(|tool| (tool.name.clone(), tool)).collect();
        Self {
            shared: Arc::new(Shared { engine, settings, listed, all, fixtures, metrics: McpMetrics::new() }),
            caller: None,
        }
    }

    /// The same server, for one caller who is known beforehand.
    pub(crate) fn for_caller(&self, caller: Principal) -> Self {
        Self { shared: self.shared.clone(), caller: Some(caller) }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// The tools that `tools/list` shows, in an order that never changes.
    pub(crate) fn listed_tools(&self) -> &[Tool] {
        &self.shared.listed
    }

    fn fixtures(&self, method: &'static str) -> Result<&FixtureSet, ErrorData> {
        self.shared.fixtures.as_ref().ok_or_else(|| not_served(method))
    }

    fn capabilities(&self) -> ServerCapabilities {
        match self.shared.fixtures {
            Some(_) => FixtureSet::capabilities(),
            None => ServerCapabilities::builder().enable_tools().build(),
        }
    }
}

impl Server {
    /// Calls one of infold's own tools: who asks, what they get, and the context's figures beside it.
    #[tracing::instrument(name = "tools/call", skip_all, fields(tool = tool.name()))]
    async fn call_ours(
        &self,
        tool: OwnTool,
        arguments: Option<JsonObject>,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let began = Instant::now();
        let who = self.principal(&context)?;
        let Some(definition) = self.shared.all.get(tool.name()) else {
            return Err(not_served(tool.name()));
        };
        let session_from = self.shared.settings.session_from;
        let made = Made { engine: &self.shared.engine, session_from, tool: tool.name() };
        let outcome = match ToolCall::new(made, who, arguments.as_ref(), context) {
            Ok(call) => {
                if call.is_unplaced() {
                    self.shared.metrics.unplaced();
                }
                let outcome = match tools::run(tool, &call, definition, arguments).await {
                    Ok(answer) => call.keep_scripted(answer.text()).await.map(|()| answer).map_err(ToolRefused::from),
                    Err(refused) => Err(refused),
                };
                self.note(tool, outcome, &call).await
            }
            Err(refusal) => {
                self.shared.metrics.unplaced();
                Err(refusal.into())
            }
        };
        let word = outcome.as_ref().map_or_else(ToolRefused::code, |_| "ok");
        self.shared.metrics.called(tool.name(), word, began.elapsed());
        match (outcome, self.shared.settings.errors) {
            (Ok(answer), _) => Ok(answer.into_result().into()),
            (Err(refused), ErrorStyle::Jsonrpc) if tools::speaks_context(tool) => Err(refused.into_rpc_error()),
            (Err(refused), ErrorStyle::Jsonrpc | ErrorStyle::Result) => Ok(refused.into_result().into()),
        }
    }

    /// Puts the context's figures where the response header is made, for refusals too, and logs what
    /// failed on our side.
    async fn note(
        &self,
        tool: OwnTool,
        mut outcome: Result<ToolAnswer, ToolRefused>,
        call: &ToolCall,
    ) -> Result<ToolAnswer, ToolRefused> {
        if let Err(refused) = &mut outcome
            && refused.state().is_none()
            && let Some(session) = call.session()
            && let Ok(view) = call.engine.session(&call.who, session).await
        {
            refused.in_context(view.state);
            // The documents of the `context_*` tools have their own words for it.
            if !tools::speaks_context(tool) {
                refused.name_open_branch();
            }
        }
        if let Err(refused) = &outcome
            && refused.is_failure()
        {
            tracing::error!(tool = tool.name(), code = refused.code(), "a tool call failed");
        }
        let state = match &outcome {
            Ok(answer) => answer.state.as_ref(),
            Err(refused) => refused.state(),
        };
        if let Some(state) = state {
            call.show_context(state);
        }
        if tools::speaks_context(tool) { outcome.map_err(ToolRefused::in_context_words) } else { outcome }
    }

    fn principal(&self, context: &RequestContext<RoleServer>) -> Result<Principal, ErrorData> {
        let from_request = || {
            let parts = context.extensions.get::<http::request::Parts>()?;
            parts.extensions.get::<Principal>().cloned()
        };
        self.caller.clone().or_else(from_request).ok_or_else(|| {
            ErrorData::invalid_request(
                "No principal came with this request: reach infold through its own listener",
                None,
            )
        })
    }
}

fn not_served(method: impl Into<Cow<'static, str>>) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
}
