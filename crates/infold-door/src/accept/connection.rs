//! Serves one connection: the strict stream below, the guard and the surfaces' router above, and
//! hyper's HTTP/1.1 between them.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_LENGTH, HOST};
use http::{HeaderName, Request};
use http_body_util::Limited;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tower::ServiceExt;

use super::House;
use crate::guard::Caller;
use crate::refusal::DoorRefusal;
use crate::strict::{HEADERS_MAX, RefusalSlot, StrictStream};

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

/// Serves `stream` until it is closed, drained or cut off.
pub(super) async fn serve(house: Arc<House>, stream: TcpStream, peer: SocketAddr) {
    let Ok(local) = stream.local_addr() else { return };
    // Small answers must not wait for the peer's acknowledgement of the last one. If this fails
    // the connection is already gone, which the first read will find.
    let _ = stream.set_nodelay(true);

    let line = Arc::new(RefusalSlot::default());
    let caller = Arc::new(Caller::new(peer, local));
    let io = TokioIo::new(StrictStream::new(stream, &house.settings, Arc::clone(&line)));
    let answering = Arc::clone(&house);
    let service = service_fn(move |request| {
        let (house, line) = (Arc::clone(&answering), Arc::clone(&line));
        let caller = Arc::clone(&caller);
        async move { Ok::<_, Infallible>(answer(&house, &line, &caller, request).await) }
    });

    let mut connection = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            // hyper's clock runs from one answer to the end of the next head, and the stream's own
            // from a head's first byte; so this one is for the time in between.
            .header_read_timeout(house.settings.idle_timeout() + house.settings.head_timeout())
            .max_headers(HEADERS_MAX)
            // The proxy passes names on as they were written, both ways.
            .preserve_header_case(true)
            .serve_connection(io, service)
    );
    let mut draining = false;
    loop {
        tokio::select! {
            // In this order, so that an answer which is written after the shutdown has begun says
            // that it is the last.
            biased;
            () = house.cut.cancelled() => return,
            () = house.shutdown.cancelled(), if !draining => {
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

async fn answer(house: &House, line: &RefusalSlot, caller: &Caller, request: Request<Incoming>) -> Response {
    if !request.headers().contains_key(HOST) {
        return line.refusal().into_last_response();
    }
    let (mut parts, body) = request.into_parts();
    if let Err(refusal) = house.guard.admit(&mut parts, caller).await {
        return refusal.into_response();
    }
    let bytes_max = house.settings.body_bytes_max(parts.uri.path());
    let announced = parts.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if announced.and_then(|text| text.parse().ok()).is_some_and(|bytes: u64| bytes > bytes_max) {
        return DoorRefusal::body_too_large(bytes_max).into_response();
    }

    let body = Limited::new(body, usize::try_from(bytes_max).unwrap_or(usize::MAX));
    let request = Request::from_parts(parts, Body::new(body));
    let mut response = match house.router.clone().oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    };

    for name in CORS_HEADERS {
        response.headers_mut().remove(name);
    }
    response
}
