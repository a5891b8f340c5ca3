//! The MCP server: what it says of itself, which tools it lists, and where a call goes.
//!
//! One server serves every request of every client; nothing in it belongs to a connection.

// Logging is deprecated in the newer protocol revision; the fixtures serve it for the older ones.
#![allow(deprecated)]

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use infold_core::Principal;
use infold_engine::Engine;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest, CustomResult,
    DiscoverResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, Implementation, JsonObject,
    ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use crate::answer::{self, Answer};
use crate::call::Call;
use crate::fixtures::FixtureSet;
use crate::instructions;
use crate::refused::Refused;
use crate::settings::{ErrorStyle, Fixtures, Settings};
use crate::tools::OurTool;

/// How long a client may keep what does not change while the server runs.
const LIST_TTL_MS: u64 = 3_600_000;

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
}

impl Server {
    /// A server on `engine` that takes the principal from each HTTP request.
    pub fn new(engine: Engine, settings: Settings) -> Self {
        let mut all: Vec<Tool> = OurTool::ALL.into_iter().map(OurTool::definition).collect();
        let shown = OurTool::ALL.into_iter().filter(|tool| tool.is_listed(&settings.families));
        let mut listed: Vec<Tool> = shown.map(OurTool::definition).collect();
        let fixtures = match settings.fixtures {
            Fixtures::Off => None,
            Fixtures::On => {
                listed.extend(FixtureSet::tools());
                all.extend(FixtureSet::tools());
                Some(FixtureSet::new())
            }
        };
        let all = all.into_iter().map(|tool| (tool.name.clone(), tool)).collect();
        Self { shared: Arc::new(Shared { engine, settings, listed, all, fixtures }), caller: None }
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
    async fn call_ours(
        &self,
        tool: OurTool,
        arguments: Option<JsonObject>,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let who = self.principal(&context)?;
        let Some(definition) = self.shared.all.get(tool.name()) else {
            return Err(not_served(tool.name()));
        };
        let outcome = match Call::new(&self.shared.engine, who, tool.name(), arguments.as_ref(), context) {
            Ok(call) => {
                let outcome = tool.run(&call, definition, arguments).await;
                self.note(tool, outcome, &call).await
            }
            Err(refusal) => Err(refusal.into()),
        };
        match (outcome, self.shared.settings.errors) {
            (Ok(answer), _) => Ok(answer.into_result().into()),
            (Err(refused), ErrorStyle::Jsonrpc) if tool.speaks_context() => Err(refused.into_rpc_error()),
            (Err(refused), ErrorStyle::Jsonrpc | ErrorStyle::Result) => Ok(refused.into_result().into()),
        }
    }

    /// Puts the context's figures where the response header is made, for refusals too, and logs what
    /// failed on our side.
    async fn note(
        &self,
        tool: OurTool,
        mut outcome: Result<Answer, Refused>,
        call: &Call,
    ) -> Result<Answer, Refused> {
        if let Err(refused) = &mut outcome
            && refused.state.is_none()
            && let Some(session) = call.session()
        {
            refused.state = call.engine.session(&call.who, session).await.ok().map(|view| view.state);
        }
        if let Err(refused) = &outcome
            && refused.is_failure()
        {
            tracing::error!(tool = tool.name(), code = refused.code(), "a tool call failed");
        }
        let state = match &outcome {
            Ok(answer) => answer.state.as_ref(),
            Err(refused) => refused.state.as_ref(),
        };
        if let (Some(http), Some(header)) = (call.http(), state.and_then(answer::header)) {
            // Each call has one answer, so the slot is empty.
            let _ = http.context_state.set(header);
        }
        if tool.speaks_context() { outcome.map_err(Refused::in_context_words) } else { outcome }
    }

    fn principal(&self, context: &RequestContext<RoleServer>) -> Result<Principal, ErrorData> {
        let from_request = || {
            let parts = context.extensions.get::<http::request::Parts>()?;
            parts.extensions.get::<Principal>().cloned()
        };
        self.caller.clone().or_else(from_request).ok_or_else(|| {
            ErrorData::invalid_request("No principal came with this request: reach infold through its own listener", None)
        })
    }
}

fn not_served(method: impl Into<Cow<'static, str>>) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let about = Implementation::new("infold", env!("CARGO_PKG_VERSION"))
            .with_title("infold")
            .with_description("Keeps an agent's context small: branches that fold into one message");
        ServerConfig::new(self.capabilities())
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
            .with_server_info(about)
            .with_instructions(instructions::TEXT)
    }

    async fn discover(&self, _context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info()).with_ttl_ms(LIST_TTL_MS))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.listed_tools().to_vec()).with_ttl_ms(LIST_TTL_MS))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.all.get(name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match (OurTool::named(&request.name), &self.shared.fixtures) {
            (Some(tool), _) => self.call_ours(tool, request.arguments, context).await,
            (None, Some(fixtures)) => fixtures.call(request, &context).await,
            (None, None) => {
                let text = format!("There is no tool {:?}: tools/list names them", request.name);
                Err(ErrorData::invalid_params(text, None))
            }
        }
    }

    async fn on_initialized(&self, _context: NotificationContext<RoleServer>) {}

    /// What the library could not read as one of the methods it knows.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == "tools/call" {
            let text = "tools/call takes name, a string, and arguments, an object";
            return Err(ErrorData::invalid_params(text, None));
        }
        Err(not_served(request.method))
    }

    // What follows is served by the fixtures alone.

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.fixtures("prompts/list")?;
        Ok(ListPromptsResult::with_all_items(FixtureSet::prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.fixtures("prompts/get")?;
        FixtureSet::prompt(request)
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.fixtures("resources/list")?;
        Ok(ListResourcesResult::with_all_items(FixtureSet::resources()))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.fixtures("resources/templates/list")?;
        Ok(ListResourceTemplatesResult::with_all_items(FixtureSet::resource_templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.fixtures("resources/read")?;
        Ok(FixtureSet::read_resource(&request.uri)?.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.fixtures("completion/complete")?;
        FixtureSet::complete(&request.argument.value)
    }

    async fn set_level(
        &self,
        _request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.fixtures("logging/setLevel")?;
        Ok(())
    }

    async fn subscribe(
        &self,
        _request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.fixtures("resources/subscribe")?;
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.fixtures("resources/unsubscribe")?;
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.shared.fixtures.as_ref().map(|_| FixtureSet::accepts(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.fixtures("subscriptions/listen")?.listen(context).await;
        Ok(())
    }
}
