//! Bad servers over HTTP: answers without end, redirects to strangers, bombs, wrong types, sessions that change. And what
//! such a server never gets: what its client sent to infold.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use infold_testkit::{Daemon, Era, McpHttp};
use reqwest::header::HeaderValue;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::misbehaving::{Held, until_back};
use super::relaying::{echo_tools, said, server, setup, text_result};
use crate::support::{secrets, whereabouts};

/// What a server does when its tool is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HttpMischief {
    /// Comments and notices without end.
    EndlessStream,
    /// Sends the client to somebody else.
    Redirects,
    /// A little that would be a lot once it is unpacked.
    Bomb,
    /// A body without end.
    NeverEnds,
    /// A head without end.
    EndlessHead,
    /// Nothing at all.
    Silent,
    /// A web page.
    WrongType,
    /// Another session with each answer.
    SessionChanges,
    /// It forgets every session.
    SessionGone,
    /// It does what it should.
    Good,
}

use HttpMischief as M;

const ALL: [(HttpMischief, &str); 10] = [
    (M::EndlessStream, "did not answer tools/call within 1500 ms"),
    (M::Redirects, "HTTP 307. It said: its address is now http://"),
    (M::Bomb, "its answer to tools/call is not one"),
    (M::NeverEnds, "longer than 33554432 bytes: ask for less at a time"),
    (M::EndlessHead, "cannot reach the server"),
    (M::Silent, "did not answer tools/call within 1500 ms"),
    (M::WrongType, "its answer to tools/call is not one"),
    (M::SessionChanges, ""),
    (M::SessionGone, "has ended the session: send the request again"),
    (M::Good, ""),
];

/// The end of a head after which the connection ends.
const LAST: &str = "connection: close\r\ncontent-length: 0\r\n\r\n";

/// Requests that a server has got, heads and bodies.
type Requests = Arc<Mutex<Vec<String>>>;

/// A server on loopback, until the test ends.
struct BadHttp {
    address: SocketAddr,
    requests: Requests,
}

impl BadHttp {
    async fn start(kind: HttpMischief, elsewhere: Option<SocketAddr>) -> Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let (address, requests) = (listener.local_addr()?, Requests::default());
        let seen = requests.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, kind, elsewhere, seen.clone()));
            }
        });
        Ok(Self { address, requests })
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().map(|requests| requests.clone()).unwrap_or_default()
    }
}

async fn serve(stream: TcpStream, kind: M, elsewhere: Option<SocketAddr>, seen: Requests) -> Result<()> {
    let mut stream = BufReader::new(stream);
    let mut answers = 0;
    loop {
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head).await? == 0 {
                return Ok(());
            }
            let last = head.lines().last().unwrap_or_default().to_ascii_lowercase();
            length = last.strip_prefix("content-length:").map_or(Ok(length), |value| value.trim().parse())?;
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        if let Ok(mut seen) = seen.lock() {
            seen.push(format!("{head}{message}"));
        }
        answers += 1;
        let is_call = message["method"] == "tools/call";
        match kind {
            _ if !is_call => stream.write_all(usual(kind, &message, answers).as_bytes()).await?,
            M::SessionChanges | M::Good => stream.write_all(usual(kind, &message, answers).as_bytes()).await?,
            _ => return misbehave(stream.into_inner(), kind, elsewhere).await,
        }
    }
}

/// What a server of either era answers.
fn usual(kind: M, message: &Value, answers: usize) -> String {
    let is_older = matches!(kind, M::SessionChanges | M::SessionGone);
    let session = if is_older { format!("mcp-session-id: s{answers}\r\n") } else { String::new() };
    let about = json!({ "name": "odd", "version": "1" });
    let result = match message["method"].as_str() {
        Some("server/discover") if is_older => return "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned(),
        Some("server/discover") => {
            json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} }, "serverInfo": about })
        }
        Some("initialize") => {
            json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} }, "serverInfo": about })
        }
        Some("tools/list") => json!({ "tools": [{ "name": "work", "inputSchema": { "type": "object" } }] }),
        Some("tools/call") => text_result("done"),
        _ => return "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned(),
    };
    let body = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string();
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\n{session}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
}

async fn misbehave(mut stream: TcpStream, kind: M, elsewhere: Option<SocketAddr>) -> Result<()> {
    let (head, piece) = match kind {
        M::EndlessStream => {
            let notice =
                r#"data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
            ("content-type: text/event-stream\r\n\r\n".to_owned(), format!(": nothing\n\n{notice}\n\n").repeat(20))
        }
        M::NeverEnds => {
            ("content-type: application/json\r\ncontent-length: 99999999999\r\n\r\n".to_owned(), "1".repeat(64 << 10))
        }
        M::EndlessHead => (String::new(), format!("x: {}\r\n", "y".repeat(1 << 10))),
        M::Bomb => {
            let packed = "\u{1f}not really packed, and read as it is";
            let length = packed.len();
            let head = format!(
                "content-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: {length}\r\n\r\n{packed}"
            );
            (head, String::new())
        }
        M::WrongType => {
            ("content-type: text/html\r\ncontent-length: 13\r\n\r\n<html></html>".to_owned(), String::new())
        }
        M::Redirects => {
            let to = elsewhere.context("nowhere to go")?;
            let gone = format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: http://{to}/mcp\r\n{LAST}");
            return Ok(stream.write_all(gone.as_bytes()).await?);
        }
        M::SessionGone => {
            return Ok(stream.write_all(format!("HTTP/1.1 404 Not Found\r\n{LAST}").as_bytes()).await?);
        }
        M::Silent | M::SessionChanges | M::Good => (String::new(), String::new()),
    };
    if kind != M::Silent {
        stream.write_all(format!("HTTP/1.1 200 OK\r\n{head}").as_bytes()).await?;
    }
    while !piece.is_empty() {
        stream.write_all(piece.as_bytes()).await?;
    }
    // Until the client has had enough.
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await?;
    Ok(())
}

/// A daemon with every kind, and a good server beside them that is a child.
async fn daemon(secret: &str, elsewhere: &BadHttp) -> Result<(Daemon, Vec<BadHttp>)> {
    let mut servers = vec![server("good", &echo_tools(), &text_result("fine"))];
    let mut running = Vec::new();
    for (at, (kind, words)) in ALL.iter().enumerate() {
        let bad = BadHttp::start(*kind, Some(elsewhere.address)).await?;
        servers.push(json!({
            "name": format!("h{at}"), "url": format!("http://{}/mcp", bad.address),
            "headers": { "Authorization": format!("Bearer {secret}") },
            "timeout_ms": if words.contains("within") { 1_500 } else { 20_000 },
        }));
        running.push(bad);
    }
    Ok((setup(&servers).set("telemetry.log_level", "debug").start().await?, running))
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_servers_over_http_harm_nobody_and_get_nothing_that_is_not_theirs() -> Result<()> {
    let canary = secrets(16).swap_remove(0);
    let elsewhere = BadHttp::start(M::Good, None).await?;
    let (daemon, servers) = daemon(&canary.text, &elsewhere).await?;
    let mut client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
    client.set_header("x-client-secret", HeaderValue::from_static("of-the-client"));
    client.list_tools().await?;
    let before = Held::by(&daemon)?;

    for (at, (kind, words)) in ALL.iter().enumerate() {
        let meta = serde_json::Map::from_iter([("example.test/private".to_owned(), json!("of-the-client"))]);
        let tool = format!("h{at}__work");
        let (bad, good) = tokio::join!(
            client.call_with_meta(&tool, json!({}), meta),
            client.call("good__read_file", json!({ "path": "a" }))
        );
        assert_eq!(said(good?), ("fine".to_owned(), false), "beside {kind:?}");
        let bad = bad?;
        let expected = if words.is_empty() { "done" } else { words };
        assert!(bad.summary().contains(expected), "{kind:?}: {}", bad.summary());
        assert!(words.is_empty() || bad.summary().contains(&format!("h{at}")), "{kind:?}: {}", bad.summary());
    }
    until_back(&daemon, before).await?;

    assert_eq!(elsewhere.requests(), Vec::<String>::new(), "a redirect was followed");
    for request in servers.iter().flat_map(BadHttp::requests) {
        assert!(request.contains(&canary.text), "its own header is not there: {request}");
        assert!(!request.contains("of-the-client") && !request.contains("example.test"), "{request}");
    }
    let found = whereabouts(&[canary], &daemon)?;
    assert!(found.is_empty(), "{found:#?}");
    Ok(())
}
