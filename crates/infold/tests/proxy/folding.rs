//! Folding as each client and API sees it: a branch that reads ten files, and a parent that gets one message.

use infold_testkit::agent::{Agent, Client, Listing};
use infold_testkit::model::work::{Work, branch_work, read_file};
use infold_testkit::model::{Model, Received, Script, ShownKind, Step};

use crate::proxy::scene::{ASKED, Scene, marker, path, put_files, shows_files};

const FILES_READ: usize = 10;

/// The most that a folded branch may add to its parent.
const GROWTH_TOKENS_MAX: u64 = 500;

/// What the branch gives back.
const FOUND: &str = "All ten files define harbour functions; none is called.";

fn script() -> Script {
    let work = Work::reading("Read the ten files", (1..=FILES_READ).map(path), FOUND).budget_tokens(30_000);
    // The parent has read something, after reasoning of its own, before anything is opened.
    let mut steps = vec![read_file(&path(11))];
    steps.extend(branch_work(&work));
    steps.push(read_file(&path(12)));
    steps.push(Step::text("Nothing calls them.").reasoning("That was it."));
    Script::new(steps)
}

/// Checks a session that folded: the branch saw the files and nothing of the parent; afterwards the files are gone
/// and the message is there.
fn check(scene: &Scene) {
    let (main, branch) = (scene.main_turns(), scene.branch_turns());
    assert_eq!(branch.len(), FILES_READ + 1, "a request for each file, and one for the return");
    let last = branch.last().unwrap();
    assert!((1..=FILES_READ).all(|number| last.holds(&marker(number))), "the branch sees what it has read");
    assert!(branch.iter().all(|turn| !turn.holds(&marker(11))), "and nothing of its parent's");

    let opened = main.iter().rposition(|turn| !turn.holds(FOUND)).unwrap();
    let (before, after) = (&main[opened], &main[opened + 1]);
    assert!((1..=FILES_READ).all(|number| !after.holds(&marker(number))), "the files are gone:\n{}", after.shape());
    assert!(after.holds(&marker(11)) && after.holds(FOUND));
    let grown = after.cache.total_tokens() - before.cache.total_tokens();
    assert!(grown < GROWTH_TOKENS_MAX, "the main thread grew by {grown} tokens");
    let kept = reasoning(before) + 1;
    assert_eq!(reasoning(after), kept, "the parent keeps its own reasoning:\n{}", after.shape());
    let end = main.last().unwrap();
    assert!(end.holds(&marker(12)) && !end.holds(&marker(1)), "and goes on");
}

fn reasoning(received: &Received) -> usize {
    received.shown().iter().filter(|piece| piece.kind == ShownKind::Reasoning).count()
}

fn snapshots(name: &str, scene: &Scene) {
    let (main, branch) = (scene.main_turns(), scene.branch_turns());
    insta::assert_snapshot!(format!("{name}_in_the_branch"), branch[1].shape());
    insta::assert_snapshot!(format!("{name}_after_the_fold"), main.last().unwrap().shape());
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_code_folds_ten_files_although_it_defers_tools() {
    let scene = Scene::start(script()).await;
    let mut agent = scene.agent(Client::ClaudeCode, "claude-session").await;
    let said = agent.work(ASKED).await.unwrap();
    assert_eq!(said, "Nothing calls them.");
    check(&scene);
    snapshots("claude_code", &scene);
    let branch = scene.branch_turns();
    assert!(branch[0].holds("mcp__infold__branch_return"), "{}", branch[0].shape());
    // The request after the fold reads from the cache all that the parent had written to it.
    let main = scene.main_turns();
    let after = main.iter().position(|turn| turn.holds(FOUND)).unwrap();
    let before = &main[after - 1].cache;
    assert!(main[after].cache.read_tokens >= before.read_tokens + before.written_tokens());
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_code_folds_with_its_tools_listed() {
    let scene = Scene::start(script()).await;
    let mut agent = scene.agent(Client::ClaudeCode, "claude-inline").await.listing(Listing::Inline).with_reminders();
    agent.work(ASKED).await.unwrap();
    check(&scene);
    snapshots("claude_code_inline", &scene);
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_folds_ten_files_although_it_defers_tools() {
    let scene = Scene::start(script()).await;
    let mut agent = scene.agent(Client::Codex, "codex-session").await;
    let said = agent.work(ASKED).await.unwrap();
    assert_eq!(said, "Nothing calls them.");
    check(&scene);
    snapshots("codex", &scene);
}

#[tokio::test(flavor = "multi_thread")]
async fn opencode_folds_ten_files() {
    let scene = Scene::start(script()).await;
    let mut agent = scene.agent(Client::OpenCode, "ses_opencode").await;
    let said = agent.work(ASKED).await.unwrap();
    assert_eq!(said, "Nothing calls them.");
    check_chat(&scene);
    snapshots("opencode", &scene);
}

/// Checks a session of OpenCode, which does not send reasoning back, so that there is none to compare.
fn check_chat(scene: &Scene) {
    let (main, branch) = (scene.main_turns(), scene.branch_turns());
    assert_eq!(branch.len(), FILES_READ + 1);
    assert!((1..=FILES_READ).all(|number| branch.last().unwrap().holds(&marker(number))));
    let end = main.last().unwrap();
    assert!(end.holds(FOUND) && end.holds(&marker(12)) && !end.holds(&marker(1)), "{}", end.shape());
}

#[tokio::test(flavor = "multi_thread")]
async fn folding_costs_less_than_the_same_work_inline() {
    let scene = Scene::start(script()).await;
    scene.agent(Client::ClaudeCode, "folded").await.work(ASKED).await.unwrap();
    let folded = scene.model.totals();

    let direct = Model::start(script()).await.unwrap();
    let (model_url, daemon_url) = (direct.base_url(), scene.daemon.base_url());
    let mut agent = Agent::direct(Client::ClaudeCode, model_url, daemon_url, "inline").await.unwrap();
    put_files(&mut agent);
    agent.work(ASKED).await.unwrap();
    assert!(shows_files(direct.turns().last().unwrap()), "without a proxy nothing is folded");
    let last = |model: &Model| model.turns().last().unwrap().cache.total_tokens();
    assert!(last(&scene.model) * 2 < last(&direct), "{} and {}", last(&scene.model), last(&direct));
    assert!(folded.total_tokens() < direct.totals().total_tokens());
}
