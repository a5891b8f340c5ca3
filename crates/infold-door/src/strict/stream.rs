//! The socket as the HTTP parser sees it: only approved bytes come through, in bounded time.
//!
//! A refused head is replaced by [`SUBSTITUTE`], a head without a Host. Every approved head has one, so
//! the service recognises the substitute and answers it with the refusal that [`RefusalSlot`] holds.
//! That way the parser keeps the order of answers on a connection with several requests in flight, and
//! closes it after the last, without knowing that anything was refused.

use std::future::Future;
use std::io::{self, ErrorKind, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::machine::{Awaits, Broken, Machine};
use crate::refusal::DoorRefusal;
use crate::settings::DoorSettings;

/// What the parser gets in place of a refused head.
const SUBSTITUTE: &[u8] = b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n";
/// Most bytes that are read from the socket at once.
const READ_BYTES_MAX: usize = 8 * 1024;
/// How long a closed connection is still read from. Closing while the peer's bytes lie unread would
/// reset the connection, and the peer might never see why it was refused.
pub(crate) const LINGER: Duration = Duration::from_secs(1);

/// Carries the refusal of a head from the stream to the service of the same connection.
#[derive(Debug, Default)]
pub(crate) struct RefusalSlot {
    refusal: OnceLock<DoorRefusal>,
}

impl RefusalSlot {
    /// The refusal with which the substitute request is answered.
    pub(crate) fn refusal(&self) -> DoorRefusal {
        self.refusal.get().cloned().unwrap_or_else(|| DoorRefusal::malformed("there is no Host header: send one"))
    }
}

type Timer = Option<Pin<Box<Sleep>>>;

/// A socket whose requests are read strictly.
#[derive(Debug)]
pub(crate) struct StrictStream {
    tcp: TcpStream,
    slot: Arc<RefusalSlot>,
    machine: Machine,
    approved: Vec<u8>,
    given: usize,
    ended: Option<Ended>,
    head_timeout: Duration,
    stall_timeout: Duration,
    head_timer: Timer,
    read_timer: Timer,
    write_timer: Timer,
    linger_timer: Timer,
}

/// Why no more bytes come once the approved ones are used up.
#[derive(Debug, Clone, Copy)]
enum Ended {
    /// The peer has closed its side, or never asked for anything.
    Closed,
    /// A head was refused; the service is about to answer, so there is nothing to wait for.
    Refused,
    /// A body broke its form.
    BadBody(&'static str),
}

impl StrictStream {
    pub(crate) fn new(tcp: TcpStream, settings: &DoorSettings, slot: Arc<RefusalSlot>) -> Self {
        Self {
            tcp,
            slot,
            machine: Machine::new(settings.head_bytes_max),
            approved: Vec::new(),
            given: 0,
            ended: None,
            head_timeout: settings.head_timeout(),
            stall_timeout: settings.stall_timeout(),
            // The first head's time runs from the start of the connection. Otherwise a connection that never
            // sends anything could stay open for the whole idle timeout.
            head_timer: Some(Box::pin(sleep(settings.head_timeout()))),
            read_timer: None,
            write_timer: None,
            linger_timer: None,
        }
    }

    /// Feeds bytes from the socket to the machine, and sets the timers for what it now waits for.
    fn take(&mut self, bytes: &[u8]) {
        self.read_timer = None;
        let fed = self.machine.feed(bytes, &mut self.approved);
        match self.machine.awaits() {
            Awaits::Head => {
                let timeout = self.head_timeout;
                self.head_timer.get_or_insert_with(|| Box::pin(sleep(timeout)));
            }
            Awaits::Request | Awaits::Body | Awaits::Nothing => self.head_timer = None,
        }
        match fed {
            Ok(()) => {}
            Err(Broken::Head(refusal)) => self.refuse(refusal),
            Err(Broken::Body(reason)) => self.ended = Some(Ended::BadBody(reason)),
        }
    }

    fn refuse(&mut self, refusal: DoorRefusal) {
        // A connection is refused once, since nothing is read from it afterwards.
        let _ = self.slot.refusal.set(refusal);
        self.approved.extend_from_slice(SUBSTITUTE);
        self.ended = Some(Ended::Refused);
        self.head_timer = None;
    }

    /// Ends the wait for the peer's next byte if it has lasted too long; is pending as long as it has not.
    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.machine.awaits() {
            Awaits::Request | Awaits::Head => {
                let Some(timer) = &mut self.head_timer else { return Poll::Pending };
                ready!(timer.as_mut().poll(cx));
                if self.machine.awaits() == Awaits::Request {
                    self.ended = Some(Ended::Closed);
                } else {
                    let ms = self.head_timeout.as_millis();
                    self.refuse(DoorRefusal::new(
                        StatusCode::REQUEST_TIMEOUT,
                        "head_timeout",
                        format!("the head did not arrive within {ms} ms: send it at once"),
                    ));
                }
                Poll::Ready(Ok(()))
            }
            Awaits::Body => {
                ready!(poll_timer(&mut self.read_timer, self.stall_timeout, cx));
                Poll::Ready(Err(io::Error::new(ErrorKind::TimedOut, "the body stopped coming")))
            }
            Awaits::Nothing => Poll::Pending,
        }
    }

    /// Passes a write's outcome on, or fails it if the peer has accepted nothing for too long.
    fn bound_write(&mut self, written: Poll<io::Result<usize>>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.write_timer = None;
            return written;
        }
        ready!(poll_timer(&mut self.write_timer, self.stall_timeout, cx));
        Poll::Ready(Err(io::Error::new(ErrorKind::TimedOut, "the peer takes no more bytes")))
    }

    /// Copies approved bytes into the reader's buffer, and says whether there were any.
    fn give(&mut self, buffer: &mut ReadBuf<'_>) -> bool {
        let waiting = &self.approved[self.given..];
        let count = waiting.len().min(buffer.remaining());
        buffer.put_slice(&waiting[..count]);
        self.given += count;
        if self.given == self.approved.len() {
            // The memory is freed, because most connections are idle most of the time.
            self.approved = Vec::new();
            self.given = 0;
        }
        count > 0
    }
}

fn poll_timer(timer: &mut Timer, timeout: Duration, cx: &mut Context<'_>) -> Poll<()> {
    timer.get_or_insert_with(|| Box::pin(sleep(timeout))).as_mut().poll(cx)
}

impl AsyncRead for StrictStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            if buffer.remaining() == 0 || this.give(buffer) {
                return Poll::Ready(Ok(()));
            }
            match this.ended {
                Some(Ended::Closed) => return Poll::Ready(Ok(())),
                Some(Ended::Refused) => return Poll::Pending,
                Some(Ended::BadBody(reason)) => {
                    return Poll::Ready(Err(io::Error::new(ErrorKind::InvalidData, reason)));
                }
                None => {}
            }

            let mut space = [MaybeUninit::uninit(); READ_BYTES_MAX];
            let mut read = ReadBuf::uninit(&mut space);
            match Pin::new(&mut this.tcp).poll_read(cx, &mut read) {
                Poll::Ready(Ok(())) if read.filled().is_empty() => {
                    this.ended = Some(Ended::Closed);
                }
                Poll::Ready(Ok(())) => this.take(read.filled()),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => ready!(this.poll_patience(cx))?,
            }
        }
    }
}

impl AsyncWrite for StrictStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.tcp).poll_write(cx, bytes);
        self.bound_write(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.tcp).poll_write_vectored(cx, pieces);
        self.bound_write(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    /// Closes our side. If the peer may still be sending, reads on for a while (see [`LINGER`]).
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.linger_timer.is_none() {
            ready!(Pin::new(&mut this.tcp).poll_shutdown(cx))?;
        }
        if this.machine.awaits() == Awaits::Request || matches!(this.ended, Some(Ended::Closed)) {
            return Poll::Ready(Ok(()));
        }
        loop {
            if poll_timer(&mut this.linger_timer, LINGER, cx).is_ready() {
                return Poll::Ready(Ok(()));
            }
            let mut space = [MaybeUninit::uninit(); READ_BYTES_MAX];
            let mut read = ReadBuf::uninit(&mut space);
            match ready!(Pin::new(&mut this.tcp).poll_read(cx, &mut read)) {
                Ok(()) if !read.filled().is_empty() => {}
                Ok(()) | Err(_) => return Poll::Ready(Ok(())),
            }
        }
    }
}
