//! Memories as MCP resources: what a client lists and reads, over both transports, and what it does not get.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use infold_testkit::{CallAnswer, Era, McpHttp, McpStdio};
use serde_json::{Map, json};

use super::{LESSON, TASK};
use crate::support::{Api, ApiAnswer, Issuer, Program, infold, roomy};

const PROJECT: &str = "/projects/parser";
const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// A lesson that somebody wrote by hand; its name.
async fn added(api: &Api, title: &str, lesson: &str, project: &str) -> Result<String> {
    let added = api.post("/api/v1/memories", &json!({"title": title, "lesson": lesson, "project": project})).await?;
    Ok(added.with_status(201)?["memory_id"].as_str().context("a name")?.to_owned())
}

async fn read(client: &McpHttp, uri: &str) -> Result<CallAnswer> {
    Ok(client.request("resources/read", json!({ "uri": uri }), Map::new()).await?)
}

/// The text at an address in [`PROJECT`].
async fn text(client: &McpHttp, uri: &str) -> Result<String> {
    let meta = Map::from_iter([("infold/projectPath".to_owned(), json!(PROJECT))]);
    let answer = client.request("resources/read", json!({ "uri": uri }), meta).await?;
    ensure!(answer.jsonrpc_error.is_none(), "{uri}: {:?}", answer.jsonrpc_error);
    let content = &answer.result["contents"][0];
    assert_eq!((&content["uri"], &content["mimeType"]), (&json!(uri), &json!("text/plain")));
    content["text"].as_str().map(str::to_owned).context("a text")
}

fn listed(answer: &CallAnswer, list: &str, field: &str) -> Vec<String> {
    let items = answer.result[list].as_array().into_iter().flatten();
    items.filter_map(|item| item[field].as_str().map(str::to_owned)).collect()
}

/// The names of the memories in a quotation, in their order.
fn named(text: &str) -> Vec<String> {
    let headers = text.lines().filter_map(|line| line.strip_prefix("| mem_")?.split_once(" · "));
    headers.map(|(name, _)| format!("mem_{name}")).collect()
}

#[tokio::test]
async fn memories_of_the_project_are_read_as_a_resource_quoted_as_in_a_brief() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let lessons = json!([{"title": "Fixtures before the snapshot tests of the parser", "lesson": LESSON}]);
    let task = json!({"description": TASK, "prompt": "Mend them.", "project_path": PROJECT});
    program.done("context_branch", task.clone()).await?;
    program.done("context_return", json!({"message": "Done.", "project_path": PROJECT, "lessons": lessons})).await?;
    let sure = added(&program.api, "The parser's grammar is generated", "Edit grammar.pest only.", PROJECT).await?;
    let injected = program.done("context_branch", task).await?["injected_context"].clone();
    let quoted = |text: &str| text.lines().filter(|line| line.starts_with('|')).map(str::to_owned).collect::<Vec<_>>();

    for era in ERAS {
        let client = McpHttp::connect(program.daemon.base_url(), era).await?;
        let resources = client.request("resources/list", json!({}), Map::new()).await?;
        assert_eq!(listed(&resources, "resources", "uri"), ["infold://memories"], "{era:?}");
        let templates = client.request("resources/templates/list", json!({}), Map::new()).await?;
        let wanted = ["infold://memories/{id}", "infold://memories{?query,project}"];
        assert_eq!(listed(&templates, "resourceTemplates", "uriTemplate"), wanted, "{era:?}");

        let all = text(&client, "infold://memories").await?;
        let names = named(&all);
        assert_eq!((names.len(), &names[0]), (2, &sure), "the surest is first: {all}");
        let brief = injected.as_str().context("a brief with memories")?;
        assert!(quoted(brief).iter().all(|line| quoted(&all).contains(line)), "{brief}\n{all}");
        assert_eq!(brief.lines().next(), all.lines().next(), "the introduction is the same");

        let found = text(&client, "infold://memories?query=snapshot%20tests").await?;
        assert!(found.contains(LESSON) && !named(&found).contains(&sure), "{found}");
        let one = text(&client, &format!("infold://memories/{sure}")).await?;
        assert_eq!(named(&one), [sure.as_str()]);
        let there = read(&client, "infold://memories?project=%2Fprojects%2Fparser").await?;
        assert_eq!(there.result["contents"][0]["text"], json!(all), "a project can be named in the address");
        assert_eq!(text(&client, "infold://memories?query=zebra").await?, "No memory has to do with that.");
    }
    Ok(())
}

#[tokio::test]
async fn resources_are_announced_where_the_tools_for_memories_are_listed() -> Result<()> {
    for (tools, is_announced) in [("[\"branch\", \"memory\"]", true), ("[\"lean\"]", false)] {
        let program = Program::start(infold().set("mcp.tools", tools)).await?;
        let client = McpHttp::connect(program.daemon.base_url(), Era::Modern).await?;
        let about = client.request("server/discover", json!({}), Map::new()).await?;
        assert_eq!(about.result["capabilities"]["resources"].is_object(), is_announced, "{tools}: {}", about.result);
        assert_eq!(
            text(&client, "infold://memories").await?,
            "There are no memories yet.",
            "it can be read all the same"
        );
    }
    Ok(())
}

#[tokio::test]
async fn over_stdio_the_project_is_the_folder_that_the_client_started_infold_in() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let folder = tempfile::tempdir()?;
    let here = folder.path().canonicalize()?;
    let name = added(&program.api, "Fixtures first", LESSON, &here.to_string_lossy()).await?;
    for era in ERAS {
        let there = async |folder: &Path| {
            let mut command = program.daemon.program(&["mcp"]);
            command.current_dir(folder);
            let mut client = McpStdio::spawn(command, era).await?;
            let answer = client.request("resources/read", json!({ "uri": "infold://memories" }), Map::new()).await?;
            client.close().await?;
            anyhow::Ok(answer.result["contents"][0]["text"].as_str().unwrap_or_default().to_owned())
        };
        assert_eq!(named(&there(&here).await?), [name.as_str()], "{era:?}");
        assert_eq!(there(program.daemon.data()).await?, "There are no memories yet.", "{era:?}");
    }
    Ok(())
}

#[tokio::test]
async fn what_waits_is_unsure_silenced_elsewhere_or_somebody_elses_is_not_found() -> Result<()> {
    let issuer = Issuer::new()?;
    let program = Program::start(issuer.believed_by(roomy())).await?;
    let (theirs, their_api) = program.client_with(&issuer.token("somebody else")?).await?;
    let elsewhere = added(&program.api, "Elsewhere", "Run the other tests first.", "/projects/other").await?;
    let of_them = added(&their_api, "Theirs", "Run their tests first.", PROJECT).await?;
    let waiting = added(&program.api, "Waits", "This one waits for review.", PROJECT).await?;
    let unsure = added(&program.api, "Unsure", "Nobody is sure of this one.", PROJECT).await?;
    let shown = added(&program.api, "Shown", LESSON, PROJECT).await?;
    let database = rusqlite::Connection::open(program.daemon.data().join("infold.db"))?;
    database.busy_timeout(std::time::Duration::from_secs(10))?;
    database.execute("UPDATE memories SET state = 'waiting' WHERE id = ?1", [&waiting])?;
    database.execute("UPDATE memories SET for_it = 1, against = 1 WHERE id = ?1", [&unsure])?;

    assert_eq!(named(&text(&program.mcp, "infold://memories").await?), [shown.as_str()]);
    assert_eq!(named(&text(&theirs, "infold://memories").await?), [of_them.as_str()], "each has their own");
    let searched = text(&program.mcp, "infold://memories?query=tests+review+sure+first").await?;
    assert_eq!(named(&searched), [shown.as_str()]);
    let nobodys = "mem_0123456789".to_owned();
    for name in [&elsewhere, &of_them, &waiting, &unsure, &nobodys] {
        let uri = format!("infold://memories/{name}?project=%2Fprojects%2Fparser");
        let refused = read(&program.mcp, &uri).await?.jsonrpc_error.context("it is there")?;
        assert!(refused.message.starts_with("Resource not found"), "{name}: {}", refused.message);
    }
    let uri = format!("infold://memories/{shown}?project=%2Fprojects%2Fparser");
    assert!(read(&theirs, &uri).await?.jsonrpc_error.is_some(), "nor is it there for them");

    let silence = json!({"scope": format!("project:{PROJECT}"), "silent": true});
    let silenced = program.api.request(reqwest::Method::PUT, "/api/v1/memories/silence").json(&silence);
    ApiAnswer::read(silenced).await?.with_status(200)?;
    assert_eq!(text(&program.mcp, "infold://memories").await?, "There are no memories yet.");
    Ok(())
}

#[tokio::test]
async fn a_long_list_keeps_to_its_tokens_and_says_how_many_are_left_out() -> Result<()> {
    let program = Program::start(roomy().set("memory.injection_tokens_max", 400)).await?;
    for number in 0..12 {
        let lesson = format!("Step {number} of the release needs the key of machine {number} in the room below.");
        added(&program.api, &format!("Release step {number}"), &lesson, PROJECT).await?;
    }
    let all = text(&program.mcp, "infold://memories").await?;
    let shown = named(&all).len();
    assert!((1..12).contains(&shown), "{all}");
    let last = all.lines().last().unwrap_or_default();
    assert_eq!(last, format!("{} more are not shown: infold://memories?query=… finds some.", 12 - shown));
    Ok(())
}

#[tokio::test]
async fn bad_addresses_get_a_clear_error_and_store_nothing() -> Result<()> {
    let program = Program::start(infold()).await?;
    let before = program.database()?.contents()?;
    let (code_legacy, code_modern) = (-32002, -32602);
    for era in ERAS {
        let client = McpHttp::connect(program.daemon.base_url(), era).await?;
        let not_found = if era == Era::Legacy { code_legacy } else { code_modern };
        let long = format!("infold://memories?query={}", "x".repeat(5_000));
        for (uri, code, says) in [
            ("", not_found, "not found"),
            ("infold://", not_found, "not found"),
            ("infold://secrets", not_found, "not found"),
            ("infold://memories/../../etc/passwd", not_found, "not found"),
            ("infold://memories/mem_ABCDEFGHIJ", not_found, "not found"),
            ("infold://memories/%FF%FE", not_found, "not found"),
            ("infold://memories/' OR 1=1 --", not_found, "not found"),
            ("file:///etc/passwd", not_found, "not found"),
            ("infold://memories?querry=x", -32602, "querry"),
            ("infold://memories?query=", -32602, "query"),
            ("infold://memories?query=%00%1b", -32602, "query"),
            ("infold://memories?query=a&query=b", -32602, "twice"),
            ("infold://memories?project=relative/path", -32602, "project"),
            (long.as_str(), -32602, "query"),
        ] {
            let shown: String = uri.chars().take(60).collect();
            let answer = read(&client, uri).await?;
            let refused = answer.jsonrpc_error.with_context(|| format!("{shown} is answered: {}", answer.result))?;
            assert_eq!(refused.code, code, "{era:?} {shown}: {}", refused.message);
            assert!(refused.message.contains(says), "{era:?} {shown}: {}", refused.message);
        }
        for params in [json!({}), json!({"uri": 7}), json!({"uri": null}), json!({"uri": ["infold://memories"]})] {
            let answer = client.request("resources/read", params.clone(), Map::new()).await?;
            assert!(answer.jsonrpc_error.is_some(), "{params}: {}", answer.result);
        }
    }
    assert_eq!(program.database()?.contents()?, before);
    Ok(())
}
