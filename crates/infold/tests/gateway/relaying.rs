//! Tools of other servers through the daemon: listed or deferred, searched, called, and what comes back of them.

use anyhow::{Context, Result};
use infold_testkit::{CallAnswer, Daemon, DaemonSetup, Era, McpHttp, McpStdio, TempFolder};
use serde_json::{Value, json};

use super::processes::until_gone;
use super::{HANDSHAKE, MARK, mark};

/// A server that lists these tools, and answers every call with this result.
pub fn server(name: &str, tools: &Value, result: &Value) -> Value {
    server_with(name, tools, &format!("answer $id '{result}'"))
}

/// A server that lists these tools, and does this when it is called.
pub fn server_with(name: &str, tools: &Value, called: &str) -> Value {
    let script = format!(
        r#"{HANDSHAKE} shake
while :; do
    next
    case "$line" in
    *'"tools/list"'*) answer $id '{tools}' ;;
    *'"tools/call"'*) {called} ;;
    *) ;;
    esac
done"#,
        tools = json!({ "tools": tools })
    );
    json!({ "name": name, "command": "sh", "args": ["-c", script], "env": { MARK: name } })
}

/// Settings' form of a list of servers: JSON's strings are TOML's, and its colons become equals signs.
pub fn as_setting(servers: &[Value]) -> String {
    fn toml(value: &Value) -> String {
        match value {
            Value::Object(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(name, value)| format!("{name:?} = {}", toml(value))).collect();
                format!("{{ {} }}", fields.join(", "))
            }
            Value::Array(items) => format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(", ")),
            other => other.to_string(),
        }
    }
    toml(&json!(servers))
}

pub(super) fn setup(servers: &[Value]) -> DaemonSetup {
    let path = std::env::var("PATH").unwrap_or_default();
    DaemonSetup::new(env!("CARGO_BIN_EXE_infold"))
        .env("PATH", &path)
        .set("gateway.list_wait_ms", 20_000)
        .set("gateway.servers", as_setting(servers))
}

async fn daemon(servers: &[Value]) -> Result<Daemon> {
    setup(servers).start().await
}

pub fn echo_tools() -> Value {
    let input = json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] });
    json!([
        { "name": "read_file", "description": "Reads a file from the disk", "inputSchema": input,
          "annotations": { "readOnlyHint": true } },
        { "name": "delete_file", "description": "Removes a file for good", "inputSchema": input },
    ])
}

pub fn text_result(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

pub(super) fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().filter_map(|tool| tool["name"].as_str()).collect()
}

/// The text of an answer, and whether it is an error.
pub(super) fn said(answer: CallAnswer) -> (String, bool) {
    (answer.text, answer.is_error)
}

#[tokio::test]
async fn tools_are_listed_and_called_in_both_eras_and_over_both_transports() -> Result<()> {
    let mark = mark();
    let servers = [server(&mark, &echo_tools(), &text_result("what the file says"))];
    let daemon = daemon(&servers).await?;
    let (read, delete) = (format!("{mark}__read_file"), format!("{mark}__delete_file"));
    for era in [Era::Legacy, Era::Modern] {
        let client = McpHttp::connect(daemon.base_url(), era).await?;
        let listed = client.list_tools().await?;
        let listed = names(&listed);
        assert!(listed.contains(&read.as_str()) && listed.contains(&delete.as_str()), "{listed:?}");
        let answer = client.call(&read, json!({ "path": "a" })).await?;
        assert_eq!(said(answer), ("what the file says".to_owned(), false));
    }

    let folder = TempFolder::new()?;
    std::fs::create_dir(folder.join("home"))?;
    let settings = [format!("gateway.servers={}", as_setting(&servers)), "gateway.list_wait_ms=20000".to_owned()];
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    for era in [Era::Legacy, Era::Modern] {
        let data = folder.join("data");
        let binary = env!("CARGO_BIN_EXE_infold").as_ref();
        let mut client = McpStdio::start(binary, &folder.join("home"), &data, &settings, era).await?;
        let listed = client.list_tools().await?;
        assert!(names(&listed).contains(&read.as_str()), "{listed:?}");
        let answer = client.call(&read, json!({ "path": "a" })).await?;
        assert_eq!(answer.text, "what the file says");
        client.close().await?;
    }
    drop(daemon);
    until_gone(&mark);
    Ok(())
}

#[tokio::test]
async fn tools_that_take_too_much_are_searched_and_called_through_two_tools() -> Result<()> {
    let mark = mark();
    let servers = [server(&mark, &echo_tools(), &text_result("done"))];
    let daemon = setup(&servers).set("gateway.deferral_tokens", 10).start().await?;
    let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
    let listed = client.list_tools().await?;
    let listed = names(&listed);
    assert!(["tool_search", "tool_call", "tool_call_read"].iter().all(|name| listed.contains(name)), "{listed:?}");
    assert!(!listed.iter().any(|name| name.contains("file")), "{listed:?}");

    let found = client.call("tool_search", json!({ "query": "remove a file" })).await?;
    let found = &found.result["structuredContent"];
    let (read, delete) = (format!("{mark}__read_file"), format!("{mark}__delete_file"));
    assert_eq!((&found["tools"][0]["name"], &found["tools"][0]["call"]), (&json!(delete), &json!("tool_call")));
    assert_eq!(found["tools"][0]["input_schema"]["required"], json!(["path"]));
    assert_eq!(found["note"], "[2 tools deferred to save context. Use tool_search to find them.]");

    let call = async |tool: &str, name: &str, arguments: Value| -> Result<(String, bool)> {
        Ok(said(client.call(tool, json!({ "name": name, "arguments": arguments })).await?))
    };
    let path = json!({ "path": "a" });
    assert_eq!(call("tool_call", &delete, path.clone()).await?, ("done".to_owned(), false));
    assert_eq!(call("tool_call_read", &read, path.clone()).await?, ("done".to_owned(), false));
    assert_eq!(call("tool_call_read", &format!("{mark}/read_file"), path.clone()).await?.0, "done");
    let wrong_lane = call("tool_call_read", &delete, path.clone()).await?;
    assert_eq!(wrong_lane, (format!("{delete} changes things: call it with tool_call"), true));
    let (wrong, is_error) = call("tool_call", &delete, json!({ "path": 3 })).await?;
    assert!(is_error && wrong.contains("/path") && wrong.contains("string"), "{wrong}");
    let (unknown, is_error) = call("tool_call", "delete_files", json!({})).await?;
    assert!(is_error && unknown.contains(&delete), "{unknown}");
    Ok(())
}

#[tokio::test]
async fn secrets_and_hidden_characters_stay_out_of_results() -> Result<()> {
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let text = format!("token {secret} \u{1b}[31mred\u{202e}");
    let result = json!({
        "content": [
            { "type": "text", "text": text },
            { "type": "resource_link", "uri": format!("https://x.test/?t={secret}"), "name": "n" },
            { "type": "hologram", "secret": secret },
            { "type": "image", "data": "aGk=", "mimeType": "image/png" },
        ],
        "structuredContent": { "token": secret, "ok": true },
    });
    let mark = mark();
    let daemon = daemon(&[server(&mark, &echo_tools(), &result)]).await?;
    let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
    let answer = client.call(&format!("{mark}__read_file"), json!({ "path": "a" })).await?;
    let shown = answer.result.to_string();
    assert!(!shown.contains(&secret), "{shown}");
    assert!(!shown.contains("\\u001b") && !shown.contains('\u{202e}'), "{shown}");
    assert_eq!(answer.result["content"].as_array().map(Vec::len), Some(4), "{shown}");
    assert_eq!(
        (&answer.result["content"][3]["data"], &answer.result["structuredContent"]["ok"]),
        (&json!("aGk="), &json!(true))
    );
    Ok(())
}

#[tokio::test]
async fn a_long_result_is_stored_and_read_in_parts() -> Result<()> {
    let mark = mark();
    let called = r#"text=$(seq 1 4000 | sed 's/.*/line & of a long report\\n/' | tr -d '\n')
answer $id '{"content":[{"type":"text","text":"'"$text"'"}]}'"#;
    let daemon = daemon(&[server_with(&mark, &echo_tools(), called)]).await?;
    let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
    let session = json!({ "session_id": "long", "description": "d", "prompt": "p" });
    client.call("branch_create", session).await?;
    let meta = serde_json::Map::from_iter([("infold/sessionId".to_owned(), json!("long"))]);
    let tool = format!("{mark}__read_file");
    let answer = client.call_with_meta(&tool, json!({ "path": "a" }), meta).await?;
    let text = answer.text.clone();
    assert!(text.len() < 20_000 && !answer.is_error, "{} bytes: {text}", text.len());
    let metered = &answer.result["_meta"]["infold/metered"];
    assert_eq!((&metered["session_id"], &metered["by"]), (&json!("long"), &json!("meta")), "{metered}");
    let ref_id = text
        .split_whitespace()
        .find_map(|word| word.split("ref_id=").nth(1))
        .map(|id| id.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').to_owned());
    let ref_id = ref_id.with_context(|| format!("no handle in {text}"))?;
    let part = client.call("read_result", json!({ "ref_id": ref_id, "pattern": "line 3777 " })).await?;
    assert!(part.result.to_string().contains("line 3777 of a long report"), "{}", part.result);
    Ok(())
}

#[tokio::test]
async fn one_bad_server_harms_no_other() -> Result<()> {
    let mark = mark();
    let good = server(&mark, &echo_tools(), &text_result("fine"));
    let crashes = json!({ "name": "crashes", "command": "sh", "args": ["-c", "echo no key >&2; exit 3"] });
    let hangs = json!({ "name": "hangs", "command": "sleep", "args": ["1000"], "start_timeout_ms": 300 });
    let unset = json!({ "name": "unset", "command": "sh", "args": ["${GATEWAY_NO_SUCH_VARIABLE}"] });
    let daemon = daemon(&[crashes, hangs, unset, good]).await?;
    let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
    let answer = client.call(&format!("{mark}__read_file"), json!({ "path": "a" })).await?;
    assert_eq!(said(answer), ("fine".to_owned(), false));
    Ok(())
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_started_again_for_the_next() -> Result<()> {
    let mark = mark();
    let folder = TempFolder::new()?;
    let flag = folder.join("died");
    let called = format!(
        "if [ -e {flag} ]; then answer $id '{{\"content\":[]}}'; else touch {flag}; exit 7; fi",
        flag = flag.display()
    );
    let daemon = daemon(&[server_with(&mark, &echo_tools(), &called)]).await?;
    let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
    let tool = format!("{mark}__read_file");
    let (why, is_error) = said(client.call(&tool, json!({ "path": "a" })).await?);
    assert!(is_error && why.contains("exit code 7"), "{why}");
    // It is started again after a short wait.
    let mut tries = 0;
    while client.call(&tool, json!({ "path": "a" })).await?.is_error {
        tries += 1;
        assert!(tries < 200, "the server does not come back");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    Ok(())
}

#[tokio::test]
async fn a_search_through_stored_results_stays_inside_the_branch() -> Result<()> {
    let called = r#"path=${line#*\"path\":\"}; path=${path%%\"*}
text=$(seq 1 3000 | sed "s/.*/$path has line & of it\\\\n/" | tr -d '\n')
answer $id '{"content":[{"type":"text","text":"'"$text"'"}]}'"#;
    let mark = mark();
    let daemon = daemon(&[server_with(&mark, &echo_tools(), called)]).await?;
    let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
    let branch = async |name: &str| -> Result<String> {
        let arguments = json!({ "session_id": "s", "description": name, "prompt": "p", "parent_branch_id": "main" });
        Ok(client.call("branch_create", arguments).await?.text_field("branch_id"))
    };
    let read = async |path: &str, branch: &str| -> Result<CallAnswer> {
        let meta = [("infold/sessionId".to_owned(), json!("s")), ("infold/branchId".to_owned(), json!(branch))];
        let tool = format!("{mark}__read_file");
        Ok(client.call_with_meta(&tool, json!({ "path": path }), serde_json::Map::from_iter(meta)).await?)
    };
    let search = async |branch: &str| -> Result<String> {
        let meta = serde_json::Map::from_iter([("infold/branchId".to_owned(), json!(branch))]);
        let arguments = json!({ "session_id": "s", "pattern": "has line 2999 " });
        Ok(client.call_with_meta("read_result", arguments, meta).await?.text_field("content"))
    };
    read("main.txt", "main").await?;
    let first = branch("one").await?;
    read("first.txt", &first).await?;
    let second = branch("two").await?;
    read("second.txt", &second).await?;

    let seen = search(&second).await?;
    assert!(seen.contains("second.txt has line 2999") && !seen.contains("first") && !seen.contains("main"), "{seen}");
    let seen = search("main").await?;
    assert_eq!(seen.lines().count(), 3, "{seen}");
    let place = seen.lines().next().context("nothing was found")?.to_owned();
    let ref_id = place.split(':').next().context("no handle")?;
    let part = client.call("read_result", json!({ "ref_id": ref_id, "start_line": 2999, "end_line": 2999 })).await?;
    assert!(part.text_field("content").contains("has line 2999 of it"), "{}", part.text);
    let nothing = client.call("read_result", json!({ "limit": 10 })).await?;
    assert!(nothing.is_error && nothing.text.contains("pattern"), "{}", nothing.text);
    Ok(())
}

#[tokio::test]
async fn in_the_mode_promote_what_is_found_is_listed_and_the_rest_leaves() -> Result<()> {
    let tool = |name: &str, about: &str| json!({ "name": name, "description": about.repeat(20), "inputSchema": { "type": "object" } });
    let tools = json!([tool("weather", "Says how the weather is. "), tool("mail", "Sends a mail to somebody. ")]);
    let mark = mark();
    let setup = setup(&[server(&mark, &tools, &text_result("done"))]).set("gateway.deferral", "promote");
    let daemon = setup.set("gateway.deferral_tokens", 160).start().await?;
    let client = McpHttp::connect(daemon.base_url(), Era::Legacy).await?;
    let listed = async || -> Result<Vec<String>> {
        let tools = client.list_tools().await?;
        Ok(names(&tools).into_iter().filter(|name| name.starts_with(&mark)).map(str::to_owned).collect())
    };
    let (mail, weather) = (format!("{mark}__mail"), format!("{mark}__weather"));
    assert_eq!(listed().await?.len(), 1, "one of the two fits");
    for (query, found) in [("send a mail", &mail), ("the weather", &weather), ("send a mail", &mail)] {
        let answer = client.call("tool_search", json!({ "query": query, "limit": 1 })).await?;
        assert_eq!(answer.field("tools")[0]["name"], **found);
        assert_eq!(answer.field("note"), "[1 tools deferred to save context. Use tool_search to find them.]");
        assert_eq!(listed().await?, std::slice::from_ref(found));
    }
    assert_eq!(said(client.call(&mail, json!({})).await?), ("done".to_owned(), false));
    Ok(())
}

#[tokio::test]
async fn a_branch_that_calls_tools_until_its_budget_is_gone_is_folded_in_mid_work() -> Result<()> {
    let words = "a few words that a tool has found and that all have to be counted in the branch. ".repeat(12);
    let mark = mark();
    let daemon = daemon(&[server(&mark, &echo_tools(), &text_result(&words))]).await?;
    let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
    let opened = json!({ "session_id": "s", "description": "look", "prompt": "look at it", "budget": 1_500 });
    let branch = client.call("branch_create", opened).await?.text_field("branch_id");
    let meta = || {
        let keys = [("infold/sessionId".to_owned(), json!("s")), ("infold/branchId".to_owned(), json!(branch))];
        serde_json::Map::from_iter(keys)
    };
    let tool = format!("{mark}__read_file");
    let call =
        async || -> Result<CallAnswer> { Ok(client.call_with_meta(&tool, json!({ "path": "a" }), meta()).await?) };
    let mut calls = 0;
    let folded = loop {
        let answer = call().await?;
        if answer.is_error {
            break answer;
        }
        calls += 1;
        let metered = answer.meta.context("no _meta")?["infold/metered"].clone();
        assert_eq!(metered["branch_id"], json!(branch), "{metered}");
        assert!(calls < 50, "the budget does not bind");
    };
    assert!(calls >= 2, "{calls}");
    assert!(folded.text.contains("budget") && folded.text.contains(&branch), "{}", folded.text);
    let after = call().await?;
    assert!(after.is_error && after.text.contains(&branch), "{}", after.text);
    let status = client.call("branch_status", json!({ "branch_id": branch })).await?;
    assert_ne!(status.text_field("status"), "active", "{}", status.text);
    Ok(())
}

#[tokio::test]
async fn ten_clients_with_the_same_ids_each_get_their_own_answer() -> Result<()> {
    // Answers come in another order than calls: each is held back until the next one is there.
    let called = r#"path=${line#*\"path\":\"}; path=${path%%\"*}; mine=$id
( sleep 0.$((id % 7)); answer $mine '{"content":[{"type":"text","text":"'"$path"'"}]}' ) &"#;
    let mark = mark();
    let daemon = daemon(&[server_with(&mark, &echo_tools(), called)]).await?;
    let mut asking = tokio::task::JoinSet::new();
    for number in 0..10 {
        let (base_url, tool) = (daemon.base_url().to_owned(), format!("{mark}__read_file"));
        let era = if number % 2 == 0 { Era::Legacy } else { Era::Modern };
        asking.spawn(async move {
            let client = McpHttp::connect(&base_url, era).await?;
            for round in 0..5 {
                let path = format!("{number}-{round}");
                let answer = client.call(&tool, json!({ "path": path })).await?;
                anyhow::ensure!(answer.text == path, "{number} got {} for {path}", answer.text);
            }
            Ok(())
        });
    }
    for asked in asking.join_all().await {
        asked?;
    }
    Ok(())
}

#[tokio::test]
async fn a_silent_call_gives_signs_of_life_and_can_be_cancelled() -> Result<()> {
    let mark = mark();
    let slow = "sleep 1; answer $id '{\"content\":[]}'";
    let daemon = setup(&[server_with(&mark, &echo_tools(), slow)]).set("gateway.heartbeat_ms", 200).start().await?;
    let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
    let tool = format!("{mark}__read_file");
    let meta = serde_json::Map::from_iter([("progressToken".to_owned(), json!(7))]);
    let answer = client.call_with_meta(&tool, json!({ "path": "a" }), meta).await?;
    let values: Vec<f64> =
        answer.notifications.iter().filter_map(|notice| notice["params"]["progress"].as_f64()).collect();
    assert!(values.len() >= 3 && values.is_sorted_by(|one, next| one < next), "{values:?}");

    // A client that goes away takes its call with it, and the server is free for the next one.
    let call = client.call(&tool, json!({ "path": "b" }));
    assert!(tokio::time::timeout(std::time::Duration::from_millis(200), call).await.is_err());
    let answer = client.call(&tool, json!({ "path": "c" })).await?;
    assert!(!answer.is_error, "{}", answer.text);
    Ok(())
}
