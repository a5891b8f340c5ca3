//! Reads a tool's arguments: one path for all tools, so that every mistake is answered in the same way,
//! with a sentence that names the argument and says what would be right.
//!
//! Presence and type are checked here. How long a text may be and what it may contain is decided by the core,
//! where the text is used, and is refused in the same words.

use infold_core::{Refusal, strip_controls};
use rmcp::model::{JsonObject, Tool};
use serde_json::Value;

/// The arguments of one call.
#[derive(Debug)]
pub(crate) struct Arguments(JsonObject);

impl Arguments {
    /// Takes the arguments of a call of `tool`. An argument that its schema does not name is refused, because it
    /// is probably misspelt and would otherwise be silently ignored.
    pub(crate) fn new(tool: &Tool, given: Option<JsonObject>) -> Result<Self, Refusal> {
        let given = given.unwrap_or_default();
        let known = tool.input_schema.get("properties").and_then(Value::as_object);
        let is_known = |name: &str| known.is_some_and(|known| known.contains_key(name));
        let Some(unknown) = given.keys().find(|name| !is_known(name)) else {
            return Ok(Self(given));
        };
        let names: Vec<&str> = known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        let unknown: String = unknown.chars().take(UNKNOWN_CHARS_MAX).collect();
        let problem = format!("include {unknown:?}, which {} does not take: use only {}", tool.name, names.join(", "));
        Err(Refusal::Invalid { field: "arguments", problem })
    }

    /// A required text.
    pub(crate) fn text(&mut self, field: &'static str) -> Result<String, Refusal> {
        self.optional_text(field)?.ok_or_else(|| invalid(field, "is required: pass a string"))
    }

    /// An optional text.
    pub(crate) fn optional_text(&mut self, field: &'static str) -> Result<Option<String>, Refusal> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong_type(field, "a string", &other)),
        }
    }

    /// A required id that infold gave out. Only its length is checked here; the engine finds out whether it exists.
    pub(crate) fn id(&mut self, field: &'static str) -> Result<String, Refusal> {
        self.optional_id(field)?.ok_or_else(|| invalid(field, "is required: pass a string"))
    }

    /// An optional id that infold gave out.
    pub(crate) fn optional_id(&mut self, field: &'static str) -> Result<Option<String>, Refusal> {
        let id = self.optional_text(field)?;
        let is_blank = id.as_ref().is_some_and(|id| strip_controls(id).trim().is_empty());
        match id.as_ref().map(|id| id.chars().count()) {
            Some(_) if is_blank => {
                Err(invalid(field, "must not be empty: pass it as it was given to you, or leave it out"))
            }
            Some(chars) if chars > ID_CHARS_MAX => {
                Err(invalid(field, &format!("has {chars} characters, which no id has: pass it as it was given to you")))
            }
            Some(_) | None => Ok(id),
        }
    }

    /// An optional whole number. One that does not fit 64 bits becomes the largest that does, because every number
    /// is capped later anyway.
    pub(crate) fn optional_number(&mut self, field: &'static str, least: u64) -> Result<Option<u64>, Refusal> {
        let number = match self.take(field) {
            None => return Ok(None),
            Some(Value::Number(number)) => number,
            Some(other) => return Err(wrong_type(field, "a whole number", &other)),
        };
        let whole = match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => Some(whole),
            // A float without a fraction is what some clients make of every number.
            (None, Some(float)) if float >= 0.0 && float.fract() == 0.0 => Some(float as u64),
            (None, Some(float)) if float >= 0.0 => {
                return Err(invalid(field, &format!("must be a whole number, got {number}")));
            }
            _ => None,
        };
        match whole {
            Some(whole) if whole >= least => Ok(Some(whole)),
            _ => Err(invalid(field, &format!("must be at least {least}, got {number}"))),
        }
    }

    /// An optional true or false.
    pub(crate) fn optional_flag(&mut self, field: &'static str) -> Result<Option<bool>, Refusal> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(wrong_type(field, "true or false", &other)),
        }
    }

    /// An optional JSON object.
    pub(crate) fn optional_object(&mut self, field: &'static str) -> Result<Option<JsonObject>, Refusal> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(other) => Err(wrong_type(field, "an object", &other)),
        }
    }

    /// An optional list of JSON values.
    pub(crate) fn optional_list(&mut self, field: &'static str) -> Result<Option<Vec<Value>>, Refusal> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(other) => Err(wrong_type(field, "an array", &other)),
        }
    }

    /// Takes an argument out. Null counts as absent, because many clients send null for what was left out.
    fn take(&mut self, field: &str) -> Option<Value> {
        self.0.shift_remove(field).filter(|value| !value.is_null())
    }
}

/// Most characters that an id may have; all of infold's ids are shorter.
const ID_CHARS_MAX: usize = 128;
/// Most characters of an unknown argument's name that are repeated to the caller.
const UNKNOWN_CHARS_MAX: usize = 64;

fn invalid(field: &'static str, problem: &str) -> Refusal {
    Refusal::Invalid { field, problem: problem.to_owned() }
}

fn wrong_type(field: &'static str, wanted: &str, got: &Value) -> Refusal {
    let got = match got {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    invalid(field, &format!("must be {wanted}, got {got}"))
}

#[cfg(test)]
mod tests;
