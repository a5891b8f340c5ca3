//! Servers over HTTP: one of the older era that really has sessions (the suite's fixtures), and one that the test plays.

mod legacy;
mod played;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::gateway::{
    CallOptions, HttpWay, LinkError, LinkEvent, LinkIdentity, LinkLimits, LinkSetup, LinkWay, ListLimits, ServerLink,
};

fn setup(url: &str) -> LinkSetup {
    LinkSetup {
        way: LinkWay::Http(HttpWay {
            url: url.to_owned(),
            headers: vec![("X-Key".to_owned(), "open".to_owned())],
            helper: None,
            login: None,
        }),
        known_era: None,
        identity: LinkIdentity::infold(),
        limits: LinkLimits {
            start_timeout_ms: 10_000,
            message_bytes_max: 100_000,
            calls_max: 8,
            close_timeout_ms: 1_000,
            list: ListLimits { pages_max: 3, items_max: 100, item_bytes_max: 10_000, timeout_ms: 10_000 },
        },
    }
}

async fn start(setup: LinkSetup) -> (Result<ServerLink, LinkError>, mpsc::Receiver<LinkEvent>) {
    let (events, received) = mpsc::channel(8);
    (ServerLink::start(setup, events).await, received)
}

/// Serves a router until the test ends. Returns its address.
async fn serve(router: axum::Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

async fn call(link: &ServerLink, tool: &str, options: CallOptions) -> Result<Value, LinkError> {
    link.request("tools/call", json!({ "name": tool, "arguments": { "message": "hi" } }), options).await
}
