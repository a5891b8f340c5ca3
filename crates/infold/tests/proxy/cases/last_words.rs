//! What a branch that is cut short had said last: its parent gets it, without secrets, and the same ever after.

use infold_testkit::agent::{Client, Listing};
use infold_testkit::model::work::{Work, load_tools, open_branch, read_file};
use infold_testkit::model::{Decision, Fault, Script, Step};
use serde_json::{Value, json};

use crate::proxy::scene::{ASKED, Scene, end_of, path};
use crate::support::{PATIENCE, Secret, of_type, secrets, whereabouts};

const OVER: &str = "The branch is over.";

/// What a partial result has in front of last words.
const LAST_WORDS: &str = "Last words: ";

/// A step that reads a file with these words in a branch, and says that it is over if it finds itself in the
/// main thread.
fn reading_with_words(number: usize, words: String) -> Step {
    let reading = read_file(&path(number));
    Step::seeing(move |received| {
        if received.holds(ASKED) {
            return Decision::Say(Step::text(OVER));
        }
        match reading.decision(received) {
            Decision::Say(mut step) => {
                step.text = Some(words.clone());
                Decision::Say(step)
            }
            other => other,
        }
    })
}

/// Words with a secret in them.
fn words(number: usize, secret: &Secret) -> String {
    format!("The pier of file {number} was built by {}, and the crane is next.", secret.text)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_out_of_budget_gives_its_last_words() {
    for (seed, client) in (21..).zip(Client::ALL) {
        let planted = secrets(seed);
        let work = Work::reading("Read many files", [], "").budget_tokens(2_000);
        let mut steps = vec![load_tools(), open_branch(&work)];
        steps.extend((1..=8).map(|number| reading_with_words(number, words(number, &planted[0]))));
        let script = Script::new(steps).then([Step::text("Yes."), Step::text("Yes.")]);
        let mut scene = Scene::with(script, |setup| setup.set("proxy.shape", "false")).await;
        let mut agent = scene.agent(client, "spent-words").await;
        assert_eq!(agent.work(ASKED).await.unwrap(), OVER, "{client:?}");

        let worked = scene.branch_turns().len();
        let end = scene.main_turns().pop().unwrap();
        let result = end.last_result_of("branch_create").unwrap();
        let wanted = format!("{LAST_WORDS}The pier of file {worked} was built by [SECRET:");
        assert!(result.contains(&wanted) && result.contains("and the crane is next."), "{client:?}: {result}");
        assert!(!end.holds(&planted[0].text) && !end.holds(&end_of(1)), "{client:?}:\n{}", end.shape());

        agent.say("And now?");
        let before = scene.sent_next(&agent).await;
        assert!(before.contains(&wanted), "{client:?}: {before}");
        scene.restart(&mut agent).await;
        assert_eq!(scene.sent_next(&agent).await, before, "{client:?}");
        scene.daemon.terminate().await.unwrap();
        assert_eq!(whereabouts(&planted, &scene.daemon).unwrap(), Vec::<String>::new(), "{client:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_branch_gives_its_last_words_also_after_a_crash() {
    for (seed, client) in (31..).zip(Client::ALL) {
        let planted = secrets(seed);
        let work = Work::reading("Read two files", [path(1)], "");
        let said = format!("{}\nOne file is read.", words(1, &planted[1]));
        let steps = [load_tools(), open_branch(&work), read_file(&path(1)), Step::text(&said)];
        let script = Script::new(steps).then([Step::text("I have stopped."), Step::text("Yes."), Step::text("Yes.")]);
        let mut scene = Scene::start(script).await;
        let mut agent = scene.agent(client, "stopped-words").await;
        agent.work(ASKED).await.unwrap();
        let is_stored = |events: &[Value]| of_type(events, "branch.said").iter().any(|said| is_last(said));
        // The stream sends signs of life for ever, so only a timeout ends a wait for what does not come.
        tokio::time::timeout(PATIENCE, scene.api().events_until("stopped-words", is_stored)).await.unwrap().unwrap();
        scene.restart(&mut agent).await;

        agent.work("Stop there, what have you got?").await.unwrap();
        let end = scene.main_turns().pop().unwrap();
        let result = end.last_result_of("branch_create").unwrap();
        assert!(result.contains("was cut short: interrupted"), "{client:?}: {result}");
        let wanted = format!("{LAST_WORDS}The pier of file 1 was built by [SECRET:");
        assert!(result.contains(&wanted) && result.contains("\nOne file is read."), "{client:?}: {result}");
        assert!(!end.holds(&planted[1].text), "{client:?}:\n{}", end.shape());

        agent.say("Anything else?");
        let before = scene.sent_next(&agent).await;
        scene.restart(&mut agent).await;
        assert_eq!(scene.sent_next(&agent).await, before, "{client:?}");
        scene.daemon.terminate().await.unwrap();
        assert_eq!(whereabouts(&planted, &scene.daemon).unwrap(), Vec::<String>::new(), "{client:?}");
    }
}

fn is_last(said: &Value) -> bool {
    said["words"].as_str().is_some_and(|words| words.ends_with("One file is read."))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_side_call_is_shown_what_an_open_branch_has_said_so_far() {
    let work = Work::reading("Read two files", [], "");
    let steps = [load_tools(), open_branch(&work), read_file(&path(1)), read_file(&path(2)), Step::text("Done.")];
    let scene = Scene::start(Script::new(steps)).await;
    let mut agent = scene.agent(Client::ClaudeCode, "aside-words").await.listing(Listing::Inline);
    agent.say(ASKED);
    let said = agent.until(|said| said.text.contains("file-02")).await.unwrap();
    agent.answer(&said).await.unwrap();

    let question = "Write a title for this conversation.";
    let mut body: Value = serde_json::from_slice(&agent.request()).unwrap();
    body.as_object_mut().unwrap().shift_remove("tools");
    let messages = body["messages"].as_array_mut().unwrap();
    for message in messages.iter_mut().filter(|message| message["content"].is_array()) {
        // Reasoning is bound to the tools, which are not there.
        message["content"].as_array_mut().unwrap().retain(|block| block["type"] != "thinking");
    }
    messages.push(json!({"role": "user", "content": question}));
    assert_eq!(agent.send(body.to_string().into_bytes()).await.unwrap().status, 200);
    let side = scene.model.requests().pop().unwrap();
    assert!(side.holds(question) && side.holds(&format!("{LAST_WORDS}Reading file-02.")), "{}", side.shape());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_its_client_gave_up_is_given_in_whole_words() {
    let planted = secrets(41);
    let work = Work::reading("Read two files", [path(1)], "");
    let said = format!("The harbour is quiet, {} was here.", planted[0].text);
    let slow = Step::text(&said).fault(Fault::Slow { pause_ms: 400 });
    let steps = [load_tools(), open_branch(&work), read_file(&path(1)), slow, Step::text("I have stopped.")];
    let scene = Scene::start(Script::new(steps)).await;
    let mut agent = scene.agent(Client::ClaudeCode, "given-up").await;
    agent.say(ASKED);
    let reading = agent.until(|said| said.text.contains("file-01")).await.unwrap();
    agent.answer(&reading).await.unwrap();
    let mut answer = agent.post(agent.request()).send().await.unwrap();
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains("was here") {
        read.extend(answer.chunk().await.unwrap().unwrap());
    }
    drop(answer);
    scene.model.until_abandoned(1).await;

    agent.work("Stop there.").await.unwrap();
    let end = scene.main_turns().pop().unwrap();
    let result = end.last_result_of("branch_create").unwrap();
    assert!(result.contains(&format!("{LAST_WORDS}The harbour is quiet, [SECRET:")), "{result}");
    assert!(result.contains("] was\n") && !planted[0].is_in(&result), "the last word may lack its end: {result}");
}
