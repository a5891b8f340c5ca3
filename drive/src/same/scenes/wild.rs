//! Sessions in which anything happens: branches in branches, several at once, people who interrupt, clients that go
//! back, daemons that are restarted. Chance decides, and does so alike for both programs as long as they do the same.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};

use anyhow::Result;
use infold_testkit::Rng;
use infold_testkit::agent::{Agent, Client, Listing};
use infold_testkit::model::work::{call, load_tools, read_file};
use infold_testkit::model::{Decision, Received, Script, Step};
use serde_json::json;

use super::files::{self, FILES, HUGE, LONG, SECRETS, path};
use super::scripts::at_once;
use super::{Played, SceneStage};
use crate::same::program::Program;

/// Each client, with the seed of its chance.
pub const ALL: [(Client, u64); 6] = [
    (Client::ClaudeCode, 1),
    (Client::ClaudeCode, 2),
    (Client::Codex, 3),
    (Client::Codex, 4),
    (Client::OpenCode, 5),
    (Client::OpenCode, 6),
];
/// How often the person speaks, or something else happens.
const ROUNDS: usize = 12;
/// Requests at most between two such events.
const TURNS_MAX: usize = 12;
const STEPS_MAX: usize = 2_000;

/// What the model does. It is drawn by chance from the seed and the kinds of what the model is shown.
fn decide(seed: u64, received: &Received) -> Decision {
    let mut hasher = DefaultHasher::new();
    seed.hash(&mut hasher);
    for piece in received.shown() {
        (format!("{:?}", piece.kind), piece.tool).hash(&mut hasher);
    }
    let mut rng = Rng::new(hasher.finish());
    if received.spelled("branch_create").is_none() || received.spelled("branch_return").is_none() {
        return load_tools().decision(received);
    }
    let budget_tokens = [900, 2_000, 6_000][rng.below(3)];
    let opening = |what: usize| json!({"session_id": "w", "description": format!("Look at part {what}."), "budget": budget_tokens});
    match rng.below(if received.own_branch().is_some() { 13 } else { 10 }) {
        0..=2 => read_file(&path(1 + rng.below(FILES))).decision(received),
        3 => read_file([LONG, HUGE, SECRETS][rng.below(3)]).decision(received),
        4 => Decision::Say(Step::text("I stop here for now.").reasoning("Enough.")),
        5 | 6 => call(received, "branch_create", "A part of its own.", opening(rng.below(100))),
        7 => at_once(vec![("branch_create", opening(rng.below(100))), ("branch_create", opening(rng.below(100)))])
            .decision(received),
        8 => Decision::Say(Step::text("That is all I can say.")),
        9 => match (received.spelled("context_rollback"), received.branch_ids().first()) {
            (Some(_), Some(branch)) => {
                call(received, "context_rollback", "Back to it.", json!({"project_path": "/p", "branch_id": branch}))
            }
            _ => Decision::Say(Step::text("There is nothing to go back to.")),
        },
        _ => {
            let message = format!("Part {} is fine.", rng.below(100));
            call(received, "branch_return", "Back.", json!({"branch_id": received.own_branch(), "message": message}))
        }
    }
}

/// Plays a session of this client with one of the programs.
pub async fn play(program: &Program, client: Client, seed: u64) -> Result<Played> {
    let mut rng = Rng::new(seed);
    let isolation = if rng.chance(30) { "inherit" } else { "isolated" };
    let script = Script::new((0..STEPS_MAX).map(|_| Step::seeing(move |received| decide(seed, received))));
    let mut stage = SceneStage::start(program, script, &[("folding.isolation", isolation)]).await?;
    let mut agent = Agent::through(client, stage.running.daemon.base_url(), "wild").await?;
    files::put(&mut agent);
    if rng.chance(50) {
        agent = agent.listing(Listing::Inline);
    }
    let mut received = String::new();
    let mut places = Vec::new();
    for round in 0..ROUNDS {
        match rng.below(10) {
            0..=2 if !places.is_empty() => {
                let place = places[rng.below(places.len())];
                agent.transcript.truncate(place);
                places.retain(|known| *known <= place);
            }
            3 if round > 0 => {
                stage.restart(&mut agent).await?;
                agent.say(&format!("Go on, number {round}."));
            }
            _ => agent.say(&format!("Please do number {round}.")),
        }
        go_on(&mut agent, &mut places, &mut received).await?;
    }
    Played::of(stage, "wild", received).await
}

/// Goes on until the model calls nothing, for [`TURNS_MAX`] requests at most. Adds to `places` where the client could
/// go back to, and to `received` what the model said.
async fn go_on(agent: &mut Agent, places: &mut Vec<usize>, received: &mut String) -> Result<()> {
    for _ in 0..TURNS_MAX {
        let said = agent.turn().await?;
        writeln!(received, "{}", said.text)?;
        if said.calls.is_empty() {
            return Ok(());
        }
        agent.answer(&said).await?;
        places.push(agent.transcript.len());
    }
    Ok(())
}
