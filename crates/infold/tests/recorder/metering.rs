//! The usage that providers report counts against the budgets of branches.

use infold_testkit::agent::Client;
use infold_testkit::model::work::{Work, load_tools, open_branch, read_file};
use infold_testkit::model::{Decision, Script, Step};
use serde_json::Value;

use crate::recorder::scene::{ASKED, Scene, folded_work};

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_has_used_what_its_model_answered_and_the_results_it_saw() {
    let scene = Scene::start(folded_work()).await;
    scene.agent(Client::ClaudeCode, "metered").await.work(ASKED).await.unwrap();
    let requests = scene.requests("metered", scene.model.turns().len()).await;
    let of_branch: Vec<&Value> = requests.iter().filter(|request| !request["branch_id"].is_null()).collect();
    let answered: u64 = of_branch.iter().filter_map(|request| request["usage"]["output_tokens"].as_u64()).sum();
    let branch = of_branch[0]["branch_id"].as_str().unwrap();
    let shown = scene.api.get(&format!("/api/v1/branches/{branch}")).await.unwrap().body;
    let used = shown["budget_used"].as_u64().unwrap();
    assert!(answered > 0 && used > answered, "used {used}, of which {answered} were answered");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_whose_answers_use_up_its_budget_is_folded_and_the_parent_goes_on() {
    // Each result is a token or two, so it is the answers that use the budget up.
    let tiny = "/p/tiny.rs";
    let work = Work::reading("look again and again", [tiny.to_owned()], "unused").budget_tokens(400);
    let reading = read_file(tiny);
    let looking = Step::seeing(move |received| {
        if received.holds(ASKED) {
            return Decision::Say(Step::text("The parent goes on."));
        }
        reading.decision(received)
    });
    let mut steps = vec![load_tools(), open_branch(&work)];
    steps.extend(vec![looking; 12]);
    let scene = Scene::start(Script::new(steps)).await;
    let mut agent = scene.agent(Client::ClaudeCode, "talkative").await;
    agent.file(tiny, "1");
    assert_eq!(agent.work(ASKED).await.unwrap(), "The parent goes on.");

    let shown: Value = serde_json::from_str(&scene.prints(&["show", "talkative", "--json"]).await).unwrap();
    let branch = &shown["branches"][0];
    assert_eq!((&branch["status"], &branch["reason"]), (&"timeout".into(), &"budget exhausted".into()), "{shown:#}");
    assert_eq!((&branch["tokens"], &branch["budget_used"]), (&400.into(), &400.into()), "{branch:#}");
    let last = scene.model.turns().pop().unwrap();
    assert!(last.holds("Used 400 of 400 tokens"), "{}", last.shape());
    assert_eq!(scene.model.broken(), Vec::<String>::new());
}
