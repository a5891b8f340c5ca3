//! What a model is shown of other servers' tools and results.

use serde_json::json;

use super::{definition, shown};

#[test]
fn a_result_is_its_texts_and_a_line_for_what_is_none() {
    let result = json!({ "content": [
        { "type": "text", "text": "first" },
        { "type": "image", "data": "aGk=", "mimeType": "image/png" },
        { "type": "resource", "resource": { "uri": "file:///a", "text": "what a says" } },
        { "type": "resource", "resource": { "uri": "file:///b", "blob": "aGk=", "mimeType": "application/zip" } },
        { "type": "resource_link", "uri": "https://x.test", "name": "n" },
    ]});
    let shown = shown(&result);
    assert!(!shown.is_error);
    assert_eq!(
        shown.text,
        "first\n[left out: image image/png]\nwhat a says\n[left out: file:///b application/zip]\n[n https://x.test]"
    );
}

#[test]
fn a_result_without_parts_is_its_structure_and_an_error_is_one() {
    let result = shown(&json!({ "content": [], "structuredContent": { "rows": 3 }, "isError": true }));
    assert_eq!((result.text.as_str(), result.is_error), (r#"{"rows":3}"#, true));
    assert_eq!(shown(&json!({})).text, "");
}

#[test]
fn a_tool_without_a_schema_takes_an_object() {
    let tool = definition(&json!({ "name": "files__read", "description": "Reads" }));
    assert_eq!((tool.name.as_str(), tool.parameters), ("files__read", json!({ "type": "object" })));
}
