//! Connections to a server on this machine, one request at a time on each.
//!
//! Whoever waits for an answer reads and writes its connection itself, so that no other task has to be woken on the way;
//! that would take longer than the exchange itself, and so would handing the request and its answer through the channels
//! of an HTTP client. What a server elsewhere needs as well, such as encryption, proxies and redirects, is the HTTP
//! client's.
//!
//! Must hold: a request that may have reached the server is not sent again.

mod answer;

use std::future::poll_fn;
use std::io::{self, ErrorKind, IoSlice};
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use reqwest::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING};
use reqwest::{Method, Url};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use tokio::io::{AsyncReadExt, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{CONNECT_TIMEOUT, Outgoing, is_local, unreachable};
use crate::gateway::error::LinkError;
use answer::{AnswerHead, BodyStep, NoAnswer};

/// Connections that are kept for the next request.
const IDLE_MAX: usize = 8;
/// Room for the head of a request at first, so that a usual one is not moved while it is written.
const HEAD_BYTES_USUAL: usize = 512;
/// How much is read at once: more where more comes.
const READ_BYTES_MIN: usize = 8 << 10;
const READ_BYTES_MAX: usize = 256 << 10;
/// Headers that say how a request is written, which only who writes it can say.
const WRITERS_OWN: [HeaderName; 3] = [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING];

/// The connections to one server.
#[derive(Debug)]
pub(super) struct Nearby {
    host: String,
    port: u16,
    /// What the server is called in the head of a request.
    authority: HeaderValue,
    /// With the query.
    path: String,
    idle: Arc<Idle>,
}

/// Connections that nobody uses at the moment.
#[derive(Debug, Default)]
struct Idle(Mutex<Vec<NearConnection>>);

/// A connection. Nothing happens on it unless somebody waits for it.
#[derive(Debug)]
struct NearConnection {
    stream: TcpStream,
    /// What has come and was not looked at yet.
    come: BytesMut,
    /// How much is read at once.
    read_bytes: usize,
}

/// An answer, whose body has not been read to its end. If it is dropped before, its connection is closed.
#[derive(Debug)]
pub(super) struct NearResponse {
    head: AnswerHead,
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
            path: path.parse::<http::Uri>().ok()?.to_string(),
            idle: Arc::default(),
        })
    }

    /// Sends a request, and waits for the head of its answer.
    pub(super) async fn send(&self, request: &Outgoing) -> Result<NearResponse, LinkError> {
        let message = self.message(request);
        let mut connection = match self.idle.take() {
            Some(kept) => kept,
            None => self.connect().await?,
        };
        let head = connection.exchange(&message, &request.body).await?;
        Ok(NearResponse { head, connection: Some(connection), idle: self.idle.clone() })
    }

    /// The head of a request, as it is sent.
    fn message(&self, request: &Outgoing) -> Vec<u8> {
        let mut message = Vec::with_capacity(HEAD_BYTES_USUAL);
        let mut add = |pieces: &[&[u8]]| pieces.iter().for_each(|piece| message.extend_from_slice(piece));
        add(&[request.method.as_str().as_bytes(), b" ", self.path.as_bytes(), b" HTTP/1.1\r\n"]);
        for (name, value) in request.headers.iter().filter(|(name, _)| !WRITERS_OWN.contains(name)) {
            add(&[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"]);
        }
        if !request.headers.contains_key(HOST) {
            add(&[b"host: ", self.authority.as_bytes(), b"\r\n"]);
        }
        if !request.body.is_empty() || request.method == Method::POST {
            add(&[b"content-length: ", request.body.len().to_string().as_bytes(), b"\r\n"]);
        }
        add(&[b"\r\n"]);
        message
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
        Ok(NearConnection { stream, come: BytesMut::new(), read_bytes: READ_BYTES_MIN })
    }
}

impl Idle {
    /// The connection that was used last and can still be used.
    fn take(&self) -> Option<NearConnection> {
        loop {
            let last = self.connections().pop()?;
            if last.is_silent() {
                return Some(last);
            }
        }
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
    /// Whether the server has neither closed the connection since it was last used nor said anything unasked.
    fn is_silent(&self) -> bool {
        // The kernel is asked: what the runtime knows of a connection may be older than its end.
        let looked = recv(&self.stream, &mut [0; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        self.come.is_empty() && looked.is_err_and(|error| error == Errno::AGAIN)
    }

    /// Sends a request, and reads the head of its answer. A server may answer before it has read all of the request; the
    /// connection is not used again then.
    async fn exchange(&mut self, message: &[u8], body: &[u8]) -> Result<AnswerHead, LinkError> {
        let mut pieces = [IoSlice::new(message), IoSlice::new(body)];
        let mut unsent = &mut pieces[..];
        let head = poll_fn(|context| {
            if let Poll::Ready(Err(error)) = self.poll_write(&mut unsent, context) {
                return Poll::Ready(Err(unreachable(&error)));
            }
            loop {
                if let Some(head) = AnswerHead::take(&mut self.come).map_err(no_answer)? {
                    return Poll::Ready(Ok(head));
                }
                match ready!(self.poll_more(context)) {
                    Ok(0) => return Poll::Ready(Err(broken_off())),
                    Ok(_) => {}
                    Err(error) => return Poll::Ready(Err(unreachable(&error))),
                }
            }
        });
        let head = head.await?;
        Ok(AnswerHead { is_kept: head.is_kept && unsent.is_empty(), ..head })
    }

    /// Writes what is not sent yet.
    fn poll_write(&mut self, unsent: &mut &mut [IoSlice<'_>], context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !unsent.is_empty() {
            match ready!(Pin::new(&mut self.stream).poll_write_vectored(context, unsent))? {
                0 => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                bytes => IoSlice::advance_slices(unsent, bytes),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Reads more of what comes. Says how much it was; nothing is the end.
    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.come.reserve(self.read_bytes);
        let read = ready!(pin!(self.stream.read_buf(&mut self.come)).poll(context))?;
        if read >= self.read_bytes {
            self.read_bytes = (self.read_bytes * 2).min(READ_BYTES_MAX);
        }
        Poll::Ready(Ok(read))
    }
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
            match self.head.body.take(&mut connection.come).map_err(no_answer)? {
                BodyStep::Piece(bytes) => return Ok(Some(bytes)),
                BodyStep::End => self.give_back(),
                BodyStep::NeedsMore => {
                    let read = poll_fn(|context| connection.poll_more(context)).await;
                    match read.map_err(|error| unreachable(&error))? {
                        0 if self.head.body.may_end() => self.connection = None,
                        0 => return Err(broken_off()),
                        _ => {}
                    }
                }
            }
        }
        Ok(None)
    }

    /// Keeps the connection for the next request, if it can take one.
    fn give_back(&mut self) {
        if let Some(connection) = self.connection.take()
            && self.head.is_kept
            && connection.come.is_empty()
        {
            let NearConnection { stream, come, read_bytes } = connection;
            // What a long answer took is given back.
            let come = if read_bytes > READ_BYTES_MIN { BytesMut::new() } else { come };
            self.idle.put(NearConnection { stream, come, read_bytes: READ_BYTES_MIN });
        }
    }
}

fn no_answer(NoAnswer(why): NoAnswer) -> LinkError {
    LinkError::Unreachable(why.to_owned())
}

fn broken_off() -> LinkError {
    LinkError::Unreachable("the connection was closed before the answer was complete".to_owned())
}

#[cfg(test)]
mod tests;
