//! The server behind the gateways that are measured: sixty tools like those of a code host, in both eras.
//!
//! Its answers cost nothing, so that what is measured is the gateway. It serves standard input as a program of its own,
//! and HTTP within this one.

use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::upstream::{Request, read_request};

/// What the tools are about.
const THINGS: [&str; 10] =
    ["issue", "pull_request", "repository", "branch", "commit", "release", "workflow", "label", "comment", "milestone"];

/// What can be done with each: the verb, a sentence, and whether it only reads.
const DEEDS: [(&str, &str, bool); 6] = [
    ("get", "Get one by its id, with all of its fields, its author and the times of its changes.", true),
    ("list", "List those that fit a filter, newest first, a page at a time, with the cursor of the next page.", true),
    ("search", "Search the full text of all of them, with the code host's query syntax and qualifiers.", true),
    ("create", "Create one, and return it with its id and its address. Fails if one of that name is there.", false),
    ("update", "Change the given fields of one, and leave the others as they are. Needs write access.", false),
    ("delete", "Delete one for good. This cannot be undone; archive it instead where that is enough.", false),
];

/// The tool that is called.
pub const READING_TOOL: &str = "get_issue";
/// The id whose result is [`LONG_BYTES`] long.
pub const LONG_ID: &str = "long";
/// The length of a usual result.
const USUAL_BYTES: usize = 1 << 10;
/// The length of a long result.
pub const LONG_BYTES: usize = 5 << 20;

/// The revision of the newer era.
const MODERN: &str = "2026-07-28";
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// A backend on loopback. It stops when it is dropped.
#[derive(Debug)]
pub struct HttpBackend {
    address: SocketAddr,
    server: JoinHandle<()>,
}

impl HttpBackend {
    /// Starts it on a free port.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let address = listener.local_addr()?;
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A connection ends with its client, and with it the task.
                tokio::spawn(serve(stream));
            }
        });
        Ok(Self { address, server })
    }

    /// Where it listens, without `/mcp`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for HttpBackend {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(stream: TcpStream) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::with_capacity(64 << 10, stream);
    while let Some(request) = read_request(&mut stream).await? {
        let response = respond(&request);
        stream.get_mut().write_all(response.as_bytes()).await?;
    }
    Ok(())
}

/// The response to a request. There is no stream to listen on, and no session to end.
fn respond(request: &Request) -> String {
    if request.path != "/mcp" {
        // Clients look for ways to log in; there are none.
        return "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned();
    }
    if !request.head.starts_with("POST") {
        return "HTTP/1.1 405 Method Not Allowed\r\nallow: POST\r\ncontent-length: 0\r\n\r\n".to_owned();
    }
    let message = serde_json::from_slice(&request.body).unwrap_or_default();
    match answer(&message) {
        None => "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned(),
        Some(answer) => {
            let body = answer.to_string();
            let length = body.len();
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
        }
    }
}

/// Serves standard input until it ends.
pub fn serve_stdio() -> Result<ExitCode> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message = serde_json::from_str(&line?).unwrap_or_default();
        if let Some(answer) = answer(&message) {
            writeln!(output, "{answer}")?;
            output.flush()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The answer to a message; nothing if it is a notification.
fn answer(message: &Value) -> Option<Value> {
    let id = message.get("id")?;
    let params = message.get("params").cloned().unwrap_or_default();
    let about = json!({ "name": "code-host", "version": "1.0.0" });
    let result = match message.get("method")?.as_str()? {
        "initialize" => json!({
            "protocolVersion": params["protocolVersion"], "capabilities": { "tools": {} }, "serverInfo": about,
        }),
        "server/discover" => json!({
            "supportedVersions": [MODERN], "capabilities": { "tools": {} }, "serverInfo": about,
            "ttlMs": 0, "cacheScope": "private",
        }),
        "ping" => json!({}),
        "tools/list" => json!({ "tools": tools(), "ttlMs": 0, "cacheScope": "private" }),
        "tools/call" => json!({ "content": [{ "type": "text", "text": text(&params) }] }),
        other => {
            let error = json!({ "code": -32601, "message": format!("there is no {other}") });
            return Some(json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": in_era(result, &params) }))
}

/// The result as the era of its request wants it.
fn in_era(mut result: Value, params: &Value) -> Value {
    if params["_meta"][VERSION_KEY] == MODERN {
        result["resultType"] = json!("complete");
    }
    result
}

/// What a call comes back with: lines of a report.
fn text(params: &Value) -> String {
    let is_long = params["arguments"]["id"] == LONG_ID;
    let bytes = if is_long { LONG_BYTES } else { USUAL_BYTES };
    let mut text = String::with_capacity(bytes + 80);
    let mut number = 0;
    while text.len() < bytes {
        number += 1;
        text.push_str(&format!("{number}: the ledger of part {number} is off by {} entries\n", number % 7));
    }
    text.truncate(bytes);
    text
}

/// The tools, each with a description and a schema as servers write them.
fn tools() -> Vec<Value> {
    let pairs = THINGS.iter().flat_map(|thing| DEEDS.iter().map(move |deed| (thing, deed)));
    pairs.map(|(thing, (verb, sentence, only_reads))| {
        let words = thing.replace('_', " ");
        json!({
            "name": format!("{verb}_{thing}"),
            "description": format!("{verb} a {words} of a repository. {sentence}"),
            "inputSchema": {
                "type": "object",
                "properties": {
                    "id": { "type": "string", "description": format!("The id of the {words}, as another tool gave it") },
                    "owner": { "type": "string", "description": "The person or organisation that the repository belongs to" },
                    "repository": { "type": "string", "description": "The name of the repository, without its owner" },
                    "limit": { "type": "integer", "minimum": 1, "maximum": 100, "description": "The most that come back" },
                    "cursor": { "type": "string", "description": "The cursor of the page, from the page before" },
                },
                "required": ["id"],
            },
            "annotations": { "readOnlyHint": only_reads, "destructiveHint": *verb == "delete" },
        })
    })
    .collect()
}
