//! What a header can carry, and what goes into it.

use serde_json::json;

use super::*;
use crate::gateway::LinkIdentity;
use crate::gateway::era::RequestParams;

fn headers_of(method: &str, params: Value, schema: Option<Value>) -> Vec<String> {
    let identity = LinkIdentity::infold();
    let (era, capabilities, progress_token) = (LinkEra::Modern, None, None);
    let params = RequestParams { given: &params, era, identity: &identity, capabilities, progress_token };
    let mut headers = HeaderMap::new();
    add_standard(&mut headers, &OwnRequest::new(1, method, params), schema.as_ref());
    let mut lines: Vec<String> =
        headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    lines.sort();
    lines
}

#[test]
fn a_call_names_its_method_its_tool_and_its_marked_arguments() {
    let schema = json!({ "properties": {
        "region": { "type": "string", "x-mcp-header": "Region" },
        "plain": { "type": "string" },
        "where": { "properties": { "floor": { "type": "integer", "x-mcp-header": "Floor" } } },
        "absent": { "type": "string", "x-mcp-header": "Absent" },
        "odd": { "type": "string", "x-mcp-header": "not a header" },
    }});
    let arguments = json!({ "region": "Zürich", "plain": "x", "where": { "floor": 3 }, "odd": "y" });
    assert_eq!(
        headers_of("tools/call", json!({ "name": "find", "arguments": arguments }), Some(schema)),
        [
            "mcp-method: tools/call",
            "mcp-name: find",
            "mcp-param-floor: 3",
            "mcp-param-region: =?base64?WsO8cmljaA==?=",
            "mcp-protocol-version: 2026-07-28",
        ]
    );
    assert_eq!(
        headers_of("resources/read", json!({ "uri": "file:///a" }), None)[1],
        "mcp-name: file:///a",
        "a resource is named by its address"
    );
    assert_eq!(headers_of("tools/list", json!({}), None).len(), 2);
}

#[test]
fn what_a_header_cannot_carry_is_framed() {
    let value = |text: &str| header_value(text).unwrap().to_str().unwrap().to_owned();
    assert_eq!(value("plain text"), "plain text");
    assert_eq!(value(" padded"), "=?base64?IHBhZGRlZA==?=");
    assert_eq!(value("a\nb"), "=?base64?YQpi?=");
    assert_eq!(value("=?base64?eA==?="), "=?base64?PT9iYXNlNjQ/ZUE9PT89?=");
}

#[test]
fn a_header_that_http_does_not_allow_is_named() {
    let header = |name: &str, value: &str| own(&[(name.to_owned(), value.to_owned())]);
    assert_eq!(header("X Y", "1"), Err("X Y".to_owned()));
    assert_eq!(header("X", "a\nb"), Err("X".to_owned()));
    assert!(header("Authorization", "Bearer x").unwrap()["authorization"].is_sensitive());
}
