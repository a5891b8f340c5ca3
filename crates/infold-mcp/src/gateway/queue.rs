//! Messages that wait until a child reads them: bounded in number and in bytes. Only requests wait for room, within their
//! own time limit; whoever reads from the child never waits for it to read.

use std::sync::Arc;

use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::error::LinkError;
use super::message;

/// Messages that may wait.
const MESSAGES_MAX: usize = 256;

/// The end at which messages come in.
#[derive(Debug, Clone)]
pub(super) struct OutQueue {
    sender: mpsc::Sender<OutLine>,
    room: Arc<Semaphore>,
    bytes_max: usize,
}

/// The end that a child reads.
pub(super) type OutLines = mpsc::Receiver<OutLine>;

/// A message as a line, and the room that it takes.
#[derive(Debug)]
pub(super) struct OutLine {
    bytes: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

impl OutQueue {
    /// A queue for messages of at most `bytes_max`, which is also all that may wait.
    pub(super) fn new(bytes_max: usize) -> (Self, OutLines) {
        let bytes_max = bytes_max.min(Semaphore::MAX_PERMITS).min(u32::MAX as usize);
        let (sender, lines) = mpsc::channel(MESSAGES_MAX);
        (Self { sender, room: Arc::new(Semaphore::new(bytes_max)), bytes_max }, lines)
    }

    /// Adds a message, and waits until there is room for it.
    pub(super) async fn push(&self, message: &impl Serialize) -> Result<(), LinkError> {
        let (bytes, permits) = self.line(message)?;
        let room = self.room.clone().acquire_many_owned(permits).await.map_err(|_| LinkError::Closed)?;
        self.sender.send(OutLine { bytes, _room: room }).await.map_err(|_| LinkError::Closed)
    }

    /// Adds a message if there is room for it at once. What finds no room is lost: the child does not read.
    pub(super) fn try_push(&self, message: &impl Serialize) {
        let Ok((bytes, permits)) = self.line(message) else { return };
        if let Ok(room) = self.room.clone().try_acquire_many_owned(permits) {
            let _ = self.sender.try_send(OutLine { bytes, _room: room });
        }
    }

    fn line(&self, message: &impl Serialize) -> Result<(Vec<u8>, u32), LinkError> {
        let mut bytes = message::written(message);
        bytes.push(b'\n');
        match u32::try_from(bytes.len()) {
            Ok(permits) if bytes.len() <= self.bytes_max => Ok((bytes, permits)),
            _ => Err(LinkError::RequestTooLong { bytes: bytes.len(), bytes_max: self.bytes_max }),
        }
    }
}

/// Writes messages to a child until it does not read any more, or until `closing`. Then its input ends.
pub(super) async fn write_out(mut lines: OutLines, mut output: impl AsyncWrite + Unpin, closing: CancellationToken) {
    let writing = async {
        while let Some(line) = lines.recv().await {
            if output.write_all(&line.bytes).await.is_err() || output.flush().await.is_err() {
                return;
            }
        }
    };
    closing.run_until_cancelled(writing).await;
    let _ = output.shutdown().await;
}
