//! Connections to a server on this machine, one request at a time on each.
//!
//! Whoever waits for an answer works its connection, so that no other task has to be woken on the way; that would take
//! longer than the exchange itself. What a server elsewhere needs as well, such as encryption, proxies and redirects, is
//! the HTTP client's.
//!
//! Must hold: a request that may have reached the server is not sent again.

use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Connection, SendRequest, handshake};
use hyper_util::rt::TokioIo;
use reqwest::Url;
use reqwest::header::{HOST, HeaderMap, HeaderValue};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{CONNECT_TIMEOUT, Outgoing, is_local, unreachable};
use crate::gateway::error::LinkError;

/// Connections that are kept for the next request.
const IDLE_MAX: usize = 8;

type NearRequest = http::Request<Full<Bytes>>;
type WorkedConnection = Connection<TokioIo<TcpStream>, Full<Bytes>>;

/// The connections to one server.
#[derive(Debug)]
pub(super) struct Nearby {
    host: String,
    port: u16,
    /// What the server is called in the head of a request.
    authority: HeaderValue,
    path: http::Uri,
    idle: Arc<Idle>,
}

/// Connections that nobody uses at the moment.
#[derive(Debug, Default)]
struct Idle(Mutex<Vec<NearConnection>>);

/// A connection, and the way to send a request over it. Nothing happens on it unless it is worked.
#[derive(Debug)]
struct NearConnection {
    sender: SendRequest<Full<Bytes>>,
    /// `None` when it is over. It is dropped then, so that a request which it has not taken comes back.
    connection: Option<Pin<Box<WorkedConnection>>>,
}

/// An answer, whose body has not been read to its end. If it is dropped before, its connection is closed.
#[derive(Debug)]
pub(super) struct NearResponse {
    head: http::response::Parts,
    body: Incoming,
    /// `None` when the body has ended.
    connection: Option<NearConnection>,
    idle: Arc<Idle>,
}

impl Nearby {
    /// Connections to a server; `None` if it needs more than plain HTTP on this machine.
    pub(super) fn new(url: &Url) -> Option<Self> {
        let is_plain = url.scheme() == "http" && url.username().is_empty() && url.password().is_none();
        let host = url.host_str().filter(|_| is_plain && is_local(url))?;
        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        Some(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port_or_known_default()?,
            authority: HeaderValue::from_str(&authority).ok()?,
            path: path.parse().ok()?,
            idle: Arc::default(),
        })
    }

    /// Sends a request, and waits for the head of its answer.
    pub(super) async fn send(&self, request: &Outgoing) -> Result<NearResponse, LinkError> {
        let mut message = self.message(request);
        while let Some(mut kept) = self.idle.take() {
            match kept.send(message).await {
                Ok(response) => return Ok(self.response(kept, response)),
                // The server had closed the connection, and got nothing of the request.
                Err((_, Some(unsent))) => message = *unsent,
                Err((error, None)) => return Err(unreachable(&error)),
            }
        }
        let mut new = self.connect().await?;
        match new.send(message).await {
            Ok(response) => Ok(self.response(new, response)),
            Err((error, _)) => Err(unreachable(&error)),
        }
    }

    fn message(&self, request: &Outgoing) -> NearRequest {
        let mut message = NearRequest::new(Full::new(request.body.clone()));
        *message.method_mut() = request.method.clone();
        *message.uri_mut() = self.path.clone();
        *message.headers_mut() = request.headers.clone();
        message.headers_mut().entry(HOST).or_insert_with(|| self.authority.clone());
        message
    }

    fn response(&self, connection: NearConnection, response: http::Response<Incoming>) -> NearResponse {
        let (head, body) = response.into_parts();
        NearResponse { head, body, connection: Some(connection), idle: self.idle.clone() }
    }

    async fn connect(&self) -> Result<NearConnection, LinkError> {
        let connecting = async {
            match self.host.parse::<IpAddr>() {
                Ok(address) => TcpStream::connect((address, self.port)).await,
                Err(_) => TcpStream::connect((self.host.as_str(), self.port)).await,
            }
        };
        let connected = timeout(CONNECT_TIMEOUT, connecting).await;
        let stream = connected.map_err(|_| LinkError::Unreachable("operation timed out".to_owned()))?;
        let stream = stream.map_err(|error| unreachable(&error))?;
        // If this fails, the connection is gone, and the first request will find that out.
        let _ = stream.set_nodelay(true);
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|error| unreachable(&error))?;
        Ok(NearConnection { sender, connection: Some(Box::pin(connection)) })
    }
}

impl Idle {
    /// The connection that was used last.
    fn take(&self) -> Option<NearConnection> {
        self.connections().pop()
    }

    fn put(&self, connection: NearConnection) {
        let mut connections = self.connections();
        if connections.len() < IDLE_MAX {
            connections.push(connection);
        }
    }

    fn connections(&self) -> MutexGuard<'_, Vec<NearConnection>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NearConnection {
    /// Sends a request. With an error it comes back if nothing of it was sent.
    async fn send(
        &mut self,
        message: NearRequest,
    ) -> Result<http::Response<Incoming>, (hyper::Error, Option<Box<NearRequest>>)> {
        // What the server did since the connection was last used is seen first.
        self.worked(async {}).await;
        let answer = self.sender.try_send_request(message);
        let answer = work(&mut self.connection, answer).await;
        answer.map_err(|mut error| {
            let unsent = error.take_message().map(Box::new);
            (error.into_error(), unsent)
        })
    }

    /// Waits for something that comes over the connection.
    async fn worked<T>(&mut self, waited: impl Future<Output = T>) -> T {
        work(&mut self.connection, waited).await
    }
}

/// Works a connection until something has come over it.
async fn work<T>(connection: &mut Option<Pin<Box<WorkedConnection>>>, waited: impl Future<Output = T>) -> T {
    let mut waited = pin!(waited);
    poll_fn(|context| {
        // How it ended is said to whoever waits for an answer.
        if connection.as_mut().is_some_and(|connection| connection.as_mut().poll(context).is_ready()) {
            *connection = None;
        }
        waited.as_mut().poll(context)
    })
    .await
}

impl NearResponse {
    pub(super) fn status(&self) -> http::StatusCode {
        self.head.status
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// The next part of the body; `None` at its end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, LinkError> {
        while let Some(connection) = &mut self.connection {
            match connection.worked(self.body.frame()).await {
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
                Some(Err(error)) => return Err(unreachable(&error)),
                None => self.give_back(),
            }
        }
        Ok(None)
    }

    /// Keeps the connection for the next request, if it can take one.
    fn give_back(&mut self) {
        if let Some(connection) = self.connection.take()
            && connection.connection.is_some()
            && connection.sender.is_ready()
        {
            self.idle.put(connection);
        }
    }
}

#[cfg(test)]
mod tests;
