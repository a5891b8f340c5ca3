//! Behind the proxy every token of a call of another server's tool is counted once: as many as if the agent had the server
//! itself.

use anyhow::{Context, Result};
use infold_core::{Counter, Family};
use infold_testkit::agent::{Agent, Client, Listing};
use infold_testkit::model::{Call, Decision, Fault, Received, Script, Step, work};
use serde_json::{Value, json};

use super::relaying::{as_setting, echo_tools, server_with};
use crate::proxy::scene::{ASKED, Scene};
use crate::support::{Database, PATIENCE, POLL};

const SESSION: &str = "counted";
const OVER: &str = "The branch is over.";

fn short(path: &str) -> String {
    format!("What {path} says is short: a few words that have to be counted in the branch. ").repeat(12)
}

fn long(path: &str) -> String {
    (1..=1_400).map(|line| format!("line {line} of what {path} says\n")).collect()
}

fn content(path: &str) -> String {
    if path.starts_with("long") { long(path) } else { short(path) }
}

/// The paths of the calls, in rounds, each with whether it is called through `tool_call_read`. The last ones are read until the
/// budget is gone.
fn rounds() -> Vec<Vec<(String, bool)>> {
    let one = |path: &str, through: bool| (path.to_owned(), through);
    let mut rounds = vec![
        vec![one("a", false)],
        vec![one("b", true)],
        vec![one("c", false), one("d", true), one("long-1", false)],
        vec![one("long-2", true), one("e", false)],
    ];
    rounds.extend((0..20).map(|number| vec![one(&format!("f{number}"), number % 2 == 1)]));
    rounds
}

/// Who has the server: the gateway, or the agent itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holder {
    Gateway,
    Agent,
}

/// A scene that was played to its end.
struct CountedRun {
    scene: Scene,
    /// The model's last words.
    said: String,
    branch: String,
    /// How many calls the model made in the branch, and how many a server got.
    calls: u64,
    server_calls: u64,
}

fn arguments(path: &str, through: bool) -> Value {
    let plain = json!({ "path": path });
    if through { json!({ "name": "files__read_file", "arguments": plain }) } else { plain }
}

/// A step that makes the calls of a round in the branch, or says that the branch is over.
fn round(calls: Vec<(String, bool)>) -> Step {
    Step::seeing(move |received| {
        if received.holds(ASKED) {
            return Decision::Say(Step::text(OVER));
        }
        let mut step = Step::text("The next ones.").reasoning("They do not depend on each other.");
        for (path, through) in &calls {
            let name = if *through { "tool_call_read" } else { "files__read_file" };
            let Some(tool) = received.spelled(name) else {
                return Decision::Stuck(format!("{name} is not within reach"));
            };
            step.calls.push(Call { tool, input: arguments(path, *through) });
        }
        Decision::Say(step)
    })
}

/// Opens a branch and makes the calls in it. What the provider reports is left out, so that counts do not learn from it: they
/// would learn something else in each scene.
fn script(budget_tokens: u64) -> Script {
    let opening = work::Work::reading("look", [], "").budget_tokens(budget_tokens);
    let mut steps = vec![work::load_tools(), work::open_branch(&opening)];
    for (number, calls) in rounds().into_iter().enumerate() {
        // The request after the second round has to be sent twice.
        steps.extend((number == 2).then(|| Step::failing(Fault::status(529))));
        steps.push(round(calls));
    }
    Script::new(steps).then([Step::text("That is all.")]).without_usage()
}

async fn scene(holder: Holder, budget_tokens: u64) -> Scene {
    let called = r#"path=${line#*\"path\":\"}; path=${path%%\"*}
case "$path" in long*) text=$(seq 1 1400 | sed "s/.*/line & of what $path says\\\\n/" | tr -d '\n') ;;
*) text=$(seq 1 12 | sed "s/.*/What $path says is short: a few words that have to be counted in the branch. /" | tr -d '\n') ;; esac
answer $id '{"content":[{"type":"text","text":"'"$text"'"}]}'"#;
    let servers = [server_with("files", &echo_tools(), called)];
    let path = std::env::var("PATH").unwrap_or_default();
    Scene::with(script(budget_tokens), |setup| match holder {
        Holder::Gateway => {
            setup.env("PATH", &path).set("gateway.list_wait_ms", 20_000).set("gateway.servers", as_setting(&servers))
        }
        Holder::Agent => setup,
    })
    .await
}

async fn agent(scene: &Scene, client: Client, holder: Holder) -> Result<Agent> {
    let mut agent = Agent::through(client, scene.daemon.base_url(), SESSION).await?.listing(Listing::Inline);
    if holder == Holder::Agent {
        let tools = echo_tools();
        let named = |name: &str| json!({ "name": name, "description": "d", "inputSchema": tools[0]["inputSchema"] });
        agent = agent.serving(&[named("files__read_file"), named("tool_call_read")]);
        for (path, _) in rounds().into_iter().flatten() {
            agent.file(&format!("\"path\":\"{path}\""), &content(&path));
        }
    }
    Ok(agent)
}

async fn play(client: Client, holder: Holder, budget_tokens: u64) -> Result<CountedRun> {
    play_with(client, holder, budget_tokens, CrashAfter::No).await
}

/// When the daemon is killed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CrashAfter {
    No,
    /// When so many calls were answered, and before the model gets the results.
    Calls(u64),
}

/// Plays the script. Calls of a round are made at once, and clients that send ids with them make each of them twice.
async fn play_with(client: Client, holder: Holder, budget_tokens: u64, crash: CrashAfter) -> Result<CountedRun> {
    let mut scene = scene(holder, budget_tokens).await;
    let mut agent = agent(&scene, client, holder).await?;
    let (mut calls, mut server_calls, mut lost_rows) = (0, 0, 0);
    agent.say(ASKED);
    let said = loop {
        let said = match agent.turn().await {
            Err(error) if error.to_string().contains("529") => agent.turn().await?,
            turn => turn?,
        };
        if said.calls.is_empty() {
            break said.text;
        }
        if said.calls_tool("branch_create") {
            agent.answer(&said).await?;
            continue;
        }
        let made = said.calls.len() as u64;
        calls += made;
        match (holder, client) {
            (Holder::Gateway, Client::ClaudeCode | Client::Codex) => {
                agent.answer_at_once_and_again(&said).await?;
                server_calls += 2 * made;
            }
            (Holder::Gateway, Client::OpenCode) => {
                agent.answer(&said).await?;
                server_calls += made;
            }
            (Holder::Agent, _) => agent.answer(&said).await?,
        }
        if crash == CrashAfter::Calls(calls) {
            scene.restart(&mut agent).await;
            // Rows that were not written yet are lost with the daemon.
            lost_rows = scene.model.requests().len() as u64 - requests(&scene).await?;
        }
    };
    let turns = scene.turns();
    let branch = turns.iter().rev().find_map(Received::own_branch).context("no branch was opened")?;
    // An answer's row is written once the answer is counted.
    let answered = scene.model.requests().len() as u64 - lost_rows;
    until(async || Ok(requests(&scene).await? == answered)).await?;
    Ok(CountedRun { scene, said, branch, calls, server_calls })
}

/// How many requests the recorder has rows of.
async fn requests(scene: &Scene) -> Result<u64> {
    let rows = Database::look(scene.daemon.data())?.number("SELECT count(*) FROM requests")?;
    Ok(u64::try_from(rows)?)
}

pub async fn until(is_so: impl AsyncFn() -> Result<bool>) -> Result<()> {
    let waiting = async {
        while !is_so().await? {
            tokio::time::sleep(POLL).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(PATIENCE, waiting).await.context("it does not come about")?
}

impl CountedRun {
    async fn used_tokens(&self) -> Result<u64> {
        self.scene.status(&self.branch).await["budget_used"].as_u64().context("no figure")
    }

    fn counted(&self) -> Result<u64> {
        Ok(u64::try_from(Database::look(self.scene.daemon.data())?.number("SELECT count(*) FROM counted")?)?)
    }

    /// The references that the branch was shown last, without what a client puts around a result.
    fn references(&self) -> Vec<String> {
        let turns = self.scene.turns();
        let last = turns.iter().rev().find(|turn| !turn.holds(ASKED));
        let pieces = last.into_iter().flat_map(Received::shown);
        pieces.filter_map(|piece| Some(piece.text[piece.text.find("[Tool result stored")?..].to_owned())).collect()
    }

    /// What a command prints as JSON.
    async fn printed(&self, arguments: &[&str]) -> Result<Value> {
        let printed = self.scene.daemon.program(&[arguments, &["--json"]].concat()).output().await?;
        let text = String::from_utf8_lossy(&printed.stdout).into_owned();
        serde_json::from_str(&text)
            .with_context(|| format!("{arguments:?}: {text}{}", String::from_utf8_lossy(&printed.stderr)))
    }
}

/// Where there is room for all, the branch has used as many tokens as if the agent had the server itself, but for what the
/// references to long results say: they name the tool as its server does, and Codex's words around a result are not in them.
async fn hold_with_room(client: Client, model: &str) -> Result<()> {
    let through = play(client, Holder::Gateway, 30_000).await?;
    let own = play(client, Holder::Agent, 30_000).await?;
    assert_eq!((through.said.as_str(), own.said.as_str()), ("That is all.", "That is all."));
    assert_eq!((through.calls, through.counted()?), (own.calls, through.calls), "each call is counted once");
    assert_eq!(own.counted()?, own.calls);

    let (references, own_references) = (through.references(), own.references());
    assert_eq!((references.len(), own_references.len()), (2, 2));
    let counter = Counter::new(Family::of_model(model));
    let tokens = |texts: &[String]| texts.iter().map(|text| counter.count(text)).sum::<u64>();
    let (used, own_used) = (through.used_tokens().await?, own.used_tokens().await?);
    assert_eq!(used - tokens(&references), own_used - tokens(&own_references), "the rest is the same");

    let shown = through.printed(&["show", SESSION]).await?;
    let branch = &shown["branches"][0];
    assert_eq!((&branch["budget_used"], &branch["operations_count"]), (&json!(used), &json!(through.calls)));
    assert_eq!(shown["context_state"]["current_branch_tokens"], json!(used));
    let main = shown["context_state"]["main_thread_tokens"].as_u64().context("no figure")?;
    assert_eq!(shown["context_state"]["total_tokens"], json!(main + used), "and nowhere else");
    let top = through.printed(&["top"]).await?.to_string();
    assert!(top.contains(&through.branch) || top.contains(SESSION), "{top}");
    until(async || {
        let servers = through.printed(&["servers"]).await?;
        let server = servers["servers"][0].clone();
        Ok(server["calls"] == json!(through.server_calls)
            && server["offloaded"] == json!(2 * through.server_calls / through.calls)
            && server["errors"] == json!(0))
    })
    .await
}

/// Where there is not, the branch is folded in mid-work with its budget used up, and each call was counted once until then.
async fn hold_folded(client: Client) -> Result<()> {
    let folded = play(client, Holder::Gateway, 6_000).await?;
    assert_eq!(folded.said, OVER);
    let status = folded.scene.status(&folded.branch).await;
    assert_eq!((&status["status"], &status["reason"]), (&json!("timeout"), &json!("budget exhausted")));
    let counted = folded.counted()?;
    assert!((8..=folded.calls).contains(&counted) && folded.calls - counted <= 1, "{counted} of {}", folded.calls);
    let result = status["result"].as_str().context("no partial result")?;
    let (all, but_last) = (format!("in {counted} calls"), format!("in {} calls; the next item", counted - 1));
    assert!(result.contains(&all) || result.contains(&but_last), "{counted}: {result}");
    let parent = folded.scene.main_turns().pop().context("the parent was not asked")?;
    assert!(parent.holds("budget exhausted") && parent.holds("Sub-task: look"), "{}", parent.shape());
    Ok(())
}

/// What is held in memory of calls is nothing that the proxy needs: the next request has the results, and they are counted then.
#[tokio::test]
async fn a_crash_between_a_call_and_the_next_request_loses_no_call() -> Result<()> {
    let whole = play(Client::ClaudeCode, Holder::Gateway, 30_000).await?;
    // After a round with short results, and after one with a long result.
    for crash in [CrashAfter::Calls(2), CrashAfter::Calls(5)] {
        let crashed = play_with(Client::ClaudeCode, Holder::Gateway, 30_000, crash).await?;
        assert_eq!((crashed.calls, crashed.counted()?), (whole.calls, whole.calls));
        let operations = crashed.printed(&["show", SESSION]).await?["branches"][0]["operations_count"].clone();
        assert_eq!(operations, json!(whole.calls));
        // Until the session's model is known again, tokens are counted as for any model: that is all that differs.
        let (used, whole_used) = (crashed.used_tokens().await?, whole.used_tokens().await?);
        assert!(used.abs_diff(whole_used) * 50 < whole_used, "{used} of {whole_used}");
    }
    Ok(())
}

#[tokio::test]
async fn of_claude_code_every_token_is_counted_once() -> Result<()> {
    hold_with_room(Client::ClaudeCode, "claude-opus-5-5").await?;
    hold_folded(Client::ClaudeCode).await
}

#[tokio::test]
async fn of_codex_every_token_is_counted_once() -> Result<()> {
    hold_with_room(Client::Codex, "gpt-5.5").await?;
    hold_folded(Client::Codex).await
}

#[tokio::test]
async fn of_opencode_every_token_is_counted_once() -> Result<()> {
    hold_with_room(Client::OpenCode, "gpt-5.5").await?;
    hold_folded(Client::OpenCode).await
}
