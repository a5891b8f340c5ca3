//! Branches that end without their own return: out of budget or time, interrupted, rolled back.

use infold_testkit::agent::{Client, Listing, ToolOutput};
use infold_testkit::model::work::{Work, fold_branch, load_tools, open_branch, read_file};
use infold_testkit::model::{Decision, Script, Step};
use serde_json::{Value, json};

use crate::proxy::scene::{ASKED, Scene, calling, end_of, marker, path, read_in_branch};
use crate::support::of_type;

/// The time of a branch that is to run out of it: a busy machine must be able to work in it first.
const SHORT_SECONDS: u64 = 5;

const FOUND: &str = "Both files are about harbours.";

fn work() -> Work {
    Work::reading("Read two files", [path(1), path(2)], FOUND)
}

/// Opens a branch that runs out of time unless it returns at once.
fn opening_for_a_short_time() -> Step {
    let arguments = json!({"session_id": "s", "description": "Read slowly", "timeout_seconds": SHORT_SECONDS});
    calling("branch_create", move |_| arguments.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn forced_fold_by_budget_cuts_back_to_the_parent_with_the_partial_result() {
    for client in Client::ALL {
        let work = Work::reading("Read many files", [], FOUND).budget_tokens(2_000);
        let mut steps = vec![load_tools(), open_branch(&work)];
        steps.extend((1..=8).map(|number| read_in_branch(number, "The branch is over.")));
        let scene = Scene::with(Script::new(steps), |setup| setup.set("proxy.shape", "false")).await;
        let mut agent = scene.agent(client, "budget").await;
        let said = agent.work(ASKED).await.unwrap();
        assert_eq!(said, "The branch is over.", "{client:?}");

        let branch = scene.branch_turns();
        assert!(branch.len() >= 2, "{client:?}: the branch has worked");
        let id = branch[0].own_branch().unwrap();
        assert_eq!(scene.status(&id).await["status"], "timeout", "{client:?}");
        let end = scene.main_turns().pop().unwrap();
        assert!(end.holds("was cut short"), "{client:?}:\n{}", end.shape());
        assert!(!end.holds(&end_of(1)), "{client:?}: the work itself is gone:\n{}", end.shape());

        // The client goes on from there, and the place stays where it was.
        agent.say("And now?");
        agent.turn().await.unwrap();
        let later = scene.main_turns().pop().unwrap();
        assert!(
            later.shape().starts_with(end.shape().replace(" (mark)", "").trim_end()) || client == Client::ClaudeCode
        );
        assert!(later.holds("And now?") && later.holds("was cut short") && !later.holds(&end_of(1)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forced_fold_a_client_that_goes_back_into_the_branch_and_speaks_there_finds_it_folded_for_ever() {
    for client in Client::ALL {
        let work = Work::reading("Read many files", [], FOUND).budget_tokens(2_000);
        let mut steps = vec![load_tools(), open_branch(&work)];
        steps.extend((1..=8).map(|number| read_in_branch(number, "The branch is over.")));
        let scene = Scene::with(Script::new(steps), |setup| setup.set("proxy.shape", "false")).await;
        let mut agent = scene.agent(client, "spent").await;
        agent.say(ASKED);
        let said = agent.until(|said| said.text.contains("file-01")).await.unwrap();
        agent.answer(&said).await.unwrap();
        let here = agent.transcript.clone();
        assert_eq!(agent.go_on().await.unwrap(), "The branch is over.", "{client:?}");

        // Nothing is left of its budget.
        agent.transcript = here;
        for words in ["Stop.", "And now?"] {
            agent.say(words);
            agent.turn().await.unwrap();
            let now = scene.turns().pop().unwrap();
            let is_folded = now.holds("was cut short") && !now.holds(&end_of(1));
            assert!(is_folded && now.holds(ASKED) && now.holds(words), "{client:?}:\n{}", now.shape());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forced_fold_by_time_cuts_back_to_the_parent() {
    let steps =
        [load_tools(), opening_for_a_short_time(), read_in_branch(1, "Too late."), read_in_branch(2, "Too late.")];
    let scene = Scene::start(Script::new(steps)).await;
    let mut agent = scene.agent(Client::ClaudeCode, "deadline").await;
    agent.say(ASKED);
    let said = agent.until(|said| said.text.contains("file-01")).await.unwrap();
    let id = scene.branch_turns()[0].own_branch().unwrap();
    scene.until_status(&id, "timeout").await;
    agent.answer(&said).await.unwrap();
    assert_eq!(agent.go_on().await.unwrap(), "Too late.");
    let end = scene.main_turns().pop().unwrap();
    assert!(end.holds("was cut short") && !end.holds(&end_of(1)), "{}", end.shape());
}

#[tokio::test(flavor = "multi_thread")]
async fn forced_fold_a_late_return_learns_that_the_branch_is_over() {
    let late = Step::seeing(|received| {
        let branch = received.branch_ids().pop().unwrap_or_default();
        let arguments = json!({"branch_id": branch, "message": "late words"});
        calling("branch_return", move |_| arguments.clone()).decision(received)
    });
    let steps = [load_tools(), opening_for_a_short_time(), read_file(&path(1)), late, Step::text("So it is over.")];
    let scene = Scene::start(Script::new(steps)).await;
    let mut agent = scene.agent(Client::ClaudeCode, "late").await;
    agent.say(ASKED);
    let said = agent.until(|said| said.text.contains("file-01")).await.unwrap();
    let id = scene.branch_turns()[0].own_branch().unwrap();
    scene.until_status(&id, "timeout").await;
    agent.answer(&said).await.unwrap();
    assert_eq!(agent.go_on().await.unwrap(), "So it is over.");
    let end = scene.main_turns().pop().unwrap();
    assert!(end.holds("was cut short"), "{}", end.shape());
    let result = end.last_result_of("branch_return").unwrap();
    assert!(!result.contains("\"success\":true"), "the return comes too late: {result}");
}

#[tokio::test(flavor = "multi_thread")]
async fn forced_fold_a_late_return_becomes_the_result_if_the_parent_has_not_been_sent_yet() {
    for client in Client::ALL {
        let steps = [
            load_tools(),
            opening_for_a_short_time(),
            read_file(&path(1)),
            fold_branch(FOUND),
            Step::text("Just in time."),
        ];
        let scene = Scene::start(Script::new(steps)).await;
        let mut agent = scene.agent(client, "just-in-time").await;
        agent.say(ASKED);
        let said = agent.until(|said| said.calls_tool("branch_return")).await.unwrap();
        // Asking for the branch's status would report its end to its parent; reading the events does not.
        let over = |events: &[Value]| !of_type(events, "branch.folded").is_empty();
        scene.api().events_until("just-in-time", over).await.unwrap();
        agent.answer(&said).await.unwrap();
        assert_eq!(agent.go_on().await.unwrap(), "Just in time.", "{client:?}");
        let end = scene.main_turns().pop().unwrap();
        assert!(end.holds(FOUND) && !end.holds(&end_of(1)), "{client:?}:\n{}", end.shape());
    }
}

/// What a return was answered whose outcome nobody knew: by infold, and by a client.
const UNKNOWN: [&str; 2] =
    [r#"{"code":"outcome_unknown","status":504,"message":"It may be recorded.","data":{}}"#, "MCP error: closed"];

#[tokio::test(flavor = "multi_thread")]
async fn a_return_whose_outcome_was_unknown_folds_if_it_was_recorded() {
    for (client, answer) in Client::ALL.into_iter().flat_map(|client| UNKNOWN.map(|answer| (client, answer))) {
        let steps = [load_tools(), open_branch(&work()), read_file(&path(1)), fold_branch(FOUND)];
        let scene = Scene::start(Script::new(steps).then([Step::text("Done."), Step::text("Yes.")])).await;
        let mut agent = scene.agent(client, "unknown").await;
        agent.say(ASKED);
        let said = agent.until(|said| said.calls_tool("branch_return")).await.unwrap();
        let transcript = agent.transcript.clone();
        agent.answer(&said).await.unwrap();
        agent.transcript = transcript;
        agent.add_results(&[(said.calls[0].clone(), ToolOutput::Text(answer.to_owned()))]);
        assert_eq!(agent.go_on().await.unwrap(), "Done.", "{client:?}");
        agent.work("And now?").await.unwrap();
        let end = scene.main_turns().pop().unwrap();
        assert!(end.holds(FOUND) && !end.holds(&end_of(1)), "{client:?} {answer}:\n{}", end.shape());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_return_whose_outcome_was_unknown_folds_where_it_is_repeated_if_it_was_not_recorded() {
    for (client, answer) in Client::ALL.into_iter().flat_map(|client| UNKNOWN.map(|answer| (client, answer))) {
        let steps = [load_tools(), open_branch(&work()), read_file(&path(1)), fold_branch("Lost words.")];
        let after = [fold_branch(FOUND), Step::text("Done."), Step::text("Yes.")];
        let scene = Scene::start(Script::new(steps).then(after)).await;
        let mut agent = scene.agent(client, "repeated").await;
        agent.say(ASKED);
        let said = agent.until(|said| said.calls_tool("branch_return")).await.unwrap();
        agent.add_results(&[(said.calls[0].clone(), ToolOutput::Text(answer.to_owned()))]);
        assert_eq!(agent.go_on().await.unwrap(), "Done.", "{client:?}");
        agent.work("And now?").await.unwrap();
        let end = scene.main_turns().pop().unwrap();
        let is_folded = end.holds(FOUND) && !end.holds("Lost words.") && !end.holds(&end_of(1));
        assert!(is_folded && end.last_result_of("branch_return").is_none(), "{client:?} {answer}:\n{}", end.shape());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_says_it_failed_is_folded_with_what_it_says() {
    let failing = calling(
        "branch_return",
        |received| json!({"branch_id": received.own_branch(), "message": "The pier is gone.", "failed": true}),
    );
    let steps = [load_tools(), open_branch(&work()), read_file(&path(1)), failing, Step::text("A pity.")];
    let scene = Scene::start(Script::new(steps)).await;
    scene.agent(Client::ClaudeCode, "failed").await.work(ASKED).await.unwrap();
    let end = scene.main_turns().pop().unwrap();
    let result = end.last_result_of("branch_create").unwrap();
    assert!(result.contains("failed") && result.contains("The pier is gone."), "{result}");
    assert!(!end.holds(&end_of(1)), "{}", end.shape());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_other_family_of_tools_folds_as_well() {
    for client in Client::ALL {
        let opening = calling(
            "context_branch",
            |_| json!({"project_path": "/p", "description": "Read one file", "prompt": "Read it."}),
        );
        let returning = calling(
            "context_return",
            |received| json!({"project_path": "/p", "branch_id": received.own_branch(), "message": FOUND}),
        );
        let steps = [opening, read_file(&path(1)), returning, Step::text("Done.")];
        let scene = Scene::start(Script::new(steps)).await;
        let mut agent = scene.agent(client, "context-family").await.listing(Listing::Inline);
        agent.work(ASKED).await.unwrap();
        assert_eq!(scene.branch_turns().len(), 2, "{client:?}");
        let end = scene.main_turns().pop().unwrap();
        assert!(end.holds(FOUND) && !end.holds(&end_of(1)), "{client:?}:\n{}", end.shape());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_huge_result_in_a_branch_is_offloaded_before_it_is_sent() {
    for client in Client::ALL {
        let steps =
            [load_tools(), open_branch(&work()), read_file("/p/huge.log"), fold_branch(FOUND), Step::text("Done.")];
        let scene = Scene::start(Script::new(steps)).await;
        let mut agent = scene.agent(client, "huge").await;
        let huge: String = (0..20_000).map(|line| format!("{line} the harbour is quiet, nothing moves\n")).collect();
        agent.file("/p/huge.log", &huge);
        agent.work(ASKED).await.unwrap();
        let turns = scene.turns();
        let longest = turns.iter().map(|turn| turn.bytes.len()).max().unwrap();
        assert!(longest < huge.len() / 4, "{client:?}: {longest} bytes were sent at once");
        let id = turns.iter().find_map(|turn| turn.own_branch()).unwrap();
        assert_eq!(scene.status(&id).await["status"], "completed", "{client:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_huge_result_whose_reference_does_not_fit_folds_the_branch() {
    let work = Work::reading("Read a log", [], FOUND).budget_tokens(150);
    let steps = [load_tools(), open_branch(&work), read_file("/p/huge.log"), Step::text("It was too much.")];
    let scene = Scene::start(Script::new(steps)).await;
    let mut agent = scene.agent(Client::ClaudeCode, "too-huge").await;
    let huge: String = (0..9_000).map(|line| format!("{line} the harbour is quiet, nothing moves\n")).collect();
    agent.file("/p/huge.log", &huge);
    assert_eq!(agent.work(ASKED).await.unwrap(), "It was too much.");
    let end = scene.main_turns().pop().unwrap();
    assert!(end.holds("was cut short") && end.bytes.len() < 40_000, "{}", end.shape());
    let id = scene.branch_turns()[0].own_branch().unwrap();
    let status = scene.status(&id).await;
    assert_eq!(status["status"], "timeout", "{status}");
    assert!(
        status["budget_used"].as_u64() <= status["budget_total"].as_u64(),
        "no branch exceeds its budget: {status}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_speaks_while_a_branch_is_open() {
    for client in Client::ALL {
        let steps = [load_tools(), open_branch(&work()), read_file(&path(1)), Step::text("One file is read.")];
        let script = Script::new(steps).then([Step::text("I have stopped."), Step::text("Yes.")]);
        let scene = Scene::start(script).await;
        let mut agent = scene.agent(client, "interrupted").await;
        agent.work(ASKED).await.unwrap();
        let id = scene.branch_turns()[0].own_branch().unwrap();
        agent.work("Stop there, what have you got?").await.unwrap();

        let end = scene.main_turns().pop().unwrap();
        assert!(end.holds("Stop there, what have you got?"), "{client:?}:\n{}", end.shape());
        assert!(end.holds("was cut short") && !end.holds(&end_of(1)), "{client:?}:\n{}", end.shape());
        let status = scene.status(&id).await;
        assert_eq!((&status["status"], &status["reason"]), (&json!("failed"), &json!("interrupted")), "{client:?}");
        let database = rusqlite::Connection::open(scene.daemon.data().join("infold.db")).unwrap();
        let ends = "SELECT count(*) FROM events WHERE status IS NOT NULL";
        let teaching: i64 = database.query_row(ends, [], |row| row.get(0)).unwrap();
        assert_eq!(teaching, 0, "{client:?}: there is nothing to be learnt from it");
        agent.work("Anything else?").await.unwrap();
        let later = scene.main_turns().pop().unwrap();
        assert!(later.holds("was cut short") && !later.holds(&end_of(1)), "{client:?}:\n{}", later.shape());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reminders_that_a_client_adds_beside_tool_results_are_not_the_user_speaking() {
    let steps = [load_tools(), open_branch(&work()), read_file(&path(1)), read_file(&path(2)), fold_branch(FOUND)];
    let scene = Scene::start(Script::new(steps).then([Step::text("Done.")])).await;
    scene.agent(Client::ClaudeCode, "reminded").await.with_reminders().work(ASKED).await.unwrap();
    assert_eq!(scene.branch_turns().len(), 3);
    assert!(scene.main_turns().pop().unwrap().holds(FOUND));
}

#[tokio::test(flavor = "multi_thread")]
async fn rollback_opens_the_branch_again_and_each_generation_has_one_end() {
    for client in Client::ALL {
        let back = calling(
            "context_rollback",
            |received| json!({"project_path": "/p", "branch_id": received.branch_ids()[0]}),
        );
        let load = Step::seeing(|received| match received.search_tool() {
            None => Decision::Skip,
            Some(search) => {
                let query =
                    json!({"query": "branch_create branch_return context_rollback", "max_results": 8, "limit": 8});
                Decision::Say(Step::calling_one("Loading.", search, query))
            }
        });
        let steps = [load, open_branch(&work()), read_file(&path(1)), fold_branch("the first end"), back];
        let script = Script::new(steps).then([read_file(&path(2)), fold_branch("the second end"), Step::text("Done.")]);
        let scene = Scene::start(script).await;
        scene.agent(client, "rolled-back").await.work(ASKED).await.unwrap();

        let again: Vec<_> = scene.branch_turns().into_iter().filter(|turn| turn.holds(&marker(2))).collect();
        assert!(
            !again.is_empty() && again.iter().all(|turn| turn.holds(&marker(1))),
            "{client:?}: it goes on as it was"
        );
        let end = scene.main_turns().pop().unwrap();
        assert!(end.holds("the second end") && !end.holds(&end_of(1)), "{client:?}:\n{}", end.shape());
    }
}
