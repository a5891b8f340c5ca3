//! Holds answers against the OpenAPI description: the status must be one that the route names, and the
//! body must have the shape that it names for it, no field more and none less.

use std::sync::OnceLock;

use http::Method;
use serde_json::Value;

use crate::client::Answer;

static DOCUMENT: OnceLock<Value> = OnceLock::new();

/// Checks an answer. Paths and methods that are not described have no contract.
pub fn check(method: &Method, path: &str, answer: &Answer) {
    let document = DOCUMENT.get_or_init(crate::openapi::document);
    let method = if method == Method::HEAD { "get".to_owned() } else { method.as_str().to_ascii_lowercase() };
    let Some(operation) = operation(document, path, &method) else { return };
    let status = answer.status.as_u16();
    let name = if status >= 500 { "5XX".to_owned() } else { status.to_string() };
    let response = resolve(document, &operation["responses"][&name]);
    assert!(response.is_object(), "{method} {path} answers {status}, which is not described: {}", answer.text);
    let content_type = answer.header("content-type").unwrap_or_default();
    let schema = &response["content"][content_type]["schema"];
    assert!(schema.is_object(), "{method} {path} answers {status} with {content_type}, which is not described");
    if content_type == "application/json" && !answer.text.is_empty() {
        conform(document, schema, &answer.json(), path);
    }
}

/// The described operation that a request's path and method belong to.
fn operation<'a>(document: &'a Value, path: &str, method: &str) -> Option<&'a Value> {
    let paths = document["paths"].as_object()?;
    let parts: Vec<&str> = path.split('/').collect();
    let fits = |template: &str| {
        let template: Vec<&str> = template.split('/').collect();
        template.len() == parts.len()
            && template.iter().zip(&parts).all(|(named, part)| named.starts_with('{') || named == part)
    };
    // As in the router, a path that is named goes before one with a placeholder.
    let named = paths.iter().filter(|(template, _)| fits(template)).min_by_key(|(template, _)| template.contains('{'));
    named.and_then(|(_, methods)| methods.get(method))
}

/// The value that a `$ref` points to; any other value is its own.
pub fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(reference) => {
            let pointer = reference.strip_prefix('#').expect("a reference into the document");
            document.pointer(pointer).unwrap_or_else(|| panic!("{reference} leads nowhere"))
        }
        None => value,
    }
}

/// Fails unless `value` has the shape of `schema`.
fn conform(document: &Value, schema: &Value, value: &Value, at: &str) {
    if let Err(problem) = fits(document, schema, value, at) {
        panic!("{problem}");
    }
}

/// Fails unless a stream's data has the shape that is described for it.
pub fn check_event(data: &Value) {
    let document = DOCUMENT.get_or_init(crate::openapi::document);
    let response = &document["paths"]["/api/v1/events"]["get"]["responses"]["200"];
    conform(document, &response["content"]["text/event-stream"]["schema"], data, "event");
}

fn fits(document: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let schema = resolve(document, schema);
    if let Some(choices) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        if choices.iter().any(|choice| fits(document, choice, value, at).is_ok()) {
            return Ok(());
        }
        // A value may have any one of several shapes; its type says which.
        let problems: Vec<_> = choices.iter().filter_map(|choice| fits(document, choice, value, at).err()).collect();
        return Err(format!("{at}: {value} fits none: {problems:?}"));
    }
    if let Some(expected) = schema.get("const") {
        return (expected == value).then_some(()).ok_or_else(|| format!("{at}: {value} is not {expected}"));
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.contains(value).then_some(()).ok_or_else(|| format!("{at}: {value} is not among {words:?}"));
    }
    has_type(schema, value).ok_or_else(|| format!("{at}: {value} is not of {}", schema["type"]))?;
    match value {
        Value::Array(entries) => entries.iter().try_for_each(|entry| fits(document, &schema["items"], entry, at)),
        Value::Object(fields) if schema["properties"].is_object() => {
            for (name, field) in fields {
                let known = schema["properties"].get(name).ok_or_else(|| format!("{at}: {name} is not described"))?;
                fits(document, known, field, &format!("{at}.{name}"))?;
            }
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            for name in required {
                fields.get(name).ok_or_else(|| format!("{at}: {name} is missing"))?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Whether a value is of a type that a schema names; one that names none takes all.
fn has_type(schema: &Value, value: &Value) -> Option<()> {
    let is = |name: &Value| match name.as_str().unwrap_or_default() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    let fits = match &schema["type"] {
        Value::Null => true,
        Value::Array(names) => names.iter().any(is),
        name => is(name),
    };
    fits.then_some(())
}
