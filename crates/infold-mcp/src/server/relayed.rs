//! What goes on to other servers: calls of their tools, prompts and resources, and what they add to infold's lists. The
//! protocol's methods are in `relay_handler`.
//!
//! Servers are the user's own, with the user's keys, so only programs of the same user get to them.

// Logging is deprecated in the newer protocol revision, and clients of the older ones have it.
#![allow(deprecated)]

use std::sync::Arc;
use std::time::Instant;

use infold_core::gateway::GatewayTool;
use infold_core::{Owner, Principal};
use rmcp::model::{
    CallToolRequestParams, CompleteRequestParams, CompleteResult, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerCapabilities, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::handler::not_served;
use super::{Server, ShownTools, no_tool};
use crate::relay::{CallAnswer, CallWay, ClientInput, Gateway, Offer, OfferAnswer, OfferAsker, RelayCall, RelayCaller};
use crate::{instructions, resources};

/// The name under which calls of servers' tools are measured: their own names are theirs to choose.
const MEASURED_AS: &str = "server_tool";

impl Server {
    /// What this server can do: what other servers have counts too.
    pub(super) fn capabilities(&self) -> ServerCapabilities {
        let mut capabilities = match self.shows_own() {
            true => self.own_capabilities(),
            false => ServerCapabilities::builder().enable_tools().build(),
        };
        let Some(gateway) = self.shared.gateway.as_ref().filter(|_| self.shown != ShownTools::Own) else {
            return capabilities;
        };
        if let Some(tools) = capabilities.tools.as_mut().filter(|_| gateway.promotes()) {
            tools.list_changed = Some(true);
        }
        let all = ServerCapabilities::builder()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_completions()
            .enable_logging()
            .build();
        if gateway.offers(Offer::Prompts) {
            (capabilities.prompts, capabilities.completions) = (all.prompts, all.completions);
        }
        if gateway.offers(Offer::Resources) {
            capabilities.resources = all.resources;
        }
        if gateway.offers(Offer::Logging) {
            capabilities.logging = all.logging;
        }
        capabilities
    }

    /// What a model reads about infold's own tools, with the note about tools that are held back.
    pub(super) fn instructions(&self) -> Option<String> {
        let own = self.shows_own().then(|| instructions::text(self.settings().session_from))?;
        match self.shared.gateway.as_ref().and_then(|gateway| gateway.catalogue().note()) {
            Some(note) => Some(format!("{own}\n\n{note}")),
            None => Some(own.to_owned()),
        }
    }

    /// The tools that `tools/list` shows a caller: infold's own, then the gateway's, then those of servers that are listed.
    pub(crate) async fn tools_of(&self, who: &Principal) -> Vec<Tool> {
        let mut tools = if self.shows_own() { self.listed_tools().to_vec() } else { Vec::new() };
        let Some(gateway) = self.gateway_of(who) else { return tools };
        if self.shows_gateways() {
            tools.extend_from_slice(gateway.own_tools());
        }
        if self.shown != ShownTools::Own {
            tools.extend_from_slice(&gateway.renewed().await.listed);
        }
        tools
    }

    /// Whether infold's own tools can be called here.
    pub(super) fn shows_own(&self) -> bool {
        match self.shown {
            ShownTools::All | ShownTools::Own => true,
            ShownTools::Servers | ShownTools::Others => false,
        }
    }

    /// Whether the gateway's tools can be called here.
    fn shows_gateways(&self) -> bool {
        match self.shown {
            ShownTools::All | ShownTools::Own | ShownTools::Others => true,
            ShownTools::Servers => false,
        }
    }

    /// A tool that is listed and not infold's own.
    pub(super) fn others_tool(&self, name: &str) -> Option<Tool> {
        let gateway = self.shared.gateway.as_ref()?;
        let own = gateway.own_tools().iter().find(|tool| self.shows_gateways() && tool.name == name).cloned();
        own.or_else(|| gateway.catalogue().listed.iter().find(|tool| tool.name == name).cloned())
    }

    /// Calls a tool that is not one of infold's own: the gateway's, or a server's that is listed.
    pub(super) async fn call_others(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallAnswer, ErrorData> {
        let began = Instant::now();
        let who = self.principal(&context)?;
        let Some(gateway) = self.gateway_of(&who) else {
            return Err(no_tool(&request.name));
        };
        let input = ClientInput::new(request.input_responses, request.request_state);
        let arguments = request.arguments.unwrap_or_default();
        let caller = RelayCaller::new(&self.shared.engine, who, (&request.name, &arguments), context);
        let of_gateway = GatewayTool::named(&request.name).filter(|_| self.shows_gateways());
        let (measured, answer) = match of_gateway {
            Some(tool) => (tool.name(), gateway.call_own(tool, &caller, (arguments, input)).await),
            None => {
                let arguments = Value::Object(arguments);
                let relay = RelayCall { caller: &caller, name: &request.name, way: CallWay::Direct, arguments, input };
                (MEASURED_AS, gateway.call(relay).await)
            }
        };
        let is_error = answer.as_ref().map_or(true, CallAnswer::is_error);
        self.shared.metrics.called(measured, if is_error { "error" } else { "ok" }, began.elapsed());
        answer
    }

    pub(super) async fn relay_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let gateway = self.gateway_with(Offer::Prompts, "prompts/get", &context)?;
        let input = ClientInput::new(request.input_responses, request.request_state);
        let asker = OfferAsker::new(self.principal(&context)?, context, input);
        let arguments = json!(request.arguments.unwrap_or_default());
        match gateway.prompt(&request.name, arguments, asker).await? {
            OfferAnswer::Given(answer) => Ok(read::<GetPromptResult>(answer)?.into()),
            OfferAnswer::Question(question) => Ok(question.into()),
        }
    }

    pub(super) async fn relay_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let gateway =
            self.resources_of(&context, "resources/read")?.ok_or_else(|| resources::not_found(&request.uri))?;
        let input = ClientInput::new(request.input_responses, request.request_state);
        let asker = OfferAsker::new(self.principal(&context)?, context, input);
        match gateway.resource(&request.uri, asker).await? {
            OfferAnswer::Given(answer) => Ok(read::<ReadResourceResult>(answer)?.into()),
            OfferAnswer::Question(question) => Ok(question.into()),
        }
    }

    /// Whether infold answers for this address, or template of addresses, itself: no server's is in its place.
    pub(super) fn has_resource(&self, uri: &str) -> bool {
        self.shows_own() && resources::is_own(uri)
    }

    /// The gateway, if the caller may use it and a server has resources; `None` if only infold has some here.
    pub(super) fn resources_of(
        &self,
        context: &RequestContext<RoleServer>,
        method: &'static str,
    ) -> Result<Option<&Arc<Gateway>>, ErrorData> {
        match self.gateway_with(Offer::Resources, method, context) {
            Ok(gateway) if self.shown != ShownTools::Own => Ok(Some(gateway)),
            Ok(_) => Ok(None),
            Err(_) if self.shows_own() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The gateway, and who asks it for a resource.
    pub(super) fn resource_asker(
        &self,
        method: &'static str,
        context: RequestContext<RoleServer>,
    ) -> Result<(&Arc<Gateway>, OfferAsker), ErrorData> {
        let gateway = self.gateway_with(Offer::Resources, method, &context)?;
        let asker = OfferAsker::new(self.principal(&context)?, context, ClientInput::default());
        Ok((gateway, asker))
    }

    pub(super) async fn relay_completion(
        &self,
        request: &CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let gateway = self.gateway_with(Offer::Prompts, "completion/complete", &context)?;
        let params = json!({ "ref": request.r#ref, "argument": request.argument, "context": request.context });
        let asker = OfferAsker::new(self.principal(&context)?, context, ClientInput::default());
        match gateway.completion(params, asker).await? {
            OfferAnswer::Given(answer) => read(answer),
            OfferAnswer::Question(_) => {
                Err(ErrorData::internal_error("the server asks where MCP has no questions", None))
            }
        }
    }

    /// The gateway, if the caller may use it and a server has what is asked for.
    pub(super) fn gateway_with(
        &self,
        offer: Offer,
        method: &'static str,
        context: &RequestContext<RoleServer>,
    ) -> Result<&Arc<Gateway>, ErrorData> {
        let gateway = self.gateway_of(&self.principal(context)?).filter(|gateway| gateway.offers(offer));
        gateway.ok_or_else(|| not_served(method))
    }

    /// Whether the list of tools changes with what is used.
    pub(super) fn promotes(&self) -> bool {
        self.shared.gateway.as_ref().is_some_and(|gateway| gateway.promotes())
    }

    /// Whether other servers are behind this one.
    pub(crate) fn relays(&self) -> bool {
        self.shared.gateway.is_some()
    }

    /// The gateway, if the caller may use it.
    fn gateway_of(&self, who: &Principal) -> Option<&Arc<Gateway>> {
        self.shared.gateway.as_ref().filter(|_| who.owner == Owner::local())
    }
}

/// Reads the answer of a server. What is not of the protocol's form is no answer.
fn read<T: DeserializeOwned>(mut answer: Value) -> Result<T, ErrorData> {
    // Servers of the older era do not say that an answer is complete, and clients of the newer one want to know.
    if let Some(fields) = answer.as_object_mut() {
        fields.entry("resultType").or_insert_with(|| json!("complete"));
    }
    serde_json::from_value(answer)
        .map_err(|_| ErrorData::internal_error("the server's answer does not have the form that MCP asks for", None))
}
