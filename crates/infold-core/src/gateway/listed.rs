//! A tool as it is listed for a client, and through it for a provider.
//!
//! Providers refuse a whole request for one schema that they cannot take, so under `Provider` a schema is made one that
//! they can: what is dropped are restraints, which the server checks for itself. What cannot be made valid is not
//! listed, and found by search. The output schema also allows the reference that replaces an offloaded result.

mod flatten;
mod mend;

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use super::definition::{Definition, ToolHints};
use super::name::ToolName;

/// Characters of a schema that are quoted in a description.
const QUOTED_CHARS_MAX: usize = 1_000;

/// Characters of an argument's name that providers take.
const ARGUMENT_CHARS_MAX: usize = 64;

/// How schemas are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaForm {
    /// As the server wrote them.
    AsIs,
    /// So that every provider takes them.
    Provider,
}

/// A tool as it is listed.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedTool {
    /// Its name.
    pub name: ToolName,
    /// What people call it.
    pub title: Option<String>,
    /// What it is for.
    pub description: String,
    /// The schema of its arguments.
    pub input: Value,
    /// The schema of its structured results, or of a reference to them.
    pub output: Option<Value>,
    /// What it does, by its server's word.
    pub hints: ToolHints,
}

/// Why a tool cannot be listed; search still finds it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unlistable {
    /// An argument has a name that providers refuse.
    #[error("its argument {argument:?} has a name that providers do not take")]
    Argument {
        /// The argument's name.
        argument: String,
    },
}

/// The tool as it is listed under this name.
pub fn list_tool(definition: &Definition, name: &ToolName, form: SchemaForm) -> Result<ListedTool, Unlistable> {
    let (input, said) = match form {
        SchemaForm::AsIs => (definition.input.clone(), None),
        SchemaForm::Provider => provider_input(&definition.input)?,
    };
    let description = match (said, definition.description.as_str()) {
        (Some(said), "") => said,
        (Some(said), description) => format!("{said}\n{description}"),
        (None, description) => description.to_owned(),
    };
    Ok(ListedTool {
        name: name.clone(),
        title: definition.title.clone(),
        description,
        input,
        output: definition.output.as_ref().and_then(widen),
        hints: definition.hints,
    })
}

/// A schema that providers take, and what a model has to know that it does not say any more.
fn provider_input(schema: &Value) -> Result<(Value, Option<String>), Unlistable> {
    let (input, said) = match flatten::flatten_root(schema) {
        Some(flat) => (flat.schema, flat.said),
        None => {
            let quoted: String = schema.to_string().chars().take(QUOTED_CHARS_MAX).collect();
            (json!({"type": "object"}), Some(format!("Its arguments are described as: {quoted}")))
        }
    };
    let input = mend::mend_schema(&input);
    let names = input["properties"].as_object().into_iter().flat_map(|properties| properties.keys());
    match names.into_iter().find(|name| !is_plain_argument(name)) {
        Some(argument) => Err(Unlistable::Argument { argument: argument.clone() }),
        None => Ok((input, said)),
    }
}

fn is_plain_argument(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    (1..=ARGUMENT_CHARS_MAX).contains(&name.len()) && name.chars().all(is_plain)
}

/// The schema of what replaces a structured result that is offloaded.
pub fn reference_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "ref_id": {"type": "string"},
            "stored_bytes": {"type": "integer"},
            "shown": {"type": "string"},
        },
        "required": ["ref_id", "stored_bytes", "shown"],
    })
}

/// A schema that takes what the tool gives, or a reference to it. `None` if the schema points into itself: inside of
/// another one its pointers would lead elsewhere.
fn widen(schema: &Value) -> Option<Value> {
    if has_reference(schema) {
        return None;
    }
    let mut original = schema.clone();
    if let Some(fields) = original.as_object_mut() {
        fields.retain(|name, _| !matches!(name.as_str(), "$schema" | "$id"));
    }
    Some(json!({"type": "object", "anyOf": [original, reference_schema()]}))
}

fn has_reference(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let points = ["$ref", "$dynamicRef", "$recursiveRef"].iter().any(|name| fields.contains_key(*name));
            points || fields.values().any(has_reference)
        }
        Value::Array(items) => items.iter().any(has_reference),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
