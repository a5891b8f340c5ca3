//! A real door on a free loopback port, and a client that sends exactly the bytes it is given.
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Extension;
use axum::response::Response;
use axum::routing::{any, get, post};
use infold_core::Principal;
use infold_door::{Closed, Door, DoorSettings, Validator};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// What one answer may take; only a hanging test ever waits so long.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

pub fn settings() -> DoorSettings {
    DoorSettings {
        connections_max: 64,
        head_bytes_max: 16 * 1024,
        head_timeout_ms: 10_000,
        body_bytes_max: 64 * 1024,
        long_bodies: Vec::new(),
        idle_timeout_ms: 10_000,
        stall_timeout_ms: 10_000,
        drain_timeout_ms: 10_000,
        allowed_hosts: Vec::new(),
        allowed_origins: Vec::new(),
        provider_paths: vec!["/anthropic".to_owned()],
        validator: Validator::Strict,
        token: None,
        jwt: None,
    }
}

/// The routes that the tests use: one that says who is asking, one that reads its body, one that
/// needs no principal, and one that tries to open itself to other origins.
pub fn router() -> Router {
    Router::new()
        .route("/who", any(who))
        .route("/anthropic/v1/messages", any(who))
        .route("/echo", post(|body: Bytes| async move { format!("{} bytes", body.len()) }))
        .route("/healthz", any(|| async { "well" }))
        .route("/readyz", get(|| async { "ready" }))
        .route("/open", any(open))
}

async fn who(Extension(principal): Extension<Principal>) -> String {
    let subject = principal.claims.subject.unwrap_or_else(|| "-".to_owned());
    format!("owner {} subject {subject}", principal.owner.as_str())
}

async fn open() -> Response {
    Response::builder()
        .header("access-control-allow-origin", "*")
        .header("access-control-allow-credentials", "true")
        .body(Body::from("open"))
        .expect("the headers are valid")
}

/// A door that is being served, with what stops it.
pub struct Running {
    pub address: SocketAddr,
    pub shutdown: CancellationToken,
    serving: JoinHandle<Closed>,
}

impl Running {
    /// Begins the shutdown and waits for its end.
    pub async fn close(self) -> Closed {
        self.shutdown.cancel();
        self.serving.await.expect("the door does not panic")
    }
}

pub async fn start(settings: DoorSettings) -> Running {
    start_with(settings, router(), CancellationToken::new()).await
}

pub async fn start_with(settings: DoorSettings, router: Router, shutdown: CancellationToken) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback can be listened on");
    start_on(listener, settings, router, shutdown)
}

pub fn start_on(listener: TcpListener, settings: DoorSettings, router: Router, shutdown: CancellationToken) -> Running {
    let door = Door::open(listener, settings).expect("the settings are right");
    let address = door.address();
    let serving = tokio::spawn(door.serve(router, shutdown.clone()));
    Running { address, shutdown, serving }
}

/// Sends bytes on a connection of their own, and returns all that comes back until it is closed.
pub async fn exchange(address: SocketAddr, bytes: impl Into<Vec<u8>>) -> String {
    let bytes = bytes.into();
    let task = move || {
        let mut stream = connect(address);
        stream.write_all(&bytes).expect("the bytes can be sent");
        read_to_close(&mut stream)
    };
    tokio::task::spawn_blocking(task).await.expect("the client does not panic")
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the door takes connections");
    stream.set_read_timeout(Some(ANSWER_TIMEOUT)).expect("a timeout can be set");
    stream
}

/// Reads all that comes until the server closes. A reset counts as a close, a timeout fails the test.
pub fn read_to_close(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {
            answer.extend_from_slice(b" (reset)");
        }
        Err(error) => panic!("not closed: {error}, after {}", String::from_utf8_lossy(&answer)),
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// Reads one whole answer with a Content-Length off a connection that stays open.
pub fn read_one(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).expect("the head goes on");
        answer.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&answer).to_lowercase();
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
    let length: usize = length.and_then(|text| text.parse().ok()).expect("a length");
    let mut body = vec![0; length];
    stream.read_exact(&mut body).expect("the body is whole");
    answer.extend(body);
    String::from_utf8_lossy(&answer).into_owned()
}

pub fn status(answer: &str) -> u16 {
    let code = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    code.unwrap_or_else(|| panic!("no status in {answer:?}"))
}

/// The status and, if it is one of the door's refusals, the code; else the body.
pub fn verdict(answer: &str) -> String {
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let json: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
    match json["error"]["code"].as_str() {
        Some(code) => {
            assert_eq!(json["error"]["status"], status(answer), "{answer}");
            assert!(json["error"]["message"].as_str().is_some_and(|text| !text.is_empty()));
            format!("{} {code}", status(answer))
        }
        None => format!("{} {body}", status(answer)),
    }
}

/// A request without a body, with these header lines besides Host and Connection.
pub fn get_with(path: &str, lines: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{lines}\r\n")
}
