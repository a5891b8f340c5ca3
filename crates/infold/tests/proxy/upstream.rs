//! An upstream that takes anything, keeps it byte for byte, and answers always the same.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Uri};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What every request is answered with: an answer in no form that anybody knows.
pub const ANSWER: &str = "event: strange\ndata: {\"a\" : 1.0e2, \"type\": \"unheard_of\"}\n\n: a comment\n\n";

/// A request, byte for byte as it came.
#[derive(Debug, Clone)]
pub struct Taken {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub bytes: Bytes,
}

/// A running upstream. It stops when it is dropped.
pub struct Upstream {
    pub url: String,
    taken: Arc<Mutex<Vec<Taken>>>,
    server: JoinHandle<std::io::Result<()>>,
}

impl Upstream {
    /// Starts an upstream on a free port of loopback.
    pub async fn start() -> Self {
        let taken: Arc<Mutex<Vec<Taken>>> = Arc::default();
        let router = Router::new().fallback(take).with_state(Arc::clone(&taken));
        let router = router.layer(axum::extract::DefaultBodyLimit::disable());
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, taken, server }
    }

    /// Everything that it was sent.
    pub fn taken(&self) -> Vec<Taken> {
        self.taken.lock().unwrap().clone()
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn take(
    State(taken): State<Arc<Mutex<Vec<Taken>>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    bytes: Bytes,
) -> Response {
    taken.lock().unwrap().push(Taken { method, uri, headers, bytes });
    ([("content-type", "text/event-stream"), ("x-of-the-upstream", "Grüße"), ("request-id", "req_1")], ANSWER)
        .into_response()
}
