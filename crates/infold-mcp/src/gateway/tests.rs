//! Connections over streams in memory, with a server that the test plays line by line.

mod asking;
mod lists;
mod lost;
mod openings;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::mpsc;

use super::{
    CallOptions, ChildWay, LinkError, LinkEvent, LinkIdentity, LinkLimits, LinkSetup, LinkWay, ListLimits, ServerLink,
};

/// The server's side of a connection.
struct Played {
    lines: BufReader<ReadHalf<DuplexStream>>,
    output: WriteHalf<DuplexStream>,
}

impl Played {
    /// The next message of the client; panics if none comes.
    async fn next(&mut self) -> Value {
        let mut line = String::new();
        let read = tokio::time::timeout(Duration::from_secs(20), self.lines.read_line(&mut line)).await;
        assert!(read.unwrap().unwrap() > 0, "the client has closed");
        serde_json::from_str(&line).unwrap()
    }

    /// The next message of the client, which must have this method. Returns its id and parameters.
    async fn expect(&mut self, method: &str) -> (Value, Value) {
        let mut message = self.next().await;
        assert_eq!(message["method"], method, "{message}");
        (message["id"].take(), message["params"].take())
    }

    async fn send(&mut self, message: Value) {
        self.say(&format!("{message}\n")).await;
    }

    async fn say(&mut self, text: &str) {
        self.output.write_all(text.as_bytes()).await.unwrap();
    }

    async fn answer(&mut self, id: &Value, result: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": id, "result": result })).await;
    }

    /// Plays the older era's handshake.
    async fn shake_hands(&mut self) {
        let (id, params) = self.expect("initialize").await;
        assert_eq!(params["protocolVersion"], "2025-11-25");
        self.answer(&id, handshake("2025-11-25")).await;
        self.expect("notifications/initialized").await;
    }
}

fn handshake(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "played", "version": "1" },
        "instructions": "be kind",
    })
}

fn setup() -> LinkSetup {
    LinkSetup {
        // It is not used: the streams are there already.
        way: LinkWay::Child(ChildWay {
            tender: "-".into(),
            program: "-".into(),
            arguments: Vec::new(),
            variables: Vec::new(),
            folder: None,
        }),
        known_era: None,
        identity: LinkIdentity::infold(),
        limits: LinkLimits {
            start_timeout_ms: 10_000,
            message_bytes_max: 4_000,
            calls_max: 4,
            close_timeout_ms: 1_000,
            list: ListLimits { pages_max: 3, items_max: 5, item_bytes_max: 200, timeout_ms: 10_000 },
        },
    }
}

/// A connection that has not begun, and the server's side of it.
fn begin(setup: LinkSetup) -> (impl Future<Output = Result<ServerLink, LinkError>>, Played, mpsc::Receiver<LinkEvent>) {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (events, received) = mpsc::channel(8);
    let (lines, output) = tokio::io::split(theirs);
    let (_, terms) = setup.parts();
    let starting = async move { ServerLink::over_streams(tokio::io::split(ours), terms, events).await };
    (starting, Played { lines: BufReader::new(lines), output }, received)
}

/// A connection of the older era that has begun.
async fn begun() -> (ServerLink, Played, mpsc::Receiver<LinkEvent>) {
    begun_with(setup()).await
}

async fn begun_with(setup: LinkSetup) -> (ServerLink, Played, mpsc::Receiver<LinkEvent>) {
    let (starting, mut played, events) = begin(setup);
    let (link, ()) = tokio::join!(starting, played.shake_hands());
    (link.unwrap(), played, events)
}

fn options() -> CallOptions {
    CallOptions::within(10_000)
}

/// Calls a tool.
async fn call(link: &ServerLink, options: CallOptions) -> Result<Value, LinkError> {
    link.request("tools/call", json!({ "name": "t", "arguments": {} }), options).await
}
