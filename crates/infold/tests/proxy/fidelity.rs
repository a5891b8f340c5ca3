//! With nothing to fold, the upstream gets the client's bytes and the client gets the upstream's.

use std::path::{Path, PathBuf};

use infold_testkit::agent::{Agent, Client};
use infold_testkit::model::work::{Work, branch_work, read_file};
use infold_testkit::model::{Model, Script, Step};
use serde_json::Value;

use crate::proxy::scene::{ASKED, Scene, path, put_files, upstream};
use crate::proxy::upstream::{ANSWER, Upstream};
use crate::support::infold;

/// A session that folds nothing.
fn script() -> Script {
    let mut steps: Vec<Step> = (1..=9).map(|number| read_file(&path(number))).collect();
    steps.push(Step::text("Nothing calls them. Grüße 🙂"));
    Script::new(steps)
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nothing_is_folded_every_byte_and_every_cache_write_is_as_without_infold() {
    for client in Client::ALL {
        let scene = Scene::start(script()).await;
        scene.agent(client, "same").await.work(ASKED).await.unwrap();

        let direct = Model::start(script()).await.unwrap();
        let (model_url, daemon_url) = (direct.base_url(), scene.daemon.base_url());
        let mut agent = Agent::direct(client, model_url, daemon_url, "same").await.unwrap();
        put_files(&mut agent);
        agent.work(ASKED).await.unwrap();

        let (through, straight) = (scene.turns(), direct.turns());
        assert_eq!(through.len(), straight.len(), "{client:?}");
        for (with, without) in through.iter().zip(&straight) {
            assert_eq!(String::from_utf8_lossy(&with.bytes), String::from_utf8_lossy(&without.bytes), "{client:?}");
            assert_eq!(with.path, without.path, "{client:?}");
        }
        assert_eq!(scene.model.totals(), direct.totals(), "{client:?}: not one token more is written");
        assert!(scene.model.totals().read_tokens > 0, "{client:?}: the cache is used at all");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_come_back_byte_for_byte_streamed_and_whole() {
    for client in Client::ALL {
        let scene = Scene::start(script()).await;
        let direct = Model::start(script()).await.unwrap();
        let mut through = scene.agent(client, "bytes").await;
        let mut straight = Agent::direct(client, direct.base_url(), scene.daemon.base_url(), "bytes").await.unwrap();
        through.say(ASKED);
        straight.say(ASKED);
        for streamed in [true, false] {
            let mut body: Value = serde_json::from_slice(&through.request()).unwrap();
            body["stream"] = Value::Bool(streamed);
            let body = body.to_string().into_bytes();
            let (with, without) = (through.send(body.clone()).await.unwrap(), straight.send(body).await.unwrap());
            assert_eq!((with.status, with.text()), (without.status, without.text()), "{client:?}");
            for name in ["content-type", "request-id", "x-scripted"] {
                assert_eq!(with.headers.get(name), without.headers.get(name), "{client:?}: {name}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_planning_off_everything_passes_as_it_came() {
    let mut steps = branch_work(&Work::reading("Read two files", [path(1), path(2)], "Found."));
    steps.push(Step::text("Done."));
    let scene = Scene::with(Script::new(steps), |setup| setup.set("proxy.plan", "false")).await;
    let mut agent = scene.agent(Client::ClaudeCode, "off").await;
    let mut sent = Vec::new();
    agent.say(ASKED);
    loop {
        sent.push(agent.request());
        let said = agent.turn().await.unwrap();
        if said.calls.is_empty() {
            break;
        }
        agent.answer(&said).await.unwrap();
    }
    let got: Vec<Vec<u8>> = scene.model.requests().into_iter().map(|request| request.bytes).collect();
    assert_eq!(got, sent);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_paths_of_the_providers_pass_through() {
    let upstream_server = Upstream::start().await;
    let daemon = upstream(infold(), &upstream_server.url).start().await.unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let paths = ["/v1/models?limit=1000", "/v1/models/claude-opus-5-5", "/v1/files"];
    for root in ["/anthropic", "/openai"] {
        for path in paths {
            let url = format!("{}{root}{path}", daemon.base_url());
            let answer = http.get(url).header("x-api-key", "k").header("x-unheard-of", "kept").send().await.unwrap();
            assert_eq!(answer.text().await.unwrap(), ANSWER, "{root}{path}");
        }
    }
    let taken = upstream_server.taken();
    let got: Vec<String> = taken.iter().map(|taken| taken.uri.to_string()).collect();
    assert_eq!(got, [paths, paths].concat());
    assert!(taken.iter().all(|taken| taken.method == "GET" && taken.headers["x-unheard-of"] == "kept"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_names_an_earlier_response_is_passed_on_untouched() {
    let upstream_server = Upstream::start().await;
    let daemon = upstream(infold(), &upstream_server.url).start().await.unwrap();
    let agent = Agent::through(Client::Codex, daemon.base_url(), "named").await.unwrap();
    let body = r#"{"model": "gpt-5.5",  "previous_response_id": "resp_1", "input": [ {"type":"function_call_output", "call_id":"c", "output":"x"} ], "n": 1.50}"#;
    agent.send(body.as_bytes().to_vec()).await.unwrap();
    assert_eq!(upstream_server.taken()[0].bytes, body);
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_requests_of_real_clients_pass_through_unchanged() {
    let recorded = recordings();
    if recorded.is_empty() {
        eprintln!("skipped: no recorded requests; set INFOLD_TEST_DATA to where they are");
        return;
    }
    let upstream_server = Upstream::start().await;
    let daemon = upstream(infold(), &upstream_server.url).start().await.unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut sent = Vec::new();
    for request in &recorded {
        let mut post = http.post(format!("{}{}{}", daemon.base_url(), request.root, request.path));
        for (name, value) in &request.headers {
            post = post.header(name, value);
        }
        let answer = post.body(request.body.clone()).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{}", request.path);
        assert_eq!(answer.headers()["x-of-the-upstream"].as_bytes(), "Grüße".as_bytes());
        assert_eq!(answer.text().await.unwrap(), ANSWER);
        sent.push(request.body.clone());
    }
    let taken = upstream_server.taken();
    assert_eq!(taken.len(), recorded.len());
    for (taken, request) in taken.iter().zip(&recorded) {
        assert_eq!(taken.method, "POST");
        assert_eq!(taken.uri.to_string(), request.path);
        assert!(taken.bytes == request.body, "{} of {} was changed", request.path, request.file.display());
        for (name, value) in &request.headers {
            let got = taken.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
            assert_eq!(got.as_ref(), Some(value), "{name} of {}", request.file.display());
        }
    }
    eprintln!("{} requests passed through unchanged", taken.len());
}

/// A request that a real client sent.
struct Recorded {
    file: PathBuf,
    root: &'static str,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// Headers that belong to a connection, not to a request.
const OF_THE_CONNECTION: [&str; 5] = ["connection", "host", "content-length", "transfer-encoding", "expect"];

fn recordings() -> Vec<Recorded> {
    let folder = std::env::var_os("INFOLD_TEST_DATA").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"));
    let mut found = Vec::new();
    for client in ["claude-code", "codex", "opencode"] {
        for file in requests_below(&folder.join("clients").join(client)) {
            let text = std::fs::read_to_string(&file).unwrap();
            found.extend(text.lines().filter_map(|line| recorded(&file, &serde_json::from_str(line).ok()?)));
        }
    }
    found
}

fn recorded(file: &Path, line: &Value) -> Option<Recorded> {
    let path = line["path"].as_str()?.to_owned();
    let is_anthropic = path.starts_with("/v1/messages");
    let body = match &line["body"] {
        Value::String(text) => text.clone(),
        Value::Object(_) => line["body"].to_string(),
        _ => return None,
    };
    let headers = line["headers"].as_array()?.iter().filter_map(|pair| {
        let (name, value) = (pair[0].as_str()?.to_lowercase(), pair[1].as_str()?.to_owned());
        (!OF_THE_CONNECTION.contains(&name.as_str())).then_some((name, value))
    });
    Some(Recorded {
        file: file.to_owned(),
        root: if is_anthropic { "/anthropic" } else { "/openai" },
        headers: headers.collect(),
        path,
        body: body.into_bytes(),
    })
}

fn requests_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(requests_below(&path));
        } else if path.file_name().is_some_and(|name| name == "requests.jsonl") {
            found.push(path);
        }
    }
    found.sort();
    found
}
