//! Arguments are read as models send them, and what is wrong is said.

use serde_json::{Value, json};

use crate::tools::{LocalCall, LocalTool};

fn refused(tool: LocalTool, arguments: &Value) -> String {
    LocalCall::read(tool, arguments).unwrap_err()
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let read = LocalTool::Read;
    assert_eq!(refused(read, &json!({})), "`path` is missing: name the file");
    assert_eq!(refused(read, &json!({"path": 3})), "`path` is not a string: send it as one");
    assert_eq!(
        refused(read, &json!({"path": "a", "offset": 0})),
        "`offset` is not a whole number from 1 on: send one, or leave it out"
    );
    assert_eq!(
        refused(read, &json!({"path": "a", "lines": 3})),
        "`lines` is no argument of `read`: it takes `path`, `offset`, `limit`"
    );
    assert_eq!(refused(read, &json!("{\"path\": ")), "the arguments of `read` are not a JSON object: send one");
    let same = json!({"path": "a", "old": "x", "new": "x"});
    assert_eq!(refused(LocalTool::Edit, &same), "`old` and `new` are the same: there is nothing to change");
    assert_eq!(refused(LocalTool::Shell, &json!({"command": " "})), "`command` is empty: give a command line");
}

#[test]
fn numbers_may_be_strings_and_nothing_may_be_null() {
    let call = json!({"path": "a", "offset": "12", "limit": null});
    let LocalCall::Read(call) = LocalCall::read(LocalTool::Read, &call).unwrap() else { panic!("no read") };
    assert_eq!((call.offset_line, call.lines), (12, None));
    let LocalCall::List(call) = LocalCall::read(LocalTool::List, &Value::Null).unwrap() else { panic!("no list") };
    assert_eq!(call.path, ".");
}

#[test]
fn every_tool_has_a_name_of_its_own_and_takes_what_its_schema_requires() {
    for tool in LocalTool::ALL {
        assert_eq!(LocalTool::named(tool.name()), Some(tool));
        let definition = tool.definition();
        let required = definition.schema["required"].as_array().unwrap().clone();
        let mut given: serde_json::Map<String, Value> =
            required.iter().map(|name| (name.as_str().unwrap().to_owned(), json!(name))).collect();
        assert_eq!(LocalCall::read(tool, &json!(given)).unwrap().tool(), tool);
        // Everything in the schema is known, and nothing else.
        for (name, kind) in definition.schema["properties"].as_object().unwrap() {
            let value = match kind["type"].as_str().unwrap() {
                "string" => json!(format!("some {name}")),
                "integer" => json!(2),
                _ => json!(true),
            };
            given.insert(name.clone(), value);
        }
        LocalCall::read(tool, &json!(given)).unwrap();
        given.insert("more".to_owned(), json!(1));
        assert!(LocalCall::read(tool, &json!(given)).is_err());
    }
}
