//! Every argument of every tool, with every bad value that its schema suggests.

use anyhow::{Result, ensure};
use infold_testkit::CallAnswer;
use serde_json::{Map, Value, json};

use super::cases::{Bad, too_long_texts, wrong_texts, wrong_types};
use super::scene::{Things, World};
use crate::support::{Refused, in_thread};

/// A call that must not work.
struct Case {
    what: String,
    arguments: Map<String, Value>,
    /// What the message must name; several possible names are separated by `|`.
    names: String,
}

/// The arguments that a tool takes, with their schemas.
pub fn properties(tool: &Value) -> Vec<(String, Value)> {
    let properties = tool["inputSchema"]["properties"].as_object().cloned().unwrap_or_default();
    properties.into_iter().collect()
}

fn is_required(tool: &Value, argument: &str) -> bool {
    tool["inputSchema"]["required"].as_array().is_some_and(|required| required.contains(&json!(argument)))
}

/// The same arguments, with one added or replaced.
pub fn with(enough: &Map<String, Value>, argument: &str, value: Value) -> Map<String, Value> {
    let mut arguments = enough.clone();
    arguments.insert(argument.to_owned(), value);
    arguments
}

/// Everything that is bad about arguments by themselves.
fn bad_arguments(tool: &Value, things: &Things) -> Result<Vec<Case>> {
    let enough = things.enough(&tool["inputSchema"])?;
    let mut cases = Vec::new();
    for (argument, schema) in properties(tool) {
        things.good(&argument)?;
        let texts = match argument.as_str() {
            // Blanks are something to look for, so an expression may be made of them.
            "pattern" => too_long_texts(&schema),
            _ => wrong_texts(&schema),
        };
        let bad = wrong_types(&schema).into_iter().chain(texts);
        cases.extend(bad.map(|Bad { what, value }| Case {
            what: format!("{argument} {what}"),
            arguments: with(&enough, &argument, value),
            names: argument.clone(),
        }));
        if is_required(tool, &argument) {
            let mut without = enough.clone();
            without.remove(&argument);
            cases.push(Case { what: format!("{argument} missing"), arguments: without, names: argument.clone() });
            let null = with(&enough, &argument, Value::Null);
            cases.push(Case { what: format!("{argument} null"), arguments: null, names: argument.clone() });
        }
    }
    cases.push(Case { what: "nothing at all".to_owned(), arguments: Map::new(), names: names_of(tool) });
    for unknown in ["extra", "Session_Id", "session id", "__proto__"] {
        let arguments = with(&enough, unknown, json!("x"));
        cases.push(Case { what: format!("unknown argument {unknown}"), arguments, names: unknown.to_owned() });
    }
    Ok(cases)
}

fn names_of(tool: &Value) -> String {
    properties(tool).into_iter().map(|(name, _)| name).collect::<Vec<_>>().join("|")
}

/// What is wrong with the answer to a call that must be refused; `None` if all is well.
pub fn complaint(tool: &str, names: &str, answer: &CallAnswer) -> Option<String> {
    let refused = match Refused::of(answer) {
        Ok(refused) => refused,
        Err(problem) => return Some(problem.to_string().chars().take(300).collect()),
    };
    let shape = match (tool.starts_with("context_"), refused.rpc) {
        (true, Some(-32602)) | (false, None) => None,
        (_, rpc) => Some(format!("answered with {rpc:?}, which is not its document's form: {}", refused.message)),
    };
    let status =
        (!(400..500).contains(&refused.status)).then(|| format!("status {}: {}", refused.status, refused.message));
    shape.or(status).or_else(|| refused.unclear(names))
}

#[tokio::test]
async fn every_bad_argument_of_every_tool_gets_a_clear_error_and_stores_nothing() -> Result<()> {
    let world = World::new().await?;
    let tools = world.program.mcp.list_tools().await?;
    ensure!(tools.len() >= 10, "tools/list names only {} tools", tools.len());
    let mut complaints = Vec::new();
    let mut tried = 0;
    for tool in &tools {
        let name = tool["name"].as_str().unwrap_or_default();
        let things = world.things(&format!("/projects/{name}")).await?;
        let before = world.stored()?;
        for case in bad_arguments(tool, &things)? {
            tried += 1;
            let answer = world.program.call(name, Value::Object(case.arguments)).await?;
            complaints
                .extend(complaint(name, &case.names, &answer).map(|text| format!("{name}: {}: {text}", case.what)));
            if world.stored()? != before {
                complaints.push(format!("{name}: {}: something was stored", case.what));
                break;
            }
        }
        // The call works without what is bad about it, so that alone is why it was refused.
        let arguments = Value::Object(things.enough(&tool["inputSchema"])?);
        let answer = world.program.call(name, arguments).await?;
        ensure!(answer.is_ok(), "{name} does not even work with good arguments: {}", answer.summary());
    }
    eprintln!("{tried} bad calls of {} tools", tools.len());
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
    Ok(())
}

#[tokio::test]
async fn null_for_an_optional_argument_is_the_same_as_leaving_it_out() -> Result<()> {
    let world = World::new().await?;
    for tool in &world.program.mcp.list_tools().await? {
        let name = tool["name"].as_str().unwrap_or_default();
        let things = world.things(&format!("/projects/{name}")).await?;
        let mut arguments = things.enough(&tool["inputSchema"])?;
        for (argument, _) in properties(tool) {
            arguments.entry(argument).or_insert(Value::Null);
        }
        let answer = world.program.call(name, Value::Object(arguments)).await?;
        assert!(answer.is_ok(), "{name}: {}", answer.summary());
    }
    Ok(())
}

#[tokio::test]
async fn what_is_in_meta_is_checked_too() -> Result<()> {
    let world = World::new().await?;
    let things = world.things("/projects/mine").await?;
    let other = world.things("/projects/other").await?;
    let before = world.stored()?;
    let status = json!({"branch_id": things.branch});
    for meta in [
        in_thread(&world.theirs.branch),
        in_thread(&other.branch),
        in_thread("br_01234567-89ab-8def-8123-456789abcdef"),
        in_thread(""),
        Map::from_iter([("infold/branchId".to_owned(), json!(7))]),
        Map::from_iter([("infold/idempotencyKey".to_owned(), json!(["a"]))]),
    ] {
        let answer = world.program.mcp.call_with_meta("branch_status", status.clone(), meta.clone()).await?;
        let complaint = complaint("branch_status", "not found|_meta", &answer);
        assert_eq!(complaint, None, "{meta:?}");
    }
    let arguments = json!({"session_id": things.session, "description": "x", "idempotency_key": "one"});
    let meta = Map::from_iter([("infold/idempotencyKey".to_owned(), json!("another"))]);
    let answer = world.program.mcp.call_with_meta("branch_create", arguments, meta).await?;
    assert_eq!(complaint("branch_create", "idempotency_key", &answer), None);
    assert_eq!(world.stored()?, before);
    Ok(())
}

#[tokio::test]
async fn unknown_tools_and_arguments_that_are_no_object_get_a_clear_error() -> Result<()> {
    let world = World::new().await?;
    let before = world.stored()?;
    for params in [
        json!({"name": "branch_destroy", "arguments": {}}),
        json!({"name": "", "arguments": {}}),
        json!({"name": 7, "arguments": {}}),
        json!({"arguments": {}}),
        json!({"name": "branch_create", "arguments": []}),
        json!({"name": "branch_create", "arguments": "session_id=s"}),
        json!({"name": "branch_create", "arguments": 7}),
        json!({"name": ["branch_create"]}),
    ] {
        let answer = world.program.mcp.request("tools/call", params.clone(), Map::new()).await?;
        let refused = Refused::of(&answer)?;
        assert!(matches!(refused.rpc, Some(-32602 | -32600 | -32020)), "{params}: {refused:?}");
        assert_eq!(refused.unclear("tool|name|Mcp-Name"), None, "{params}");
    }
    assert_eq!(world.stored()?, before);
    Ok(())
}
