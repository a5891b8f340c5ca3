//! Sessions in which anything may happen: branches in branches, several at once, people who interrupt, clients
//! that go back, daemons that are killed. Whatever happens, the model must find no rule broken.

use std::hash::{DefaultHasher, Hash, Hasher};

use infold_testkit::agent::{Agent, Client, Listing};
use infold_testkit::model::work::{call, load_tools, read_file};
use infold_testkit::model::{Api, Decision, Received, Script, Shown, ShownKind, Step};
use infold_testkit::{Rng, Seed};
use serde_json::json;

use crate::proxy::scene::{FILES, Scene, at_once, content, path};
use crate::support::secrets;

/// Sessions of each client.
const SESSIONS: u64 = 3;
/// How often the person speaks, or something else happens, in each.
const ROUNDS: usize = 10;
/// Requests at most between two such events.
const TURNS_MAX: usize = 12;

/// What the model does. It is drawn by chance from the seed and what the model is shown, so that a seed gives the
/// same session again.
fn decide(seed: u64, received: &Received) -> Decision {
    let mut hasher = DefaultHasher::new();
    seed.hash(&mut hasher);
    // Handles and times in texts differ from run to run; which pieces there are does not.
    for piece in received.shown() {
        (format!("{:?}", piece.kind), piece.tool).hash(&mut hasher);
    }
    let mut rng = Rng::new(hasher.finish());
    if received.spelled("branch_create").is_none() || received.spelled("branch_return").is_none() {
        return load_tools().decision(received);
    }
    let in_branch = received.shown().iter().any(|piece| {
        matches!(piece.kind, ShownKind::User | ShownKind::Result)
            && piece.text.starts_with("[branch br_")
            && piece.text.contains("_return")
    });
    let budget_tokens = [900, 2_000, 6_000][rng.below(3)];
    let opening = |what: usize| json!({"session_id": "w", "description": format!("Look at part {what}."), "budget": budget_tokens});
    match rng.below(if in_branch { 13 } else { 10 }) {
        0..=3 => read_file(&path(1 + rng.below(FILES))).decision(received),
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

fn script(seed: u64) -> Script {
    Script::new((0..2_000).map(|_| Step::seeing(move |received| decide(seed, received))))
}

/// Goes on until the model calls nothing, for [`TURNS_MAX`] requests at most. Adds to `places` where the client could
/// go back to.
async fn go_on(agent: &mut Agent, places: &mut Vec<usize>) {
    for _ in 0..TURNS_MAX {
        let said = agent.turn().await.unwrap();
        if said.calls.is_empty() {
            return;
        }
        agent.answer(&said).await.unwrap();
        places.push(agent.transcript.len());
        if agent.client() == Client::ClaudeCode && places.len().is_multiple_of(3) {
            // Counting must not change anything.
            let counted = agent.post_to("/v1/messages/count_tokens", agent.request()).send().await.unwrap();
            assert_eq!(counted.status(), 200);
        }
    }
}

async fn wild_session(client: Client, seed: u64) {
    let mut rng = Rng::new(seed);
    let isolation = if rng.chance(30) { "inherit" } else { "isolated" };
    let mut scene = Scene::with(script(seed), |setup| {
        setup.set("folding.max_branches_per_minute", 1_000).set("folding.isolation", isolation)
    })
    .await;
    let mut agent = scene.agent(client, "wild").await;
    // Some files are long enough to be offloaded, and one has a secret in it.
    (1..=3).for_each(|number| agent.file(&path(number), &content(number).repeat(20 + number)));
    agent.file(&path(4), &format!("token = {}\n{}", secrets(seed)[0].text, content(4)));
    if rng.chance(50) {
        agent = agent.listing(Listing::Inline);
    }
    let mut places = Vec::new();
    for round in 0..ROUNDS {
        match rng.below(10) {
            // The client goes back to where some results had just come, and goes on from there.
            0..=2 if !places.is_empty() => {
                let place = places[rng.below(places.len())];
                agent.transcript.truncate(place);
                places.retain(|known| *known <= place);
            }
            3 if round > 0 => {
                scene.restart(&mut agent).await;
                agent.say(&format!("Go on, number {round}."));
            }
            _ => agent.say(&format!("Please do number {round}.")),
        }
        go_on(&mut agent, &mut places).await;
        assert_eq!(scene.model.broken(), Vec::<String>::new(), "{client:?}, seed {seed}, round {round}");
    }
    let turns = scene.turns();
    check_law(&turns).unwrap_or_else(|broken| panic!("{client:?}, seed {seed}: {broken}"));
    let last = turns.last().unwrap();
    eprintln!(
        "{client:?} {seed} {isolation}: {} requests, {} bytes at most; at the end {} returned, {} cut short",
        turns.len(),
        turns.iter().map(|turn| turn.bytes.len()).max().unwrap_or(0),
        last.shows_times(" returned]"),
        last.shows_times(" was cut short"),
    );
}

/// Checks that every request extends an earlier one, or cuts one back and extends it from there. Take the earlier
/// request that it shares the longest beginning with: what that one shows after this beginning, it must not show.
fn check_law(turns: &[Received]) -> Result<(), String> {
    let views: Vec<Vec<Shown>> = turns.iter().map(view).collect();
    for (number, now) in views.iter().enumerate().skip(1) {
        let shared = |then: &Vec<Shown>| now.iter().zip(then).take_while(|(one, other)| one == other).count();
        let Some(most) = views[..number].iter().max_by_key(|then| shared(then)) else { continue };
        let from = shared(most);
        let moved = calls(&now[from..]).into_iter().find(|call| calls(&most[from..]).contains(call));
        if let Some(call) = moved {
            let shape = turns[number].shape();
            return Err(format!("request {number} was edited in the middle, in front of {call}:\n{shape}"));
        }
    }
    Ok(())
}

/// What the model was shown, without marks.
fn view(turn: &Received) -> Vec<Shown> {
    turn.shown().into_iter().map(|piece| Shown { marked: false, ..piece }).collect()
}

/// Calls of the client's own tools. Others are left out: calls that load tools are repeated at the front of every
/// branch, and infold changes the answers of its own tools.
fn calls(shown: &[Shown]) -> Vec<String> {
    let own = shown.iter().filter(|piece| piece.kind == ShownKind::Call).filter(|piece| {
        let tool = piece.tool.as_deref().unwrap_or_default().to_lowercase();
        !tool.contains("search") && !tool.contains("branch")
    });
    own.filter_map(|piece| piece.call.clone()).collect()
}

async fn wild_sessions(client: Client, part: u64) {
    let seed = Seed::announce("cargo test -p infold --test program proxy::wild").unwrap();
    for number in 0..SESSIONS {
        wild_session(client, seed.rng(part * 100 + number).next_u64()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wild_sessions_of_claude_code_break_no_rule() {
    wild_sessions(Client::ClaudeCode, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wild_sessions_of_codex_break_no_rule() {
    wild_sessions(Client::Codex, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wild_sessions_of_opencode_break_no_rule() {
    wild_sessions(Client::OpenCode, 3).await;
}

#[test]
fn the_law_is_broken_by_an_edit_in_the_middle_and_by_nothing_else() {
    let read = |id: &str| json!({"type": "tool_use", "id": id, "name": "Read", "input": {}});
    let result = |id: &str, text: &str| json!({"type": "tool_result", "tool_use_id": id, "content": text});
    let turn = |first: &str, more: &[&str]| {
        let mut messages = vec![
            json!({"role": "user", "content": "go"}),
            json!({"role": "assistant", "content": [read("a")]}),
            json!({"role": "user", "content": [result("a", first)]}),
        ];
        for id in more {
            messages.push(json!({"role": "assistant", "content": [read(id)]}));
            messages.push(json!({"role": "user", "content": [result(id, "x")]}));
        }
        Received::of(Api::Messages, json!({"messages": messages}))
    };
    assert!(check_law(&[turn("x", &[]), turn("x", &["b"]), turn("x", &["b", "c"]), turn("x", &["d"])]).is_ok());
    assert!(check_law(&[turn("x", &[]), turn("x", &["b"]), turn("(cleared)", &["b", "c"])]).is_err());
}
