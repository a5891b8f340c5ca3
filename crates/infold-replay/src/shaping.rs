//! infold's own first-sight shaping, on its way through a session.

use infold_core::{Counter, Mentions, Shape, ShapeRules, ToolResult, reference_text, shape};

use crate::thread::{EntryRole, ThreadEntry};

/// A handle of the usual length, so that the reference has its usual size.
const HANDLE: &str = "res_5b2438e4-96a7-43f7-b051-10a055bb0fbe";

/// Shapes results, and remembers what the session has said and shown before each.
#[derive(Debug)]
pub(crate) struct Shaper {
    rules: ShapeRules,
    mentions: Mentions,
}

impl Shaper {
    pub fn new(rules: ShapeRules) -> Self {
        Self { rules, mentions: Mentions::default() }
    }

    /// What is sent of an entry instead of what it is, if anything.
    pub fn arrive(&mut self, at: usize, entries: &[ThreadEntry<'_>], counter: Counter) -> Option<String> {
        let entry = &entries[at];
        match entry.role {
            EntryRole::Result => {
                let arguments = entry.call.map_or("", |call| entries[call].text);
                let sight = ToolResult { tool: entry.tool, arguments, text: entry.text };
                let sent = match shape(&sight, &self.mentions, &self.rules, counter) {
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
