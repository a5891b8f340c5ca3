//! The same steps find their tools in the requests of every client.

use serde_json::{Value, json};

use super::super::received::{Api, Received};
use super::{Work, branch_work, load_tools, read_file};
use crate::model::script::{Decision, Step};

fn decided(step: &Step, api: Api, body: Value) -> Decision {
    step.decide.as_ref().unwrap().decide(&Received::of(api, body))
}

fn called(step: &Step, api: Api, body: Value) -> (String, Value) {
    match decided(step, api, body) {
        Decision::Say(step) => (step.calls[0].tool.clone(), step.calls[0].input.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_is_read_with_the_clients_own_tool() {
    let step = read_file("/p/a.rs");
    let claude = json!({"tools": [{"name": "Read"}], "messages": []});
    assert_eq!(called(&step, Api::Messages, claude), ("Read".to_owned(), json!({"file_path": "/p/a.rs"})));
    let codex = json!({"tools": [{"type": "function", "name": "exec_command"}], "input": []});
    assert_eq!(called(&step, Api::Responses, codex), ("exec_command".to_owned(), json!({"cmd": "cat '/p/a.rs'"})));
    let opencode = json!({"tools": [{"function": {"name": "read"}}], "messages": []});
    assert_eq!(called(&step, Api::Chat, opencode), ("read".to_owned(), json!({"filePath": "/p/a.rs"})));
    assert!(matches!(decided(&step, Api::Chat, json!({"messages": []})), Decision::Stuck(_)));
}

#[test]
fn where_a_model_writes_scripts_everything_is_called_from_one() {
    let exec = json!({"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}]});
    let body = json!({"input": [{"type": "additional_tools", "role": "developer", "tools": [exec]}]});
    let (tool, source) = called(&read_file("/p/a.rs"), Api::Responses, body.clone());
    assert_eq!((&*tool, &source), ("exec", &json!(super::printing("/p/a.rs"))));
    assert!(matches!(decided(&load_tools(), Api::Responses, body.clone()), Decision::Skip));
    let opening = &branch_work(&Work::reading("find it", [], "found"))[1];
    let (tool, source) = called(opening, Api::Responses, body);
    assert_eq!(tool, "exec");
    assert!(
        source.as_str().unwrap().starts_with("const answer = await tools.mcp__infold__branch_create({"),
        "{source}"
    );
}

#[test]
fn deferred_tools_are_asked_for_by_the_names_that_the_client_lists() {
    let list = "Deferred tools: mcp__infold__branch_create\nmcp__infold__branch_return, mcp__other__x";
    let claude = json!({"tools": [{"name": "ToolSearch"}], "messages": [{"role": "system", "content": list}]});
    let (tool, input) = called(&load_tools(), Api::Messages, claude);
    assert_eq!(tool, "ToolSearch");
    assert_eq!(input["query"], "select:mcp__infold__branch_create,mcp__infold__branch_return");
    let names = ["infold_branch_create", "infold_branch_return"];
    let opencode = json!({"tools": names.map(|name| json!({"function": {"name": name}})), "messages": []});
    assert!(matches!(decided(&load_tools(), Api::Chat, opencode), Decision::Skip));
}

#[test]
fn a_branch_is_folded_only_where_the_model_can_reach_the_tool() {
    let work = Work::reading("find it", ["/p/a.rs".to_owned()], "found").budget_tokens(9_000);
    let steps = branch_work(&work);
    assert_eq!(steps.len(), 4);
    let brief = "Find it in br_018f2b6c-1111-7222-8333-444455556666, then call branch_return.";
    let body = |name: &str| json!({"tools": [{"name": name}], "messages": [{"role": "user", "content": brief}]});
    let (tool, input) = called(&steps[3], Api::Messages, body("mcp__infold__branch_return"));
    assert_eq!(tool, "mcp__infold__branch_return");
    assert_eq!(input, json!({"branch_id": "br_018f2b6c-1111-7222-8333-444455556666", "message": "found"}));
    assert!(matches!(decided(&steps[3], Api::Messages, body("Read")), Decision::Stuck(_)));
    let (_, opening) = called(&steps[1], Api::Messages, body("mcp__infold__branch_create"));
    assert_eq!(opening["budget"], 9_000);
}
