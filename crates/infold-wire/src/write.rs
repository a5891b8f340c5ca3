//! Writes transcripts in other forms, and says what those could not carry.
//!
//! What is written obeys the rules of whoever reads it: calls and results go in pairs, at the places where the
//! provider wants them, and signed reasoning stays behind, because it is bound to the request that it was made in.
//! A transcript may end with the model's words; whoever sends it adds the next user message.

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

/// A transcript in some form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// It, as text.
    pub text: String,
    /// What the form could not carry.
    pub losses: Vec<Loss>,
}

/// Something that a form could not carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// What.
    pub what: String,
    /// How often.
    pub count: u64,
    /// Where first.
    pub first: ItemPosition,
}

/// Losses so far.
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

/// JSON of something that always has some.
pub(crate) fn json(value: &impl serde::Serialize) -> String {
    // Strings, lists and JSON that has been parsed cannot fail to be written.
    serde_json::to_string(value).unwrap_or_default()
}

/// What a tool was called with as an object: itself if it is one, else wrapped.
pub(crate) fn object(input: &str) -> Box<RawValue> {
    let own = RawValue::from_string(input.trim().to_owned()).ok().filter(|raw| raw.get().starts_with('{'));
    let wrapped = || RawValue::from_string(format!("{{\"input\":{}}}", json(&input))).ok();
    own.or_else(wrapped).unwrap_or_else(|| RawValue::NULL.to_owned())
}

/// Whether a tool was called with an object.
pub(crate) fn is_object(input: &str) -> bool {
    input.trim_start().starts_with('{') && serde_json::from_str::<&RawValue>(input).is_ok()
}

/// A name with only such characters as providers take.
pub(crate) fn safe(name: &str) -> String {
    let clean: String =
        name.chars().map(|char| if char.is_ascii_alphanumeric() || "_-".contains(char) { char } else { '_' }).collect();
    if clean.is_empty() { "unnamed".to_owned() } else { clean }
}
