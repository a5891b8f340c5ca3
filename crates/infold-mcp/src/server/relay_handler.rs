//! The protocol's methods where other servers are behind infold: infold's own, and theirs beside them.

// Logging is deprecated in the newer protocol revision, and clients of the older ones have it.
#![allow(deprecated)]

use infold_core::OwnTool;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest, CustomResult,
    DiscoverResult, GetPromptRequestParams, GetPromptResponse, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    Resource, ResourceTemplate, ServerConfig, SetLevelRequestParams, SubscribeRequestParams, Tool,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::Server;
use super::handler::LIST_TTL_MS;
use crate::client_line::ClientLine;
use crate::gateway::ListKind;
use crate::relay::{CallAnswer, Offer};
use crate::resources;

/// infold's server with other servers behind it.
#[derive(Clone)]
pub(crate) struct RelayServer(pub(crate) Server);

/// A handler whose answers to calls can be written without the library's types.
pub(crate) trait CallHandler: ServerHandler + Clone {
    /// Answers a call. The library's `call_tool` gives the same answer in the library's types.
    fn answer_call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CallAnswer, ErrorData>> + Send;
}

impl CallHandler for Server {
    async fn answer_call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallAnswer, ErrorData> {
        self.call_tool(request, context).await.map(CallAnswer::Other)
    }
}

impl CallHandler for RelayServer {
    async fn answer_call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallAnswer, ErrorData> {
        match OwnTool::named(&request.name).filter(|_| self.0.shows_own()) {
            Some(_) => Box::pin(self.0.call_tool(request, context)).await.map(CallAnswer::Other),
            None => Box::pin(self.0.call_others(request, context)).await,
        }
    }
}

impl ServerHandler for RelayServer {
    fn get_info(&self) -> ServerConfig {
        let mut about = self.0.get_info();
        about.capabilities = self.0.capabilities();
        about.instructions = self.0.instructions();
        about
    }

    async fn discover(&self, _context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        self.0.shared.engine.warm_up();
        let versions = self.supported_protocol_versions().into_owned();
        let mut info = self.get_info();
        // In the newer era clients listen instead, and infold has nothing to say there.
        info.capabilities.resources.iter_mut().for_each(|resources| resources.subscribe = None);
        Ok(DiscoverResult::from_server_info(versions, info).with_ttl_ms(LIST_TTL_MS))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.0.shared.engine.warm_up();
        let tools = self.0.tools_of(&self.0.principal(&context)?).await;
        Ok(ListToolsResult::with_all_items(tools).with_ttl_ms(if self.0.promotes() { 0 } else { LIST_TTL_MS }))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.get_tool(name).or_else(|| self.0.others_tool(name))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.answer_call(request, context).await.map(CallToolResponse::from)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.0.on_initialized(context).await;
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        self.0.on_custom_request(request, context).await
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let gateway = self.0.gateway_with(Offer::Prompts, "prompts/list", &context)?;
        Ok(ListPromptsResult::with_all_items(gateway.list_all(ListKind::Prompts).await))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.0.relay_prompt(request, context).await
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut listed = if self.0.shows_own() { resources::list() } else { Vec::new() };
        if let Some(gateway) = self.0.resources_of(&context, "resources/list")? {
            let others = gateway.list_all::<Resource>(ListKind::Resources).await;
            listed.extend(others.into_iter().filter(|other| !self.0.has_resource(&other.uri)));
        }
        Ok(ListResourcesResult::with_all_items(listed))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut listed = if self.0.shows_own() { resources::templates() } else { Vec::new() };
        if let Some(gateway) = self.0.resources_of(&context, "resources/templates/list")? {
            let others = gateway.list_all::<ResourceTemplate>(ListKind::ResourceTemplates).await;
            listed.extend(others.into_iter().filter(|other| !self.0.has_resource(&other.uri_template)));
        }
        Ok(ListResourceTemplatesResult::with_all_items(listed))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if self.0.has_resource(&request.uri) {
            return self.0.read_resource(request, context).await;
        }
        self.0.relay_resource(request, context).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if self.0.has_resource(&request.uri) {
            let text = format!("infold sends no notices of {:?}: read it again", request.uri);
            return Err(ErrorData::invalid_params(text, None));
        }
        let (gateway, asker) = self.0.resource_asker("resources/subscribe", context)?;
        gateway.subscribe(&request.uri, asker).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (gateway, asker) = self.0.resource_asker("resources/unsubscribe", context)?;
        gateway.unsubscribe(&request.uri, asker).await
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let gateway = self.0.gateway_with(Offer::Logging, "logging/setLevel", &context)?;
        let level = serde_json::json!(request.level);
        gateway.set_log_level(level.as_str().unwrap_or_default(), &ClientLine::new(context)).await;
        Ok(())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.0.relay_completion(&request, context).await
    }
}
