//! What clients do on their own: side calls, compaction, going back, clearing results, subagents.

use infold_testkit::agent::{Client, Listing};
use infold_testkit::model::work::{Work, branch_work, fold_branch, load_tools, open_branch, read_file};
use infold_testkit::model::{Script, Step};
use serde_json::{Value, json};

use crate::proxy::scene::{ASKED, Scene, calling, end_of, marker, path};

const FOUND: &str = "Both files are about harbours.";

/// How Claude Code begins the request in which it has its own history summarised.
const COMPACTION: &str = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nYour task is to create a \
                          detailed summary of the conversation so far.";

/// The output tokens that the model reports for each of its answers.
const ANSWER_TOKENS: u64 = 50;

fn work() -> Work {
    Work::reading("Read two files", [path(1), path(2)], FOUND)
}

fn script() -> Script {
    let mut steps = branch_work(&work());
    steps.extend([Step::text("Done."), Step::text("Again done.")]);
    Script::new(steps)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_side_call_while_a_branch_is_open_is_answered_on_the_parent_and_the_branch_stays_open() {
    // Codex has no side calls: it says of every request which kind it is.
    for client in [Client::ClaudeCode, Client::OpenCode] {
        let scene = Scene::start(script()).await;
        let mut agent = scene.agent(client, "side-call").await.listing(Listing::Inline);
        agent.say(ASKED);
        let said = agent.until(|said| said.text.contains("file-02")).await.unwrap();
        agent.answer(&said).await.unwrap();
        let id = scene.branch_turns()[0].own_branch().unwrap();

        let mut body: Value = serde_json::from_slice(&agent.request()).unwrap();
        body.as_object_mut().unwrap().shift_remove("tools");
        let question = "Write a title for this conversation.";
        let messages = body["messages"].as_array_mut().unwrap();
        messages.push(json!({"role": "user", "content": question}));
        // Reasoning is bound to the tools, which are not there.
        messages.iter_mut().for_each(|message| *message = without_thinking(message.take()));
        let raw = agent.send(body.to_string().into_bytes()).await.unwrap();
        assert_eq!(raw.status, 200, "{client:?}: {}", raw.text());
        let side = scene.model.requests().pop().unwrap();
        assert!(side.holds(question) && side.holds(ASKED), "{client:?}:\n{}", side.shape());
        assert!(!side.holds(&end_of(1)), "{client:?}:\n{}", side.shape());
        assert_eq!(scene.status(&id).await["status"], "active", "{client:?}");

        agent.go_on().await.unwrap();
        assert!(scene.branch_turns().iter().any(|turn| turn.holds(&marker(1)) && turn.holds(&marker(2))), "{client:?}");
        assert!(scene.main_turns().pop().unwrap().holds(FOUND), "{client:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_asks_for_its_own_compaction_while_a_branch_is_open() {
    let scene =
        Scene::start(script().aside("CRITICAL: Respond with TEXT ONLY", Step::text("<summary>s</summary>"))).await;
    let mut agent = scene.agent(Client::ClaudeCode, "compacting").await;
    agent.say(ASKED);
    let said = agent.until(|said| said.text.contains("file-02")).await.unwrap();
    agent.answer(&said).await.unwrap();
    let id = scene.branch_turns()[0].own_branch().unwrap();
    agent.say(COMPACTION);
    agent.turn().await.unwrap();
    let asked = scene.main_turns().pop().unwrap();
    assert!(asked.holds("TEXT ONLY") && !asked.holds(&end_of(1)), "{}", asked.shape());
    assert_ne!(scene.status(&id).await["status"], "active");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_compacts_and_the_opening_call_is_gone_from_the_transcript() {
    for client in Client::ALL {
        let steps =
            [load_tools(), open_branch(&work()), read_file(&path(1)), read_file(&path(2)), Step::text("I go on.")];
        let scene = Scene::start(Script::new(steps)).await;
        let mut agent = scene.agent(client, "compacted").await;
        agent.say(ASKED);
        let said = agent.until(|said| said.text.contains("file-02")).await.unwrap();
        agent.answer(&said).await.unwrap();
        let id = scene.branch_turns()[0].own_branch().unwrap();

        // A summary replaces everything but the last exchange.
        let kept = agent.transcript.split_off(agent.transcript.len() - last_exchange(client));
        let front = if client == Client::ClaudeCode { 0 } else { 1 };
        agent.transcript.truncate(front);
        agent.say("This session is continued. So far: the files are about harbours.");
        agent.transcript.extend(kept.into_iter().filter(|entry| entry["type"] != "reasoning").map(without_thinking));
        let sent = agent.request();
        agent.turn().await.unwrap();

        let last = scene.model.requests().pop().unwrap();
        assert_eq!(last.broken, None, "{client:?}");
        assert_eq!(
            String::from_utf8_lossy(&last.bytes),
            String::from_utf8_lossy(&sent),
            "{client:?}: nothing is hidden"
        );
        assert_eq!(scene.status(&id).await["status"], "failed", "{client:?}");
    }
}

/// How many entries the last call and its result are.
fn last_exchange(client: Client) -> usize {
    match client {
        Client::ClaudeCode | Client::OpenCode => 2,
        Client::Codex => 3,
    }
}

fn without_thinking(mut entry: Value) -> Value {
    if let Some(blocks) = entry["content"].as_array_mut() {
        blocks.retain(|block| block["type"] != "thinking");
    }
    entry
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_rewinds_and_the_tree_is_read_afresh() {
    for client in Client::ALL {
        let scene = Scene::start(script()).await;
        let mut agent = scene.agent(client, "rewound").await;
        agent.say(ASKED);
        let said = agent.until(|said| said.text.contains("file-02")).await.unwrap();
        agent.answer(&said).await.unwrap();
        let here = agent.transcript.clone();
        agent.go_on().await.unwrap();
        let then = scene.branch_turns().pop().unwrap();

        agent.transcript = here;
        agent.turn().await.unwrap();
        let now = scene.turns().pop().unwrap();
        assert_eq!(now.shape(), then.shape(), "{client:?}: the same thread as before");
        assert_eq!(now.bytes, then.bytes, "{client:?}: byte for byte");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_rewinds_to_before_the_opening_and_the_branch_is_lost() {
    for client in Client::ALL {
        let steps =
            [load_tools(), open_branch(&work()), read_file(&path(1)), read_file(&path(2)), Step::text("Instead.")];
        let scene = Scene::start(Script::new(steps)).await;
        let mut agent = scene.agent(client, "before").await.listing(Listing::Inline);
        agent.say(ASKED);
        let here = agent.transcript.clone();
        let said = agent.until(|said| said.text.contains("file-02")).await.unwrap();
        agent.answer(&said).await.unwrap();
        let id = scene.branch_turns()[0].own_branch().unwrap();
        agent.transcript = here;
        agent.say("No, do something else.");
        let sent = agent.request();
        agent.turn().await.unwrap();
        let last = scene.turns().pop().unwrap();
        assert_eq!(String::from_utf8_lossy(&last.bytes), String::from_utf8_lossy(&sent), "{client:?}");
        assert_eq!(scene.status(&id).await["status"], "failed", "{client:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_rewinds_to_before_a_rollback_and_what_it_discarded_counts_again() {
    for client in Client::ALL {
        let back = calling(
            "context_rollback",
            |received| json!({"project_path": "/p", "branch_id": received.branch_ids()[0]}),
        );
        let steps = [open_branch(&work()), read_file(&path(1)), fold_branch("the first"), open_branch(&work())];
        let script = Script::new(steps).then([
            read_file(&path(2)),
            fold_branch("the second"),
            back,
            Step::text("In the first again."),
            fold_branch("the second again"),
            Step::text("Done."),
        ]);
        let scene = Scene::start(script).await;
        let mut agent = scene.agent(client, "before-rollback").await.listing(Listing::Inline);
        agent.say(ASKED);
        let said = agent.until(|said| said.text.contains("file-02")).await.unwrap();
        agent.answer(&said).await.unwrap();
        let here = agent.transcript.clone();
        assert_eq!(agent.go_on().await.unwrap(), "In the first again.", "{client:?}");

        agent.transcript = here;
        assert_eq!(agent.go_on().await.unwrap(), "Done.", "{client:?}");
        let end = scene.main_turns().pop().unwrap();
        assert!(end.holds("the second again") && end.holds("the first"), "{client:?}:\n{}", end.shape());
        assert!(!end.holds(&end_of(2)), "{client:?}:\n{}", end.shape());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_interrupts_a_call_in_a_branch_and_says_what_to_do_instead() {
    let steps =
        [load_tools(), open_branch(&work()), read_file(&path(1)), read_file(&path(2)), Step::text("As you wish.")];
    let scene = Scene::start(Script::new(steps)).await;
    let mut agent = scene.agent(Client::ClaudeCode, "escaped").await;
    agent.say(ASKED);
    let said = agent.until(|said| said.text.contains("file-02")).await.unwrap();
    // This is what Claude Code sends after the escape key: the call is answered, and its own words follow.
    let refused = json!({"type": "tool_result", "tool_use_id": said.calls[0].id, "is_error": true,
        "content": "The user doesn't want to proceed with this tool use."});
    let note = json!({"type": "text", "text": "[Request interrupted by user for tool use]"});
    agent.transcript.push(json!({"role": "user", "content": [refused, note]}));
    agent.work("Leave the files, tell me the time.").await.unwrap();
    let end = scene.main_turns().pop().unwrap();
    assert!(end.holds("tell me the time") && end.holds("was cut short"), "{}", end.shape());
    assert!(!end.holds(&end_of(1)), "{}", end.shape());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_retries_and_gets_the_same_bytes() {
    let scene = Scene::start(script()).await;
    let mut agent = scene.agent(Client::ClaudeCode, "retried").await;
    agent.say(ASKED);
    let said = agent.until(|said| said.text.contains("file-02")).await.unwrap();
    agent.answer(&said).await.unwrap();
    let body = agent.request();
    agent.send(body.clone()).await.unwrap();
    let id = scene.branch_turns()[0].own_branch().unwrap();
    let used_tokens = || async { scene.status(&id).await["budget_used"].as_u64().unwrap() };
    let before = used_tokens().await;
    for _ in 0..2 {
        agent.send(body.clone()).await.unwrap();
    }
    let more = used_tokens().await - before;
    assert!(more <= 2 * ANSWER_TOKENS, "only the new answers are counted, not what is sent again: {more}");
    let requests = scene.model.requests();
    let sent: Vec<_> = requests[requests.len() - 3..].iter().map(|request| &request.bytes).collect();
    assert!(sent.iter().all(|bytes| *bytes == sent[0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_clears_or_changes_a_result_itself() {
    let steps = [read_file("/p/long.txt"), read_file(&path(1)), Step::text("Done."), Step::text("Still done.")];
    let scene = Scene::start(Script::new([load_tools()]).then(steps)).await;
    let mut agent = scene.agent(Client::ClaudeCode, "cleared").await;
    let long: String = (0..1_500).map(|line| format!("entry {line}: the harbour is quiet\n")).collect();
    agent.file("/p/long.txt", &long);
    agent.work(ASKED).await.unwrap();
    let shown = scene.turns().pop().unwrap();
    assert!(!shown.holds(&long), "a long result is offloaded");

    let cleared = "[Old tool result content cleared]";
    for entry in &mut agent.transcript {
        for block in entry["content"].as_array_mut().into_iter().flatten() {
            if block["content"].as_str() == Some(&long) {
                block["content"] = json!(cleared);
            }
        }
        *entry = without_thinking(entry.clone());
    }
    agent.work("Go on.").await.unwrap();
    let last = scene.model.requests().pop().unwrap();
    assert_eq!(last.broken, None);
    assert!(last.holds(cleared), "{}", last.shape());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_clears_what_opened_and_what_folded_a_branch() {
    let scene = Scene::start(script()).await;
    let mut agent = scene.agent(Client::ClaudeCode, "cleared-opening").await;
    agent.say(ASKED);
    let said = agent.until(|said| said.text.contains("file-02")).await.unwrap();
    agent.answer(&said).await.unwrap();
    let before = scene.branch_turns().pop().unwrap();

    clear(&mut agent.transcript, "budget_allocated");
    let said = agent.turn().await.unwrap();
    let now = scene.branch_turns().pop().unwrap();
    assert_eq!(now.own_branch(), before.own_branch(), "the branch goes on:\n{}", now.shape());

    agent.answer(&said).await.unwrap();
    agent.go_on().await.unwrap();
    clear(&mut agent.transcript, "\\\"success\\\":true");
    agent.say("And now?");
    agent.turn().await.unwrap();
    let end = scene.main_turns().pop().unwrap();
    assert!(end.holds(FOUND) && !end.holds(&end_of(1)), "what was hidden stays so:\n{}", end.shape());
}

/// Clears the results that hold a text, as Claude Code does with old ones.
fn clear(transcript: &mut [Value], text: &str) {
    let mut cleared = 0;
    for block in transcript.iter_mut().filter_map(|entry| entry["content"].as_array_mut()).flatten() {
        if block["type"] == "tool_result" && block["content"].to_string().contains(text) {
            block["content"] = json!("[Old tool result content cleared]");
            cleared += 1;
        }
    }
    assert_eq!(cleared, 1, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn subagents_have_threads_of_their_own_and_the_call_shows_whose_branch_is_active() {
    for client in Client::ALL {
        let scene = Scene::start(script()).await;
        let mut main = scene.agent(client, "with-subagents").await;
        let mut sub = scene.agent(client, "with-subagents").await.subagent("agent-1");
        main.say(ASKED);
        sub.say("You are a helper. Count the berths.");
        let both_open = |said: &infold_testkit::agent::ModelReply| said.text.contains("file-02");
        let main_said = main.until(both_open).await.unwrap();
        let sub_said = sub.until(both_open).await.unwrap();
        main.answer(&main_said).await.unwrap();
        sub.answer(&sub_said).await.unwrap();
        main.go_on().await.unwrap();
        sub.go_on().await.unwrap();

        let turns = scene.turns();
        let ends: Vec<_> = turns.iter().filter(|turn| turn.holds(FOUND)).collect();
        assert_eq!(ends.len(), 2, "{client:?}: each gets its own branch's message");
        assert!(ends.iter().all(|turn| !turn.holds(&marker(1))), "{client:?}");
        assert!(ends.iter().any(|turn| turn.holds(ASKED)) && ends.iter().any(|turn| turn.holds("Count the berths")));
        assert!(turns.iter().all(|turn| !(turn.holds(ASKED) && turn.holds("Count the berths"))), "{client:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_speaks_again_after_the_fold_and_the_branch_stays_folded() {
    let steps = [load_tools(), open_branch(&work()), read_file(&path(1)), fold_branch(FOUND), Step::text("Done.")];
    let scene = Scene::start(Script::new(steps).then([Step::text("Yes."), Step::text("Yes.")])).await;
    for client in [Client::ClaudeCode] {
        let mut agent = scene.agent(client, "goes-on").await;
        agent.work(ASKED).await.unwrap();
        agent.work("Is that all?").await.unwrap();
        agent.work("Sure?").await.unwrap();
    }
    let end = scene.main_turns().pop().unwrap();
    assert!(end.holds(FOUND) && end.holds("Sure?") && !end.holds(&marker(1)), "{}", end.shape());
}
