//! A daemon with a scripted model behind it, and agents in front of it.

use infold_testkit::agent::{Agent, Client};
use infold_testkit::model::{Call, Decision, Model, Received, Script, Step, work};
use infold_testkit::{Daemon, DaemonSetup, Era, McpHttp};
use serde_json::{Value, json};

use crate::support::{Api, PATIENCE, POLL, in_thread, infold};

/// What the person asks for in most tests. A branch is not shown it.
pub const ASKED: &str = "Look through the files, please.";

/// A daemon with the scripted model that it forwards to.
pub struct Scene {
    pub daemon: Daemon,
    pub model: Model,
}

impl Scene {
    /// A daemon with default settings, whose upstream plays `script`.
    pub async fn start(script: Script) -> Self {
        Self::with(script, |setup| setup).await
    }

    /// The same with other settings.
    pub async fn with(script: Script, change: impl FnOnce(DaemonSetup) -> DaemonSetup) -> Self {
        let model = Model::start(script).await.unwrap();
        let daemon = change(upstream(infold(), model.base_url())).start().await.unwrap();
        Self { daemon, model }
    }

    /// An agent in front of the daemon.
    pub async fn agent(&self, client: Client, session: &str) -> Agent {
        let mut agent = Agent::through(client, self.daemon.base_url(), session).await.unwrap();
        put_files(&mut agent);
        agent
    }

    /// Kills the daemon and starts it again, and lets the agent go on there.
    pub async fn restart(&mut self, agent: &mut Agent) {
        self.daemon.kill9().await.unwrap();
        self.daemon.restart().await.unwrap();
        agent.reconnect(self.daemon.base_url()).await.unwrap();
    }

    /// Sends what the agent would send next, and returns what the model got.
    pub async fn sent_next(&self, agent: &Agent) -> String {
        agent.send(agent.request()).await.unwrap();
        let last = self.model.requests().pop().unwrap();
        assert_eq!(last.broken, None, "{}", last.shape());
        String::from_utf8(last.bytes).unwrap()
    }

    /// The daemon's JSON API.
    pub fn api(&self) -> Api {
        Api::new(reqwest::Client::builder().no_proxy().build().unwrap(), self.daemon.base_url())
    }

    /// A branch's status, asked for in the main thread.
    pub async fn status(&self, branch: &str) -> Value {
        let mcp = McpHttp::connect(self.daemon.base_url(), Era::Modern).await.unwrap();
        let arguments = json!({"branch_id": branch});
        let answer = mcp.call_with_meta("branch_status", arguments, in_thread("main")).await.unwrap();
        answer.structured.clone().unwrap_or_else(|| panic!("{}", answer.summary()))
    }

    /// Waits until a branch has this status.
    pub async fn until_status(&self, branch: &str, wanted: &str) {
        let waiting = async {
            while self.status(branch).await["status"] != wanted {
                tokio::time::sleep(POLL).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap();
    }

    /// The turns that the model was sent. Asserts that none of them broke a rule, lost reasoning on the way, or wrote
    /// to the cache what was there, and that nothing failed within the daemon.
    pub fn turns(&self) -> Vec<Received> {
        assert_eq!(self.model.broken(), Vec::<String>::new(), "{}", self.daemon.stderr());
        let turns = self.model.turns();
        let dropped = turns.iter().find(|turn| turn.reasoning_dropped > 0).map(Received::shape);
        assert!(dropped.is_none(), "reasoning was sent out of its place:\n{}", dropped.unwrap_or_default());
        assert_eq!(self.model.repeated_writes(), []);
        let said = self.daemon.stderr();
        assert!(!said.contains("\"level\":\"WARN\"") && !said.contains("\"level\":\"ERROR\""), "{said}");
        turns
    }

    /// The turns of the main thread: those that show what the person asked for.
    pub fn main_turns(&self) -> Vec<Received> {
        self.turns().into_iter().filter(|turn| turn.holds(ASKED)).collect()
    }

    /// The turns of branches.
    pub fn branch_turns(&self) -> Vec<Received> {
        self.turns().into_iter().filter(|turn| !turn.holds(ASKED)).collect()
    }
}

/// Sets this upstream for every provider.
pub fn upstream(setup: DaemonSetup, url: &str) -> DaemonSetup {
    setup.set("proxy.anthropic.upstream", url).set("proxy.openai.upstream", url)
}

/// Files that every agent has.
pub const FILES: usize = 12;

pub fn path(number: usize) -> String {
    format!("/p/file-{number:02}.rs")
}

/// Words that are in this file and nowhere else.
pub fn marker(number: usize) -> String {
    format!("harbour_{:04}", 7_000 + number * 13)
}

/// A file of about 1,800 bytes, which is too short to be offloaded.
pub fn content(number: usize) -> String {
    let marker = marker(number);
    let lines = (1..=30).map(|line| format!("fn {marker}_{line}() -> u32 {{ {} }} // row\n", line * number + 40));
    lines.collect()
}

/// The end of a file: what a partial result, which quotes a little of what was seen last, does not show.
pub fn end_of(number: usize) -> String {
    format!("{}_30()", marker(number))
}

/// Gives an agent its files.
pub fn put_files(agent: &mut Agent) {
    for number in 1..=FILES {
        agent.file(&path(number), &content(number));
    }
}

/// Whether a request shows any of the files' content.
pub fn shows_files(received: &Received) -> bool {
    (1..=FILES).any(|number| received.holds(&marker(number)))
}

/// A step that reads a file in a branch, and says that it is over if it finds itself in the main thread.
pub fn read_in_branch(number: usize, over: &'static str) -> Step {
    let reading = work::read_file(&path(number));
    Step::seeing(
        move |received| {
            if received.holds(ASKED) { Decision::Say(Step::text(over)) } else { reading.decision(received) }
        },
    )
}

/// A step that makes several calls at once, each of a tool that is found by the end of its name.
pub fn at_once(calls: Vec<(&'static str, Value)>) -> Step {
    Step::seeing(move |received| {
        let mut step = Step::text("Several things at once.").reasoning("They do not depend on each other.");
        for (name, input) in &calls {
            match received.spelled(name) {
                Some(tool) => step.calls.push(Call { tool, input: input.clone() }),
                None => return Decision::Stuck(format!("{name} is not within reach")),
            }
        }
        Decision::Say(step)
    })
}

/// A step that calls one of infold's tools with arguments that are made from the request.
pub fn calling(name: &'static str, arguments: impl Fn(&Received) -> Value + Send + Sync + 'static) -> Step {
    Step::seeing(move |received| work::call(received, name, "Now this.", arguments(received)))
}
