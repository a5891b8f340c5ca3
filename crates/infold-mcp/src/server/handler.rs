//! The protocol's methods: the server's description of itself, its list of tools, and the entry point for calls.

use std::borrow::Cow;
use std::time::Instant;

use infold_core::{OwnTool, Principal};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest, CustomResult,
    DiscoverResult, ErrorCode, Implementation, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ServerConfig, Tool,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::{Server, no_tool};
use crate::answer::ToolAnswer;
use crate::arguments::Arguments;
use crate::call::{CallSetup, ToolCall};
use crate::refused::ToolRefused;
use crate::settings::ErrorStyle;
use crate::{instructions, resources, tools};

/// How long a client may cache the list of tools, which does not change while the server runs.
pub(crate) const LIST_TTL_MS: u64 = 3_600_000;

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let about = Implementation::new("infold", env!("CARGO_PKG_VERSION"))
            .with_title("infold")
            .with_description("Keeps an agent's context small: branches that fold into one message");
        ServerConfig::new(self.own_capabilities())
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
            .with_server_info(about)
            .with_instructions(instructions::text(self.settings().session_from))
    }

    async fn discover(&self, _context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        self.shared.engine.warm_up();
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info()).with_ttl_ms(LIST_TTL_MS))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // A client that asks for the tools is about to call one.
        self.shared.engine.warm_up();
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
        match OwnTool::named(&request.name) {
            Some(tool) => self.call_ours(tool, request.arguments, context).await,
            None => Err(no_tool(&request.name)),
        }
    }

    async fn on_initialized(&self, _context: NotificationContext<RoleServer>) {}

    /// Answers a request that the library could not read as one of the methods that it knows.
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

    // The library would answer these with empty lists; infold has no prompts.

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(not_served("prompts/list"))
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::list()).with_ttl_ms(LIST_TTL_MS))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()).with_ttl_ms(LIST_TTL_MS))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.read_ours(&request.uri, &context).await
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(not_served("completion/complete"))
    }
}

impl Server {
    /// Calls one of infold's own tools, and answers with its result or its refusal in the tool's own style.
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
        let setup = CallSetup { engine: &self.shared.engine, session_from, tool: tool.name() };
        let outcome = match ToolCall::new(setup, who, arguments.as_ref(), context) {
            Ok(call) => {
                if call.is_unplaced() {
                    self.shared.metrics.unplaced();
                }
                let outcome = match run_tool(tool, &call, definition, arguments).await {
                    Ok(answer) => call.store_scripted(answer.text()).await.map(|()| answer).map_err(ToolRefused::from),
                    Err(refused) => Err(refused),
                };
                self.finish(tool, outcome, &call).await
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

    /// Adds the context's figures to refusals and to the response header, and logs failures.
    async fn finish(
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
            // The document of the `context_*` tools fixes the wording of their refusals.
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

    pub(super) fn principal(&self, context: &RequestContext<RoleServer>) -> Result<Principal, ErrorData> {
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

/// Checks the names of a call's arguments, and carries the call out.
async fn run_tool(
    tool: OwnTool,
    call: &ToolCall,
    definition: &Tool,
    given: Option<JsonObject>,
) -> Result<ToolAnswer, ToolRefused> {
    let mut arguments = Arguments::new(definition, given)?;
    // Boxed, because everything that waits for a call would otherwise be as large as the largest tool's work.
    match tool {
        OwnTool::BranchCreate => Box::pin(tools::branch_create::run(call, &mut arguments)).await,
        OwnTool::BranchReturn => Box::pin(tools::branch_return::run(call, &mut arguments)).await,
        OwnTool::BranchStatus => Box::pin(tools::branch_status::run(call, &mut arguments)).await,
        OwnTool::ContextBranch => Box::pin(tools::context_branch::run(call, &mut arguments)).await,
        OwnTool::ContextReturn => Box::pin(tools::context_return::run(call, &mut arguments)).await,
        OwnTool::ContextBranchStatus => Box::pin(tools::context_branch_status::run(call, &mut arguments)).await,
        OwnTool::ContextListBranches => Box::pin(tools::context_list_branches::run(call, &mut arguments)).await,
        OwnTool::ContextRollback => Box::pin(tools::context_rollback::run(call, &mut arguments)).await,
        OwnTool::ContextFork => Box::pin(tools::context_fork::run(call, &mut arguments)).await,
        OwnTool::SessionEnd => Box::pin(tools::session_end::run(call, &mut arguments)).await,
        OwnTool::ReadResult => Box::pin(tools::read_result::run(call, &mut arguments)).await,
        OwnTool::CompactContext => Box::pin(tools::compact_context::run(call, &mut arguments)).await,
        OwnTool::MemorySearch => Box::pin(tools::memory_search::run(call, &mut arguments)).await,
        OwnTool::MemoryRecord => Box::pin(tools::memory_record::run(call, &mut arguments)).await,
        OwnTool::MemoryFeedback => Box::pin(tools::memory_feedback::run(call, &mut arguments)).await,
    }
}

pub(super) fn not_served(method: impl Into<Cow<'static, str>>) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
}
