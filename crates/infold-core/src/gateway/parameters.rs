//! What a tool's schema says about its parameters, as text that can be searched.
//!
//! Schemas are other people's: whatever is not as the standard has it is passed over, and every text has a bound.

use serde_json::{Map, Value};

/// Deeper parameters are details of details.
const DEPTH_MAX: usize = 5;
/// Values of one list; a longer list is data, such as all currencies.
const VALUES_MAX: usize = 20;
/// All names, and all texts, of one tool.
const TEXT_BYTES_MAX: usize = 8_192;

/// The parameters of a tool, as they are searched.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ParameterTexts {
    /// Their names.
    pub names: String,
    /// Their descriptions, and the values that they can have.
    pub texts: String,
}

impl ParameterTexts {
    /// Reads the schema of a tool's input.
    pub fn of(schema: &Value) -> Self {
        let mut texts = Self::default();
        texts.add_parts(schema, 0);
        texts
    }

    /// Adds what is inside of a schema: its parameters, items and variants.
    fn add_parts(&mut self, schema: &Value, depth: usize) {
        let Some(schema) = schema.as_object().filter(|_| depth <= DEPTH_MAX) else { return };
        for named in ["properties", "$defs", "definitions"] {
            let parts = schema.get(named).and_then(Value::as_object).into_iter().flatten();
            for (name, part) in parts {
                if named == "properties" {
                    add(&mut self.names, name);
                }
                self.add_schema(part, depth + 1);
            }
        }
        for variants in ["anyOf", "oneOf", "allOf"] {
            let variants = schema.get(variants).and_then(Value::as_array).into_iter().flatten();
            variants.for_each(|variant| self.add_schema(variant, depth + 1));
        }
        for inner in ["items", "additionalProperties"] {
            schema.get(inner).into_iter().for_each(|inner| self.add_schema(inner, depth + 1));
        }
    }

    /// Adds a schema: what it says of itself, and what is inside of it.
    fn add_schema(&mut self, schema: &Value, depth: usize) {
        if let Some(says) = schema.as_object() {
            self.add_own(says);
            self.add_parts(schema, depth);
        }
    }

    fn add_own(&mut self, schema: &Map<String, Value>) {
        if let Some(description) = schema.get("description").and_then(Value::as_str) {
            add(&mut self.texts, description);
        }
        let values = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
        for value in values.filter_map(Value::as_str).take(VALUES_MAX) {
            add(&mut self.texts, value);
        }
    }
}

/// Adds a text with a blank before it, as far as there is room.
fn add(all: &mut String, text: &str) {
    let room = TEXT_BYTES_MAX.saturating_sub(all.len() + 1);
    if room > 0 {
        all.push(' ');
        all.push_str(&text[..text.floor_char_boundary(room)]);
    }
}

#[cfg(test)]
mod tests;
