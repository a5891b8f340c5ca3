//! Takes connections, bounds them, serves each, and ends them in order. A connection is served by the strict stream
//! below, the guard and the surfaces' router above, and hyper's HTTP/1.1 between them.
//!
//! Must hold: at most `connections_max` connections are served at once, and the next is refused with 503;
//! running out of file descriptors slows the loop and does not end it; after a shutdown every task
//! that was started has ended before [`Door::serve`] returns.

use std::convert::Infallible;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::DefaultBodyLimit;
use axum::response::Response;
use http::header::{CONTENT_LENGTH, HOST};
use http::{HeaderName, Request};
use http_body_util::Limited;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::awake::StaysAwake;
use crate::guard::{Caller, Guard};
use crate::refusal::DoorRefusal;
use crate::settings::{DoorError, DoorSettings};
use crate::strict::{HEADERS_MAX, LINGER, RefusalSlot, StrictStream};

/// How many connections may be getting the refusal "too many connections" at once; any more are just closed.
const TURNED_AWAY_MAX: usize = 64;
/// The wait after a first failed accept; each further failure doubles it, up to `PAUSE_MAX`.
const PAUSE_FIRST: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Headers by which an answer would let pages of other origins read it. A surface that relays
/// somebody else's answer may bring them along, so they are taken off here.
const CORS_HEADERS: [HeaderName; 6] = [
    http::header::ACCESS_CONTROL_ALLOW_ORIGIN,
    http::header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
    http::header::ACCESS_CONTROL_ALLOW_METHODS,
    http::header::ACCESS_CONTROL_ALLOW_HEADERS,
    http::header::ACCESS_CONTROL_EXPOSE_HEADERS,
    http::header::ACCESS_CONTROL_MAX_AGE,
];

/// A listening socket, with the rules about who may come in and how much they may send.
pub struct Door {
    listener: TcpListener,
    address: SocketAddr,
    state: DoorState,
}

/// What all connections of a door share.
struct DoorState {
    settings: DoorSettings,
    guard: Guard,
    router: Router,
    /// Cancelled when the shutdown begins: requests in flight finish, and nothing new is accepted.
    shutdown: CancellationToken,
    /// Cancelled when the drain timeout is over: whatever is still open is dropped.
    cut: CancellationToken,
}

/// What [`Door::serve`] reports after a shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed {
    /// Connections that had not finished within the drain timeout and were cut off.
    pub cut: usize,
}

impl Door {
    /// Makes a door from a bound listener, or says which setting forbids it. Reads the JWT keys.
    pub fn open(listener: TcpListener, settings: DoorSettings) -> Result<Self, DoorError> {
        let address = listener.local_addr()?;
        settings.check()?;
        let guard = Guard::new(&settings, address)?;
        let state = DoorState {
            settings,
            guard,
            router: Router::new(),
            shutdown: CancellationToken::new(),
            cut: CancellationToken::new(),
        };
        Ok(Self { listener, address, state })
    }

    /// The address that the door listens on, with the real port if 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves `router` until `shutdown` is cancelled, then lets requests in flight finish within
    /// the drain timeout. Streams that never end by themselves should watch `shutdown` too, or they
    /// are cut off at the end of it.
    pub async fn serve(self, router: Router, shutdown: CancellationToken) -> Closed {
        let Self { listener, address: _, state } = self;
        let state = Arc::new(DoorState { router, shutdown, ..state });
        let tasks = TaskTracker::new();

        accept_all(&state, listener, &tasks).await;

        tasks.close();
        if timeout(state.settings.drain_timeout(), tasks.wait()).await.is_ok() {
            return Closed { cut: 0 };
        }
        let cut = tasks.len();
        tracing::warn!(connections = cut, "connections were still open at the drain timeout");
        state.cut.cancel();
        tasks.wait().await;
        Closed { cut }
    }
}

/// Accepts until the shutdown begins, and closes the listener then.
async fn accept_all(state: &Arc<DoorState>, listener: TcpListener, tasks: &TaskTracker) {
    let seats = Arc::new(Semaphore::new(state.settings.connections_max.min(Semaphore::MAX_PERMITS)));
    let turned_away = Arc::new(Semaphore::new(TURNED_AWAY_MAX));
    let mut pause = Duration::ZERO;

    loop {
        let accepted = tokio::select! {
            biased;
            () = state.shutdown.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                pause = next_pause(&error, pause);
                tracing::warn!(%error, pause_ms = pause.as_millis(), "a connection was not accepted");
                tokio::select! {
                    () = state.shutdown.cancelled() => return,
                    () = sleep(pause) => continue,
                }
            }
        };
        pause = Duration::ZERO;

        if let Ok(seat) = Arc::clone(&seats).try_acquire_owned() {
            let serving = Box::pin(serve_connection(Arc::clone(state), stream, peer));
            tasks.spawn(async move {
                StaysAwake::new(serving).await;
                drop(seat);
            });
        } else if let Ok(place) = Arc::clone(&turned_away).try_acquire_owned() {
            let refusal = DoorRefusal::connections_exhausted(state.settings.connections_max);
            let cut = state.cut.clone();
            tasks.spawn(async move {
                cut.run_until_cancelled(turn_away(stream, refusal)).await;
                drop(place);
            });
        }
    }
}

/// Serves `stream` until it is closed, drained or cut off.
async fn serve_connection(state: Arc<DoorState>, stream: TcpStream, peer: SocketAddr) {
    let Ok(local) = stream.local_addr() else { return };
    // Small answers must not wait until the peer has acknowledged the last one. If this fails, the
    // connection is already gone, and the first read will find that out.
    let _ = stream.set_nodelay(true);

    let slot = Arc::new(RefusalSlot::default());
    let caller = Arc::new(Caller::new(peer, local));
    let io = TokioIo::new(StrictStream::new(stream, &state.settings, Arc::clone(&slot)));
    let answering = Arc::clone(&state);
    let service = service_fn(move |request| {
        let (state, slot) = (Arc::clone(&answering), Arc::clone(&slot));
        let caller = Arc::clone(&caller);
        async move { Ok::<_, Infallible>(answer(&state, &slot, &caller, request).await) }
    });

    let mut connection = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            // hyper's timer runs from one answer to the end of the next head, so it has to allow for
            // the idle time and the head. The stream's own timer runs from a head's first byte.
            .header_read_timeout(state.settings.idle_timeout() + state.settings.head_timeout())
            .max_headers(HEADERS_MAX)
            // The proxy passes header names on as they were written, in both directions.
            .preserve_header_case(true)
            .serve_connection(io, service)
    );
    let mut draining = false;
    loop {
        tokio::select! {
            // The shutdown is looked at first, so that an answer written after it has begun carries
            // `Connection: close`.
            biased;
            () = state.cut.cancelled() => return,
            () = state.shutdown.cancelled(), if !draining => {
                draining = true;
                connection.as_mut().graceful_shutdown();
            }
            served = connection.as_mut() => {
                if let Err(error) = served {
                    tracing::debug!(%peer, %error, "a connection ended early");
                }
                return;
            }
        }
    }
}

async fn answer(state: &DoorState, slot: &RefusalSlot, caller: &Caller, request: Request<Incoming>) -> Response {
    if !request.headers().contains_key(HOST) {
        return slot.refusal().into_last_response();
    }
    let (mut parts, body) = request.into_parts();
    // Host and Origin must be known; the principal, from a token or from who runs the client, goes into the parts.
    if let Err(refusal) = state.guard.admit(&mut parts, caller).await {
        return refusal.into_response();
    }
    let bytes_max = state.settings.body_bytes_max(parts.uri.path());
    let announced = parts.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if announced.and_then(|text| text.parse().ok()).is_some_and(|bytes: u64| bytes > bytes_max) {
        return DoorRefusal::body_too_large(bytes_max).into_response();
    }

    let body = Limited::new(body, usize::try_from(bytes_max).unwrap_or(usize::MAX));
    let mut request = Request::from_parts(parts, Body::new(body));
    // The connection bounds bodies for all surfaces; axum's own bound would only be lower.
    DefaultBodyLimit::disable().apply(&mut request);
    let mut response = match state.router.clone().oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    };

    for name in CORS_HEADERS {
        response.headers_mut().remove(name);
    }
    response
}

/// How long to wait after a failed accept. A peer that gave up costs nothing; anything else, such
/// as no file descriptor left, will be the same a moment later, so each wait is longer.
fn next_pause(error: &io::Error, pause: Duration) -> Duration {
    match error.kind() {
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted => Duration::ZERO,
        _ => (pause * 2).clamp(PAUSE_FIRST, PAUSE_MAX),
    }
}

/// Refuses a connection that there is no room for, without looking at its request.
async fn turn_away(mut stream: TcpStream, refusal: DoorRefusal) {
    let answer = refusal.into_bytes();
    let refusing = async {
        stream.write_all(&answer).await?;
        stream.shutdown().await?;
        // Read on, or the request that lies unread would reset the connection before the answer
        // has arrived.
        let mut unread = [0; 1024];
        while stream.read(&mut unread).await? > 0 {}
        io::Result::Ok(())
    };
    // It makes no difference to us whether the peer has read the refusal.
    let _ = timeout(LINGER, refusing).await;
}

#[cfg(test)]
mod tests;
