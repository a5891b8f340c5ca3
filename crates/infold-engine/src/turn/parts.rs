//! What a request was made of, for the recorder: the system prompt, the tools and the conversation, counted.

use std::borrow::Cow;

use infold_core::view::ViewPiece;
use infold_wire::request::Request;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{Engine, FrontKind, PromptFront, PromptInput, PromptParts};

/// What stands in front of a conversation, wherever an API puts it.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    system: Option<&'a RawValue>,
    #[serde(borrow)]
    instructions: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tools: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct Tool<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(default)]
    defer_loading: bool,
}

impl Engine {
    /// Counts what a request is made of, and what of it is sent.
    pub(super) fn parts_of(&self, request: &Request<'_>, pieces: Option<&[ViewPiece]>) -> PromptParts {
        let head: Option<Head<'_>> = serde_json::from_slice(request.body()).ok();
        let tools: Vec<(Option<String>, &str)> =
            head.iter().flat_map(|head| head.tools.iter().flatten()).filter_map(|tool| shown(tool.get())).collect();
        let mut front: Vec<PromptFront<'_>> = tools
            .iter()
            .map(|(server, text)| PromptFront { kind: FrontKind::Tool { server: server.as_deref() }, text })
            .collect();
        let system = head.iter().flat_map(|head| [head.system, head.instructions]).flatten();
        front.extend(system.map(|text| PromptFront { kind: FrontKind::System, text: text.get() }));
        let words = |at: usize| request.words(at);
        self.parts(&PromptInput { front: &front, blocks: request.blocks(), pieces, words: &words })
    }
}

/// A tool's server and text, unless the model is not shown it yet.
fn shown(text: &str) -> Option<(Option<String>, &str)> {
    let tool: Option<Tool<'_>> = serde_json::from_str(text).ok();
    let server = tool.as_ref().and_then(|tool| tool.name.as_deref()?.strip_prefix("mcp__"));
    let server = server.map(|rest| rest.split("__").next().unwrap_or(rest).to_owned());
    let is_deferred = tool.is_some_and(|tool| tool.defer_loading);
    (!is_deferred).then_some((server, text))
}
