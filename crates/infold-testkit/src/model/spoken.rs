//! An answer in both forms that providers give it: one body, or a stream of events.

use serde_json::Value;

use super::cache::Cached;
use super::reach::Tool;
use super::script::Step;
use super::seal::Prefix;

/// What an answer is made of.
pub(crate) struct Turn<'a> {
    /// The request.
    pub(crate) body: &'a Value,
    /// What is to be said.
    pub(crate) step: &'a Step,
    /// Everything that the request holds.
    pub(crate) prefix: &'a Prefix,
    /// What the usage will name.
    pub(crate) cache: Cached,
    /// The tools that the model can call.
    pub(crate) tools: &'a [Tool],
}

impl Turn<'_> {
    /// The tool that a call is of. Calls of tools out of reach are never said.
    pub(crate) fn tool(&self, spelled: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.spelled() == spelled)
    }
}

/// Tokens that every answer is said to have taken.
pub(crate) const OUTPUT_TOKENS: u64 = 50;

/// An answer.
#[derive(Clone)]
pub(crate) struct Spoken {
    /// The body of an answer that is not streamed.
    pub(crate) plain: Value,
    /// The events of one that is.
    pub(crate) events: Vec<Event>,
}

impl Spoken {
    /// The same, without a word of what it took. An event that says nothing else is left out.
    pub(crate) fn without_usage(mut self) -> Self {
        uncount(&mut self.plain);
        for event in &mut self.events {
            if let Ok(mut data) = serde_json::from_str::<Value>(&event.data) {
                uncount(&mut data);
                event.data = data.to_string();
            }
        }
        let is_count = |event: &Event| event.name.is_none() && event.data.contains("\"choices\":[]");
        self.events.retain(|event| !is_count(event));
        self
    }
}

/// Takes the usage out of a value, wherever an answer has it.
fn uncount(value: &mut Value) {
    for inner in ["message", "response"] {
        if value[inner].is_object() {
            uncount(&mut value[inner]);
        }
    }
    if let Some(fields) = value.as_object_mut() {
        fields.remove("usage");
    }
}

/// One server-sent event.
#[derive(Clone)]
pub(crate) struct Event {
    name: Option<String>,
    data: String,
}

impl Event {
    /// An event named like its data's `type`.
    pub(crate) fn named(data: Value) -> Self {
        Self { name: data["type"].as_str().map(str::to_owned), data: data.to_string() }
    }

    /// An event of data alone.
    pub(crate) fn unnamed(data: String) -> Self {
        Self { name: None, data }
    }

    /// The event as it goes over the wire.
    pub(crate) fn wire(&self) -> String {
        let name = self.name.as_ref().map(|name| format!("event: {name}\n")).unwrap_or_default();
        format!("{name}data: {}\n\n", self.data)
    }
}
