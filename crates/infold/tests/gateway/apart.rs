//! What is one client's, one server's or one process's stays with it: how much a client wants to know, pins of servers that
//! have the same name, and the word of a daemon that was killed.

use anyhow::{Context, Result, ensure};
use infold_testkit::{Daemon, Era, McpHttp, TempFolder};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::questions::{AskedClient, Question};
use super::relaying::{echo_tools, said, server, setup, text_result};
use super::{MARK, mark};

/// A server that logs three lines for each call, and answers with the level that it was last asked for.
fn logging_server() -> Value {
    let script = format!(
        r#"
answer() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$1" "$2"; }}
log() {{ printf '{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"%s","data":"x"}}}}\n' "$1"; }}
while IFS= read -r line; do
    id=${{line#*\"id\":}}; id=${{id%%,*}}
    case "$line" in
    *'"initialize"'*) answer $id '{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}},"logging":{{}}}},"serverInfo":{{"name":"l","version":"1"}}}}' ;;
    *'"tools/list"'*) answer $id '{tools}' ;;
    *'"logging/setLevel"'*) level=${{line#*\"level\":\"}}; level=${{level%%\"*}}; answer $id '{{}}' ;;
    *'"tools/call"'*) log debug; log info; log warning; answer $id '{{"content":[{{"type":"text","text":"'$level'"}}]}}' ;;
    *) ;;
    esac
done"#,
        tools = json!({ "tools": echo_tools() })
    );
    json!({ "name": "asks", "command": "sh", "args": ["-c", script], "env": { MARK: mark() } })
}

/// The levels of the lines that a client gets, up to the last one of a call.
async fn levels(lines: &mut mpsc::Receiver<Question>) -> Result<Vec<String>> {
    let mut levels = Vec::new();
    while levels.last().is_none_or(|last| last != "warning") {
        let (_, params) = lines.recv().await.context("no more lines")?;
        levels.extend(params["level"].as_str().map(str::to_owned));
    }
    Ok(levels)
}

#[tokio::test]
async fn a_client_gets_as_many_log_lines_as_it_asked_for_itself() -> Result<()> {
    let daemon = setup(&[logging_server()]).start().await?;
    let (curious, mut to_curious) = AskedClient::connect(&daemon).await?;
    let (calm, mut to_calm) = AskedClient::connect(&daemon).await?;
    let set = json!({ "jsonrpc": "2.0", "id": 9, "method": "logging/setLevel", "params": { "level": "debug" } });
    curious.post(&set).await?.error_for_status()?.text().await?;
    assert_eq!(curious.call("a").await?, "debug");
    assert_eq!(levels(&mut to_curious).await?, ["debug", "info", "warning"]);
    assert_eq!(calm.call("a").await?, "debug");
    assert_eq!(levels(&mut to_calm).await?, ["info", "warning"], "what another asked for");

    let modern = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
    for (level, lines) in [(None, 0), (Some("error"), 0), (Some("warning"), 1), (Some("debug"), 3)] {
        let level = level.map(|level| ("io.modelcontextprotocol/logLevel".to_owned(), json!(level)));
        let answer = modern.call_with_meta("asks__read_file", json!({ "path": "a" }), Map::from_iter(level)).await?;
        assert_eq!(answer.notifications.len(), lines, "{:?}", answer.notifications);
    }
    Ok(())
}

/// The state of the only server that is stored, as `infold servers` shows it.
async fn state(daemon: &Daemon) -> Result<String> {
    let listed = daemon.program(&["servers", "--json"]).output().await?;
    let listed: Value = serde_json::from_slice(&listed.stdout)?;
    Ok(listed["servers"][0]["state"].as_str().context("no server is listed")?.to_owned())
}

#[tokio::test]
async fn a_killed_daemon_is_not_believed_that_its_servers_run() -> Result<()> {
    let mut daemon = setup(&[server("files", &echo_tools(), &text_result("fine"))]).start().await?;
    let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
    assert_eq!(said(client.call("files__read_file", json!({ "path": "a" })).await?).0, "fine");
    let begin = std::time::Instant::now();
    while state(&daemon).await? != "ready" {
        ensure!(begin.elapsed() < crate::support::PATIENCE, "the server is not noted as ready");
    }
    daemon.kill9().await?;
    assert_eq!(state(&daemon).await?, "idle");
    Ok(())
}

#[tokio::test]
async fn servers_of_one_name_do_not_change_each_others_tools() -> Result<()> {
    let data = TempFolder::new()?;
    let other = json!([{ "name": "read_file", "description": "Another thing", "inputSchema": { "type": "object" } }]);
    for _ in 0..2 {
        for (tools, said_by) in [(&echo_tools(), "one"), (&other, "two")] {
            let setup = setup(&[server("same", tools, &text_result(said_by))]).data(data.join("data"));
            let mut daemon = setup.start().await?;
            let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
            let answer = client.call("same__read_file", json!({ "path": "a" })).await?;
            assert_eq!(said(answer), (said_by.to_owned(), false));
            daemon.terminate().await?;
            let waiting = daemon.program(&["approve", "--json"]).output().await?;
            let waiting: Value = serde_json::from_slice(&waiting.stdout)?;
            assert_eq!(waiting["waiting"], json!([]));
        }
    }
    Ok(())
}
