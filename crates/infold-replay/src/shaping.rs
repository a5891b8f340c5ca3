//! Shapes the results of a session as infold does when they are first seen.

use infold_core::{Counter, Mentions, Shape, ShapeRules, ToolResult, reference_text, shape};

use crate::thread::{EntryRole, ThreadEntry};

/// A made-up handle of the usual length, so that a reference has its usual size.
const HANDLE: &str = "res_5b2438e4-96a7-43f7-b051-10a055bb0fbe";

/// Shapes results, and remembers what was said and shown in the session before each.
#[derive(Debug)]
pub(crate) struct Shaper {
    rules: ShapeRules,
    mentions: Mentions,
}

impl Shaper {
    pub fn new(rules: ShapeRules) -> Self {
        Self { rules, mentions: Mentions::default() }
    }

    /// The text that is sent in place of an entry; `None` if the entry is sent as it is.
    pub fn arrive(&mut self, at: usize, entries: &[ThreadEntry<'_>], counter: Counter) -> Option<String> {
        let entry = &entries[at];
        match entry.role {
            EntryRole::Result => {
                let arguments = entry.call.map_or("", |call| entries[call].text);
                let result = ToolResult { tool: entry.tool, arguments, text: entry.text };
                let sent = match shape(&result, &self.mentions, &self.rules, counter) {
                    Shape::Stays => None,
                    Shape::Offload { excerpt } => Some(reference_text(entry.tool, entry.text, HANDLE, &excerpt)),
                };
                self.mentions.show_result(entry.tool, arguments, sent.as_deref().unwrap_or(entry.text));
                sent
            }
            EntryRole::Call => {
                self.mentions.say_arguments(entry.text);
                None
            }
            EntryRole::User | EntryRole::Summary => {
                self.mentions.ask(entry.text);
                None
            }
            EntryRole::Assistant
            | EntryRole::SealedReasoning
            | EntryRole::Reasoning
            | EntryRole::Clearing
            | EntryRole::Other => {
                self.mentions.say(entry.text);
                None
            }
        }
    }
}
