//! Space that an agent asks for (`compact_context`): the thread goes on with references in place of older results, and
//! nothing that anybody said is lost.

use infold_testkit::agent::{Agent, Client, Listing};
use infold_testkit::model::work::{self, fold_branch, open_branch, read_file};
use infold_testkit::model::{Decision, Received, Script, ShownKind, Step};
use infold_testkit::{DaemonSetup, Era, McpHttp};
use serde_json::{Value, json};

use crate::proxy::scene::{ASKED, Scene, calling};
use crate::support::PATIENCE;

/// Long files that are read before the agent asks.
const LOGS: usize = 6;
/// Tokens of results that stay: those of one log, and no more.
const KEPT_TOKENS: u64 = 5_000;
/// What the model says beside its first call.
const MODEL_SAID: &str = "I begin with the first of them.";

fn path(number: usize) -> String {
    format!("/p/log-{number:02}.txt")
}

fn log(number: usize) -> String {
    (0..300).map(|line| planted(number, line) + "\n").collect()
}

/// A line that is in one log and nowhere else. All lines look alike, so that a reference shows none of the later ones.
fn planted(number: usize, line: usize) -> String {
    format!("{line} log {number}: berth {} is quiet and nothing moves", number * 1_000 + line)
}

/// A line in the middle of a log.
fn middle(number: usize) -> String {
    planted(number, 151)
}

fn ask_for_space() -> Step {
    calling("compact_context", |_| json!({}))
}

fn read_logs(numbers: impl IntoIterator<Item = usize>) -> Vec<Step> {
    numbers.into_iter().map(|number| read_file(&path(number))).collect()
}

/// The handles that a request shows, in the order of their first mention.
fn handles(received: &Received) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for piece in received.shown() {
        for (at, _) in piece.text.match_indices("res_") {
            let handle: String =
                piece.text[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || "_-".contains(*c)).collect();
            if handle.len() == 40 && !found.contains(&handle) {
                found.push(handle);
            }
        }
    }
    found
}

/// Reads a stored result as the model would, and returns its lines with this text.
async fn read_back(scene: &Scene, handle: &str, text: &str) -> String {
    let mcp = McpHttp::connect(scene.daemon.base_url(), Era::Modern).await.unwrap();
    let answer = mcp.call("read_result", json!({"ref_id": handle, "pattern": text})).await.unwrap();
    answer.text_field("content")
}

fn settings(setup: DaemonSetup) -> DaemonSetup {
    setup.set("proxy.shape", "false").set("proxy.kept_results_tokens", KEPT_TOKENS)
}

async fn start(script: Script, client: Client) -> (Scene, Agent) {
    let scene = Scene::with(script, settings).await;
    let mut agent = scene.agent(client, "space").await.listing(Listing::Inline);
    (1..=LOGS + 2).for_each(|number| agent.file(&path(number), &log(number)));
    (scene, agent)
}

/// What the last call of `compact_context` was answered, as the model sees it.
fn answer(received: &Received) -> Value {
    let text = received.last_result_of("compact_context").expect("it was called");
    let from = text.find('{').expect("an object");
    serde_json::Deserializer::from_str(&text[from..]).into_iter::<Value>().next().unwrap().unwrap()
}

fn holds_words(client: Client, turn: &Received) {
    for words in [ASKED, MODEL_SAID] {
        assert!(turn.holds(words), "{client:?}: {words:?} is lost:\n{}", turn.shape());
    }
}

fn reasoning(turn: &Received) -> usize {
    turn.shown().iter().filter(|piece| piece.kind == ShownKind::Reasoning).count()
}

/// Whether a request shows all that an earlier one showed, and more behind it.
fn extends(later: &Received, earlier: &Received) -> bool {
    let pieces = |turn: &Received| -> Vec<_> {
        turn.shown().into_iter().map(|piece| (piece.kind, piece.text, piece.tool, piece.call)).collect()
    };
    let (later, earlier) = (pieces(later), pieces(earlier));
    later.len() > earlier.len() && later.starts_with(&earlier)
}

/// The same step, changed if it says something.
fn saying(step: Step, change: impl Fn(Step) -> Step + Send + Sync + 'static) -> Step {
    Step::seeing(move |received| match step.decision(received) {
        Decision::Say(said) => Decision::Say(change(said)),
        other => other,
    })
}

/// A session that reads all logs, asks for space, reads two more, and ends.
fn usual_script() -> Script {
    let first = saying(read_file(&path(1)), |mut said| {
        said.text = Some(MODEL_SAID.to_owned());
        said
    });
    let mut steps = vec![first];
    steps.extend(read_logs(2..=LOGS));
    steps.push(ask_for_space());
    steps.extend(read_logs(LOGS + 1..=LOGS + 2));
    steps.push(Step::text("All are quiet."));
    Script::new(steps)
}

/// Checks a whole session of [`usual_script`]: the request behind the call is shorter, and the ones behind it extend it.
async fn check_usual(client: Client, scene: &Scene) {
    let turns = scene.turns();
    assert_eq!(turns.len(), LOGS + 4, "{client:?}");
    let (before, after, next) = (&turns[LOGS], &turns[LOGS + 1], &turns[LOGS + 2]);
    let said = answer(after);
    assert_eq!(said["is_estimate"], true, "{said}");
    assert!(said["after_tokens"].as_u64().unwrap() < said["before_tokens"].as_u64().unwrap() / 2, "{said}");
    assert!(said["before_msg_count"].as_u64() >= said["after_msg_count"].as_u64(), "{said}");
    let drops = said["strategies_run"].as_array().unwrap().len() == 2;
    assert_eq!((&said["strategies_run"][0], drops), (&json!("offload_results"), client != Client::OpenCode), "{said}");

    assert!(after.bytes.len() < before.bytes.len() / 2, "{client:?}: {} bytes", after.bytes.len());
    for number in 1..LOGS {
        assert!(before.holds(&middle(number)) && !after.holds(&middle(number)), "{client:?}: log {number}");
    }
    assert!(after.holds(&middle(LOGS)), "{client:?}: the newest result stays:\n{}", after.shape());
    let receipt = after.shown().pop().unwrap();
    assert!(receipt.text.starts_with("[infold] You asked for space"), "{client:?}: {}", receipt.text);
    for turn in &turns[LOGS + 1..] {
        holds_words(client, turn);
        assert_eq!(turn.shows_times("[infold] You asked for space"), 1, "{client:?}: done once:\n{}", turn.shape());
    }
    assert_eq!(reasoning(after), 0, "{client:?}: reasoning from before is not sent");
    assert!(extends(next, after), "{client:?}: the next request extends it:\n{}", next.shape());

    let found = handles(after);
    assert_eq!(found.len(), LOGS - 1, "{client:?}: {found:?}");
    for (number, handle) in (1..LOGS).zip(found) {
        let text = middle(number);
        assert!(read_back(scene, &handle, &text).await.contains(&text), "{client:?}: log {number} is reached");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn enh_7_an_agent_that_asks_for_space_goes_on_with_references_and_all_words() {
    for client in Client::ALL {
        let (scene, mut agent) = start(usual_script(), client).await;
        let said = agent.work(ASKED).await.unwrap_or_else(|error| panic!("{client:?}: {error:#}"));
        assert_eq!(said, "All are quiet.", "{client:?}");
        check_usual(client, &scene).await;
        let shown = scene.api().get("/api/v1/requests").await.unwrap().body.to_string();
        assert!(shown.contains("lightened") && shown.contains("its agent asked for space: "), "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn enh_7_space_that_was_asked_for_is_given_after_the_daemon_was_killed() {
    for client in Client::ALL {
        let (mut scene, mut agent) = start(usual_script(), client).await;
        agent.say(ASKED);
        for _ in 0..=LOGS {
            let said = agent.turn().await.unwrap();
            agent.answer(&said).await.unwrap();
        }
        scene.restart(&mut agent).await;
        // The client repeats its request: what was decided stays.
        let first = scene.sent_next(&agent).await;
        let again = scene.sent_next(&agent).await;
        assert_eq!(first, again, "{client:?}");
        let last = scene.model.requests().pop().unwrap();
        assert!(last.holds("[infold] You asked for space") && !last.holds(&middle(1)), "{client:?}: {}", last.shape());
        holds_words(client, &last);
        assert!(agent.go_on().await.is_ok(), "{client:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn enh_7_where_nothing_can_be_freed_the_thread_is_not_restarted() {
    for client in Client::ALL {
        let mut steps = read_logs(1..=LOGS);
        steps.extend([ask_for_space(), ask_for_space(), ask_for_space(), Step::text("Enough.")]);
        let (scene, mut agent) = start(Script::new(steps), client).await;
        agent.work(ASKED).await.unwrap();
        let turns = scene.turns();
        let said: Vec<Value> = turns[LOGS + 1..].iter().map(answer).collect();
        assert_eq!(said.len(), 3, "{client:?}");
        assert_eq!(said[1]["strategies_run"], json!([]), "{client:?}: {}", said[1]);
        assert_eq!(said[1]["before_tokens"], said[1]["after_tokens"], "{client:?}");
        let summary = said[2]["summary"].as_str().unwrap();
        assert!(
            summary.starts_with("Nothing to free: ") && summary.contains("system prompt, tools and words"),
            "{summary}"
        );
        let receipts = turns.last().unwrap().shows_times("[infold] You asked for space");
        assert_eq!(receipts, 1, "{client:?}: it was restarted once");
        assert!(extends(&turns[LOGS + 3], &turns[LOGS + 1]), "{client:?}: the requests behind it extend it");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn enh_7_space_is_given_again_when_there_is_more_to_free() {
    for client in Client::ALL {
        let mut steps = read_logs(1..=LOGS / 2);
        steps.push(ask_for_space());
        steps.extend(read_logs(LOGS / 2 + 1..=LOGS));
        steps.extend([ask_for_space(), Step::text("Enough.")]);
        let (scene, mut agent) = start(Script::new(steps), client).await;
        agent.work(ASKED).await.unwrap();
        assert_eq!(scene.model.broken(), Vec::<String>::new(), "{client:?}");
        let last = scene.model.turns().pop().unwrap();
        assert_eq!(last.shows_times("[infold] You asked for space"), 2, "{client:?}:\n{}", last.shape());
        for (number, handle) in (1..LOGS).zip(handles(&last)) {
            let text = middle(number);
            assert!(!last.holds(&text), "{client:?}: log {number}");
            assert!(read_back(&scene, &handle, &text).await.contains(&text), "{client:?}: log {number} is reached");
        }
        assert!(last.holds(&middle(LOGS)), "{client:?}: the newest stays");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn enh_7_a_branch_gets_space_of_its_own() {
    for client in Client::ALL {
        let work = work::Work::reading("Read the logs", [], "");
        let mut steps = read_logs([LOGS + 1, LOGS + 2]);
        steps.push(open_branch(&work));
        steps.extend(read_logs(1..=LOGS));
        steps.extend([ask_for_space(), read_file(&path(1)), fold_branch("All are quiet.")]);
        steps.push(Step::text("Done."));
        let scene = Scene::with(Script::new(steps), |setup| {
            settings(setup).set("folding.default_budget", 200_000).set("folding.max_budget", 200_000)
        })
        .await;
        let mut agent = scene.agent(client, "space").await.listing(Listing::Inline);
        (1..=LOGS + 2).for_each(|number| agent.file(&path(number), &log(number)));
        agent.work(ASKED).await.unwrap_or_else(|error| panic!("{client:?}: {error:#}"));

        assert_eq!(scene.model.broken(), Vec::<String>::new(), "{client:?}");
        let (main, branch): (Vec<Received>, Vec<Received>) =
            scene.model.turns().into_iter().partition(|turn| turn.holds(ASKED));
        let (before, after) = (&branch[LOGS], &branch[LOGS + 1]);
        assert!(after.bytes.len() < before.bytes.len() / 2, "{client:?}:\n{}", after.shape());
        assert!(after.holds("[infold] You asked for space"), "{client:?}:\n{}", after.shape());
        let main = main.last().unwrap();
        assert!(!main.holds("[infold] You asked for space"), "{client:?}: it is the branch's:\n{}", main.shape());
        assert!(main.holds(&middle(LOGS + 1)) && main.holds(&middle(LOGS + 2)), "{client:?}:\n{}", main.shape());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn enh_7_without_the_proxy_the_answer_says_what_to_do() {
    let scene = Scene::start(Script::default()).await;
    for era in [Era::Modern, Era::Legacy] {
        let mcp = McpHttp::connect(scene.daemon.base_url(), era).await.unwrap();
        let alone = mcp.call("compact_context", json!({})).await.unwrap();
        assert!(!alone.is_ok() && alone.summary().contains("infold run"), "{}", alone.summary());
        let session = format!("alone-{era:?}");
        let opened = json!({"session_id": session, "description": "d", "prompt": "p"});
        mcp.call("branch_create", opened).await.unwrap();
        let named = mcp.call("compact_context", json!({"session_id": session})).await.unwrap();
        assert_eq!(named.field("strategies_run"), json!([]), "{}", named.summary());
        assert!(named.text_field("summary").contains("do not pass through infold"), "{}", named.summary());
        assert!(named.field("before_tokens").is_null(), "{}", named.summary());
        let unknown = mcp.call("compact_context", json!({"session_id": "nobody"})).await.unwrap();
        assert!(unknown.summary().contains("Session not found"), "{}", unknown.summary());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn enh_7_a_model_gets_a_note_from_eighty_percent_on_if_a_person_wants_that() {
    let note = |percent: u64| {
        format!(
            "[Context: {percent}% used. You can call compact_context to free space before continuing with large \
             operations.]"
        )
    };
    for client in Client::ALL {
        for is_wanted in [true, false] {
            let used = [500, 79_000, 83_000, 84_000, 88_000, 10_000, 81_000];
            let reading = |tokens: u64| saying(read_file(&path(1)), move |said| said.input_tokens(tokens));
            let mut steps: Vec<Step> = used.map(reading).into();
            steps.push(Step::text("Enough."));
            let scene = Scene::with(Script::new(steps), |setup| {
                let setup = setup.set("windows.default_tokens", 100_000).set("windows.models", "[]");
                setup.set("proxy.context_notes", is_wanted)
            })
            .await;
            let mut agent = scene.agent(client, "full").await.listing(Listing::Inline);
            agent.file(&path(1), "short");
            tokio::time::timeout(PATIENCE, agent.work(ASKED)).await.unwrap().unwrap();
            let turns = scene.turns();
            let notes: Vec<usize> = turns.iter().map(|turn| turn.shows_times("[Context: ")).collect();
            let wanted = if is_wanted { [0, 0, 0, 1, 1, 2, 2, 2] } else { [0; 8] };
            assert_eq!(notes, wanted, "{client:?}");
            if is_wanted {
                assert_eq!(turns[3].shown().pop().unwrap().text, note(83), "{client:?}");
                assert_eq!(turns[5].shown().pop().unwrap().text, note(88), "{client:?}");
            }
        }
    }
}
