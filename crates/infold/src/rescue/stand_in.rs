//! Stand-ins: the texts that a transcript has in place of offloaded ones. Each says how the whole text is read back.

use std::collections::HashMap;

use infold_core::transcript::{Item, Kind, Voice};
use infold_core::{Mentions, ShapeRules, ToolResult, excerpt, reference_text};

/// A handle as long as a real one, for counting tokens before there are real ones.
pub const EXAMPLE_HANDLE: &str = "res_5b2438e4-96a7-43f7-b051-10a055bb0fbe";
/// A rescue has to save room, so excerpts are shorter than when a result is first seen. That the same text was shown
/// before does not count, because that may be offloaded, too.
const RULES: ShapeRules = ShapeRules {
    file_bytes_max: 0,
    output_bytes_max: 0,
    handed_in_bytes_max: 0,
    reread_bytes_min: usize::MAX,
    lines_chars_max: 1_000,
    names_chars_max: 400,
};

/// Makes the stand-ins for a session's offloaded results and shortened inputs.
#[derive(Debug, Clone)]
pub struct StandIns {
    /// The shell command that reads a handle back, without the handle itself.
    pub reader: String,
    /// The names that are mentioned anywhere in the session. They decide what is worth showing in an excerpt.
    pub mentions: Mentions,
}

impl StandIns {
    /// Adds the names that an item mentions.
    pub fn note(&mut self, item: &Item) {
        match &item.kind {
            Kind::User { text, voice: Voice::Person } | Kind::Assistant { text } => self.mentions.say(text),
            Kind::Call { input, .. } => self.mentions.say_arguments(input),
            Kind::System { .. }
            | Kind::User { voice: Voice::Client, .. }
            | Kind::Reasoning { .. }
            | Kind::Result { .. }
            | Kind::Compaction { .. }
            | Kind::Clearing { .. }
            | Kind::Other { .. } => {}
        }
    }

    /// The reference that is shown in place of a result.
    pub fn reference(&self, result: &ToolResult<'_>, handle: &str) -> String {
        let excerpt = excerpt(result, &self.mentions, &RULES);
        let shell = format!("Or in a shell: {} {handle}", self.reader);
        let below = if excerpt.is_empty() { shell } else { format!("{shell}\n{excerpt}") };
        reference_text(result.tool, result.text, handle, &below)
    }

    /// The words in a shortened input that say where the whole one is.
    pub fn where_whole(&self, handle: &str) -> String {
        format!("the whole input: read_result with ref_id=\"{handle}\", or {} {handle}", self.reader)
    }
}

/// The inputs of calls that have no result yet, by the call's id.
#[derive(Debug, Default)]
pub struct Inputs {
    open: HashMap<String, String>,
}

impl Inputs {
    /// Of a result, returns the input of its call; of a call, remembers the input.
    pub fn of(&mut self, item: &Item) -> String {
        match &item.kind {
            Kind::Call { id, input, .. } => {
                self.open.insert(id.clone(), input.clone());
                String::new()
            }
            Kind::Result { id, .. } => self.open.remove(id).unwrap_or_default(),
            _ => String::new(),
        }
    }
}
