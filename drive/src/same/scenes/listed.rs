//! The tools that a model is offered, in every family and era.

use anyhow::Result;
use infold_testkit::{Era, McpHttp};
use serde_json::Value;

use crate::same::compare::{Group, Pair};
use crate::same::program::Program;

/// The families of tools whose lists are compared, each with a value of the setting `mcp.session`.
const LISTED: [(&str, &str); 4] = [
    ("[\"branch\", \"context\"]", "caller"),
    ("[\"branch\"]", "proxy"),
    ("[\"context\"]", "caller"),
    ("[\"lean\"]", "proxy"),
];

/// Compares the lists of tools that both programs give each family in each era.
pub async fn compare(programs: &Pair<Program>, group: &mut Group) -> Result<()> {
    for (tools, session) in LISTED {
        let settings = [("mcp.tools", tools), ("mcp.session", session)];
        let (before, after) = tokio::try_join!(list(&programs.before, &settings), list(&programs.after, &settings))?;
        let name = format!("tools/{tools}-{session}");
        group.compare(&name, &mut Pair::default(), Pair { before: before.as_bytes(), after: after.as_bytes() })?;
    }
    Ok(())
}

async fn list(program: &Program, settings: &[(&str, &str)]) -> Result<String> {
    let running = program.start(settings).await?;
    let mut text = String::new();
    for era in [Era::Legacy, Era::Modern] {
        let mcp = McpHttp::connect(running.daemon.base_url(), era).await?;
        text.push_str(&format!("{:#}\n", Value::from(mcp.list_tools().await?)));
    }
    Ok(text)
}
