//! Requests of the agent go through infold to where the user had sent them, and what was saved is said.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use infold_testkit::agent::{Agent, Client};
use infold_testkit::model::work::{Work, branch_work};
use infold_testkit::model::{Model, Script, Step};

use crate::stand_in::StandIn;

/// Says where it was told that its model is, and stays until its input ends.
const WAITS: &str = "echo \"$ANTHROPIC_BASE_URL\"; cat > /dev/null";

/// A run whose agent waits, and the daemon's address.
fn waiting(agent: &StandIn, flags: &[&str], model_url: &str) -> (Child, String) {
    let mut command = agent.command(flags, &[]);
    command.env("ANTHROPIC_BASE_URL", model_url).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().strip_suffix("/anthropic").expect("the agent was told no address").to_owned();
    (child, url)
}

fn script() -> Script {
    let work = Work::reading("Read the files", (1..=3).map(|number| format!("/p/{number}")), "Nothing is in them.");
    Script::new(branch_work(&work)).then([Step::text("Done.")])
}

/// Has the scripted model worked for through the daemon.
async fn work(url: &str) {
    let mut agent = Agent::through(Client::ClaudeCode, url, "a-session").await.unwrap();
    for number in 1..=3 {
        agent.file(&format!("/p/{number}"), &format!("words of file {number}\n").repeat(60));
    }
    assert_eq!(agent.work("Look.").await.unwrap(), "Done.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folded_branch_is_told_at_the_end_and_the_users_address_is_the_upstream() {
    let model = Model::start(script()).await.unwrap();
    let agent = StandIn::new("claude", WAITS);
    let (child, url) = waiting(&agent, &[], model.base_url());
    work(&url).await;

    assert_eq!(model.broken(), Vec::<String>::new());
    let ended = agent.home.ended(child.wait_with_output().unwrap());
    assert_eq!(ended.code, 0);
    let said: Vec<&str> = ended.stderr.lines().collect();
    let upstream =
        format!("infold: requests go to {}, as ANTHROPIC_BASE_URL in the environment says", model.base_url());
    assert_eq!(said[0], upstream);
    assert!(said[1].starts_with("infold: 1 branch folded: "), "{said:?}");
    assert!(said[2].starts_with("infold: ") && said[2].contains(" requests: "), "{said:?}");
    assert_eq!(said[3..], ["infold: go on with such a session through `infold run claude`, too"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_in_the_settings_wins_and_that_is_said() {
    let model = Model::start(script()).await.unwrap();
    let agent = StandIn::new("claude", WAITS);
    let upstream = format!("proxy.anthropic.upstream={}", model.base_url());
    let (child, url) = waiting(&agent, &["--set", &upstream], "http://127.0.0.1:9");
    work(&url).await;
    let ended = agent.home.ended(child.wait_with_output().unwrap());
    assert!(ended.stderr.contains("not to that of ANTHROPIC_BASE_URL in the environment"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn quiet_runs_say_nothing() {
    let model = Model::start(script()).await.unwrap();
    let agent = StandIn::new("claude", WAITS);
    let (child, url) = waiting(&agent, &["--quiet"], model.base_url());
    work(&url).await;
    assert_eq!(agent.home.ended(child.wait_with_output().unwrap()).stderr, "");
}
