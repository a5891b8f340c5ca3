//! What another server reads shows whether code has changed since a memory was made of it.

use anyhow::{Context, Result};
use infold_testkit::{Era, McpHttp};
use serde_json::json;

use super::mark;
use super::relaying::{echo_tools, server, setup, text_result};
use crate::support::{Api, Database, PATIENCE, POLL};

const PATH: &str = "/p/src/parser/rows.rs";
const TASK: &str = "Mend the snapshot tests of the parser";

fn code(body: &str) -> String {
    (1..20).map(|line| format!("fn parse_row_{line}(input: &str) -> Row {{ {body} }}\n")).collect()
}

#[tokio::test]
async fn a_file_that_another_server_reads_in_the_main_thread_is_compared_with_what_memories_remember() -> Result<()> {
    let mark = mark();
    let daemon = setup(&[server(&mark, &echo_tools(), &text_result(&code("Row::of(input)")))]).start().await?;
    let mcp = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
    let api = Api::new(mcp.http().clone(), daemon.base_url());
    let opened = mcp.call("branch_create", json!({"session_id": "s", "description": TASK})).await?;
    let branch = opened.structured.context("an answer")?["branch_id"].clone();
    let read = json!({"tool_name": "Read", "arguments": {"path": PATH}, "content": code("Row::empty()")});
    api.post("/api/v1/sessions/s/results", &read).await?.with_status(200)?;
    let lessons =
        json!([{"title": "Snapshot tests", "lesson": "Run `just fixtures` before the parser's snapshot tests."}]);
    mcp.call("branch_return", json!({"branch_id": branch, "message": "Done.", "lessons": lessons})).await?;
    mcp.call("memory_search", json!({"query": TASK})).await?;
    let changed = || Database::look(daemon.data())?.rows("SELECT CAST(changed AS TEXT) FROM memory_marks");
    assert_eq!(changed()?, ["0"]);

    let meta = serde_json::Map::from_iter([("infold/sessionId".to_owned(), json!("s"))]);
    let answer = mcp.call_with_meta(&format!("{mark}__read_file"), json!({"path": PATH}), meta).await?;
    assert!(answer.is_ok() && answer.text.contains("Row::of(input)"), "{}", answer.summary());
    let noted = async {
        while changed()? != ["1"] {
            tokio::time::sleep(POLL).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(PATIENCE, noted).await.context("it is not noted")?
}
