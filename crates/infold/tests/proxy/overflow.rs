//! Requests that do not fit the model's window: rescued with a receipt, or refused in the provider's words.

use infold_testkit::agent::{Client, Listing};
use infold_testkit::model::work::read_file;
use infold_testkit::model::{Received, Script, ShownKind, Step};

use crate::proxy::scene::{ASKED, Scene};

/// The scripted model's window.
const WINDOW_TOKENS: u64 = 20_000;

const LOGS: usize = 12;

fn log(number: usize) -> String {
    (0..180).map(|line| format!("{line} log {number}: the harbour is quiet and nothing moves\n")).collect()
}

fn script() -> Script {
    let mut steps: Vec<Step> = (1..=LOGS).map(|number| read_file(&format!("/p/log-{number:02}.txt"))).collect();
    steps.push(Step::text("All logs are quiet."));
    steps.push(Step::text("Yes, all."));
    Script::new(steps).window_tokens(WINDOW_TOKENS)
}

async fn session(client: Client, window_tokens: u64) -> (Scene, String) {
    session_with(script(), client, window_tokens).await
}

async fn session_with(script: Script, client: Client, window_tokens: u64) -> (Scene, String) {
    let scene = Scene::with(script, |setup| {
        setup.set("proxy.shape", "false").set("windows.default_tokens", window_tokens).set("windows.models", "[]")
    })
    .await;
    let mut agent = scene.agent(client, "long").await.listing(Listing::Inline);
    (1..=LOGS).for_each(|number| agent.file(&format!("/p/log-{number:02}.txt"), &log(number)));
    agent.work(ASKED).await.unwrap_or_else(|error| panic!("{client:?} died: {error:#}\n{}", scene.daemon.stderr()));
    let said = agent.work("Sure?").await.unwrap();
    (scene, said)
}

fn check(client: Client, scene: &Scene) {
    let requests = scene.model.requests();
    let answered: Vec<_> = requests.iter().filter(|request| request.status == 200).collect();
    assert_eq!(answered.len(), LOGS + 2, "{client:?}: every turn was answered");
    let end = answered.last().unwrap();
    assert!(end.holds(ASKED) && end.holds("Sure?"), "{client:?}: the person's words are kept:\n{}", end.shape());
    assert!(end.holds("read_result"), "{client:?}: the receipt says how to get it back:\n{}", end.shape());
    assert!(!end.holds(&log(1)), "{client:?}: the oldest log is offloaded");
    let broken: Vec<_> = requests.iter().filter_map(|request| request.broken.clone()).collect();
    assert!(broken.iter().all(|rule| rule.contains("too long") || rule.contains("context window")), "{broken:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_provider_finds_too_long_is_rescued_with_a_receipt() {
    for client in Client::ALL {
        let (scene, said) = session(client, 1_000_000).await;
        assert_eq!(said, "Yes, all.", "{client:?}");
        check(client, &scene);
        let refused = scene.model.requests().iter().filter(|request| request.status == 400).count();
        assert!(refused >= 1, "{client:?}: the window was never full");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_found_too_long_only_inside_a_stream_is_rescued_as_well() {
    for client in Client::ALL {
        let (scene, said) = session_with(script().refusing_in_stream(), client, 1_000_000).await;
        assert_eq!(said, "Yes, all.", "{client:?}");
        check(client, &scene);
        let refused = scene.model.requests().iter().filter(|request| request.status == 400).count();
        assert!(refused >= 1, "{client:?}: the window was never full");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_not_fit_is_rescued_before_it_is_sent() {
    for client in Client::ALL {
        let (scene, said) = session(client, 22_000).await;
        assert_eq!(said, "Yes, all.", "{client:?}");
        check(client, &scene);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_back_to_before_a_rescue_is_sent_no_reasoning_made_on_other_bytes() {
    for client in Client::ALL {
        let steps = (1..=LOGS).chain(5..=6).map(|number| read_file(&format!("/p/log-{number:02}.txt")));
        let scene = Scene::with(Script::new(steps).window_tokens(WINDOW_TOKENS), |setup| {
            setup.set("proxy.shape", "false").set("windows.default_tokens", 1_000_000).set("windows.models", "[]")
        })
        .await;
        let mut agent = scene.agent(client, "back").await.listing(Listing::Inline);
        (1..=LOGS).for_each(|number| agent.file(&format!("/p/log-{number:02}.txt"), &log(number)));
        agent.say(ASKED);
        let mut places = Vec::new();
        for _ in 1..=LOGS {
            let said = agent.turn().await.unwrap();
            agent.answer(&said).await.unwrap();
            places.push(agent.transcript.len());
        }
        let requests = scene.model.requests();
        let rescued = requests.iter().rposition(|request| request.status == 400).expect("the window was full");
        let count = |request: &Received, kind| request.shown().iter().filter(|piece| piece.kind == kind).count();
        assert!(count(&requests[rescued], ShownKind::Call) > 4, "{client:?}: it was full before the fourth log");

        agent.transcript.truncate(places[3]);
        for _ in 0..2 {
            let said = agent.turn().await.unwrap();
            agent.answer(&said).await.unwrap();
        }
        let since = &scene.model.requests()[requests.len()..];
        let broken: Vec<_> = since.iter().filter_map(|request| request.broken.clone()).collect();
        assert_eq!(broken, Vec::<String>::new(), "{client:?}");
        assert_eq!(since.len(), 2, "{client:?}: each was answered at once");
        assert!(!since[1].holds(&log(1)), "{client:?}: what was offloaded stays so");
        let reasoning = [0, 1].map(|at| count(&since[at], ShownKind::Reasoning));
        // Chat Completions carries no reasoning.
        let wanted = if client == Client::OpenCode { [0, 0] } else { [0, 1] };
        assert_eq!(reasoning, wanted, "{client:?}: what was made since stays");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_rescue_can_help_is_refused_in_the_providers_words() {
    for client in Client::ALL {
        let scene = Scene::start(Script::default().window_tokens(WINDOW_TOKENS)).await;
        let mut agent = scene.agent(client, "hopeless").await;
        agent.say(&"The person has a lot to say. ".repeat(5_000));
        let raw = agent.send(agent.request()).await.unwrap();
        assert_eq!(raw.status, 400, "{client:?}");
        let wanted = if client == Client::ClaudeCode { "prompt is too long" } else { "context_length_exceeded" };
        assert!(raw.text().contains(wanted), "{client:?}: {}", raw.text());
    }
}
