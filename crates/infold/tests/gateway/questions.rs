//! What a server asks in the middle of a call: it reaches the client whose call it is, in whichever era that is, and nobody
//! else. Where it cannot be said whose it is, nobody is asked.

mod suspended;

use std::path::Path;

use anyhow::{Context, Result};
use infold_testkit::{Daemon, Era, McpHttp, TempFolder};
use reqwest::header::HeaderValue;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::relaying::{echo_tools, said, setup};
use super::{HANDSHAKE, MARK, mark};
use crate::support::Issuer;

/// A server that asks before it answers a call, and says then what the answer was. It goes on reading meanwhile, and writes down
/// which calls were cancelled.
fn asking_server(name: &str, cancelled: &Path) -> Value {
    let form =
        r#"{"message":"about '$path'","requestedSchema":{"type":"object","properties":{"n":{"type":"string"}}}}"#;
    let sample = r#"{"messages":[{"role":"user","content":{"type":"text","text":"about '$path'"}}],"maxTokens":5}"#;
    let script = format!(
        r#"{HANDSHAKE} shake
while :; do
    next
    case "$line" in
    *'"tools/list"'*) answer $id '{tools}' ;;
    *'"tools/call"'*)
        path=${{line#*\"path\":\"}}; path=${{path%%\"*}}; eval "call_$path=$id"
        case "$path" in
        die*) ask='elicitation/create","params":{form}'; (sleep 0.3; kill -9 $$) & ;;
        s*) ask='sampling/createMessage","params":{sample}' ;;
        *) ask='elicitation/create","params":{form}' ;;
        esac
        printf '{{"jsonrpc":"2.0","id":"q-%s","method":"%s}}\n' "$path" "$ask" ;;
    *'"q-'*)
        path=${{line#*\"q-}}; path=${{path%%\"*}}; eval "mine=\$call_$path"
        case "$line" in
        *'"error"'*) said=error ;;
        *'"model"'*) said=sampled ;;
        *'"n":"'*) said=${{line#*\"n\":\"}}; said=${{said%%\"*}} ;;
        *) said=${{line#*\"action\":\"}}; said=${{said%%\"*}} ;;
        esac
        answer $mine '{{"content":[{{"type":"text","text":"'$path' '$said'"}}]}}' ;;
    *notifications/cancelled*) echo cancelled >> {cancelled} ;;
    *) ;;
    esac
done"#,
        tools = json!({ "tools": echo_tools() }),
        cancelled = cancelled.display(),
    );
    json!({ "name": "asks", "command": "sh", "args": ["-c", script], "shared": true, "env": { MARK: name } })
}

/// A client of the older era that answers questions. They come with its calls, or on a stream
/// beside them.
pub(super) struct AskedClient {
    http: reqwest::Client,
    url: String,
    session: Option<HeaderValue>,
    received: mpsc::Sender<Question>,
}

/// A question of a server: its id and its parameters. A notice has no id.
pub(super) type Question = (Value, Value);

impl AskedClient {
    pub(super) async fn connect(daemon: &Daemon) -> Result<(Self, mpsc::Receiver<Question>)> {
        let http = McpHttp::connect(daemon.base_url(), Era::Modern).await?.http().clone();
        let (received, questions) = mpsc::channel(16);
        let mut client = Self { http, url: format!("{}/mcp", daemon.base_url()), session: None, received };
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {}, "sampling": {} },
            "clientInfo": { "name": "asked", "version": "1" },
        });
        let response =
            client.post(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })).await?;
        client.session = response.headers().get("mcp-session-id").cloned();
        response.text().await?;
        client.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
        let stream = client.with_headers(client.http.get(&client.url)).send().await?.error_for_status()?;
        let received = client.received.clone();
        tokio::spawn(async move { read_events(stream, |message| note(&received, &message, None::<()>)).await });
        Ok((client, questions))
    }

    fn with_headers(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        let request = request.header("accept", "application/json, text/event-stream");
        let request = request.header("mcp-protocol-version", "2025-11-25");
        self.session.iter().fold(request, |request, session| request.header("mcp-session-id", session))
    }

    pub(super) async fn post(&self, body: &Value) -> Result<reqwest::Response> {
        Ok(self.with_headers(self.http.post(&self.url).json(body)).send().await?)
    }

    /// Answers a question.
    async fn answer(&self, id: &Value, result: Value) -> Result<()> {
        self.post(&json!({ "jsonrpc": "2.0", "id": id, "result": result })).await?.error_for_status()?;
        Ok(())
    }

    /// Calls the server's tool; the text of its answer comes back.
    pub(super) async fn call(&self, path: &str) -> Result<String> {
        let params = json!({ "name": "asks__read_file", "arguments": { "path": path } });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let answer = read_events(self.post(&body).await?, |message| {
            let text = (message["id"] == 1).then(|| message["result"]["content"][0]["text"].clone());
            note(&self.received, &message, text)
        });
        let text = answer.await.context("no answer")?;
        Ok(text.as_str().unwrap_or_default().to_owned())
    }
}

/// Notes what a server asks or says, and passes on what was looked for.
fn note<T>(received: &mpsc::Sender<Question>, message: &Value, found: Option<T>) -> Option<T> {
    if message["method"].is_string() {
        let _ = received.try_send((message["id"].clone(), message["params"].clone()));
    }
    found
}

/// Reads messages of a stream until one is what is looked for.
async fn read_events<T>(mut response: reqwest::Response, mut look: impl FnMut(Value) -> Option<T>) -> Option<T> {
    let mut read = String::new();
    while let Some(bytes) = response.chunk().await.ok()? {
        read.push_str(&String::from_utf8_lossy(&bytes));
        while let Some((event, rest)) = read.split_once("\n\n").map(|(event, rest)| (event.to_owned(), rest.to_owned()))
        {
            read = rest;
            let data = event.lines().find_map(|line| line.strip_prefix("data:")).unwrap_or_default();
            let message: Value = serde_json::from_str(data.trim()).unwrap_or_default();
            if let Some(found) = look(message) {
                return Some(found);
            }
        }
    }
    None
}

fn accepted(n: &str) -> Value {
    json!({ "action": "accept", "content": { "n": n } })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_reaches_its_own_client_and_with_two_calls_nobody() -> Result<()> {
    let (mark, folder) = (mark(), TempFolder::new()?);
    let daemon = setup(&[asking_server(&mark, &folder.join("cancelled"))]).start().await?;
    let (ann, mut asked_ann) = AskedClient::connect(&daemon).await?;
    let (bob, mut asked_bob) = AskedClient::connect(&daemon).await?;

    // Alone, each is asked, and only about its own call.
    let sampled = json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "x" } });
    for (path, answer, expected) in [("a", accepted("seven"), "a seven"), ("sa", sampled, "sa sampled")] {
        let (answer, question) = tokio::join!(ann.call(path), async {
            let (id, question) = asked_ann.recv().await.context("ann is not asked")?;
            ann.answer(&id, answer).await?;
            anyhow::Ok(question)
        });
        assert!(question?.to_string().contains(&format!("about {path}")));
        assert_eq!(answer?, expected);
    }

    // While ann thinks, bob calls: a question could be either's, so it is nobody's.
    let (of_ann, of_bob) = tokio::join!(ann.call("b"), async {
        let (id, _) = asked_ann.recv().await.context("ann is not asked")?;
        let of_bob = (bob.call("c").await?, bob.call("sc").await?);
        ann.answer(&id, accepted("eight")).await?;
        anyhow::Ok(of_bob)
    });
    assert_eq!(of_ann?, "b eight");
    assert_eq!(of_bob?, ("c cancel".to_owned(), "sc error".to_owned()));
    assert!(asked_ann.try_recv().is_err() && asked_bob.try_recv().is_err(), "somebody was asked");
    Ok(())
}

#[tokio::test]
async fn each_project_has_its_own_child_and_root() -> Result<()> {
    let mark = mark();
    let script = format!(
        r#"{HANDSHAKE} shake
while :; do
    next
    case "$line" in
    *'"tools/list"'*) answer $id '{tools}' ;;
    *'"tools/call"'*) mine=$id; printf '{{"jsonrpc":"2.0","id":"r","method":"roots/list"}}\n' ;;
    *'"r"'*) uri=${{line#*file://}}; uri=${{uri%%\"*}}
        answer $mine '{{"content":[{{"type":"text","text":"'$uri' '$CLAUDE_PROJECT_DIR' '$PWD'"}}]}}' ;;
    *) ;;
    esac
done"#,
        tools = json!({ "tools": echo_tools() })
    );
    let server = json!({ "name": "rooted", "command": "sh", "args": ["-c", script], "env": { MARK: mark } });
    let daemon = setup(&[server]).start().await?;
    let (one, other) = (TempFolder::new()?, TempFolder::new()?);
    let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
    let call = async |folder: &TempFolder| -> Result<String> {
        let path = folder.join("");
        let path = path.to_str().unwrap_or_default().trim_end_matches('/').to_owned();
        let meta = Map::from_iter([("infold/projectPath".to_owned(), json!(path))]);
        let answer = client.call_with_meta("rooted__read_file", json!({ "path": "a" }), meta).await?;
        assert_eq!(answer.text, format!("{path} {path} {path}"));
        Ok(answer.text)
    };
    let (first, second, third) = (call(&one).await?, call(&other).await?, call(&one).await?);
    assert!(first != second && first == third);
    Ok(())
}

#[tokio::test]
async fn a_session_and_its_servers_are_its_owners() -> Result<()> {
    let (mark, folder) = (mark(), TempFolder::new()?);
    let issuer = Issuer::new()?;
    let setup = issuer.believed_by(setup(&[asking_server(&mark, &folder.join("cancelled"))]));
    let daemon = setup.start().await?;
    let (ann, _) = AskedClient::connect(&daemon).await?;
    let ping = json!({ "jsonrpc": "2.0", "id": 5, "method": "ping" });
    assert_eq!(ann.post(&ping).await?.status(), 200);
    let foreign =
        ann.with_headers(ann.http.post(&ann.url).json(&ping)).bearer_auth(issuer.token("eve")?).send().await?;
    assert_eq!(foreign.status(), 404);

    let mut eve = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
    eve.set_header("authorization", HeaderValue::from_str(&format!("Bearer {}", issuer.token("eve")?))?);
    let error = eve.call("asks__read_file", json!({ "path": "a" })).await?.jsonrpc_error.context("eve may call")?;
    assert!(error.message.contains("There is no tool"), "{}", error.message);
    Ok(())
}
