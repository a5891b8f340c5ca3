//! Where the browser comes back to: one page on this machine, for as long as a login waits.

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::failure::Refused;

/// Visits that may wait.
const VISITS_MAX: usize = 8;
/// How long the last page may take to reach the browser.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The page that a browser comes back to.
pub struct Callback {
    address: String,
    visits: mpsc::Receiver<(String, ShownPage)>,
    closing: CancellationToken,
    serving: JoinHandle<()>,
}

/// What the browser shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallbackPage {
    Done,
    Failed,
    NotOurs,
}

impl CallbackPage {
    fn words(self) -> (StatusCode, &'static str) {
        match self {
            Self::Done => (StatusCode::OK, "You are logged in. You can close this window."),
            Self::Failed => (StatusCode::OK, "The login did not work. infold says why, where you have started it."),
            Self::NotOurs => (StatusCode::BAD_REQUEST, "This does not belong to the login that infold waits for."),
        }
    }
}

/// A browser that waits for its page.
pub struct ShownPage(oneshot::Sender<CallbackPage>);

impl ShownPage {
    /// Shows the page.
    pub fn show(self, page: CallbackPage) {
        // The user may have closed the window.
        let _ = self.0.send(page);
    }
}

impl Callback {
    /// Listens on this port, or on a free one.
    pub async fn listen(port: Option<u16>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await.map_err(|error| {
            let port = port.map_or_else(|| "any port".to_owned(), |port| format!("port {port}"));
            Refused::new(format!("the browser cannot come back to {port} of this machine: {error}"))
                .hint("end the program that uses the port, or change oauth.callback_port of the server's entry")
                .code("port_taken")
        })?;
        let address = format!("http://{}/callback", listener.local_addr().context("no address to come back to")?);
        let (sender, visits) = mpsc::channel(VISITS_MAX);
        let closing = CancellationToken::new();
        let router = Router::new().route("/callback", get(visit)).with_state(sender);
        let serving = axum::serve(listener, router).with_graceful_shutdown(closing.clone().cancelled_owned());
        let serving = tokio::spawn(async move {
            // If it ends early, nobody visits any more, and the user can paste the address.
            let _ = serving.await;
        });
        Ok(Self { address, visits, closing, serving })
    }

    /// Its address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The next visit: the address from its path on, and the browser that waits.
    pub async fn next(&mut self) -> Option<(String, ShownPage)> {
        self.visits.recv().await
    }

    /// Lets the last page reach its browser.
    pub async fn close(self) {
        self.closing.cancel();
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.serving).await;
    }
}

async fn visit(State(visits): State<mpsc::Sender<(String, ShownPage)>>, uri: Uri) -> Response {
    let (page, shown) = oneshot::channel();
    if visits.send((uri.to_string(), ShownPage(page))).await.is_err() {
        return StatusCode::GONE.into_response();
    }
    let (status, words) = shown.await.unwrap_or(CallbackPage::Failed).words();
    let page = format!("<!doctype html><meta charset=utf-8><title>infold</title><p>{words}</p>\n");
    // The code is in the address, and no other page is to learn it.
    let headers = [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::REFERRER_POLICY, "no-referrer")];
    (status, headers, page).into_response()
}
