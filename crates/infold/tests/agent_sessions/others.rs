//! Tools of other servers for infold's own agent: listed or searched, called, counted once, and missing.

use anyhow::{Context, Result};
use infold_core::{Counter, Family};
use infold_testkit::TempFolder;
use infold_testkit::model::{Call, Decision, Received, Script, ShownKind, Step};
use serde_json::{Value, json};

use super::scene::Scene;
use crate::gateway::counted_once::until;
use crate::gateway::relaying::{as_setting, echo_tools, server, server_with, text_result};

const ASKED: &str = "Look into the file, please.";
const FILE_TEXT: &str = "what the file says";
const NOTE: &str = "[2 tools deferred to save context. Use tool_search to find them.]";

async fn scene(script: Script, servers: &[Value]) -> Result<Scene> {
    let scene = Scene::start(script).await?;
    Ok(scene.set("gateway.list_wait_ms", 20_000).set("gateway.servers", as_setting(servers)))
}

fn files() -> Value {
    server("files", &echo_tools(), &text_result(FILE_TEXT))
}

/// The tools that a request lists.
fn listed(received: &Received) -> Vec<String> {
    received.tools().iter().map(|tool| tool.spelled()).collect()
}

/// The results that a request shows.
fn results(received: &Received) -> Vec<String> {
    texts(received, ShownKind::Result)
}

/// The words on the user's side that a request shows.
fn said(received: &Received) -> Vec<String> {
    texts(received, ShownKind::User)
}

fn texts(received: &Received, kind: ShownKind) -> Vec<String> {
    received.shown().into_iter().filter(|piece| piece.kind == kind).map(|piece| piece.text).collect()
}

#[tokio::test]
async fn a_tool_that_is_listed_is_called_by_its_name() -> Result<()> {
    let script = Script::new([
        Step::calling("I read it.", [("files__read_file", json!({ "path": "a" }))]),
        Step::calling("And this.", [("files__read_file", json!({ "path": 3 }))]),
        Step::text("Done."),
    ]);
    let scene = scene(script, &[files()]).await?;
    let printed = scene.done(&["exec", ASKED]).await?;
    assert_eq!(printed.text.lines().last(), Some("Done."), "{printed:#?}");

    let turns = scene.turns();
    let tools = listed(&turns[0]);
    for name in ["files__read_file", "files__delete_file", "tool_search", "tool_call", "tool_call_read", "shell"] {
        assert!(tools.contains(&name.to_owned()), "{tools:?}");
    }
    assert_eq!(tools.iter().filter(|name| name.as_str() == "branch_create").count(), 1, "{tools:?}");
    assert!(!turns[0].holds("tools deferred"), "nothing is held back");
    assert_eq!(results(&turns[1]), [FILE_TEXT]);
    let wrong = &results(&turns[2])[1];
    assert!(wrong.contains("/path") && wrong.contains("string"), "{wrong}");
    Ok(())
}

#[tokio::test]
async fn tools_that_are_held_back_are_searched_and_called() -> Result<()> {
    let call = json!({ "name": "files__delete_file", "arguments": { "path": "a" } });
    let script = Script::new([
        Step::calling("I look for one.", [("tool_search", json!({ "query": "remove a file" }))]),
        Step::calling("I call it.", [("tool_call", call)]),
        Step::text("Done."),
        Step::text("Done again."),
    ]);
    let scene = scene(script, &[files()]).await?.set("gateway.deferral_tokens", 10);
    scene.done(&["exec", ASKED]).await?;

    let turns = scene.turns();
    assert!(!listed(&turns[0]).iter().any(|name| name.starts_with("files__")), "{:?}", listed(&turns[0]));
    assert_eq!(said(&turns[0]), [ASKED, NOTE], "the model is told of them behind the person's first words");
    assert!(results(&turns[1])[0].contains("files__delete_file"), "{:?}", results(&turns[1]));
    assert_eq!(results(&turns[2])[1], FILE_TEXT);

    // A later run says it no second time, and changes nothing that was said.
    let session = scene.session().await?;
    scene.done(&["exec", "--resume", &session, "And now?"]).await?;
    let last = scene.turns().pop().context("no turn")?;
    assert_eq!(said(&last), [ASKED, NOTE, "And now?"], "{}", last.shape());
    assert_eq!(listed(&last), listed(&turns[0]));
    Ok(())
}

/// A branch that calls the server: a short result and a long one, each listed and through `tool_call_read`.
fn branch_script() -> Script {
    let opening = json!({ "description": "read them", "prompt": "Read the files.", "budget": 20_000 });
    let in_branch = |calls: Vec<(&'static str, Value)>| {
        Step::seeing(move |received| {
            if received.holds(ASKED) {
                return Decision::Skip;
            }
            let mut step = Step::text("The next.");
            step.calls
                .extend(calls.iter().map(|(tool, input)| Call { tool: (*tool).to_owned(), input: input.clone() }));
            Decision::Say(step)
        })
    };
    let through = |path: &str| json!({ "name": "files__read_file", "arguments": { "path": path } });
    Script::new([
        Step::seeing(move |received| match received.holds(ASKED) {
            true => Decision::Say(Step::calling("A branch does it.", [("branch_create", opening.clone())])),
            false => Decision::Skip,
        }),
        in_branch(vec![("files__read_file", json!({ "path": "a" })), ("tool_call_read", through("b"))]),
        in_branch(vec![("files__read_file", json!({ "path": "long-1" })), ("tool_call_read", through("long-2"))]),
        in_branch(vec![("branch_return", json!({ "message": "They were read." }))]),
        Step::text("Done."),
    ])
    .without_usage()
}

#[tokio::test]
async fn each_result_is_counted_once_in_its_branch() -> Result<()> {
    let called = r#"path=${line#*\"path\":\"}; path=${path%%\"*}
case "$path" in long*) text=$(seq 1 1400 | sed "s/.*/line & of what $path says\\\\n/" | tr -d '\n') ;;
*) text="What $path says is short." ;; esac
answer $id '{"content":[{"type":"text","text":"'"$text"'"}]}'"#;
    let scene = scene(branch_script(), &[server_with("files", &echo_tools(), called)]).await?;
    scene.done(&["exec", ASKED]).await?;

    let turns = scene.turns();
    let last_of_branch = turns.iter().rfind(|turn| !turn.holds(ASKED)).context("no turn in the branch")?;
    let results = results(last_of_branch);
    assert_eq!(results[..2], ["What a says is short.", "What b says is short."]);
    assert!(results[2..].iter().all(|text| text.contains("ref_id")), "{results:?}");
    assert_eq!(results.len(), 4);

    let database = scene.database()?;
    assert_eq!(database.number("SELECT count(*) FROM counted")?, 4, "each call is counted once");
    assert_eq!(database.number("SELECT count(*) FROM tool_result_blobs")?, 2, "each long result is stored once");
    let session = scene.session().await?;
    let shown = scene.json(&["show", &session]).await?;
    let branch = &shown["branches"][0];
    assert_eq!(branch["operations_count"], json!(4), "{branch}");
    let counter = Counter::new(Family::of_model("claude-opus-4-6"));
    let results_tokens: u64 = results.iter().map(|text| counter.count(text)).sum();
    let used = branch["budget_used"].as_u64().context("no figure")?;
    assert!(used >= results_tokens && used < results_tokens + results_tokens / 2 + 500, "{used} for {results_tokens}");
    Ok(())
}

/// A process that goes on with a call has not seen a model make it.
#[tokio::test]
async fn a_call_that_a_crash_broke_off_is_made_again_and_counted_once() -> Result<()> {
    let marks = TempFolder::new()?;
    let begun = marks.join("begun");
    let called = format!(
        "if [ -e {begun} ]; then answer $id '{}'; else touch {begun}; fi",
        text_result(FILE_TEXT),
        begun = begun.display()
    );
    let in_branch = |tool: &'static str, input: Value| {
        Step::seeing(move |received| match received.holds(ASKED) {
            true => Decision::Stuck("this is the main thread".to_owned()),
            false => Decision::Say(Step::calling_one("The next.", tool.to_owned(), input.clone())),
        })
    };
    let script = Script::new([
        Step::calling("A branch does it.", [("branch_create", json!({ "description": "read it" }))]),
        in_branch("files__read_file", json!({ "path": "a" })),
        in_branch("branch_return", json!({ "message": "It was read." })),
        Step::text("Done."),
    ]);
    let scene = scene(script, &[server_with("files", &echo_tools(), &called)]).await?;
    {
        let running = scene.run(&["exec", ASKED]);
        tokio::select! {
            ended = running => panic!("it has ended: {ended:#?}"),
            found = until(async || Ok(begun.exists())) => found?,
        }
    }

    let session = scene.session().await?;
    scene.done(&["exec", "--resume", &session]).await?;
    let last_of_branch = scene.turns().into_iter().rfind(|turn| !turn.holds(ASKED)).context("no turn in the branch")?;
    assert_eq!(results(&last_of_branch), [FILE_TEXT]);
    let branch = scene.json(&["show", &session]).await?["branches"][0].clone();
    assert_eq!((&branch["status"], &branch["operations_count"]), (&json!("completed"), &json!(1)), "{branch}");
    Ok(())
}

#[tokio::test]
async fn where_only_reading_is_allowed_a_tool_that_may_change_things_is_not_called() -> Result<()> {
    let through = json!({ "name": "files__read_file", "arguments": { "path": "a" } });
    let script = Script::new([
        Step::calling("I delete it.", [("files__delete_file", json!({ "path": "a" })), ("tool_call_read", through)]),
        Step::text("Done."),
    ]);
    let scene = scene(script, &[files()]).await?;
    scene.done(&["exec", "--approval", "read_only", ASKED]).await?;
    let results = results(&scene.turns()[1]);
    assert!(results[0].contains("may only read"), "{results:?}");
    assert_eq!(results[1], FILE_TEXT);
    Ok(())
}

#[tokio::test]
async fn a_server_that_does_not_start_is_warned_of_once_and_the_work_goes_on() -> Result<()> {
    let script = Script::new([
        Step::calling("I read it.", [("files__read_file", json!({ "path": "a" }))]),
        Step::calling("I try this.", [("tool_call_read", json!({ "name": "broken__thing", "arguments": {} }))]),
        Step::text("Done."),
    ]);
    let broken = json!({ "name": "broken", "command": "/nowhere/at/all", "args": [] });
    let scene = scene(script, &[broken, files()]).await?;
    let printed = scene.done(&["exec", ASKED, "--json"]).await?;
    let events: Vec<Value> = printed.text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let warnings: Vec<&str> = events.iter().filter_map(|event| event["message"].as_str()).collect();
    assert_eq!(warnings.len(), 1, "{events:#?}");
    assert!(warnings[0].contains("broken") && warnings[0].contains("/nowhere/at/all"), "{warnings:?}");
    let turns = scene.turns();
    assert_eq!(results(&turns[2])[0], FILE_TEXT);
    Ok(())
}
