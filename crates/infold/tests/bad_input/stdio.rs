//! Lines that are no messages, over stdio: each is answered or passed over, and the next good line works.

use std::process::Stdio;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::support::Program;

#[tokio::test]
async fn lines_that_are_no_messages_do_not_stop_a_stdio_server() -> Result<()> {
    let program = Program::plain().await?;
    let mut command = program.daemon.program(&["mcp"]);
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let hello = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}},
    });
    let good = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "branch_create", "arguments": {"session_id": "s", "description": "Still there"}},
    });
    let mut lines = vec![hello.to_string(), r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned()];
    lines.extend(
        ["", "{", "[]", "null", "7", r#""text""#, "not JSON", r#"{"jsonrpc":"2.0"}"#, r#"{"method":"ping","id":9}"#]
            .map(str::to_owned),
    );
    lines.push("[".repeat(100_000));
    lines.push(format!(r#"{{"jsonrpc":"2.0","id":3,"method":"{}"}}"#, "x".repeat(1_000_000)));
    lines.push(good.to_string());

    let mut input = server.stdin.take().context("it has an input")?;
    let writing = async {
        for line in &lines {
            input.write_all(line.as_bytes()).await?;
            input.write_all(b"\n").await?;
        }
        input.write_all(b"\xff\xfe\n").await?;
        input.shutdown().await?;
        drop(input);
        anyhow::Ok(())
    };
    let (wrote, output) = tokio::join!(writing, server.wait_with_output());
    wrote?;
    let output = output?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "it ended with {}: {said}", output.status);
    assert!(!said.contains("panicked"), "{said}");

    let answers: Vec<Value> =
        String::from_utf8(output.stdout)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let answer = |id: u64| answers.iter().find(|answer| answer["id"] == id);
    let opened = answer(2).with_context(|| format!("the good call has no answer among {answers:#?}"))?;
    assert_eq!(opened["result"]["isError"], json!(false), "{opened}");
    assert_eq!(program.database()?.number("SELECT count(*) FROM branches")?, 1, "and it is all that was stored");
    Ok(())
}
