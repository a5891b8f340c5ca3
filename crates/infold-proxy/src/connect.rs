//! Connections to upstreams: over TLS unless the upstream is plain, through the network's proxy where there is one.
//! Nothing is decompressed, no redirect is followed, and connections are used again.
//!
//! Only HTTP/1.1 is offered. Every provider takes it, header names keep their clients' spelling, each request has a
//! connection of its own, and giving a request up closes its connection. None of that would hold with HTTP/2, and
//! nothing here needs it.

use std::fmt::Write as _;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tower::{BoxError, Service};

use crate::tunnel::{Outward, Tunnels};

/// How many idle connections to one host are kept open.
const IDLE_PER_HOST_MAX: usize = 32;
/// How long an idle connection is kept open. Providers close theirs after a minute or more, and a request that meets a
/// closing connection has to be sent again.
const IDLE_TIMEOUT: Duration = Duration::from_secs(50);

/// Sends requests to upstreams, over pooled connections.
pub(crate) struct UpstreamClient {
    connect_timeout: Duration,
    tunnels: Tunnels,
    /// Made when first needed: reading the machine's certificates takes a while, and an upstream on this machine needs
    /// none of them.
    plain: OnceLock<Pool<Timely<HttpConnector>, Full<Bytes>>>,
    secure: OnceLock<Result<SecurePool, String>>,
}

type SecurePool = Pool<Timely<HttpsConnector<Outward>>, Full<Bytes>>;

/// Why an upstream gave no answer.
#[derive(Debug)]
pub(crate) struct Unreached {
    /// Whether sending the same request again a moment later may help.
    pub(crate) may_pass: bool,
    /// What happened, in words for people.
    pub(crate) reason: String,
}

impl UpstreamClient {
    pub(crate) fn new(connect_timeout_ms: u64, tunnels: Tunnels) -> Self {
        let connect_timeout = Duration::from_millis(connect_timeout_ms);
        Self { connect_timeout, tunnels, plain: OnceLock::new(), secure: OnceLock::new() }
    }

    /// Sends a request and waits for the head of the answer.
    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Unreached> {
        let answered = if request.uri().scheme_str() == Some("http") {
            self.plain.get_or_init(|| pool(self.timely(tcp()))).request(request).await
        } else {
            let pool = self.secure.get_or_init(|| Ok(pool(self.timely(tls(self.tunnels.clone())?))));
            let pool = pool.as_ref().map_err(|reason| Unreached { may_pass: false, reason: reason.clone() })?;
            pool.request(request).await
        };
        answered.map_err(|error| Unreached::of(&error))
    }

    fn timely<C>(&self, connector: C) -> Timely<C> {
        Timely { connector, timeout: self.connect_timeout }
    }
}

fn pool<C>(connector: C) -> Pool<C, Full<Bytes>>
where
    C: hyper_util::client::legacy::connect::Connect + Clone,
{
    Pool::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
        .http1_preserve_header_case(true)
        .build(connector)
}

fn tcp() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.set_keepalive(Some(Duration::from_secs(60)));
    connector
}

fn tls(tunnels: Tunnels) -> Result<HttpsConnector<Outward>, String> {
    let mut connector = tcp();
    connector.enforce_http(false);
    let builder = HttpsConnectorBuilder::new()
        .with_provider_and_native_roots(rustls::crypto::aws_lc_rs::default_provider())
        .map_err(|error| format!("this machine has no certificates to check servers by ({error})"))?;
    Ok(builder.https_only().enable_http1().wrap_connector(Outward::new(connector, tunnels)))
}

/// A connector that gives up after a timeout, which includes name lookup and handshake.
#[derive(Clone)]
struct Timely<C> {
    connector: C,
    timeout: Duration,
}

impl<C> Service<Uri> for Timely<C>
where
    C: Service<Uri, Error: Into<BoxError>>,
    C::Future: Send + 'static,
    C::Response: 'static,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<C::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let connecting = tokio::time::timeout(self.timeout, self.connector.call(target));
        let timeout_ms = self.timeout.as_millis();
        Box::pin(async move {
            match connecting.await {
                Ok(connected) => connected.map_err(Into::into),
                Err(_) => {
                    let what = format!("no connection within {timeout_ms} ms");
                    Err(io::Error::new(io::ErrorKind::TimedOut, what).into())
                }
            }
        })
    }
}

/// Whether an error comes from the TLS handshake. An error of the system may hold another error inside.
fn is_about_tls(error: &(dyn std::error::Error + 'static)) -> bool {
    let within = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    error.is::<rustls::Error>() || within.is_some_and(|within| is_about_tls(within))
}

impl Unreached {
    fn of(error: &hyper_util::client::legacy::Error) -> Self {
        let mut reason = String::new();
        let mut may_pass = true;
        let mut cause = std::error::Error::source(error);
        while let Some(each) = cause {
            if let Some(hyper) = each.downcast_ref::<hyper::Error>() {
                // What is not HTTP now will not be HTTP a moment later.
                may_pass &= !hyper.is_parse() && !hyper.is_user();
            }
            // A certificate that is not trusted now will not be trusted a moment later.
            may_pass &= !is_about_tls(each);
            let words = each.to_string();
            if !reason.contains(&words) {
                let between = if reason.is_empty() { "" } else { ": " };
                let _ = write!(reason, "{between}{words}");
            }
            cause = each.source();
        }
        if reason.is_empty() {
            reason = error.to_string();
        }
        Self { may_pass, reason }
    }
}
