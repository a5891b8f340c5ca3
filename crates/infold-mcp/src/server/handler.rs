//! The protocol's methods: what the server says of itself, its lists, and the way in for calls. What
//! infold itself does not serve is there for the fixtures, and does not exist without them.

// Logging is deprecated in the newer protocol revision; the fixtures serve it for the older ones.
#![allow(deprecated)]

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest, CustomResult,
    DiscoverResult, GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ServerConfig, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::{Server, not_served};
use crate::fixtures::FixtureSet;
use crate::instructions;
use infold_core::OwnTool;

/// How long a client may keep what does not change while the server runs.
const LIST_TTL_MS: u64 = 3_600_000;

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let about = Implementation::new("infold", env!("CARGO_PKG_VERSION"))
            .with_title("infold")
            .with_description("Keeps an agent's context small: branches that fold into one message");
        ServerConfig::new(self.capabilities())
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
        // Whoever asks for the tools is about to call one.
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
        match (OwnTool::named(&request.name), &self.shared.fixtures) {
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
