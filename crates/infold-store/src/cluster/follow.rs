//! Reading entries that are in the log and not yet in the index.

use std::collections::BTreeMap;
use std::time::Instant;

use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::RawMessageErrorKind;
use futures::StreamExt;

use super::apply::Position;
use super::entry::LogEntry;
use super::log::{Log, PAUSE, describe};
use super::publish::{CHAIN, ChainKey, PART};
use crate::StoreError;

/// How many messages are asked for at once.
const AT_ONCE: usize = 32;
/// The longest entry that is put together from parts, in bytes.
const BYTES_MAX: usize = 512 * 1024 * 1024;
/// How many messages that servers said they had stored are held until their turn comes.
const RECEIVED_MAX: usize = 256;

/// A message of the log.
#[derive(Debug, Clone)]
pub(super) struct LogMessage {
    pub sequence: u64,
    pub head: String,
    pub chain: String,
    pub payload: bytes::Bytes,
}

/// An entry with the position behind it. `None` for parts of an entry that was given up.
pub(super) struct ReadEntry {
    pub entry: Option<LogEntry>,
    pub position: Position,
}

/// Messages that the servers have stored, as they were received, until they are used.
#[derive(Default)]
pub(super) struct StoredMessages(BTreeMap<u64, LogMessage>);

impl StoredMessages {
    /// Takes a message that a server said it has stored. Returns its sequence.
    pub(super) fn add(&mut self, message: &async_nats::Message) -> Option<u64> {
        let headers = message.headers.as_ref()?;
        let text = |name: &str| headers.get(name).map(|value| value.as_str().to_owned());
        let sequence = text("Nats-Sequence")?.parse().ok()?;
        let (head, chain) = (text(PART)?, text(CHAIN)?);
        if self.0.len() < RECEIVED_MAX {
            self.0.insert(sequence, LogMessage { sequence, head, chain, payload: message.payload.clone() });
        }
        Some(sequence)
    }

    fn take(&mut self, sequence: u64) -> Option<LogMessage> {
        self.0 = self.0.split_off(&sequence);
        self.0.remove(&sequence)
    }
}

/// Parts of an entry, until it is whole.
#[derive(Default)]
struct Parts {
    name: String,
    next: usize,
    bytes: Vec<u8>,
}

impl Log {
    /// Reads the entries behind `from` up to the message `last`, which the log has. Stops before an entry that is not
    /// whole yet.
    pub(super) async fn entries(
        &self,
        key: &ChainKey,
        from: &Position,
        last: u64,
        received: &mut StoredMessages,
    ) -> Result<Vec<ReadEntry>, StoreError> {
        let mut at = from.clone();
        let (mut entries, mut parts) = (Vec::new(), Parts::default());
        for message in self.messages(from.applied + 1, last, received).await? {
            let next = key.after(&at, &message.head, &message.payload);
            if blake3::Hash::from_bytes(next.chain).to_hex().as_str() != message.chain {
                return Err(self.forked(message.sequence));
            }
            // What was begun and is not continued by the next message was given up.
            let (name, part, count) = split_head(&message.head).ok_or_else(|| self.forked(message.sequence))?;
            if part == 1 || name != parts.name || part != parts.next {
                parts = Parts { name: name.to_owned(), next: 1, bytes: Vec::new() };
            }
            let fits = part == parts.next && parts.bytes.len() + message.payload.len() <= BYTES_MAX;
            parts.next = if fits { part + 1 } else { usize::MAX };
            at = next;
            if !fits {
                entries.push(ReadEntry { entry: None, position: at.clone() });
                continue;
            }
            parts.bytes.extend_from_slice(&message.payload);
            if part == count {
                let whole = std::mem::take(&mut parts);
                entries.push(ReadEntry { entry: Some(LogEntry::decode(&whole.bytes)?), position: at.clone() });
            }
        }
        Ok(entries)
    }

    async fn messages(
        &self,
        first: u64,
        last: u64,
        received: &mut StoredMessages,
    ) -> Result<Vec<LogMessage>, StoreError> {
        let mut messages = Vec::new();
        let mut next = first;
        while next <= last
            && let Some(message) = received.take(next)
        {
            messages.push(message);
            next += 1;
        }
        let asked = futures::stream::iter(next..=last).map(|sequence| self.stored(sequence)).buffered(AT_ONCE);
        let asked: Vec<Result<LogMessage, StoreError>> = asked.collect().await;
        for message in asked {
            messages.push(message?);
        }
        Ok(messages)
    }

    async fn stored(&self, sequence: u64) -> Result<LogMessage, StoreError> {
        let Some(message) = self.message(sequence).await? else {
            let problem = format!("has no entry {sequence}, which the log needs");
            return Err(self.unfit(&problem, "put the servers' files back, or see docs/cluster.md about a lost log"));
        };
        let text = |name: &str| message.headers.get(name).map(|value| value.as_str().to_owned()).unwrap_or_default();
        Ok(LogMessage { sequence, head: text(PART), chain: text(CHAIN), payload: message.payload.clone() })
    }

    /// Asks the leader for a message. `None` if it says that there is none.
    pub(super) async fn message(&self, sequence: u64) -> Result<Option<StreamMessage>, StoreError> {
        let until = self.deadline();
        loop {
            let error = match self.stream.get_raw_message(sequence).await {
                Ok(message) => return Ok(Some(message)),
                Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => return Ok(None),
                Err(error) => error,
            };
            if Instant::now() >= until {
                return Err(self.unreachable(describe(&error)));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The log is not the one that this index has read so far.
    fn forked(&self, sequence: u64) -> StoreError {
        let problem = format!("does not go on, at {sequence}, from what this machine has read");
        self.unfit(
            &problem,
            "the log was put back or written to by others: see docs/cluster.md about a log that differs",
        )
    }
}

/// The entry's name, the part's number, and how many parts there are.
fn split_head(head: &str) -> Option<(&str, usize, usize)> {
    let mut words = head.split(' ');
    let (name, part, count) = (words.next()?, words.next()?, words.next()?);
    Some((name, part.parse().ok()?, count.parse().ok()?))
}
