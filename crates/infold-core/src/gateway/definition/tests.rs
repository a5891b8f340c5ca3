//! Definitions: what is read of odd lists, and what changes a hash.

use proptest::prelude::*;

use super::*;
use crate::Family;

fn server() -> ServerKey {
    ServerKey::new("s")
}

fn read(tools: &Value) -> DefinitionsRead {
    DefinitionsRead::of(&server(), tools.as_array().unwrap())
}

fn problems(read: &DefinitionsRead) -> String {
    let lines = read.problems.iter().map(|problem| format!("{:?} {problem}", problem.fate));
    lines.collect::<Vec<_>>().join("\n")
}

/// A tool with every field that counts.
fn whole() -> Value {
    json!({
        "name": "write_file", "title": "Write", "description": "Writes a file.",
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string", "maxLength": 10}}},
        "outputSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}},
        "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false},
    })
}

fn hash(tool: &Value) -> DefinitionHash {
    read(&json!([tool])).definitions[0].hash()
}

#[test]
fn odd_tools_are_named_and_the_others_stay() {
    let long = "x".repeat(70_000);
    let mut deep = json!({});
    (0..70).for_each(|_| deep = json!({"items": deep}));
    let read = read(&json!([
        {"name": "good"},
        5,
        {"name": 7},
        {"name": " "},
        {"name": "twice"},
        {"name": "twice"},
        {"name": "long", "description": long},
        {"name": "deep", "inputSchema": deep},
        {"name": "hid\u{202e}den"},
        {"name": "task", "execution": {"taskSupport": "required"}},
        {"name": "odd", "description": 5, "inputSchema": "x", "outputSchema": {"type": "array"}, "annotations": []},
    ]));
    let names: Vec<&str> = read.definitions.iter().map(|definition| definition.tool.as_str()).collect();
    assert_eq!(names, ["good", "twice", "odd"]);
    assert!(read.definitions.iter().all(|definition| definition.input == json!({"type": "object"})));
    insta::assert_snapshot!(problems(&read), @"
    Withheld tool 2: is not an object
    Withheld tool 3: has no name
    Withheld tool 4: has no name
    Withheld twice: is listed twice
    Withheld long: has 70032 bytes, the limit is 65536
    Withheld deep: is nested more than 64 deep
    Withheld hidden: has characters in its name that cannot be seen
    Withheld task: runs as a task only, which infold does not relay
    Mended odd: its description is not a text
    Mended odd: its inputSchema is not an object: any arguments are taken
    Mended odd: its outputSchema is not one of an object: it is left out
    ");
}

#[test]
fn a_list_is_bounded() {
    let tools: Vec<Value> = (0..3_000).map(|number| json!({"name": format!("t{number}")})).collect();
    let long = DefinitionsRead::of(&server(), &tools);
    assert_eq!((long.definitions.len(), long.problems.len()), (2_000, 1));
    let odd = vec![json!(1); 3_000];
    assert_eq!(DefinitionsRead::of(&server(), &odd).problems.len(), 200);
}

#[test]
fn texts_have_nothing_in_them_that_cannot_be_seen() {
    let read = read(&json!([{
        "name": "x", "title": "T\u{1b}[31m", "description": " Reads\u{200f} it.\u{1b}]52;c;eA==\u{7} ",
        "inputSchema": {"type": "object", "properties": {"a\u{202e}b": {"description": "\u{e0041}hi", "enum": ["\u{7}v"]}}},
    }]));
    let definition = &read.definitions[0];
    assert_eq!((definition.title.as_deref(), definition.description.as_str()), (Some("T"), "Reads it."));
    let expected = json!({"type": "object", "properties": {"ab": {"description": "hi", "enum": ["v"]}}});
    assert_eq!(definition.input, expected);
}

#[test]
fn a_description_is_cut_and_a_title_may_come_from_the_annotations() {
    let read = read(&json!([{"name": "x", "description": "é".repeat(20_000), "annotations": {"title": "Of old"}}]));
    assert_eq!(read.definitions[0].description.chars().count(), 16_001);
    assert_eq!(read.definitions[0].title.as_deref(), Some("Of old"));
}

#[test]
fn what_is_stored_is_read_back_with_the_same_hash() {
    for tool in [whole(), json!({"name": "bare"})] {
        let definition = read(&json!([tool])).definitions.remove(0);
        let again = read(&json!([definition.as_json()])).definitions.remove(0);
        assert_eq!(again.hash(), definition.hash());
        assert_eq!(again, definition);
    }
}

#[test]
fn longer_definitions_have_more_tokens() {
    let counter = Counter::new(Family::Claude);
    let tokens = |tool: Value| read(&json!([tool])).definitions[0].tokens(&counter);
    assert!(tokens(whole()) > tokens(json!({"name": "write_file"})));
    assert!(tokens(json!({"name": "a"})) > 5);
}

/// A change of one field that counts.
fn meaningful() -> impl Strategy<Value = (String, Value)> {
    prop_oneof![
        "[a-z]{1,8}".prop_map(|name| ("/name".to_owned(), json!(name))),
        "[a-z]{1,8}".prop_map(|title| ("/title".to_owned(), json!(title))),
        "[a-z]{1,8}".prop_map(|text| ("/description".to_owned(), json!(text))),
        (11..99_u64).prop_map(|max| ("/inputSchema/properties/path/maxLength".to_owned(), json!(max))),
        "[a-z]{1,8}".prop_map(|kind| ("/inputSchema/properties/path/type".to_owned(), json!(kind))),
        "[a-z]{1,8}".prop_map(|kind| ("/outputSchema/properties/ok/type".to_owned(), json!(kind))),
        Just(("/outputSchema".to_owned(), Value::Null)),
        prop::sample::select(vec!["readOnlyHint", "openWorldHint"])
            .prop_map(|hint| (format!("/annotations/{hint}"), json!(true))),
        prop::sample::select(vec!["destructiveHint", "idempotentHint"])
            .prop_map(|hint| (format!("/annotations/{hint}"), Value::Null)),
    ]
}

proptest! {
    #[test]
    fn a_meaningful_change_changes_the_hash((pointer, new) in meaningful()) {
        let mut changed = whole();
        *changed.pointer_mut(&pointer).unwrap() = new.clone();
        prop_assume!(whole().pointer(&pointer) != Some(&new));
        prop_assert_ne!(hash(&changed), hash(&whole()));
    }

    #[test]
    fn nothing_else_does(order in Just(vec![0, 1, 2, 3, 4, 5]).prop_shuffle(), meta in "[a-z]{0,9}", hidden in 0..3_usize) {
        let whole_tool = whole();
        let fields: Vec<(&String, &Value)> = whole_tool.as_object().unwrap().iter().collect();
        let mut other: serde_json::Map<String, Value> =
            order.iter().map(|at| (fields[*at].0.clone(), fields[*at].1.clone())).collect();
        other.insert("_meta".to_owned(), json!({"x": meta}));
        other.insert("icons".to_owned(), json!([meta]));
        other.insert("description".to_owned(), json!(format!("Writes{} a file.", "\u{202e}".repeat(hidden))));
        other["inputSchema"]["properties"]["path"]["maxLength"] = json!(10.0);
        prop_assert_eq!(hash(&Value::Object(other)), hash(&whole_tool));
    }

    #[test]
    fn any_json_is_read(tools in prop::collection::vec(any_json(), 0..6)) {
        let read = DefinitionsRead::of(&server(), &tools);
        prop_assert!(read.definitions.iter().all(|definition| definition.input.is_object()));
    }
}

/// JSON with the protocol's own names in it, in places where they may or may not belong.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    let name = prop::sample::select(vec![
        "name",
        "title",
        "description",
        "inputSchema",
        "outputSchema",
        "annotations",
        "type",
        "execution",
        "taskSupport",
    ]);
    leaf.prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..6)
                .prop_map(|fields| fields.into_iter().map(|(name, field)| (name.to_owned(), field)).collect()),
        ]
    })
}
