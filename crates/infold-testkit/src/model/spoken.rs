//! An answer in both forms that providers have: one body, or a stream of events.

use serde_json::Value;

use super::cache::Cached;
use super::reach::Tool;
use super::script::Step;
use super::seal::Prefix;

/// What an answer is made from.
pub(crate) struct Turn<'a> {
    /// The body of the request.
    pub(crate) body: &'a Value,
    /// The step of the script that answers it.
    pub(crate) step: &'a Step,
    /// The digest of the whole request, for ids and seals.
    pub(crate) prefix: &'a Prefix,
    /// The tokens that the usage reports.
    pub(crate) cache: Cached,
    /// The tools that the model can call.
    pub(crate) tools: &'a [Tool],
}

impl Turn<'_> {
    /// The tool that a call names. A script cannot call a tool that the request does not offer.
    pub(crate) fn tool(&self, spelled: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.spelled() == spelled)
    }
}

/// The output tokens that the usage of every answer reports.
pub(crate) const OUTPUT_TOKENS: u64 = 50;

/// An answer in both forms.
#[derive(Clone)]
pub(crate) struct Spoken {
    /// The body, if the answer is not streamed.
    pub(crate) plain: Value,
    /// The events, if the answer is streamed.
    pub(crate) events: Vec<Event>,
}

impl Spoken {
    /// The same answer without its usage. An event that carries nothing but the usage is left out.
    pub(crate) fn without_usage(mut self) -> Self {
        remove_usage(&mut self.plain);
        for event in &mut self.events {
            if let Ok(mut data) = serde_json::from_str::<Value>(&event.data) {
                remove_usage(&mut data);
                event.data = data.to_string();
            }
        }
        let is_count = |event: &Event| event.name.is_none() && event.data.contains("\"choices\":[]");
        self.events.retain(|event| !is_count(event));
        self
    }
}

/// Removes the usage from a body or an event, wherever it is.
fn remove_usage(value: &mut Value) {
    for inner in ["message", "response"] {
        if value[inner].is_object() {
            remove_usage(&mut value[inner]);
        }
    }
    if let Some(fields) = value.as_object_mut() {
        for name in ["usage", "prompt_eval_count", "eval_count"] {
            fields.remove(name);
        }
    }
}

/// One server-sent event, or one line.
#[derive(Clone)]
pub(crate) struct Event {
    name: Option<String>,
    data: String,
    framing: Framing,
}

/// What is around the data of an event.
#[derive(Clone, Copy)]
enum Framing {
    ServerSent,
    /// Nothing but the end of the line.
    Line,
}

impl Event {
    /// An event whose name is the `type` of its data.
    pub(crate) fn named(data: Value) -> Self {
        let name = data["type"].as_str().map(str::to_owned);
        Self { name, data: data.to_string(), framing: Framing::ServerSent }
    }

    /// An event with data but without a name.
    pub(crate) fn unnamed(data: String) -> Self {
        Self { name: None, data, framing: Framing::ServerSent }
    }

    /// An event that is a line of its own.
    pub(crate) fn line(data: &Value) -> Self {
        Self { name: None, data: data.to_string(), framing: Framing::Line }
    }

    /// The event as text, as it is sent.
    pub(crate) fn wire(&self) -> String {
        if let Framing::Line = self.framing {
            return format!("{}\n", self.data);
        }
        let name = self.name.as_ref().map(|name| format!("event: {name}\n")).unwrap_or_default();
        format!("{name}data: {}\n\n", self.data)
    }
}
