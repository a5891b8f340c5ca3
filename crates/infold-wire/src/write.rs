//! Writes transcripts in other forms, and lists what those cannot carry.
//!
//! The output obeys the rules of its reader: calls and results come in pairs, where the provider wants them, and signed
//! reasoning is left out, because it is bound to the request that it was made in. A transcript may end with the model's
//! words; whoever sends it adds the next user message.

mod anthropic;
mod markdown;
mod opencode;
mod pairs;
mod responses;

use infold_core::transcript::{Item, ItemPosition};
use serde_json::value::RawValue;

pub use anthropic::write_anthropic;
pub use markdown::write_markdown;
pub use opencode::write_opencode;
pub use responses::write_openai;

/// A transcript in another form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The transcript as JSON or Markdown, as the writer's name says.
    pub text: String,
    /// What the form cannot carry, in the order in which it was first met; empty if nothing was lost.
    pub losses: Vec<Loss>,
}

/// One kind of thing that a form cannot carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// A phrase for people that names it.
    pub what: String,
    /// How many items of the transcript it concerns.
    pub count: u64,
    /// The position of the first such item.
    pub first: ItemPosition,
}

/// The losses so far, one for each kind.
#[derive(Debug, Default)]
pub(crate) struct Losses(Vec<Loss>);

impl Losses {
    pub(crate) fn add(&mut self, item: &Item, what: &str) {
        match self.0.iter_mut().find(|loss| loss.what == what) {
            Some(loss) => loss.count += 1,
            None => self.0.push(Loss { what: what.to_owned(), count: 1, first: item.place }),
        }
    }

    pub(crate) fn into_list(self) -> Vec<Loss> {
        self.0
    }
}

/// The JSON of a value that can always be written as JSON.
pub(crate) fn json(value: &impl serde::Serialize) -> String {
    // Strings, lists and JSON that has been parsed cannot fail to be written.
    serde_json::to_string(value).unwrap_or_default()
}

/// The input of a call as a JSON object: the input itself if it is one, else wrapped in one.
pub(crate) fn object(input: &str) -> Box<RawValue> {
    let own = RawValue::from_string(input.trim().to_owned()).ok().filter(|raw| raw.get().starts_with('{'));
    let wrapped = || RawValue::from_string(format!("{{\"input\":{}}}", json(&input))).ok();
    own.or_else(wrapped).unwrap_or_else(|| RawValue::NULL.to_owned())
}

/// Whether the input of a call is a JSON object.
pub(crate) fn is_object(input: &str) -> bool {
    input.trim_start().starts_with('{') && serde_json::from_str::<&RawValue>(input).is_ok()
}

/// A name in which characters that providers do not accept are replaced by underscores.
pub(crate) fn safe(name: &str) -> String {
    let clean: String =
        name.chars().map(|char| if char.is_ascii_alphanumeric() || "_-".contains(char) { char } else { '_' }).collect();
    if clean.is_empty() { "unnamed".to_owned() } else { clean }
}
