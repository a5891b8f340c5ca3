//! What infold says to a model in a branch before it is too late: that its budget is nearly gone, and which branch is
//! open.

use infold_testkit::agent::Client;
use infold_testkit::model::work::{self, Work, fold_branch, load_tools, open_branch, read_file};
use infold_testkit::model::{Decision, Script, Step};
use serde_json::json;

use crate::proxy::scene::{ASKED, FILES, Scene, path};

/// Words that are in the warning, and nowhere else.
const WARNING: &str = "Finish and call branch_return now";

/// Reads a file, or folds once there is a warning.
fn read_until_warned(number: usize) -> Step {
    let (reading, folding) = (read_file(&path(number)), fold_branch("As far as I came."));
    Step::seeing(move |received| match (received.holds(ASKED), received.holds(WARNING)) {
        (true, _) => Decision::Skip,
        (false, true) => folding.decision(received),
        (false, false) => reading.decision(received),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_is_warned_once_before_its_budget_is_gone_and_can_still_return() {
    for client in Client::ALL {
        let opening = open_branch(&Work::reading("Read them all", [], "").budget_tokens(4_000));
        let script = Script::new([load_tools(), opening])
            .then((1..=FILES).map(read_until_warned))
            .then([Step::text("That is what there is.")]);
        let scene = Scene::start(script).await;
        let mut agent = scene.agent(client, "warned").await;
        agent.work(ASKED).await.unwrap();

        let warnings: Vec<usize> = scene.branch_turns().iter().map(|turn| turn.shows_times(WARNING)).collect();
        assert_eq!(warnings.last(), Some(&1), "{client:?}: {warnings:?}");
        assert_eq!(warnings.iter().sum::<usize>(), 1, "{client:?}: not before, and it folded at once: {warnings:?}");
        let end = scene.main_turns().pop().unwrap();
        assert!(end.holds("returned]") && end.holds("As far as I came."), "{client:?}:\n{}", end.shape());
        assert!(!end.holds(WARNING) && !end.holds("was cut short"), "{client:?}:\n{}", end.shape());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_warning_stays_where_it_was_put_and_is_not_said_again() {
    let opening = open_branch(&Work::reading("Read them all", [], "").budget_tokens(4_000));
    let reading = (1..=FILES).map(|number| {
        let (step, short) = (read_until_warned(number), read_file(&format!("/p/short-{number}.txt")));
        Step::seeing(move |received| match received.holds(WARNING) {
            true if received.shows_times("short file") >= 2 => fold_branch("Done.").decision(received),
            true => short.decision(received),
            false => step.decision(received),
        })
    });
    let script = Script::new([load_tools(), opening]).then(reading).then([Step::text("Yes.")]);
    let scene = Scene::start(script).await;
    let mut agent = scene.agent(Client::ClaudeCode, "stays").await;
    for number in 1..=FILES {
        agent.file(&format!("/p/short-{number}.txt"), "a short file");
    }
    agent.work(ASKED).await.unwrap();

    let warnings: Vec<usize> = scene.branch_turns().iter().map(|turn| turn.shows_times(WARNING)).collect();
    assert_eq!(&warnings[warnings.len() - 3..], [1, 1, 1], "{warnings:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_return_with_a_wrong_id_learns_which_branch_is_open() {
    for client in Client::ALL {
        let wrong = Step::seeing(|received| {
            let id = "br_00000000-0000-8000-8000-000000000000";
            work::call(received, "branch_return", "Back.", json!({"branch_id": id, "message": "m"}))
        });
        let named = Step::seeing(|received| {
            let said = received.last_result_of("branch_return").unwrap_or_default();
            let open = said.split("The open branch is ").nth(1).map(|rest| rest.chars().take(39).collect::<String>());
            match open {
                Some(open) => {
                    let arguments = json!({"branch_id": open, "message": "It was named."});
                    work::call(received, "branch_return", "Back, then.", arguments)
                }
                None => Decision::Stuck(format!("the refusal names no branch: {said}")),
            }
        });
        let opening = open_branch(&Work::reading("Look", [], ""));
        let script = Script::new([load_tools(), opening, wrong, named, Step::text("Good.")]);
        let scene = Scene::start(script).await;
        let mut agent = scene.agent(client, "wrong").await;
        agent.work(ASKED).await.unwrap();
        let end = scene.main_turns().pop().unwrap();
        assert!(end.holds("It was named."), "{client:?}:\n{}", end.shape());
    }
}
