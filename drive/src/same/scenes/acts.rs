//! What a person and a client do in a scene, and doing it with one of the programs.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use infold_testkit::agent::{Agent, Client, Listing};
use serde_json::{Value, json};

use super::{Played, Scene, SceneStage, files};
use crate::same::program::Program;

/// One thing that a person or a client does.
#[derive(Debug, Clone)]
pub enum Act {
    /// The person says this, and the agent works until the model calls nothing more.
    Say(String),
    /// The person says the first text. The agent works until the model says something with the second, and does that.
    SayUntil(&'static str, &'static str),
    /// The agent works on until the model says something with these words, and does that.
    Until(&'static str),
    /// The person types this while the agent works; the client puts it beside the last results.
    Beside(&'static str),
    /// A file has other content from now on.
    File(&'static str, String),
    /// The client has the next request counted.
    Count,
    /// The client goes back by so many entries.
    Back(usize),
    /// The daemon is stopped, and started again.
    Restart,
    /// The agent works until the model calls nothing more.
    GoOn,
}

/// How a client behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Habits {
    /// As the real client does by default.
    Usual,
    /// Infold's tools are listed from the start, and the client says something behind results.
    Inline,
    /// It names neither itself nor its session.
    Nameless,
}

/// Plays a scene with one of the programs and as one of the clients.
pub async fn play(program: &Program, scene: &Scene, client: Client) -> Result<Played> {
    let settings: Vec<(&str, &str)> = scene.settings.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let mut stage = SceneStage::start(program, scene.script.clone(), &settings).await?;
    let agent = Agent::through(client, stage.running.daemon.base_url(), &scene.name).await?;
    let mut agent = match scene.habits {
        Habits::Usual => agent,
        Habits::Inline => agent.listing(Listing::Inline).with_reminders(),
        Habits::Nameless => agent.listing(Listing::Inline).without_ids(),
    };
    files::put(&mut agent);
    let mut received = String::new();
    for act in &scene.acts {
        // An agent that gives up must do so with both programs. The error is words for people, which are not compared.
        match perform(act, &mut agent, &mut stage).await {
            Ok(said) => writeln!(received, "{said}")?,
            Err(_) => writeln!(received, "the agent gave up")?,
        }
    }
    writeln!(received, "{}", Value::from(agent.transcript.clone()))?;
    Played::of(stage, &scene.name, received).await
}

async fn perform(act: &Act, agent: &mut Agent, stage: &mut SceneStage) -> Result<String> {
    match act {
        Act::Say(words) => return agent.work(words).await,
        Act::SayUntil(words, wanted) => {
            agent.say(words);
            return until(agent, wanted).await;
        }
        Act::Until(wanted) => return until(agent, wanted).await,
        Act::Beside(words) => {
            let entry = agent.transcript.last_mut().context("nothing was said yet")?;
            let parts = entry["content"].as_array_mut().context("the client has no parts")?;
            parts.push(json!({"type": "text", "text": words}));
        }
        Act::File(path, content) => agent.file(path, content),
        Act::Count => {
            let counted = agent.post_to("/v1/messages/count_tokens", agent.request()).send().await?;
            return Ok(counted.text().await?);
        }
        Act::Back(entries) => {
            let left = agent.transcript.len().saturating_sub(*entries);
            agent.transcript.truncate(left);
        }
        Act::Restart => {
            stage.restart(agent).await?;
        }
        Act::GoOn => return agent.go_on().await,
    }
    Ok(String::new())
}

async fn until(agent: &mut Agent, wanted: &str) -> Result<String> {
    let said = agent.until(|said| said.text.contains(wanted)).await?;
    agent.answer(&said).await?;
    Ok(said.text)
}
