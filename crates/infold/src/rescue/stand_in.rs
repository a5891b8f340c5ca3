//! What stands in a transcript for what was moved out of it. Each names how it is read back.

use std::collections::HashMap;

use infold_core::transcript::{Item, Kind, Voice};
use infold_core::{Mentions, ShapeRules, ToolResult, excerpt, reference_text};

/// A handle that has the length of a real one, to weigh with.
pub const EXAMPLE_HANDLE: &str = "res_5b2438e4-96a7-43f7-b051-10a055bb0fbe";
/// A rescue is about room, so an excerpt is kept shorter than where a result is seen for the first time.
/// What was shown elsewhere counts for nothing: it may be moved out too.
const RULES: ShapeRules = ShapeRules {
    file_bytes_max: 0,
    output_bytes_max: 0,
    handed_in_bytes_max: 0,
    reread_bytes_min: usize::MAX,
    lines_chars_max: 1_000,
    names_chars_max: 400,
};

/// Makes what stands for moved texts.
#[derive(Debug, Clone)]
pub struct StandIns {
    /// How a handle is read back in a shell.
    pub reader: String,
    /// What the session is about: the names that were said in it, before or after.
    pub said: Mentions,
}

impl StandIns {
    /// Takes note of what an item says.
    pub fn note(&mut self, item: &Item) {
        match &item.kind {
            Kind::User { text, voice: Voice::Person } | Kind::Assistant { text } => self.said.say(text),
            Kind::Call { input, .. } => self.said.say_arguments(input),
            Kind::System { .. }
            | Kind::User { voice: Voice::Client, .. }
            | Kind::Reasoning { .. }
            | Kind::Result { .. }
            | Kind::Compaction { .. }
            | Kind::Clearing { .. }
            | Kind::Other { .. } => {}
        }
    }

    /// What stands for a result.
    pub fn reference(&self, sight: &ToolResult<'_>, handle: &str) -> String {
        let excerpt = excerpt(sight, &self.said, &RULES);
        let shell = format!("Or in a shell: {} {handle}", self.reader);
        let below = if excerpt.is_empty() { shell } else { format!("{shell}\n{excerpt}") };
        reference_text(sight.tool, sight.text, handle, &below)
    }

    /// What a shortened input says of the whole one.
    pub fn where_whole(&self, handle: &str) -> String {
        format!("the whole input: read_result with ref_id=\"{handle}\", or {} {handle}", self.reader)
    }
}

/// What calls that are not answered yet were made with.
#[derive(Debug, Default)]
pub struct Inputs {
    open: HashMap<String, String>,
}

impl Inputs {
    /// What a result's call was made with; of other items takes note.
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
