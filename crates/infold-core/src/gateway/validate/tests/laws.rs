//! What holds for any schema: arguments that are made from it are accepted, and anything at all is looked at.

use proptest::prelude::*;
use serde_json::json;

use super::super::*;

/// A schema, and a value that was made to fit it.
fn schema_and_value() -> impl Strategy<Value = (Value, Value)> {
    let leaf = prop_oneof![
        "[a-z]{0,6}".prop_map(|text| {
            (json!({"type": "string", "minLength": text.len(), "maxLength": text.len() + 1}), json!(text))
        }),
        "[a-z]{1,6}".prop_map(|text| (json!({"type": "string", "pattern": "^[a-z]+$"}), json!(text))),
        any::<i32>()
            .prop_map(|number| (json!({"type": "integer", "minimum": number, "maximum": number}), json!(number))),
        any::<i16>().prop_map(|number| {
            (json!({"type": "number", "exclusiveMinimum": i32::from(number) - 1}), json!(f64::from(number)))
        }),
        any::<bool>().prop_map(|value| (json!({"type": ["boolean", "null"]}), json!(value))),
        Just((json!({"type": "null"}), json!(null))),
        (any::<u8>(), any::<u8>()).prop_map(|(one, other)| (json!({"enum": [one, other, "x"]}), json!(other))),
        "[a-z]{0,4}".prop_map(|text| (json!({"const": [text]}), json!([text]))),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(("[a-c/~é]{1,3}", inner.clone(), any::<bool>()), 0..4).prop_map(object),
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| {
                let (schemas, values): (Vec<Value>, Vec<Value>) = items.into_iter().unzip();
                (json!({"type": "array", "prefixItems": schemas, "items": false, "maxItems": 4}), json!(values))
            }),
            (inner.clone(), inner.clone(), any::<bool>()).prop_map(|((one, value), (other, _), first)| {
                let forms = if first { json!([one, other]) } else { json!([other, one]) };
                (json!({"anyOf": forms}), value)
            }),
            (inner.clone(), inner.clone())
                .prop_map(|((one, value), (other, _))| (json!({"oneOf": [other, one]}), value)),
            inner.prop_map(|(schema, value)| (json!({"allOf": [schema, true, {}]}), value)),
        ]
    })
}

/// An object of which each property is there or, if it is not required, is not.
fn object(properties: Vec<(String, (Value, Value), bool)>) -> (Value, Value) {
    let mut schemas = Map::new();
    let mut values = Map::new();
    let mut required = Vec::new();
    for (name, (schema, value), is_there) in properties {
        if schemas.contains_key(&name) {
            continue;
        }
        schemas.insert(name.clone(), schema);
        if is_there {
            required.push(name.clone());
            values.insert(name, value);
        }
    }
    let schema = json!({"type": "object", "properties": schemas, "required": required, "additionalProperties": false});
    (schema, Value::Object(values))
}

/// Anything, with keywords in it.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        Just(json!(null)),
        any::<i8>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec!["string", "object", "array", "#", "#/anyOf/0", "#/$defs/a", "a", "^a*$", "(", "\\d"])
            .prop_map(Value::from),
    ];
    let name = prop::sample::select(vec![
        "type",
        "properties",
        "patternProperties",
        "additionalProperties",
        "required",
        "items",
        "prefixItems",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "$defs",
        "enum",
        "const",
        "minimum",
        "exclusiveMaximum",
        "maxLength",
        "minItems",
        "pattern",
        "$schema",
        "nullable",
        "a",
    ]);
    leaf.prop_recursive(5, 50, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..6)
                .prop_map(|fields| fields.into_iter().map(|(name, field)| (name.to_owned(), field)).collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn what_is_made_from_a_schema_is_accepted((schema, value) in schema_and_value()) {
        prop_assert_eq!(problems_of(&value, &schema, &SchemaBounds::USUAL), Vec::new());
    }

    #[test]
    fn what_is_missing_unknown_or_of_another_type_is_found((schema, value) in schema_and_value(), at in 0..4_usize) {
        let (schema, value) = object(vec![("k".to_owned(), (schema, value), true)]);
        let missing = problems_of(&json!({}), &schema, &SchemaBounds::USUAL);
        prop_assert_eq!(missing.len(), 1);
        let mut unknown = value.clone();
        unknown[format!("odd{at}")] = json!(at);
        let unknown = problems_of(&unknown, &schema, &SchemaBounds::USUAL);
        prop_assert_eq!(&unknown[0].pointer, &format!("/odd{at}"));
        prop_assert_eq!(problems_of(&json!([value]), &schema, &SchemaBounds::USUAL).len(), 1);
    }

    #[test]
    fn anything_is_looked_at_and_the_same_way_each_time(schema in anything(), value in anything()) {
        let bounds = SchemaBounds { steps_max: 2_000, depth_max: 32, problems_max: 5 };
        let problems = problems_of(&value, &schema, &bounds);
        prop_assert!(problems.len() <= 5);
        prop_assert_eq!(problems_of(&value, &schema, &bounds), problems.clone());
        // Less work never finds more: what is not looked at is allowed.
        let less = problems_of(&value, &schema, &SchemaBounds { steps_max: 3, ..bounds });
        prop_assert!(problems.is_empty() <= less.is_empty());
        prop_assert!(refuse_arguments("t", &problems).len() < 20_000);
    }
}
