//! What a branch gets to see, what infold adds for it, and what becomes of its reasoning and marks.

use infold_testkit::agent::Client;
use infold_testkit::model::work::{Work, branch_work, fold_branch, load_tools, open_branch, read_file};
use infold_testkit::model::{Received, Script, ShownKind, Step};
use serde_json::Value;

use crate::proxy::scene::{ASKED, Scene, marker, path};

const FOUND: &str = "Both files are about harbours.";

fn work() -> Work {
    Work::reading("Read two files", [path(1), path(2)], FOUND).budget_tokens(12_345)
}

fn script() -> Script {
    let mut steps = vec![read_file(&path(7))];
    steps.extend(branch_work(&work()));
    steps.push(Step::text("Done.").reasoning("It is over."));
    Script::new(steps)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_isolated_branch_keeps() {
    for client in Client::ALL {
        let scene = Scene::start(script()).await;
        scene.agent(client, "isolated").await.work(ASKED).await.unwrap();
        let branch = scene.branch_turns();
        let first = &branch[0];
        let front = match client {
            Client::ClaudeCode => "The project's rules",
            Client::Codex => "<environment_context>",
            Client::OpenCode => "You do what you are asked",
        };
        assert!(first.holds("You do what you are asked") && first.holds(front), "{client:?}:\n{}", first.shape());
        assert!(!first.holds(ASKED) && !first.holds(&marker(7)), "{client:?}:\n{}", first.shape());
        let tools: Vec<String> = first.tools().iter().map(|tool| tool.spelled()).collect();
        assert!(tools.iter().any(|tool| tool.ends_with("branch_return")), "{client:?}: {tools:?}");
        let main = scene.main_turns();
        assert_eq!(first.body["system"], main[0].body["system"], "{client:?}");
        let calls: Vec<_> = first.shown().into_iter().filter(|piece| piece.kind == ShownKind::Call).collect();
        assert!(calls.iter().all(|call| call.tool.as_deref().unwrap().to_lowercase().contains("search")), "{calls:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_opening_message() {
    let spelled = ["mcp__infold__branch_return", "mcp__infold__branch_return", "infold_branch_return"];
    for (client, spelled) in Client::ALL.into_iter().zip(spelled) {
        let scene = Scene::start(script()).await;
        scene.agent(client, "brief").await.work(ASKED).await.unwrap();
        let branch = scene.branch_turns();
        let id = branch[0].own_branch().unwrap();
        let shown = branch[0].shown();
        let brief = shown.iter().find(|piece| piece.text.contains(&id) && piece.kind == ShownKind::User);
        let brief = &brief.unwrap_or_else(|| panic!("{client:?} has no brief:\n{}", branch[0].shape())).text;
        for wanted in ["Read two files", "one after another", spelled] {
            assert!(brief.contains(wanted), "{client:?}: {wanted:?} is missing in {brief}");
        }
        let digits: String = brief.chars().filter(|letter| *letter != ',').collect();
        assert!(digits.contains("12345"), "{client:?}: the budget is missing in {brief}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reasoning_blocks_are_only_ever_sent_in_the_thread_they_were_made_in() {
    for client in [Client::ClaudeCode, Client::Codex] {
        let scene = Scene::start(script()).await;
        scene.agent(client, "reasoning").await.work(ASKED).await.unwrap();
        // The model itself refuses reasoning out of its place, or counts it as dropped. Here it is counted whether
        // there is any at all.
        let reasoning =
            |turn: &Received| turn.shown().iter().filter(|piece| piece.kind == ShownKind::Reasoning).count();
        let branch = scene.branch_turns();
        assert_eq!(branch.iter().map(reasoning).collect::<Vec<_>>(), [0, 1, 2], "{client:?}");
        let end = scene.main_turns().pop().unwrap();
        assert_eq!(reasoning(&end), 2, "{client:?}: the parent's own: of its reading and its opening\n{}", end.shape());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reasoning_blocks_of_the_parent_hold_in_a_branch_that_inherits() {
    for client in Client::ALL {
        let scene = Scene::with(script(), |setup| setup.set("folding.isolation", "inherit")).await;
        scene.agent(client, "inherit").await.work(ASKED).await.unwrap();
        let turns = scene.turns();
        let inside: Vec<_> = turns.iter().filter(|turn| turn.holds(&marker(2))).collect();
        assert!(!inside.is_empty() && inside.iter().all(|turn| turn.holds(ASKED) && turn.holds(&marker(7))));
        let end = turns.last().unwrap();
        assert!(end.holds(FOUND) && !end.holds(&marker(1)), "{client:?}:\n{}", end.shape());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cache_control_stays_and_moves_with_the_block_it_was_on() {
    let scene = Scene::start(script()).await;
    scene.agent(Client::ClaudeCode, "marks").await.work(ASKED).await.unwrap();
    for turn in scene.turns() {
        let shown = turn.shown();
        let marks = shown.iter().filter(|piece| piece.marked).count();
        assert_eq!(marks, 3, "{}", turn.shape());
        assert!(shown.last().unwrap().marked, "the last block is marked:\n{}", turn.shape());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_change_after_the_clients_own_tool_search() {
    let steps = [load_tools(), open_branch(&work()), read_file(&path(1)), fold_branch(FOUND), Step::text("Done.")];
    let scene = Scene::start(Script::new(steps)).await;
    scene.agent(Client::ClaudeCode, "tools").await.work(ASKED).await.unwrap();
    let turns = scene.turns();
    let counts: Vec<usize> = turns.iter().map(|turn| turn.tool_count()).collect();
    assert!(counts[1] > counts[0], "the search has added tools: {counts:?}");
    let names = |turn: &Received| -> Vec<Value> {
        turn.body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect()
    };
    assert!(turns[1..].iter().all(|turn| names(turn) == names(&turns[1])), "what the client lists is passed on");
}

#[tokio::test(flavor = "multi_thread")]
async fn count_tokens_is_planned_like_the_request_it_counts_and_nothing_is_recorded() {
    let scene = Scene::start(script()).await;
    let mut agent = scene.agent(Client::ClaudeCode, "counted").await;
    agent.say(ASKED);
    let said = agent.until(|said| said.text.contains("file-02")).await.unwrap();
    agent.answer(&said).await.unwrap();
    let body = agent.request();
    let branch = scene.branch_turns().pop().unwrap().own_branch().unwrap();
    let before = scene.status(&branch).await["budget_used"].clone();
    let answer = agent.post_to("/v1/messages/count_tokens", body.clone()).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(scene.status(&branch).await["budget_used"], before, "counting is not using");

    agent.turn().await.unwrap();
    let requests = scene.model.requests();
    let [.., counted, sent] = &requests[..] else { panic!("two requests were sent") };
    assert!(counted.holds(&marker(1)) && !counted.holds(ASKED), "{}", counted.shape());
    assert_eq!(counted.shape(), sent.shape());
}
