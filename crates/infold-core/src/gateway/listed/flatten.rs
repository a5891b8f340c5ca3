//! The root of an arguments' schema as providers want it: one object with properties. Alternatives at the root are
//! merged, and which arguments belong together is said in words, as Claude Code does.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::mend::TYPES;

/// How many references lead from the root to what it is, at most.
const REFERENCES_MAX: usize = 8;

/// Alternatives that are merged and said.
const FORMS_MAX: usize = 20;

/// Characters of what is said.
const SAID_CHARS_MAX: usize = 1_000;

/// Keywords that providers refuse at the root, or that mean nothing to them.
const NOT_AT_ROOT: [&str; 12] =
    ["anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else", "$schema", "$id", "$ref"];

/// A root that is one object.
pub struct Flat {
    /// The schema.
    pub schema: Value,
    /// What it does not say any more.
    pub said: Option<String>,
}

/// The schema with one object at its root; `None` if it is not one of an object.
pub fn flatten_root(schema: &Value) -> Option<Flat> {
    let fields = follow(schema, schema.as_object()?)?;
    let mut flat = Merged { properties: Map::new(), required: Vec::new(), groups: Vec::new() };
    flat.add(fields);
    for branch in branches(schema, fields, "allOf") {
        flat.add(branch);
    }
    for keyword in ["anyOf", "oneOf"] {
        let forms: Vec<&Map<String, Value>> = branches(schema, fields, keyword).collect();
        flat.add_forms(&forms);
    }

    let mut seen = HashSet::new();
    flat.required.retain(|name| seen.insert(name.clone()));
    let mut root: Map<String, Value> = schema.as_object()?.clone();
    root.extend(fields.iter().map(|(name, field)| (name.clone(), field.clone())));
    root.retain(|name, _| !NOT_AT_ROOT.contains(&name.as_str()));
    // With alternatives, a property that only one of them knows must not be refused for the other's sake.
    if !flat.groups.is_empty() || fields.contains_key("allOf") {
        root.shift_remove("additionalProperties");
    }
    root.insert("type".to_owned(), json!("object"));
    root.insert("properties".to_owned(), Value::Object(flat.properties));
    root.shift_remove("required");
    if !flat.required.is_empty() {
        root.insert("required".to_owned(), json!(flat.required));
    }
    Some(Flat { schema: Value::Object(root), said: say(&flat.groups) })
}

/// The object that a schema is, behind references; `None` if it is of another type.
fn follow<'a>(root: &'a Value, mut fields: &'a Map<String, Value>) -> Option<&'a Map<String, Value>> {
    for _ in 0..REFERENCES_MAX {
        match fields.get("$ref").and_then(Value::as_str).and_then(|pointer| pointer.strip_prefix('#')) {
            Some(pointer) => fields = root.pointer(pointer)?.as_object()?,
            None => break,
        }
    }
    // A word that is no type, like `dict`, says nothing against an object.
    let may_be = |kind: &str| kind == "object" || !TYPES.contains(&kind);
    let is_object = match fields.get("type") {
        Some(Value::String(kind)) => may_be(kind),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).any(may_be),
        None | Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => true,
    };
    is_object.then_some(fields)
}

fn branches<'a>(
    root: &'a Value,
    fields: &'a Map<String, Value>,
    keyword: &str,
) -> impl Iterator<Item = &'a Map<String, Value>> {
    let branches = fields.get(keyword).and_then(Value::as_array).into_iter().flatten();
    branches.filter_map(Value::as_object).filter_map(move |branch| follow(root, branch)).take(FORMS_MAX)
}

struct Merged {
    properties: Map<String, Value>,
    required: Vec<String>,
    /// For each keyword with alternatives, what each of them requires.
    groups: Vec<Vec<Vec<String>>>,
}

impl Merged {
    /// Takes in properties and what is required. The first one of a name counts.
    fn add(&mut self, fields: &Map<String, Value>) {
        self.add_properties(fields);
        self.required.extend(required(fields));
    }

    fn add_properties(&mut self, fields: &Map<String, Value>) {
        for (name, property) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.properties.entry(name.as_str()).or_insert_with(|| property.clone());
        }
    }

    /// Takes in alternatives: what one of them requires is said and not required.
    fn add_forms(&mut self, forms: &[&Map<String, Value>]) {
        forms.iter().for_each(|form| self.add_properties(form));
        let groups: Vec<Vec<String>> = forms.iter().map(|form| required(form)).collect();
        if groups.iter().any(|group| !group.is_empty()) {
            self.groups.push(groups);
        }
    }
}

fn required(fields: &Map<String, Value>) -> Vec<String> {
    let names = fields.get("required").and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn say(groups: &[Vec<Vec<String>>]) -> Option<String> {
    let sentences = groups.iter().map(|forms| {
        let forms = forms.iter().map(|names| match names.as_slice() {
            [] => "none of these".to_owned(),
            names => names.join(" with "),
        });
        format!("Give one of: {}.", forms.collect::<Vec<_>>().join("; "))
    });
    let said: String = sentences.collect::<Vec<_>>().join(" ").chars().take(SAID_CHARS_MAX).collect();
    (!said.is_empty()).then_some(said)
}
