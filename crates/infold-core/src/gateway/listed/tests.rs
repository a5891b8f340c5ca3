//! Tools as they are listed: providers can take each of them, and references fit every output schema.

use proptest::prelude::*;

use super::*;
use crate::gateway::{DefinitionsRead, OfferedTool, SchemaBounds, ServerKey, name_tools, problems_of};

fn definition(tool: &Value) -> Definition {
    DefinitionsRead::of(&ServerKey::new("s"), [tool]).definitions.remove(0)
}

fn listed(tool: &Value, form: SchemaForm) -> Result<ListedTool, Unlistable> {
    let server = ServerKey::new("s");
    let name = name_tools(&[OfferedTool { server: &server, prefix: "s__", tool: "t" }]).remove(0).unwrap();
    list_tool(&definition(tool), &name, form)
}

/// The schema that a provider gets, and the description.
fn provider(schema: Value) -> (Value, String) {
    let tool = json!({"name": "t", "description": "Does it.", "inputSchema": schema});
    let listed = listed(&tool, SchemaForm::Provider).unwrap();
    (listed.input, listed.description)
}

#[test]
fn as_it_is_means_as_it_is() {
    let schema = json!({"$schema": "x", "anyOf": [{"type": "object"}], "odd": 5});
    let tool = json!({"name": "t", "title": "T", "inputSchema": schema, "annotations": {"readOnlyHint": true}});
    let listed = listed(&tool, SchemaForm::AsIs).unwrap();
    assert_eq!((listed.input, listed.name.as_str(), listed.title.as_deref()), (schema, "s__t", Some("T")));
    assert_eq!(listed.hints.read_only, Some(true));
}

#[test]
fn an_ordinary_schema_stays_and_loses_only_what_says_nothing() {
    let plain = json!({
        "type": "object", "properties": {"path": {"type": ["string", "null"], "pattern": "^a"}, "deep": {"anyOf": [{"type": "string"}]}},
        "required": ["path"], "additionalProperties": false,
    });
    let mut written = plain.clone();
    written["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    assert_eq!(provider(written), (plain, "Does it.".to_owned()));
}

#[test]
fn alternatives_at_the_root_become_one_object_and_a_sentence() {
    let (input, description) = provider(json!({
        "type": "object",
        "properties": {"repo": {"type": "string"}},
        "required": ["repo"],
        "additionalProperties": false,
        "oneOf": [
            {"properties": {"id": {"type": "integer"}}, "required": ["id"]},
            {"$ref": "#/$defs/ByName"},
        ],
        "$defs": {"ByName": {"type": "object", "properties": {"name": {"type": "string"}, "owner": {}}, "required": ["name", "owner"]}},
    }));
    assert_eq!(description, "Give one of: id; name with owner.\nDoes it.");
    assert_eq!(input["required"], json!(["repo"]));
    let names: Vec<&String> = input["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["repo", "id", "name", "owner"]);
    assert!(input.get("oneOf").is_none() && input.get("additionalProperties").is_none());
}

#[test]
fn all_of_and_a_reference_at_the_root_keep_what_they_require() {
    let (input, description) = provider(json!({
        "allOf": [{"properties": {"a": {}}, "required": ["a"]}, {"$ref": "#/definitions/B"}],
        "definitions": {"B": {"type": "object", "properties": {"b": {}}, "required": ["b"]}},
    }));
    assert_eq!(
        (&input["type"], &input["required"], description.as_str()),
        (&json!("object"), &json!(["a", "b"]), "Does it.")
    );
    let (input, _) = provider(json!({
        "$ref": "#/definitions/B", "definitions": {"B": {"type": "object", "properties": {"b": {"$ref": "#/definitions/C"}}}, "C": {}},
    }));
    assert_eq!(input["properties"], json!({"b": {"$ref": "#/definitions/C"}}));
}

#[test]
fn odd_keywords_are_dropped_or_written_as_they_should_be() {
    let (input, _) = provider(json!({
        "type": ["object", "null"],
        "properties": {
            "any": true,
            "kind": {"type": "any", "required": true, "minimum": "5", "exclusiveMinimum": true},
            "pair": {"type": "array", "items": [{"type": "string"}, {"type": "number"}]},
            "gone": {"$ref": "#/definitions/None"},
            "away": {"$ref": "https://example.com/x.json"},
            "none": {"enum": [], "anyOf": []},
        },
        "required": "any",
    }));
    let expected = json!({
        "type": "object",
        "properties": {
            "any": {},
            "kind": {},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]},
            "gone": {}, "away": {}, "none": {},
        },
    });
    assert_eq!(input, expected);
}

#[test]
fn a_word_that_is_no_type_says_nothing_against_an_object() {
    let (input, description) = provider(json!({"type": "dict", "properties": {"a": {"type": "str"}}}));
    let expected = json!({"type": "object", "properties": {"a": {}}});
    assert_eq!((input, description.as_str()), (expected, "Does it."));
}

#[test]
fn what_is_no_object_is_quoted_and_what_no_provider_takes_is_not_listed() {
    let (input, description) = provider(json!({"type": "string", "maxLength": 5}));
    assert_eq!(input, json!({"type": "object"}));
    assert_eq!(description, "Its arguments are described as: {\"type\":\"string\",\"maxLength\":5}\nDoes it.");
    for bad in ["a b", "é", "", &"x".repeat(65)] {
        let tool = json!({"name": "t", "inputSchema": {"type": "object", "properties": {bad: {}}}});
        assert!(listed(&tool, SchemaForm::Provider).is_err(), "{bad}");
        assert!(listed(&tool, SchemaForm::AsIs).is_ok());
    }
}

#[test]
fn an_output_schema_takes_a_reference_too() {
    let output =
        |schema: Value| listed(&json!({"name": "t", "outputSchema": schema}), SchemaForm::AsIs).unwrap().output;
    let widened =
        output(json!({"$schema": "x", "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}))
            .unwrap();
    let fits = |value: Value| problems_of(&value, &widened, &SchemaBounds::USUAL).is_empty();
    assert!(fits(json!({"n": 5})));
    assert!(fits(json!({"ref_id": "r", "stored_bytes": 5, "shown": "x"})));
    assert!(!fits(json!({"m": 5})));
    assert_eq!(widened["type"], "object");
    assert_eq!(output(json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/X"}}})), None);
}

/// Schemas with keywords in places and forms where they may or may not belong.
fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!(null)),
        any::<i8>().prop_map(Value::from),
        prop::sample::select(vec!["string", "object", "any", "#", "#/properties/a", "#/anyOf/0", "x"])
            .prop_map(Value::from),
    ];
    let name = prop::sample::select(vec![
        "type",
        "properties",
        "required",
        "items",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "enum",
        "minimum",
        "$defs",
        "a",
        "not",
    ]);
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..5)
                .prop_map(|fields| fields.into_iter().map(|(name, field)| (name.to_owned(), field)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_a_server_says_a_provider_gets_one_object(schema in any_schema()) {
        if let Ok(listed) = listed(&json!({"name": "t", "inputSchema": schema}), SchemaForm::Provider) {
            prop_assert_eq!(&listed.input["type"], "object");
            for keyword in ["anyOf", "oneOf", "allOf", "not", "enum", "$ref", "$schema"] {
                prop_assert!(listed.input.get(keyword).is_none());
            }
            // Mending what is mended changes nothing.
            prop_assert_eq!(&mend::mend_schema(&listed.input), &listed.input);
        }
    }
}
