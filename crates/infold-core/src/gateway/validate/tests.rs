//! Arguments against schemas: what is said, what is allowed, and that nothing takes long.

mod laws;

use serde_json::json;

use super::*;

fn check(schema: &Value, arguments: &Value) -> String {
    let problems = problems_of(arguments, schema, &SchemaBounds::USUAL);
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Holds one argument against its schema.
fn check_one(schema: Value, value: Value) -> String {
    check(&json!({"type": "object", "properties": {"x": schema}}), &json!({"x": value}))
}

#[test]
fn all_problems_are_said_at_once_with_what_is_expected() {
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "mode": {"enum": ["a", "w"]}, "lines": {"type": "array", "items": {"type": "integer"}}},
        "required": ["path", "mode"],
        "additionalProperties": false,
    });
    let problems = problems_of(&json!({"mode": "x"}), &schema, &SchemaBounds::USUAL);
    assert_eq!(
        refuse_arguments("filesystem__write_file", &problems),
        "filesystem__write_file: /path is missing (a string); /mode must be one of \"a\", \"w\", not \"x\""
    );
    assert_eq!(
        check(&schema, &json!({"path": "p", "mode": "a", "lines": [1, "2", 3.5], "extra/one": 1})),
        "/lines/1 must be an integer, not \"2\"; /lines/2 must be an integer, not 3.5; \
         /extra~1one is not known (known: path, mode, lines)"
    );
    assert_eq!(check(&schema, &json!({"path": "p", "mode": "w", "lines": [1.0]})), "");
    assert_eq!(check(&schema, &json!("p")), "the arguments must be an object, not \"p\"");
}

#[test]
fn each_keyword_says_what_it_wants() {
    let cases = [
        (json!({"type": "string"}), json!(5), "/x must be a string, not 5"),
        (json!({"type": ["string", "null"]}), json!([1]), "/x must be a string or null, not a list"),
        (json!({"type": "boolean"}), json!("true"), "/x must be true or false, not \"true\""),
        (json!({"const": {"a": 1}}), json!({"a": 2}), "/x must be an object, not an object"),
        (json!({"const": 5}), json!(6), "/x must be 5, not 6"),
        (json!({"minimum": 3}), json!(2.5), "/x must be at least 3, not 2.5"),
        (
            json!({"maximum": 9007199254740993_u64}),
            json!(9007199254740994_u64),
            "/x must be at most 9007199254740993, not 9007199254740994",
        ),
        (json!({"exclusiveMinimum": 0}), json!(0), "/x must be more than 0, not 0"),
        (json!({"maximum": 5, "exclusiveMaximum": true}), json!(5), "/x must be less than 5, not 5"),
        (json!({"minLength": 2}), json!("é"), "/x must have at least 2 characters, not 1"),
        (json!({"maxLength": 2}), json!("日本語"), "/x must have at most 2 characters, not 3"),
        (json!({"maxItems": 0}), json!([1]), "/x must have at most 0 items, not 1"),
        (json!({"minProperties": 1}), json!({}), "/x must have at least 1 properties, not 0"),
        (json!({"pattern": "^a+$"}), json!("ab"), "/x must match the pattern \"^a+$\", not \"ab\""),
        (json!(false), json!(1), "/x must not be given"),
        (json!({"prefixItems": [{"type": "string"}], "items": false}), json!(["a", 1]), "/x/1 must not be given"),
        (
            json!({"items": [{"type": "string"}], "additionalItems": {"type": "number"}}),
            json!(["a", "b"]),
            "/x/1 must be a number, not \"b\"",
        ),
        (json!({"additionalProperties": {"type": "string"}}), json!({"k": 1}), "/x/k must be a string, not 1"),
        (
            json!({"patternProperties": {"^s": {"type": "string"}}, "additionalProperties": false}),
            json!({"s1": 1, "t": 1}),
            "/x/s1 must be a string, not 1; /x/t is not known",
        ),
        (
            json!({"allOf": [{"minimum": 3}, {"maximum": 1}]}),
            json!(2),
            "/x must be at least 3, not 2; /x must be at most 1, not 2",
        ),
    ];
    for (schema, value, expected) in cases {
        assert_eq!(check_one(schema.clone(), value), expected, "{schema}");
    }
}

#[test]
fn of_several_forms_the_nearest_is_said() {
    let kinds = json!({"anyOf": [{"type": "string"}, {"type": "integer"}]});
    assert_eq!(check_one(kinds, json!(true)), "/x must be a string or an integer, not true");
    let constants = json!({"oneOf": [{"const": "a"}, {"const": "b", "title": "B"}]});
    assert_eq!(check_one(constants, json!("c")), "/x must be one of \"a\", \"b\", not \"c\"");
    let list = json!({"anyOf": [{"type": "null"}, {"type": "array", "items": {"type": "string"}}]});
    assert_eq!(check_one(list, json!([5])), "/x/0 must be a string, not 5");
    let forms = json!({"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}, "required": ["kind", "r"]},
        {"type": "object", "properties": {"kind": {"const": "square"}, "a": {"type": "number"}}, "required": ["kind", "a"]},
    ]});
    assert_eq!(check_one(forms.clone(), json!({"kind": "square", "a": 5})), "");
    assert_eq!(
        check_one(forms, json!({"kind": "square"})),
        "/x fits none of 2 forms, of which the second is nearest; /x/a is missing (a number)"
    );
}

#[test]
fn references_inside_of_the_schema_are_followed() {
    let schema = json!({
        "type": "object", "properties": {"tree": {"$ref": "#/$defs/Node"}}, "required": ["tree"],
        "$defs": {"Node": {"type": "object", "properties": {"name": {"type": "string"}, "below": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}, "required": ["name"]}},
    });
    assert_eq!(check(&schema, &json!({"tree": {"name": "a", "below": [{"name": "b", "below": []}]}})), "");
    assert_eq!(
        check(&schema, &json!({"tree": {"name": "a", "below": [{}]}})),
        "/tree/below/0/name is missing (a string)"
    );
    assert_eq!(check(&schema, &json!({})), "/tree is missing (an object)");
}

#[test]
fn beside_a_reference_older_drafts_mean_nothing() {
    let schema = |draft: &str| json!({"$schema": draft, "properties": {"x": {"$ref": "#/definitions/X", "maxLength": 1}}, "definitions": {"X": {"type": "string"}}});
    assert_eq!(check(&schema("http://json-schema.org/draft-07/schema#"), &json!({"x": "ab"})), "");
    let found = check(&schema("https://json-schema.org/draft/2020-12/schema"), &json!({"x": "ab"}));
    assert_eq!(found, "/x must have at most 1 characters, not 2");
}

#[test]
fn what_is_not_understood_is_allowed() {
    let schemas = [
        json!({"type": "date"}),
        json!({"type": 5}),
        json!({"type": ["string", "uuid"]}),
        json!({"not": {}}),
        json!({"enum": []}),
        json!({"enum": "a"}),
        json!({"minimum": "9"}),
        json!({"pattern": "(?=.*a)b"}),
        json!({"pattern": "["}),
        json!({"pattern": "^[[a]]$"}),
        json!({"$ref": "https://example.com/x"}),
        json!({"$ref": "#/nowhere"}),
        json!({"$ref": "#anchor"}),
        json!({"if": {}, "then": false}),
        json!({"format": "email", "multipleOf": 7, "uniqueItems": true}),
        json!({"oneOf": [{}, {}]}),
        json!("text"),
        json!(null),
        json!({"patternProperties": {"(?!x)": false}, "additionalProperties": false}),
        json!({"type": "integer", "nullable": true}),
    ];
    for schema in schemas {
        for value in [json!(5), json!("b"), json!({"k": 1}), json!([1, 1])] {
            let is_number = schema.get("type") == Some(&json!("integer")) && !value.is_number();
            let value = if is_number { json!(null) } else { value };
            assert_eq!(check_one(schema.clone(), value.clone()), "", "{schema} {value}");
        }
    }
}

#[test]
fn what_is_shown_is_short_and_clean() {
    let long = check_one(json!({"type": "integer"}), json!("x".repeat(1_000_000)));
    assert!(long.chars().count() < 120, "{long}");
    let many: Vec<String> = (0..500).map(|number| format!("choice{number}")).collect();
    let found = check_one(json!({"enum": many}), json!("a\u{1b}[31m\u{202e}b"));
    assert!(found.ends_with("\"choice9\", …, not \"ab\""), "{found}");
    let arguments: Value = (0..500).map(|number| (format!("k\u{202e}{number}"), json!(1))).collect();
    let found = check(&json!({"additionalProperties": false}), &arguments);
    assert!(found.starts_with("/k0 is not known; /k1 is") && found.matches("known").count() == 20, "{found}");
}

#[test]
fn hostile_schemas_and_arguments_take_bounded_work() {
    let mut bomb = json!({"type": "string"});
    (0..12).for_each(|_| bomb = json!({"anyOf": [bomb, bomb]}));
    let loops = json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}, {"$ref": "#/$defs/b"}]}, "b": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#"}]}}});
    let choices: Vec<Value> = (0..5_000).map(|number| json!([[[number]], "x".repeat(9)])).collect();
    let patterns: Value = (0..2_000)
        .map(|number| (format!("(a|b|ab){{1,9{}}}{number}$", number % 10), json!({"pattern": "^(\\w+)*x$"})))
        .collect();
    let wide: Value = (0..20_000).map(|number| (format!("k{number}"), json!("a".repeat(50)))).collect();
    let long: Vec<Value> = vec![json!([[[1]], "xxxxxxxxx"]); 20_000];
    for schema in [
        bomb,
        loops,
        json!({"items": {"enum": choices}}),
        json!({"patternProperties": patterns, "required": vec!["k1"; 9_000]}),
    ] {
        for arguments in [json!(5), wide.clone(), json!(long)] {
            assert!(problems_of(&arguments, &schema, &SchemaBounds::USUAL).len() <= 20);
        }
    }
    let key = "k".repeat(1_000_000);
    let arguments = json!({key: vec![json!("x"); 30_000]});
    let schema = json!({"additionalProperties": {"items": {"type": "integer"}}});
    assert_eq!(
        problems_of(&arguments, &schema, &SchemaBounds::USUAL).len(),
        1,
        "beyond a bound, places have one pointer"
    );
}
