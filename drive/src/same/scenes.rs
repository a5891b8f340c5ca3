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

/// In effect, no limit on how many branches are opened in a minute.
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
pub struct SceneStage {
    running: Running,
    model: Model,
}

impl SceneStage {
    async fn start(program: &Program, script: Script, settings: &[(&str, &str)]) -> Result<Self> {
        let model = Model::start(script).await?;
        let url = model.base_url();
        let mut all = vec![("proxy.anthropic.upstream", url), ("proxy.openai.upstream", url)];
        all.extend(SETTINGS);
        all.extend(settings);
        let running = program.start(&all).await?;
        Ok(Self { running, model })
    }

    /// Restarts the daemon. It is stopped, not killed: what a killed one had not stored yet is a matter of chance.
    async fn restart(&mut self, agent: &mut Agent) -> Result<()> {
        self.running.daemon.terminate().await?;
        self.running.daemon.restart().await?;
        agent.reconnect(self.running.daemon.base_url()).await
    }
}

/// All that a scene gave, to be compared.
#[derive(Debug)]
pub struct Played {
    names: Names,
    /// What the model was sent.
    requests: Vec<Vec<u8>>,
    /// What the agent got from the model and from tools, as text.
    received: String,
    /// What `infold show --json` prints of the session.
    figures: Vec<u8>,
}

impl Played {
    async fn of(mut stage: SceneStage, session: &str, received: String) -> Result<Self> {
        let requests = stage.model.requests().iter().map(as_sent).collect();
        // A daemon stores what it knows of a request after its answer. All of it is stored once the daemon has stopped.
        stage.running.daemon.terminate().await?;
        let figures = stage.running.daemon.program(&["show", session, "--json"]).output().await?;
        Ok(Self { names: stage.running.names(), requests, received, figures: figures.stdout })
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
    let shown = |received: &str, count: usize| format!("{count} requests\n{received}").into_bytes();
    let (one, other) = (shown(&before.received, before.requests.len()), shown(&after.received, after.requests.len()));
    group.compare(&format!("{name}/told"), &mut names, Pair { before: &one, after: &other })?;
    let figures = Pair { before: &*before.figures, after: &*after.figures };
    group.compare_values(&format!("{name}/figures"), &mut names, figures)
}

/// The bytes of a request, as the model got them.
fn as_sent(request: &Received) -> Vec<u8> {
    let mut text = format!("{} was answered with {}\n", request.path, request.status);
    for (name, value) in &request.headers {
        text.push_str(&format!("{name}: {value}\n"));
    }
    [text.as_bytes(), b"\n", &*request.bytes].concat()
}
