//! Keywords of a schema that have the wrong form are dropped, or written as the current draft has them, because a
//! provider refuses a request for one of them. What a schema then takes is never less than before.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

/// Types that a schema may name.
pub const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// The schema with every keyword in a form that providers take.
pub fn mend_schema(schema: &Value) -> Value {
    mend(schema, schema)
}

fn mend(schema: &Value, root: &Value) -> Value {
    let Some(fields) = schema.as_object() else { return json!({}) };
    let mut mended = Map::new();
    for (name, field) in fields {
        let field = match name.as_str() {
            "type" => mend_type(field),
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                mend_named(field, root)
            }
            "items"
            | "additionalItems"
            | "additionalProperties"
            | "contains"
            | "propertyNames"
            | "unevaluatedProperties"
            | "unevaluatedItems" => mend_one(field, root),
            // A restraint that is dropped in here would make the whole stricter.
            "not" | "if" | "then" | "else" => mend_one(field, root).filter(|mended| mended == field),
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => mend_list(field, root),
            "required" => field.as_array().map(|names| unique_texts(names)),
            "enum" => field.as_array().filter(|values| !values.is_empty()).map(|_| field.clone()),
            "$ref" => field.as_str().filter(|pointer| leads_somewhere(pointer, root)).map(|_| field.clone()),
            "$schema" | "$id" | "$dynamicRef" | "$recursiveRef" => None,
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                Some(field).filter(|number| number.is_number()).cloned()
            }
            "multipleOf" => Some(field).filter(|number| number.as_f64().is_some_and(|one| one > 0.0)).cloned(),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
                Some(field).filter(|number| number.is_u64()).cloned()
            }
            "title" | "description" | "pattern" | "format" | "$comment" => {
                Some(field).filter(|text| text.is_string()).cloned()
            }
            _ => Some(field.clone()),
        };
        mended.extend(field.map(|field| (name.clone(), field)));
    }
    // An older draft has a list of schemas here.
    if let Some(items) = fields.get("items").filter(|items| items.is_array()) {
        mended.shift_remove("items");
        mended.extend(mend_list(items, root).map(|items| ("prefixItems".to_owned(), items)));
    }
    Value::Object(mended)
}

fn mend_type(kind: &Value) -> Option<Value> {
    let is_known = |kind: &Value| kind.as_str().is_some_and(|kind| TYPES.contains(&kind));
    match kind {
        Value::String(_) => is_known(kind).then(|| kind.clone()),
        // A type that nobody knows might be any: without it the others would take less than before.
        Value::Array(kinds) => (!kinds.is_empty() && kinds.iter().all(is_known)).then(|| unique_texts(kinds)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn mend_named(schemas: &Value, root: &Value) -> Option<Value> {
    let schemas = schemas.as_object()?.iter().map(|(name, schema)| (name.clone(), mend(schema, root)));
    Some(Value::Object(schemas.collect()))
}

fn mend_one(schema: &Value, root: &Value) -> Option<Value> {
    match schema {
        Value::Bool(_) => Some(schema.clone()),
        Value::Object(_) => Some(mend(schema, root)),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}

fn mend_list(schemas: &Value, root: &Value) -> Option<Value> {
    let schemas = schemas.as_array().filter(|schemas| !schemas.is_empty())?;
    Some(schemas.iter().map(|schema| mend(schema, root)).collect())
}

fn unique_texts(values: &[Value]) -> Value {
    let mut seen = HashSet::new();
    values.iter().filter_map(Value::as_str).filter(|text| seen.insert(*text)).collect()
}

/// Whether a reference leads to a place in this schema. What leads elsewhere, nobody will fetch.
fn leads_somewhere(pointer: &str, root: &Value) -> bool {
    pointer.strip_prefix('#').is_some_and(|pointer| root.pointer(pointer).is_some())
}
