//! Which tools the model can call, for each form of a request.

use serde_json::{Value, json};

use super::super::received::{Api, Received};

fn spelled(api: Api, body: Value) -> Vec<String> {
    Received::of(api, body).tools().iter().map(super::Tool::spelled).collect()
}

#[test]
fn a_deferred_tool_is_in_reach_where_a_reference_to_it_is_shown() {
    let tools = json!([{"name": "Read"}, {"name": "mcp__infold__branch_return", "defer_loading": true}]);
    let loaded = json!([{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "a", "content": [
            {"type": "tool_reference", "tool_name": "mcp__infold__branch_return"},
        ]},
    ]}]);
    assert_eq!(spelled(Api::Messages, json!({"tools": tools, "messages": []})), ["Read"]);
    let shown = json!({"tools": tools, "messages": loaded});
    assert_eq!(spelled(Api::Messages, shown.clone()), ["Read", "mcp__infold__branch_return"]);
    assert_eq!(Received::of(Api::Messages, shown).spelled("branch_return").unwrap(), "mcp__infold__branch_return");
}

#[test]
fn codex_finds_its_tools_in_the_output_of_its_search() {
    let found = json!({"type": "tool_search_output", "call_id": "c", "tools": [
        {"type": "namespace", "name": "mcp__infold", "tools": [{"type": "function", "name": "branch_create"}]},
    ]});
    let tools = json!([{"type": "function", "name": "exec_command"}, {"type": "tool_search"}]);
    let body = json!({"tools": tools, "input": [found]});
    let received = Received::of(Api::Responses, body);
    assert_eq!(received.search_tool().unwrap(), "tool_search");
    assert_eq!(received.spelled("branch_create").unwrap(), "mcp__infold__branch_create");
    assert_eq!(received.spelled("branch_return"), None);
}

#[test]
fn opencode_lists_everything() {
    let body = json!({"tools": [{"type": "function", "function": {"name": "infold_branch_create"}}], "messages": []});
    assert_eq!(Received::of(Api::Chat, body).spelled("branch_create").unwrap(), "infold_branch_create");
}
