//! Scripted sessions through the proxy and the MCP endpoint: what the model is sent of each.
//!
//! The model plays a script and the agent does what it says, so that everything that can happen to a branch happens to
//! both programs alike. Each scene has a daemon and a model of its own, and is played by each client.

mod acts;
mod files;
mod listed;
mod scripts;
mod wild;

use anyhow::Result;
use infold_testkit::agent::{Agent, Client};
use infold_testkit::model::{Model, Received, Script};

use super::compare::{Group, Pair};
use super::names::Names;
use super::program::{Program, Running};
use acts::{Act, Habits};

/// No limit on how many branches are opened in a minute.
const SETTINGS: [(&str, &str); 1] = [("folding.max_branches_per_minute", "1000")];

/// A session that is scripted on both ends.
#[derive(Debug, Clone)]
pub struct Scene {
    name: String,
    /// The clients that play it.
    clients: Vec<Client>,
    settings: Vec<(&'static str, String)>,
    habits: Habits,
    /// What the model says.
    script: Script,
    /// What the person and the client do.
    acts: Vec<Act>,
}

/// A daemon with a scripted model behind it.
#[derive(Debug)]
pub struct Stage {
    running: Running,
    model: Model,
}

impl Stage {
    async fn start(program: &Program, script: Script, settings: &[(&str, &str)]) -> Result<Self> {
        let model = Model::start(script).await?;
        let url = model.base_url();
        let mut all = vec![("proxy.anthropic.upstream", url), ("proxy.openai.upstream", url)];
        all.extend(SETTINGS);
        all.extend(settings);
        let running = program.start(&all).await?;
        Ok(Self { running, model })
    }

    /// Starts the daemon anew. It is told to leave, not killed: what a killed one had not stored yet is a matter of chance.
    async fn restart(&mut self, agent: &mut Agent) -> Result<()> {
        self.running.daemon.terminate().await?;
        self.running.daemon.restart().await?;
        agent.reconnect(self.running.daemon.base_url()).await
    }
}

/// All that came of a scene.
#[derive(Debug)]
pub struct Played {
    names: Names,
    /// What the model was sent.
    requests: Vec<Vec<u8>>,
    /// What the agent was told by then.
    told: String,
    /// The figures of the session.
    figures: Vec<u8>,
}

impl Played {
    async fn of(mut stage: Stage, session: &str, told: String) -> Result<Self> {
        let requests = stage.model.requests().iter().map(received).collect();
        // What a daemon knows of a request is stored behind its answer: all of it is there once it has left.
        stage.running.daemon.terminate().await?;
        let figures = stage.running.daemon.program(&["show", session, "--json"]).output().await?;
        Ok(Self { names: stage.running.names(), requests, told, figures: figures.stdout })
    }
}

/// Plays every scene with both programs.
pub async fn compare(programs: &Pair<Program>, group: &mut Group) -> Result<()> {
    listed::compare(programs, group).await?;
    for scene in scripts::all() {
        for client in &scene.clients {
            let (before, after) = tokio::try_join!(
                acts::play(&programs.before, &scene, *client),
                acts::play(&programs.after, &scene, *client)
            )?;
            judge(&format!("{}/{client:?}", scene.name), Pair { before, after }, group)?;
        }
    }
    for (client, seed) in wild::ALL {
        let (before, after) =
            tokio::try_join!(wild::play(&programs.before, client, seed), wild::play(&programs.after, client, seed))?;
        judge(&format!("wild-{seed}/{client:?}"), Pair { before, after }, group)?;
    }
    Ok(())
}

fn judge(name: &str, played: Pair<Played>, group: &mut Group) -> Result<()> {
    let Pair { before, after } = played;
    let mut names = Pair { before: before.names, after: after.names };
    for (number, (before, after)) in before.requests.iter().zip(&after.requests).enumerate() {
        group.compare(&format!("{name}/{number}"), &mut names, Pair { before, after })?;
    }
    let told = |told: &str, count: usize| format!("{count} requests\n{told}").into_bytes();
    let (one, other) = (told(&before.told, before.requests.len()), told(&after.told, after.requests.len()));
    group.compare(&format!("{name}/told"), &mut names, Pair { before: &one, after: &other })?;
    let figures = Pair { before: &*before.figures, after: &*after.figures };
    group.compare_values(&format!("{name}/figures"), &mut names, figures)
}

/// A request as the model got it.
fn received(request: &Received) -> Vec<u8> {
    let mut text = format!("{} was answered with {}\n", request.path, request.status);
    for (name, value) in &request.headers {
        text.push_str(&format!("{name}: {value}\n"));
    }
    [text.as_bytes(), b"\n", &*request.bytes].concat()
}
