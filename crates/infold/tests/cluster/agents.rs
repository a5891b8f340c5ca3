//! Agents whose requests go through the machines' proxies: in the middle of a fault, and afterwards on another machine than
//! before.

use std::iter;
use std::time::Duration;

use infold_testkit::agent::{Agent, Client, ModelReply, ToolOutput};
use infold_testkit::model::work::{Work, fold_branch, load_tools, open_branch, read_file};
use infold_testkit::model::{Decision, Model, Received, Script, Step};

use super::machines::Machines;
use crate::proxy::scene::{ASKED, marker, path, put_files, upstream};

const FOUND: &str = "All of these are about harbours.";
const DONE: &str = "That is done.";
/// The files that are read in a branch, counted from 1.
const FILES_READ: usize = 3;
/// The most requests that one agent needs, however often it is interrupted.
const TURNS_MAX: usize = 200;
/// How much of what an agent has seen is shown when it fails: so many entries, each up to so many characters.
const SEEN_SHOWN: usize = 24;
const SEEN_CHARS: usize = 600;
/// A pause before a client tries again.
const PAUSE: Duration = Duration::from_millis(100);

/// A model that goes by what it is shown: it opens a branch, reads files in it, folds it, and says that it is done.
pub fn script() -> Script {
    let steps = [load_tools(), fold_branch(FOUND)];
    let next = move |received: &Received| {
        let [load, fold] = &steps;
        // Calls of a client that gives them no ids are recognised by what they say.
        let work = Work::reading(&format!("Read three files of {}", received.session), [], FOUND);
        let said = |tool: &str, words: &str| received.last_result_of(tool).is_some_and(|said| said.contains(words));
        if said("branch_return", "\"success\":true") || said("branch_create", FOUND) {
            return Decision::Say(Step::text(DONE));
        }
        if received.holds(ASKED) && !said("branch_create", "br_") {
            return match load.decision(received) {
                Decision::Skip => open_branch(&work).decision(received),
                loading => loading,
            };
        }
        match (1..=FILES_READ).find(|number| !received.holds(&marker(*number))) {
            Some(number) => read_file(&path(number)).decision(received),
            None => fold.decision(received),
        }
    };
    Script::new(iter::repeat_n(Step::seeing(next), TURNS_MAX))
}

/// An agent that goes on where it was, wherever it can.
pub struct Wanderer {
    agent: Agent,
}

impl Wanderer {
    /// An agent in front of a machine; `None` if that cannot be reached.
    pub async fn start(client: Client, url: &str, session: &str) -> Option<Self> {
        let mut agent = Agent::through(client, url, session).await.ok()?;
        put_files(&mut agent);
        agent.say(ASKED);
        Some(Self { agent })
    }

    /// Works until the model is done. `next` says where the next machine is: it is asked for after each call, and after
    /// each failure. Returns whether the model was done.
    pub async fn work(&mut self, mut next: impl FnMut() -> String) -> bool {
        for _ in 0..TURNS_MAX {
            if self.agent.reconnect(&next()).await.is_err() {
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            match self.agent.turn().await {
                Ok(said) if said.calls.is_empty() => return said.text == DONE,
                Ok(said) => self.answer(&said).await,
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
        false
    }

    /// Makes the calls of a reply. One that breaks off is an error to the model, as clients show it.
    async fn answer(&mut self, said: &ModelReply) {
        if let Err(error) = self.agent.answer(said).await {
            let broken = ToolOutput::Text(format!("MCP error: {error}"));
            let results: Vec<_> = said.calls.iter().map(|call| (call.clone(), broken.clone())).collect();
            self.agent.add_results(&results);
        }
    }

    /// The beginning of what it has seen, for a failure.
    pub fn seen(&self) -> String {
        let entries = self.agent.transcript.iter().take(SEEN_SHOWN);
        entries.map(|entry| entry.to_string().chars().take(SEEN_CHARS).collect::<String>() + "\n").collect()
    }

    /// Says something more.
    pub fn say_more(&mut self) {
        self.agent.say("And now?");
    }

    /// Sends what comes next through a machine, and returns what its model got.
    pub async fn sent_next(&mut self, url: &str, model: &Model) -> Received {
        self.agent.reconnect(url).await.unwrap();
        let reply = self.agent.send(self.agent.request()).await.unwrap();
        assert_eq!(reply.status, 200, "{}", reply.text());
        let session = self.agent.session().to_owned();
        model.requests().into_iter().rfind(|received| received.session == session).unwrap()
    }
}

/// Asserts that the main thread is sent, with what the branch returned and nothing of what it read.
pub fn assert_folded(sent: &Received) {
    assert_eq!(sent.broken, None, "{}", sent.shape());
    assert!(sent.holds(ASKED) && sent.holds(FOUND), "{}", sent.shape());
    for number in 1..=FILES_READ {
        assert!(!sent.holds(&marker(number)), "file {number} is shown in {}", sent.shape());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_go_on_while_the_servers_are_away_and_fold_afterwards() {
    let model = Model::start(script()).await.unwrap();
    let change = |setup| upstream(setup, model.base_url()).set("store.nats.timeout_ms", 3_000);
    let Some(mut machines) = Machines::start(2, change).await else { return };
    let urls: Vec<String> = machines.daemons.iter().map(|daemon| daemon.base_url().to_owned()).collect();
    let mut agents = Vec::new();
    for client in Client::ALL {
        let mut agent = Wanderer::start(client, &urls[0], &format!("{client:?}")).await.unwrap();
        let reading = agent.agent.until(|said| said.text.contains("file-02")).await.unwrap();
        agent.answer(&reading).await;
        agents.push(agent);
    }

    machines.cluster.kill(0).unwrap();
    machines.cluster.kill(1).unwrap();
    for agent in &mut agents {
        let said = agent.agent.turn().await.unwrap();
        assert!(said.text.contains("file-03"), "{}", said.text);
        agent.answer(&said).await;
        let folding = agent.agent.turn().await.unwrap();
        // Nothing can be recorded now, and the model learns that.
        agent.answer(&folding).await;
        let refused = agent.agent.transcript.last().unwrap().to_string();
        assert!(refused.contains("cluster_unreachable"), "{refused}");
    }

    machines.cluster.restart(0).unwrap();
    machines.cluster.restart(1).unwrap();
    machines.cluster.until_ready().await.unwrap();
    for agent in &mut agents {
        assert!(agent.work(|| urls[0].clone()).await, "{} is not done", agent.agent.session());
        agent.say_more();
        for url in &urls {
            assert_folded(&agent.sent_next(url, &model).await);
        }
    }
    assert_eq!(model.broken(), Vec::<String>::new());
}
