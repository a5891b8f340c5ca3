//! Upstreams that fail, clients that go away, and addresses that are wrong: nothing looks whole that is not,
//! what the provider says is passed on, and what infold says includes what to do.

use std::time::Duration;

use infold_testkit::agent::{Agent, Client, RawReply};
use infold_testkit::model::work::read_file;
use infold_testkit::model::{Fault, Model, Script, Step};
use tokio::net::TcpListener;

use crate::proxy::scene::{ASKED, Scene, path, upstream};
use crate::support::infold;

/// How soon an upstream's connection is closed after its client has gone.
const ABORT_TIME_MAX: Duration = Duration::from_secs(1);
/// How often closing may take longer before something other than a busy machine must be the cause.
const TRIES_MAX: usize = 4;

/// Sends one request through the daemon, and the same straight to a model with the same script.
async fn both(client: Client, script: &Script) -> (RawReply, RawReply) {
    let scene = Scene::start(script.clone()).await;
    let direct = Model::start(script.clone()).await.unwrap();
    let mut through = scene.agent(client, "faulty").await;
    let mut straight = Agent::direct(client, direct.base_url(), scene.daemon.base_url(), "faulty").await.unwrap();
    through.say(ASKED);
    straight.say(ASKED);
    (through.send(through.request()).await.unwrap(), straight.send(straight.request()).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_provider_refuses_is_passed_on_in_its_own_words() {
    let faults = [
        Fault::status_after(429, 7),
        Fault::status(429),
        Fault::status(401),
        Fault::status(403),
        Fault::status(500),
        Fault::status(529),
    ];
    for client in Client::ALL {
        for fault in &faults {
            let (with, without) = both(client, &Script::new([Step::failing(fault.clone())])).await;
            assert_eq!((with.status, with.text()), (without.status, without.text()), "{client:?} {fault:?}");
            assert_eq!(with.headers.get("retry-after"), without.headers.get("retry-after"), "{client:?} {fault:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_requests_are_sent_again_where_the_settings_say_so_and_the_answer_says_when() {
    let steps = [Step::failing(Fault::status_after(429, 1)), Step::text("At last.")];
    let scene = Scene::with(Script::new(steps), |setup| setup.set("proxy.retry_statuses", "[429]")).await;
    let mut agent = scene.agent(Client::ClaudeCode, "patient").await;
    assert_eq!(agent.work(ASKED).await.unwrap(), "At last.");
    let statuses: Vec<u16> = scene.model.requests().iter().map(|request| request.status).collect();
    assert_eq!(statuses, [429, 200]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_cut_never_looks_whole() {
    for client in Client::ALL {
        for bytes in [0, 1, 40, 200, 600] {
            let step = Step::text("A long answer, of which only a part will come.").fault(Fault::CutAfter { bytes });
            let scene = Scene::start(Script::new([step])).await;
            let mut agent = scene.agent(client, "cut").await;
            agent.say(ASKED);
            let sent = agent.send(agent.request()).await;
            let looks_whole = sent.as_ref().is_ok_and(|raw| raw.status == 200 && raw.cut.is_none());
            assert!(!looks_whole, "{client:?} after {bytes} bytes: {sent:?}");
            assert!(agent.turn().await.is_ok(), "{client:?}: the next request is answered");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_within_a_stream_is_passed_on_as_it_is() {
    for client in Client::ALL {
        let (with, without) = both(client, &Script::new([Step::failing(Fault::ErrorEvent)])).await;
        assert_eq!((with.status, with.text()), (without.status, without.text()), "{client:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_in_an_odd_form_are_passed_on_as_they_are() {
    let odd = Fault::ContentType { value: "text/html; charset=latin-1".to_owned() };
    for client in Client::ALL {
        for fault in [odd.clone(), Fault::Gzip] {
            let (with, without) = both(client, &Script::new([Step::text("Odd.").fault(fault.clone())])).await;
            assert_eq!((with.status, &with.bytes), (without.status, &without.bytes), "{client:?} {fault:?}");
            for name in ["content-type", "content-encoding"] {
                assert_eq!(with.headers.get(name), without.headers.get(name), "{client:?} {fault:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_come_is_passed_on_at_once() {
    for client in Client::ALL {
        let scene = Scene::start(Script::new([Step::failing(Fault::StallAfter { bytes: 50 })])).await;
        let mut agent = scene.agent(client, "stalled").await;
        agent.say(ASKED);
        let mut response = agent.post(agent.request()).send().await.unwrap();
        let mut got = Vec::new();
        while got.len() < 50 {
            got.extend_from_slice(&response.chunk().await.unwrap().unwrap());
        }
        assert_eq!(got.len(), 50, "{client:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abort_closes_the_upstream_within_a_second() {
    for client in Client::ALL {
        for attempt in 1.. {
            let scene = Scene::start(Script::new([Step::failing(Fault::StallAfter { bytes: 50 })])).await;
            let mut agent = scene.agent(client, "aborted").await;
            agent.say(ASKED);
            let mut response = agent.post(agent.request()).send().await.unwrap();
            assert!(response.chunk().await.unwrap().is_some(), "{client:?}");
            assert_eq!(scene.model.abandoned(), 0, "{client:?}");
            drop(response);
            if tokio::time::timeout(ABORT_TIME_MAX, scene.model.until_abandoned(1)).await.is_ok() {
                break;
            }
            assert!(attempt < TRIES_MAX, "{client:?}: the upstream is never closed in time");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_asked_to_leave_lets_running_answers_come_to_their_end() {
    for client in Client::ALL {
        let step = Step::text("An answer that takes its time.").fault(Fault::Slow { pause_ms: 60 });
        let mut scene = Scene::start(Script::new([step])).await;
        let mut agent = scene.agent(client, "drained").await;
        agent.say(ASKED);
        let mut response = agent.post(agent.request()).send().await.unwrap();
        let mut got = response.chunk().await.unwrap().unwrap().to_vec();
        let (left, ()) = tokio::join!(scene.daemon.terminate(), async {
            while let Some(more) = response.chunk().await.unwrap() {
                got.extend_from_slice(&more);
            }
        });
        assert!(left.unwrap().success(), "{client:?}");
        let end = match client {
            Client::ClaudeCode => "message_stop",
            Client::Codex => "response.completed",
            Client::OpenCode => "[DONE]",
        };
        assert!(String::from_utf8_lossy(&got).contains(end), "{client:?}: the answer is whole");
        assert_eq!(scene.model.abandoned(), 0, "{client:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_daemon_leaves_no_answer_that_looks_whole() {
    for client in Client::ALL {
        let mut scene = Scene::start(Script::new([Step::failing(Fault::StallAfter { bytes: 50 })])).await;
        let mut agent = scene.agent(client, "killed").await;
        agent.say(ASKED);
        let mut response = agent.post(agent.request()).send().await.unwrap();
        assert!(response.chunk().await.unwrap().is_some());
        scene.daemon.kill9().await.unwrap();
        let rest = loop {
            match response.chunk().await {
                Ok(Some(_)) => {}
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        assert!(rest.is_err(), "{client:?}: it is an error, not an end");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_after_every_fault() {
    let steps = [
        read_file(&path(1)),
        Step::failing(Fault::status(529)),
        read_file(&path(2)),
        Step::failing(Fault::CutAfter { bytes: 30 }),
        Step::text("It is done."),
    ];
    let scene = Scene::start(Script::new(steps)).await;
    let mut agent = scene.agent(Client::ClaudeCode, "stubborn").await;
    agent.say(ASKED);
    let mut said = agent.go_on().await;
    for _ in 0..4 {
        if said.is_ok() {
            break;
        }
        said = agent.go_on().await;
    }
    assert_eq!(said.unwrap(), "It is done.");
    scene.turns();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_upstream_is_reported_in_the_providers_form_with_what_to_do() {
    let nobody = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let daemon = upstream(infold(), &nobody).start().await.unwrap();
    for client in Client::ALL {
        let mut agent = Agent::through(client, daemon.base_url(), "nobody").await.unwrap();
        agent.say(ASKED);
        let raw = agent.send(agent.request()).await.unwrap();
        assert!(raw.status >= 500, "{client:?}: {}", raw.status);
        let body: serde_json::Value = serde_json::from_slice(&raw.bytes).unwrap();
        let message = body["error"]["message"].as_str().unwrap_or_default();
        let setting = if client == Client::ClaudeCode { "proxy.anthropic.upstream" } else { "proxy.openai.upstream" };
        assert!(message.contains(setting), "{client:?}: what to do is missing in {}", raw.text());
        if client == Client::ClaudeCode {
            assert_eq!(body["type"], "error", "{}", raw.text());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_base_url_is_answered_with_the_right_one() {
    let scene = Scene::start(Script::default()).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    for (path, right) in [
        ("/v1/messages", "/anthropic"),
        ("/v1/responses", "/openai"),
        ("/v1/chat/completions", "/openai"),
        ("/v1/v1/messages", "/anthropic"),
    ] {
        let url = format!("{}{path}", scene.daemon.base_url());
        let answer = http.post(url).header("content-type", "application/json").body("{}").send().await.unwrap();
        assert_eq!(answer.status(), 404, "{path}");
        let text = answer.text().await.unwrap();
        assert!(text.contains(right), "{path} got {text}");
    }
}
