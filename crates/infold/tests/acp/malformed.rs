//! Peers that break the protocol, byte by byte: they get an error with the protocol's code, and nothing is lost.

use std::process::Stdio;

use infold_testkit::model::{Fault, Script, Step};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::editor::until;
use crate::agent::scene::{ASKED, Scene, ended};
use crate::support::PATIENCE;

/// A peer that writes what it likes.
struct RawPeer {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl RawPeer {
    async fn start(scene: &Scene) -> Self {
        let mut child = scene.command(&["acp", "--approval", "all"]).stdin(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut peer = Self { child, input, output: BufReader::new(output).lines() };
        let hello = json!({"protocolVersion": 1, "clientCapabilities": {}});
        assert_eq!(peer.request("initialize", hello).await["result"]["protocolVersion"], 1);
        peer
    }

    async fn write(&mut self, bytes: &[u8]) {
        self.input.write_all(bytes).await.unwrap();
        self.input.write_all(b"\n").await.unwrap();
    }

    async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.output.next_line()).await.expect("an answer in time");
        serde_json::from_str(&line.unwrap().expect("an answer")).unwrap()
    }

    /// The next answer; notifications are passed over.
    async fn answer(&mut self) -> Value {
        loop {
            let message = self.next().await;
            if message["method"].is_null() {
                return message;
            }
        }
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params});
        self.write(message.to_string().as_bytes()).await;
        let answer = self.answer().await;
        assert_eq!(answer["id"], method, "{answer} for {message}");
        answer
    }

    async fn begin(&mut self, scene: &Scene) -> String {
        let begun = self.request("session/new", json!({"cwd": scene.file(""), "mcpServers": []})).await;
        begun["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned()
    }

    /// The end of the input: the program ends well.
    async fn end(self) -> String {
        let Self { child, input, output } = self;
        drop((input, output));
        let ran = ended(child).await;
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stderr
    }
}

fn prompt(session: &str, words: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": words}]})
}

#[tokio::test]
async fn what_is_wrong_gets_the_protocol_s_code_and_the_next_message_counts() {
    let scene = Scene::start(Script::new([Step::text("Still here.")])).await;
    let mut peer = RawPeer::start(&scene).await;
    let session = peer.begin(&scene).await;
    let mut giant = br#"{"jsonrpc":"2.0","id":1,"method":"session/list","params":{"cursor":""#.to_vec();
    giant.extend(std::iter::repeat_n(b'x', 17 << 20));
    giant.extend(br#""}}"#);
    let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    for (bytes, code) in [
        (&b"nonsense"[..], -32700),
        (&b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\""[..], -32700),
        (&b"\xff\xfe{}"[..], -32700),
        (&giant[..], -32700),
        (&deep[..], -32700),
        (&b"[]"[..], -32600),
        (&b"17"[..], -32600),
        (&br#"{"jsonrpc":"2.0","id":1,"method":17}"#[..], -32600),
    ] {
        peer.write(bytes).await;
        let answer = peer.answer().await;
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]);
        assert_eq!(answer["error"]["code"], code, "{shown}: {answer}");
    }
    for (method, params, code) in [
        ("no/such", json!({}), -32601),
        ("fs/read_text_file", json!({"path": "/etc/passwd"}), -32601),
        ("session/new", json!({}), -32602),
        ("session/new", json!({"cwd": 1, "mcpServers": []}), -32602),
        ("session/new", json!({"cwd": "here", "mcpServers": []}), -32602),
        ("session/new", json!({"cwd": "/nowhere/at/all", "mcpServers": []}), -32602),
        ("session/load", json!({"sessionId": "nobody", "cwd": scene.file(""), "mcpServers": []}), -32002),
        ("session/load", json!({"sessionId": &session[..8], "cwd": scene.file(""), "mcpServers": []}), -32002),
        ("session/prompt", prompt("nobody", "hello"), -32002),
        ("session/prompt", json!({"sessionId": session}), -32602),
        ("session/prompt", json!({"sessionId": session, "prompt": []}), -32602),
        (
            "session/prompt",
            json!({"sessionId": session, "prompt": [{"type": "image", "data": "", "mimeType": "image/png"}]}),
            -32602,
        ),
        ("session/set_mode", json!({"sessionId": "nobody", "modeId": "ask"}), -32002),
        ("session/set_mode", json!({"sessionId": session, "modeId": "sudo"}), -32602),
        ("session/set_config_option", json!({"sessionId": session, "configId": "colour", "value": "red"}), -32602),
        ("session/list", json!({"cursor": "mine"}), -32602),
        ("session/close", json!({"sessionId": "nobody"}), -32002),
        ("authenticate", json!({"methodId": "password"}), -32602),
    ] {
        let answer = peer.request(method, params.clone()).await;
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
    }
    for ignored in [
        r#"{"jsonrpc":"2.0","method":"no/such/notification","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"nobody"}}"#,
        r#"{"jsonrpc":"2.0","method":"session/cancel","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{"outcome":{"outcome":"cancelled"}}}"#,
        "",
    ] {
        peer.write(ignored.as_bytes()).await;
    }
    let answer = peer.request("session/prompt", prompt(&session, ASKED)).await;
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    peer.end().await;
    assert_eq!(scene.turns().len(), 1);
}

#[tokio::test]
async fn a_request_before_the_first_one_is_refused() {
    let scene = Scene::start(Script::new([])).await;
    let mut child = scene.command(&["acp"]).stdin(Stdio::piped()).spawn().unwrap();
    let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut peer = RawPeer { child, input, output: BufReader::new(output).lines() };
    let answer = peer.request("session/new", json!({"cwd": scene.file(""), "mcpServers": []})).await;
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    peer.end().await;
}

#[tokio::test]
async fn a_peer_that_reads_no_more_or_ends_in_the_middle_of_a_line_ends_the_program_and_loses_nothing() {
    let stalled = Step::failing(Fault::StallAfter { bytes: 0 });
    let scene = Scene::start(Script::new([stalled, Step::text("Back.")])).await;
    let mut peer = RawPeer::start(&scene).await;
    let session = peer.begin(&scene).await;
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": prompt(&session, ASKED)});
    peer.write(message.to_string().as_bytes()).await;
    until("the request", || !scene.model.requests().is_empty()).await;
    peer.input.write_all(br#"{"jsonrpc":"2.0","id":2,"method":"session/pro"#).await.unwrap();
    let log = peer.end().await;
    assert!(!log.contains("panicked"), "{log}");
    assert_eq!(scene.log().last().unwrap()["outcome"], "interrupted");
    let ran = scene.exec(&["--resume", &session]).await;
    assert_eq!(ran.finished(0)["answer"], "Back.");
}
