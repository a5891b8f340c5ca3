//! Branches of the agent's: side by side, each by itself, and what becomes of those that fail.

use std::sync::{Arc, Condvar, Mutex};

use infold_testkit::model::{Decision, Fault, Received, Script, Step};
use serde_json::json;

use super::scene::{ASKED, Ran, Scene, by_words, calls, opening, result_of, returning};
use crate::support::PATIENCE;

/// Holds requests back until so many have come.
#[derive(Clone)]
struct Meeting {
    here: Arc<(Mutex<usize>, Condvar)>,
    wanted: usize,
}

impl Meeting {
    fn of(wanted: usize) -> Self {
        Self { here: Arc::default(), wanted }
    }

    /// Waits for the others; says whether all have come.
    fn wait(&self) -> bool {
        let (count, changed) = &*self.here;
        // What else this thread of the model's has to do is done by others meanwhile.
        tokio::task::block_in_place(|| {
            let mut count = count.lock().unwrap();
            *count += 1;
            changed.notify_all();
            let (count, _) = changed.wait_timeout_while(count, PATIENCE, |count| *count < self.wanted).unwrap();
            *count >= self.wanted
        })
    }
}

/// The result of each branch, by how it ended.
fn folded(ran: &Ran) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    ran.of_kind("branch_folded").iter().map(|event| (text(&event["how"]), text(&event["result"]))).collect()
}

/// The turns of the branch with this brief.
fn turns_of(scene: &Scene, brief: &str) -> Vec<Received> {
    let is_it = |turn: &Received| turn.shown().iter().any(|piece| piece.text.contains(&format!("Task: {brief}")));
    scene.turns().into_iter().filter(is_it).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn three_branches_of_one_answer_work_at_the_same_time_and_none_sees_another() {
    let meeting = Meeting::of(3);
    let answer = move |received: &Received| {
        if received.holds(ASKED) {
            return match received.shows_times("[branch br_") {
                0 => Decision::Say(opening(&[
                    ("task north", "Go north."),
                    ("task east", "Go east."),
                    ("task south", "Go south."),
                ])),
                _ => Decision::Say(Step::text("All three are back.")),
            };
        }
        if !meeting.wait() {
            return Decision::Stuck("the branches do not work at the same time".to_owned());
        }
        let found = ["north", "east", "south"].into_iter().find(|way| received.holds(&format!("task {way}")));
        Decision::Say(returning(&format!("found the {} gate", found.unwrap_or("wrong"))))
    };
    let scene = Scene::start(Script::new(std::iter::repeat_n(Step::seeing(answer), 9))).await;
    let ran = scene.exec(&[ASKED]).await;
    assert_eq!(ran.finished(0)["answer"], "All three are back.");
    for way in ["north", "east", "south"] {
        let turns = turns_of(&scene, &format!("task {way}"));
        assert_eq!(turns.len(), 1, "{way}");
        assert!(turns[0].holds(&format!("Go {way}.")) && !turns[0].holds(ASKED), "{}", turns[0].shape());
        for other in ["north", "east", "south"].into_iter().filter(|other| *other != way) {
            assert!(!turns[0].holds(other), "{way} sees {other}: {}", turns[0].shape());
        }
    }
    let last = scene.main_turns().pop().unwrap();
    for way in ["north", "east", "south"] {
        assert!(last.holds(&format!("found the {way} gate")), "{}", last.shape());
    }
    // Results are in the order of their calls, whatever order the branches ended in.
    let shape = last.shape();
    let at = |way: &str| shape.find(&format!("found the {way} gate")).unwrap();
    assert!(at("north") < at("east") && at("east") < at("south"), "{shape}");
}

#[tokio::test]
async fn a_branch_s_work_stays_in_it_and_its_files_in_the_folder() {
    let scene = Scene::start(by_words(vec![
        ("Task: write it", calls(vec![("write", json!({"path": "made.txt", "content": "by a branch\n"}))])),
        ("made.txt", returning("it is written")),
        ("it is written", Step::text("Good.")),
        (ASKED, opening(&[("write it", "Write made.txt.")])),
    ]))
    .await;
    let ran = scene.exec(&[ASKED]).await;
    let last = ran.finished(0);
    assert_eq!(last["files_changed"], json!(["made.txt"]));
    assert_eq!(scene.text("made.txt"), "by a branch\n");
    let main = scene.main_turns().pop().unwrap();
    assert!(!main.holds("by a branch"), "{}", main.shape());
    assert_eq!(folded(&ran), [("returned".to_owned(), "it is written".to_owned())]);
}

#[tokio::test]
async fn a_branch_that_failed_says_so_and_the_main_thread_goes_on() {
    let scene = Scene::start(by_words(vec![
        ("Task: hard", calls(vec![("branch_return", json!({"message": "there is no such thing", "failed": true}))])),
        ("there is no such thing", Step::text("Then not.")),
        (ASKED, opening(&[("hard", "Find it.")])),
    ]))
    .await;
    let ran = scene.exec(&[ASKED]).await;
    assert_eq!(ran.finished(0)["answer"], "Then not.");
    assert_eq!(folded(&ran), [("failed".to_owned(), "there is no such thing".to_owned())]);
    let last = scene.main_turns().pop().unwrap();
    assert_eq!(last.body.to_string().matches("\"is_error\":true").count(), 1);
}

#[tokio::test]
async fn a_branch_that_never_returns_hands_over_its_last_words() {
    let scene = Scene::start(by_words(vec![
        ("Task: talk", Step::text("I think that it is in the cellar.")),
        ("in the cellar", Step::text("The cellar, then.")),
        (ASKED, opening(&[("talk", "Say where it is.")])),
    ]))
    .await;
    let ran = scene.exec(&[ASKED]).await;
    assert_eq!(ran.finished(0)["answer"], "The cellar, then.");
    assert_eq!(folded(&ran), [("returned".to_owned(), "I think that it is in the cellar.".to_owned())]);
}

#[tokio::test]
async fn a_branch_over_its_budget_is_folded_in_mid_work_with_what_it_has() {
    let opening =
        calls(vec![("branch_create", json!({"description": "read all", "prompt": "Read it.", "budget": 3000}))]);
    // The branch never ends by itself.
    let going_on = Step::seeing(|received| {
        let number = received.shown().iter().filter(|piece| piece.tool.is_some()).count();
        Decision::Say(calls(vec![(
            "shell",
            json!({"command": format!("for n in $(seq 1 60); do echo part {number} line $n; done")}),
        )]))
    });
    let scene = Scene::start(by_words(vec![
        ("Task: read all", going_on.clone()),
        ("[branch br_", Step::text("It did not fit.")),
        (ASKED, opening),
        ("", going_on),
    ]))
    .await;
    let ran = scene.exec(&["--approval", "all", ASKED]).await;
    assert_eq!(ran.finished(0)["answer"], "It did not fit.");
    let folded = folded(&ran);
    assert_eq!(folded.len(), 1);
    let (how, partial) = &folded[0];
    assert!(how != "returned" && partial.contains("part "), "{folded:?}");
    let last = scene.main_turns().pop().unwrap();
    assert!(result_of(&last, "branch_create").contains(partial.as_str()), "{}", last.shape());
    assert!(!last.holds("part 0 line 1\npart 0 line 2\npart 0 line 3"), "its work stays in it: {}", last.shape());
    assert!(turns_of(&scene, "read all").len() > 1);
}

#[tokio::test]
async fn branches_nest_and_too_deep_ones_are_refused_in_words() {
    let scene = Scene::start(by_words(vec![
        ("Task: level 1", opening(&[("level 2", "Deeper.")])),
        ("Task: level 2", opening(&[("level 3", "Deeper.")])),
        ("Task: level 3", opening(&[("level 4", "Too deep.")])),
        ("Task: level 4", returning("nobody should be here")),
        ("the limit is", returning("the bottom")),
        ("the bottom", returning("from the middle")),
        (
            "from the middle",
            Step::seeing(|received| match received.holds(ASKED) {
                true => Decision::Say(Step::text("Up again.")),
                false => Decision::Say(returning("from the top")),
            }),
        ),
        ("from the top", Step::text("Up again.")),
        (ASKED, opening(&[("level 1", "Deep.")])),
    ]))
    .await;
    let ran = scene.exec(&[ASKED]).await;
    assert_eq!(ran.finished(0)["answer"], "Up again.");
    let ends: Vec<String> = folded(&ran).into_iter().map(|(_, result)| result).collect();
    assert_eq!(ends, ["the bottom", "from the middle", "from the top"]);
    let main = scene.main_turns().pop().unwrap();
    assert!(!main.holds("the bottom") && !main.holds("from the middle"), "{}", main.shape());
}

#[tokio::test]
async fn a_branch_that_inherits_sees_the_conversation_and_not_its_own_call() {
    let open = json!({"description": "carry on", "prompt": "Use what was said.", "isolation": "inherit"});
    let scene = Scene::start(by_words(vec![
        ("Task: carry on", returning("carried on")),
        ("carried on", Step::text("Good.")),
        (ASKED, calls(vec![("branch_create", open)])),
    ]))
    .await;
    scene.exec(&[ASKED]).await.finished(0);
    let turns = turns_of(&scene, "carry on");
    assert!(turns[0].holds(ASKED), "{}", turns[0].shape());
    assert_eq!(turns[0].shown().iter().filter(|piece| piece.tool.as_deref() == Some("branch_create")).count(), 0);
}

#[tokio::test]
async fn while_a_branch_s_model_fails_the_others_come_to_their_end() {
    let scene = Scene::start(by_words(vec![
        ("Task: unlucky", Step::failing(Fault::status(401))),
        ("Task: lucky", returning("luck")),
        (ASKED, opening(&[("unlucky", "One."), ("lucky", "Two.")])),
    ]))
    .await;
    let ran = scene.exec(&[ASKED]).await;
    ran.finished(6);
    assert_eq!(folded(&ran), [("returned".to_owned(), "luck".to_owned())]);
    let said = scene.log();
    let results = said.iter().filter(|record| record["happened"] == "result").count();
    assert_eq!(results, 1, "the result of the branch that ended is kept");
}

#[tokio::test]
async fn a_branch_whose_time_is_over_is_folded_though_its_model_is_silent() {
    let open = json!({"description": "wait", "prompt": "Wait.", "timeout_seconds": 1});
    let scene = Scene::start(by_words(vec![
        ("Task: wait", Step::failing(Fault::StallAfter { bytes: 0 })),
        ("[branch br_", Step::text("It took too long.")),
        (ASKED, calls(vec![("branch_create", open)])),
    ]))
    .await;
    let ran = scene.exec(&[ASKED]).await;
    assert_eq!(ran.finished(0)["answer"], "It took too long.");
    assert_eq!(folded(&ran).len(), 1);
    assert!(folded(&ran)[0].0 != "returned", "{:?}", folded(&ran));
}

#[tokio::test]
async fn a_person_who_speaks_over_an_open_branch_ends_it() {
    let scene = Scene::start(by_words(vec![
        ("Never mind", Step::text("As you like.")),
        ("Task: long", Step::failing(Fault::StallAfter { bytes: 0 })),
        (ASKED, opening(&[("long", "Take your time.")])),
    ]))
    .await;
    let child = scene.begin(&[ASKED]);
    scene.model.until_sent(|request| request.holds("Task: long")).await;
    super::scene::signal(&child, rustix::process::Signal::KILL);
    super::scene::ended(child).await;
    let ran = scene.exec(&["--continue", "Never mind the long task."]).await;
    assert_eq!(ran.finished(0)["answer"], "As you like.");
    let last = scene.main_turns().pop().unwrap();
    assert!(result_of(&last, "branch_create").contains("interrupted"), "{}", last.shape());
    let shown = scene.run(&["show", &ran.session(), "--json"]).await;
    let session: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    let branches = session["branches"].as_array().unwrap();
    assert_eq!(branches.len(), 1, "{session}");
    assert_ne!(branches[0]["status"], "active", "{session}");
}

#[tokio::test]
async fn calls_beside_a_return_are_done_before_it_and_nothing_after_it() {
    let scene = Scene::start(by_words(vec![
        (
            "Task: both",
            calls(vec![
                ("branch_return", json!({"message": "both done"})),
                ("write", json!({"path": "beside.txt", "content": "x"})),
            ]),
        ),
        ("both done", Step::text("Good.")),
        (ASKED, opening(&[("both", "Do both.")])),
    ]))
    .await;
    scene.exec(&[ASKED]).await.finished(0);
    assert_eq!(scene.text("beside.txt"), "x");
}

#[tokio::test]
async fn more_branches_than_a_session_may_have_are_refused_in_words() {
    let many: Vec<(String, String)> = (0..12).map(|number| (format!("part {number}"), "Do it.".to_owned())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let scene = Scene::start(by_words(vec![
        ("Task: part", returning("done with it")),
        ("done with it", Step::text("Most of them.")),
        (ASKED, opening(&many)),
    ]))
    .await
    .set("folding.max_concurrent_per_session=3");
    let ran = scene.exec(&[ASKED]).await;
    assert_eq!(ran.finished(0)["answer"], "Most of them.");
    let main = scene.main_turns().pop().unwrap();
    assert_eq!(main.shows_times("done with it") + main.shows_times("the limit is 3"), 12, "{}", main.shape());
}
