//! What the official conformance suite calls by name: tools, resources, prompts, completion, logging,
//! and the ways to ask a client for something. It is built only with the feature `conformance`.
//!
//! Names, texts and shapes are the suite's.

// Logging is deprecated in the newer protocol revision, and the suite still tests it in the older ones.
#![allow(deprecated)]

mod asking;
mod content;
mod handler;
mod input;
mod listening;
mod prompts;
mod resources;
mod tools;

use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteResult, CompletionInfo, GetPromptRequestParams, GetPromptResponse,
    Prompt, ReadResourceResult, Resource, ResourceTemplate, ServerCapabilities, SubscriptionFilter, Tool,
};
use rmcp::service::{RequestContext, SubscriptionContext};

pub(crate) use handler::FixtureServer;
use listening::Changes;

/// The fixtures and what they remember.
#[derive(Debug)]
pub(crate) struct FixtureSet {
    changes: Changes,
    seal: input::Seal,
}

impl FixtureSet {
    pub(crate) fn new() -> Self {
        Self { changes: Changes::new(), seal: input::Seal::new() }
    }

    /// What a server with the fixtures claims to be able to do.
    pub(crate) fn capabilities() -> ServerCapabilities {
        ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .build()
    }

    /// The fixture tools.
    pub(crate) fn tools() -> Vec<Tool> {
        tools::definitions()
    }

    /// Calls a fixture tool.
    pub(crate) async fn call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        tools::call(self, request, context).await
    }

    /// The fixture resources.
    pub(crate) fn resources() -> Vec<Resource> {
        resources::list()
    }

    /// The fixture resource templates.
    pub(crate) fn resource_templates() -> Vec<ResourceTemplate> {
        resources::templates()
    }

    /// Reads a fixture resource.
    pub(crate) fn read_resource(uri: &str) -> Result<ReadResourceResult, ErrorData> {
        resources::read(uri)
    }

    /// The fixture prompts.
    pub(crate) fn prompts() -> Vec<Prompt> {
        prompts::list()
    }

    /// Gets a fixture prompt.
    pub(crate) fn prompt(request: GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(request)
    }

    /// Completes an argument of a fixture prompt.
    pub(crate) fn complete(prefix: &str) -> Result<CompleteResult, ErrorData> {
        let values = ["paris", "park", "party"].into_iter().filter(|value| value.starts_with(prefix));
        let completion = CompletionInfo::with_all_values(values.map(str::to_owned).collect())
            .map_err(|problem| ErrorData::internal_error(problem, None))?;
        Ok(CompleteResult::new(completion))
    }

    /// Which notifications a client may listen to.
    pub(crate) fn accepts(requested: &SubscriptionFilter) -> SubscriptionFilter {
        requested.clone()
    }

    /// Passes changes on to a client that listens, until it goes away.
    pub(crate) async fn listen(&self, context: SubscriptionContext) {
        self.changes.pass_on(&context).await;
    }
}
