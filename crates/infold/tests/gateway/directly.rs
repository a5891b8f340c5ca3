//! Calls that are answered in their connection's task get the answer that the protocol library gives, through the daemon.

use anyhow::Result;
use infold_testkit::TempFolder;
use serde_json::{Value, json};

use super::counted_once::until;
use super::mark;
use super::relaying::{echo_tools, server, server_with, setup, text_result};

/// A call of the newer era, and everything that comes back, but for the time.
async fn answered(base_url: &str, tool: &str, params: &Value) -> Result<String> {
    let message = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
    let request = reqwest::Client::builder().no_proxy().build()?.post(format!("{base_url}/mcp"));
    let request = request
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", tool);
    let response = request.body(message.to_string()).send().await?;
    let mut lines: Vec<String> = vec![response.status().to_string()];
    for (name, value) in response.headers().iter().filter(|(name, _)| *name != "date") {
        lines.push(format!("{name}: {value:?}"));
    }
    lines.sort();
    lines.push(response.text().await?);
    Ok(lines.join("\n"))
}

#[tokio::test]
async fn a_plain_call_gets_the_answer_that_the_library_gives() -> Result<()> {
    let mark = mark();
    let daemon = setup(&[server(&mark, &echo_tools(), &text_result("what the file says"))]).start().await?;
    let (read, delete) = (format!("{mark}__read_file"), format!("{mark}__delete_file"));
    let calls = [
        (read.as_str(), json!({ "path": "a" })),
        (read.as_str(), json!({ "path": 5 })),
        (read.as_str(), json!({})),
        ("tool_call_read", json!({ "name": read, "arguments": { "path": "a" } })),
        ("tool_call_read", json!({ "name": delete, "arguments": { "path": "a" } })),
        ("tool_call", json!({ "name": "nobody__nothing" })),
        ("tool_search", json!({ "query": "read a file" })),
        ("branch_status", json!({ "session_id": "nobody" })),
        ("no_such_tool", json!({})),
    ];
    for (tool, arguments) in calls {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let plain = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        // A field that the protocol does not know leaves a call to the library, and changes nothing else.
        let mut odd = plain.clone();
        odd["notInTheProtocol"] = json!(true);
        let by_library = answered(daemon.base_url(), tool, &odd).await?;
        assert_eq!(answered(daemon.base_url(), tool, &plain).await?, by_library, "{tool} {arguments}");
    }
    Ok(())
}

#[tokio::test]
async fn a_client_that_goes_away_in_the_middle_of_a_call_ends_it_at_its_server() -> Result<()> {
    let folder = TempFolder::new()?;
    let (begun, cancelled) = (folder.join("begun"), folder.join("cancelled"));
    let mark = mark();
    let called = format!(
        "touch {}; next; case \"$line\" in *cancelled*) touch {} ;; esac",
        begun.display(),
        cancelled.display()
    );
    let daemon = setup(&[server_with(&mark, &echo_tools(), &called)]).start().await?;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let read = format!("{mark}__read_file");
    let params = json!({ "name": read, "arguments": { "path": "a" }, "_meta": meta });
    {
        let answering = answered(daemon.base_url(), &read, &params);
        tokio::select! {
            answer = answering => panic!("it was answered: {answer:?}"),
            found = until(async || Ok(begun.exists())) => found?,
        }
    }
    until(async || Ok(cancelled.exists())).await
}
