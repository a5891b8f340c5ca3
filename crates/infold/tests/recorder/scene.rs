//! A daemon with a scripted model behind it, and what it shows of the requests between them.

use infold_testkit::agent::{Agent, Client};
use infold_testkit::model::work::{Work, branch_work, read_file};
use infold_testkit::model::{Model, Script, Step};
use infold_testkit::{Daemon, DaemonSetup};
use serde_json::Value;

use crate::support::{Api, PATIENCE, POLL, infold};

/// What the person asks for.
pub const ASKED: &str = "Look through the files, please.";
/// Files that every agent has.
const FILES: usize = 6;

/// A daemon, its model, and a client of its JSON API.
pub struct Scene {
    pub daemon: Daemon,
    pub model: Model,
    pub api: Api,
}

impl Scene {
    /// A daemon whose upstream plays `script`.
    pub async fn start(script: Script) -> Self {
        let model = Model::start(script).await.unwrap();
        let daemon = upstream(infold(), model.base_url()).start().await.unwrap();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let api = Api::new(http, daemon.base_url());
        Self { daemon, model, api }
    }

    /// An agent in front of the daemon, with files to read.
    pub async fn agent(&self, client: Client, session: &str) -> Agent {
        let mut agent = Agent::through(client, self.daemon.base_url(), session).await.unwrap();
        for number in 1..=FILES {
            agent.file(&path(number), &content(number));
        }
        agent
    }

    /// Waits until so many requests of a session are recorded, which happens after their answers, and returns them.
    pub async fn requests(&self, session: &str, count: usize) -> Vec<Value> {
        let path = format!("/api/v1/requests?session_id={session}&limit=500");
        let waiting = async {
            loop {
                let list = self.api.get(&path).await.unwrap().body["requests"].as_array().unwrap().clone();
                if list.len() >= count {
                    return list;
                }
                tokio::time::sleep(POLL).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap()
    }

    /// What a session's requests add up to.
    pub async fn totals(&self, session: &str) -> Value {
        let list = self.api.get(&format!("/api/v1/requests?session_id={session}")).await.unwrap();
        list.body["request_totals"].clone()
    }

    /// What the program prints with these arguments, on the daemon's data.
    pub async fn prints(&self, arguments: &[&str]) -> String {
        self.prints_at(150, arguments).await
    }

    /// The same on a terminal of so many columns.
    pub async fn prints_at(&self, columns: usize, arguments: &[&str]) -> String {
        let mut program = self.daemon.program(arguments);
        let ended = program.env("LANG", "C.UTF-8").env("COLUMNS", columns.to_string()).output().await.unwrap();
        assert!(ended.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
        String::from_utf8(ended.stdout).unwrap()
    }
}

fn upstream(setup: DaemonSetup, url: &str) -> DaemonSetup {
    setup.set("proxy.anthropic.upstream", url).set("proxy.openai.upstream", url)
}

fn path(number: usize) -> String {
    format!("/p/file-{number:02}.rs")
}

/// A file of about 1,800 bytes, which is too short to be offloaded.
fn content(number: usize) -> String {
    (1..=30).map(|line| format!("fn harbour_{number}_{line}() -> u32 {{ {} }} // row\n", line * number + 40)).collect()
}

/// A sub-task that reads every file in a branch, and words in the parent after it.
pub fn folded_work() -> Script {
    let work = Work::reading("read the files", (1..=FILES).map(path), "They all count rows.");
    let mut steps = branch_work(&work);
    steps.push(Step::text("Nothing calls them."));
    Script::new(steps)
}

/// The same files read in the main thread.
pub fn plain_work() -> Script {
    let mut steps: Vec<Step> = (1..=FILES).map(|number| read_file(&path(number))).collect();
    steps.push(Step::text("Nothing calls them."));
    Script::new(steps)
}

/// Requests as lines: thread, what was edited, and why the cache missed.
pub fn lines_of(requests: &[Value]) -> Vec<String> {
    requests
        .iter()
        .map(|request| {
            let thread = if request["branch_id"].is_null() { "main" } else { "branch" };
            let edits: Vec<&str> =
                request["edits"].as_array().unwrap().iter().map(|edit| edit["reason"].as_str().unwrap()).collect();
            let miss = request["cache_miss"]["cause"].as_str().unwrap_or("-");
            format!("{thread}: {} | {miss}", edits.join(" "))
        })
        .collect()
}
