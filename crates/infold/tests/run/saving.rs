//! Requests of the agent go through infold to where the user had sent them, and what was saved is said.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use infold_testkit::agent::{Agent, Client};
use infold_testkit::model::work::{Work, branch_work};
use infold_testkit::model::{Model, Script, Step};

use crate::run::stand_in::StandIn;

/// A script that prints the address of its model, and stays until its input ends.
const WAITS: &str = "echo \"$ANTHROPIC_BASE_URL\"; cat > /dev/null";

/// Starts a run whose agent waits, and returns it with the daemon's address.
fn waiting(agent: &StandIn, flags: &[&str], model_url: &str) -> (Child, String) {
    let mut command = agent.command(flags, &[]);
    command.env("ANTHROPIC_BASE_URL", model_url).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().strip_suffix("/anthropic").expect("the agent got no address").to_owned();
    (child, url)
}

fn script() -> Script {
    let work = Work::reading("Read the files", (1..=3).map(|number| format!("/p/{number}")), "Nothing is in them.");
    Script::new(branch_work(&work)).then([Step::text("Done.")])
}

/// Plays a session through the daemon at this address.
async fn work(url: &str) {
    let mut agent = Agent::through(Client::ClaudeCode, url, "a-session").await.unwrap();
    for number in 1..=3 {
        agent.file(&format!("/p/{number}"), &format!("words of file {number}\n").repeat(60));
    }
    assert_eq!(agent.work("Look.").await.unwrap(), "Done.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folded_branch_is_reported_at_the_end_and_the_users_address_is_the_upstream() {
    let model = Model::start(script()).await.unwrap();
    let agent = StandIn::new("claude", WAITS);
    let (child, url) = waiting(&agent, &[], model.base_url());
    work(&url).await;

    assert_eq!(model.broken(), Vec::<String>::new());
    let ended = agent.home.ended(child.wait_with_output().unwrap());
    assert_eq!(ended.code, 0);
    let said: Vec<&str> = ended.stderr.lines().collect();
    let upstream = format!("infold: forwarding to {} (from ANTHROPIC_BASE_URL in the environment)", model.base_url());
    assert_eq!(said[0], upstream);
    assert!(said[1].starts_with("infold: 1 branch folded: "), "{said:?}");
    assert!(said[2].starts_with("infold: ") && said[2].contains(" requests: "), "{said:?}");
    let reported = model.totals().total_tokens();
    assert_eq!(figure_before(said[2], " input tokens"), Some(reported), "{said:?}");
    assert!(said[2].contains("; infold removed ") && !said[2].ends_with("removed 0"), "{said:?}");
    assert_eq!(said[3..], ["infold: resume: `infold run claude --continue`"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_in_the_settings_wins_and_that_is_said() {
    let model = Model::start(script()).await.unwrap();
    let agent = StandIn::new("claude", WAITS);
    let upstream = format!("proxy.anthropic.upstream={}", model.base_url());
    let (child, url) = waiting(&agent, &["--set", &upstream], "http://127.0.0.1:9");
    work(&url).await;
    let ended = agent.home.ended(child.wait_with_output().unwrap());
    assert!(ended.stderr.contains("ignoring ANTHROPIC_BASE_URL in the environment"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn quiet_runs_say_nothing() {
    let model = Model::start(script()).await.unwrap();
    let agent = StandIn::new("claude", WAITS);
    let (child, url) = waiting(&agent, &["--quiet"], model.base_url());
    work(&url).await;
    assert_eq!(agent.home.ended(child.wait_with_output().unwrap()).stderr, "");
}

/// The number in front of these words.
fn figure_before(line: &str, words: &str) -> Option<u64> {
    line.split_once(words)?.0.rsplit(' ').next()?.replace(',', "").parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn with_json_the_last_line_on_standard_error_is_the_summary_and_nothing_else_of_infolds_is_there() {
    let model = Model::start(script()).await.unwrap();
    let agent = StandIn::new("claude", "echo \"$ANTHROPIC_BASE_URL\"; cat > /dev/null; echo mine >&2; exit 4");
    let (mut child, url) = waiting(&agent, &["--json"], model.base_url());
    work(&url).await;
    drop(child.stdin.take());

    let ended = agent.home.ended(child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.stdout.as_str()), (4, ""));
    let said: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!((said.len(), said[0]), (2, "mine"), "{said:?}");
    let summary: serde_json::Value = serde_json::from_str(said[1]).unwrap();
    assert_eq!((&summary["agent"], &summary["exit_code"]), (&"claude".into(), &4.into()));
    assert_eq!((&summary["requests"], &summary["branches"]), (&model.turns().len().into(), &1.into()), "{summary}");
    assert_eq!(summary["prompt_tokens"], model.totals().total_tokens(), "{summary}");
    assert!(summary["saved_tokens"].as_i64() > Some(0), "{summary}");
    let note = summary["notes"][0].as_str().unwrap();
    assert!(note.contains("ANTHROPIC_BASE_URL"), "{note}");
}
