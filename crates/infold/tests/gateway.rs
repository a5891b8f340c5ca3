//! Other MCP servers behind infold: what they leave behind, what they may do to others, and what infold gets from them.

mod apart;
mod approving;
mod check;
pub mod counted_once;
mod directly;
mod hostile;
mod import;
mod login;
mod misbehaving;
mod misbehaving_http;
mod offers;
pub mod processes;
mod questions;
mod real;
pub mod relaying;
mod seen_files;
mod settings;
mod tending;

use std::ffi::OsString;
use std::sync::atomic::{AtomicU32, Ordering};

use infold_mcp::gateway::{
    CallOptions, ChildWay, LinkError, LinkEvent, LinkIdentity, LinkLimits, LinkSetup, LinkWay, ListLimits, ServerLink,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// What a script needs to shake hands, and to answer.
pub const HANDSHAKE: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
next() { IFS= read -r line || exit 0; id=${line#*\"id\":}; id=${id%%,*}; }
shake() {
    next
    answer $id '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"script","version":"1"}}'
    next
}
"#;

/// The variable by which processes of one test are found.
pub const MARK: &str = "GATEWAY_TEST_MARK";

/// A mark that no other test has.
pub fn mark() -> String {
    static LAST: AtomicU32 = AtomicU32::new(0);
    format!("{}-{}", std::process::id(), LAST.fetch_add(1, Ordering::Relaxed))
}

/// A server that is a shell script, marked.
fn script(text: &str, mark: &str) -> LinkSetup {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let way = ChildWay {
        tender: env!("CARGO_BIN_EXE_infold").into(),
        program: "sh".into(),
        arguments: vec!["-c".into(), format!("{HANDSHAKE}{text}").into()],
        variables: vec![("PATH".into(), path), (MARK.into(), OsString::from(mark))],
        folder: None,
    };
    LinkSetup { way: LinkWay::Child(way), known_era: None, identity: LinkIdentity::infold(), limits: limits() }
}

fn limits() -> LinkLimits {
    LinkLimits {
        start_timeout_ms: 20_000,
        message_bytes_max: 1 << 20,
        calls_max: 16,
        close_timeout_ms: 300,
        list: ListLimits { pages_max: 10, items_max: 100, item_bytes_max: 64 << 10, timeout_ms: 20_000 },
    }
}

async fn start(setup: LinkSetup) -> (Result<ServerLink, LinkError>, mpsc::Receiver<LinkEvent>) {
    let (events, received) = mpsc::channel(8);
    (ServerLink::start(setup, events).await, received)
}

async fn call(link: &ServerLink, timeout_ms: u64) -> Result<Value, LinkError> {
    link.request("tools/call", json!({ "name": "t", "arguments": {} }), CallOptions::within(timeout_ms)).await
}
