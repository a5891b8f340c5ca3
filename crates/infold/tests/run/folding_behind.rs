//! `infold run --gateway` with the proxy and the gateway in one daemon: a branch that calls a server's tools until its budget is
//! gone is folded in mid-work, its parent has the partial result, and each call was counted once.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use anyhow::{Context, Result};
use infold_testkit::agent::{Agent, Client, Listing};
use infold_testkit::model::work::{self, Work};
use infold_testkit::model::{Decision, Model, Script, Step};
use serde_json::json;

use crate::gateway::HANDSHAKE;
use crate::proxy::scene::ASKED;
use crate::run::stand_in::StandIn;
use crate::support::Database;

const WAITS: &str = "echo \"$ANTHROPIC_BASE_URL\"; cat > /dev/null";
const OVER: &str = "The branch is over.";
const CALLS_MAX: u64 = 40;

/// Claude Code with a server of its own, whose tool says a few words.
fn claude() -> StandIn {
    let agent = StandIn::new("claude", WAITS);
    let tools = json!({"tools": [
        {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
    ]});
    let words = "a few words that a tool has found and that all have to be counted in the branch. ".repeat(12);
    let answer = json!({"content": [{"type": "text", "text": words}]});
    let script = format!(
        "{HANDSHAKE} shake\nwhile :; do next; case \"$line\" in\n\
         *tools/list*) answer $id '{tools}' ;; *tools/call*) answer $id '{answer}' ;; esac; done"
    );
    let servers = json!({"mcpServers": {"notes": {"command": "sh", "args": ["-c", script]}}});
    agent.home.write(".claude.json", &servers.to_string());
    agent
}

/// Starts a run whose agent waits, and returns it with the daemon's address.
fn waiting(agent: &StandIn, model_url: &str) -> Result<(Child, String)> {
    let mut command = agent.gateway_command(&["--set", "gateway.list_wait_ms=20000"], &[]);
    let mut child = command.env("ANTHROPIC_BASE_URL", model_url).stdin(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().context("no output")?).read_line(&mut line)?;
    let url = line.trim().strip_suffix("/anthropic").context("the agent got no address")?.to_owned();
    Ok((child, url))
}

fn script() -> Script {
    let opening = Work::reading("look", [], "").budget_tokens(4_000);
    let look = |number: u64| {
        Step::seeing(move |received| {
            if received.holds(ASKED) {
                return Decision::Say(Step::text(OVER));
            }
            let arguments = json!({"name": "notes__look", "arguments": {"number": number}});
            work::call(received, "tool_call_read", "The next one.", arguments)
        })
    };
    Script::new([work::load_tools(), work::open_branch(&opening)]).then((0..CALLS_MAX).map(look))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_is_folded_in_mid_work_and_each_call_was_counted_once() -> Result<()> {
    let (claude, model) = (claude(), Model::start(script()).await?);
    let (mut child, url) = waiting(&claude, model.base_url())?;
    let mut agent = Agent::through(Client::ClaudeCode, &url, "behind").await?.listing(Listing::Inline);
    agent.say(ASKED);
    let mut calls = 0;
    loop {
        let said = agent.turn().await?;
        match said.calls.len() as u64 {
            0 => break assert_eq!(said.text, OVER),
            _ if said.calls_tool("branch_create") => agent.answer(&said).await?,
            made => {
                agent.answer_at_once_and_again(&said).await?;
                calls += made;
            }
        }
    }
    assert_eq!(model.broken(), Vec::<String>::new());
    let parent = model.turns().pop().context("nothing was asked")?;
    assert!(parent.holds("budget exhausted") && parent.holds("mcp__infold__tool_call_read"), "{}", parent.shape());

    drop(child.stdin.take());
    let ended = claude.home.ended(child.wait_with_output()?);
    assert!((4..CALLS_MAX).contains(&calls), "{calls}");
    let counted = u64::try_from(Database::look(&claude.home.data())?.number("SELECT count(*) FROM counted")?)?;
    assert!(calls - counted <= 1, "{counted} of {calls}: the last one may come too late");
    // Each call was made twice; one that comes when the branch is over is not made.
    let served = (2 * calls - 2..=2 * calls).any(|made| ended.stderr.contains(&format!("{made} calls of 1 server")));
    assert!(served, "{calls}: {}", ended.stderr);
    Ok(())
}
