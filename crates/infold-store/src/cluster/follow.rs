//! Reading entries that are in the log and not yet in the index.

use std::collections::BTreeMap;
use std::time::Instant;

use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::{LastRawMessageErrorKind, RawMessageErrorKind};
use futures::StreamExt;

use super::apply::Position;
use super::entry::{LogEntry, PACKED_BYTES_MAX};
use super::log::{Log, PAUSE, describe};
use super::publish::{CHAIN, ChainKey, PART};
use crate::StoreError;

/// How many messages are asked for at once.
const AT_ONCE: usize = 32;
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

/// What was read of the log.
pub(super) struct ReadLog {
    /// The entries that are whole, in order.
    pub entries: Vec<ReadEntry>,
    /// Up to where everything was read. An entry that is not whole yet is read again from its beginning.
    pub read: u64,
    /// The position behind all messages that were read. An entry that is published there ends one that is not whole.
    pub tail: Position,
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

    /// The chain of a message that was received and not used yet.
    pub(super) fn chain_of(&self, sequence: u64) -> Option<&str> {
        self.0.get(&sequence).map(|message| message.chain.as_str())
    }

    /// Drops what an index has that has come so far.
    pub(super) fn forget_up_to(&mut self, applied: u64) {
        self.0 = self.0.split_off(&(applied + 1));
    }

    /// The first message from `first` to `last`, if it goes on from where the log was read to. There is no other entry before it then.
    fn take_next(&mut self, reading: &EntryReader<'_>, first: u64, last: u64) -> Option<LogMessage> {
        self.0 = self.0.split_off(&first);
        let next = self.0.first_entry().filter(|next| *next.key() <= last)?;
        reading.follows(next.get()).then(|| next.remove())
    }
}

/// Entries as they are put together from messages.
struct EntryReader<'a> {
    key: &'a ChainKey,
    at: Position,
    entries: Vec<ReadEntry>,
    /// The entry that is not whole yet: its name, the part that comes next, and its bytes so far.
    name: String,
    next_part: usize,
    bytes: Vec<u8>,
}

impl<'a> EntryReader<'a> {
    fn new(key: &'a ChainKey, from: &Position) -> Self {
        let at = from.clone();
        Self { key, at, entries: Vec::new(), name: String::new(), next_part: 1, bytes: Vec::new() }
    }

    fn follows(&self, message: &LogMessage) -> bool {
        let chain = self.key.after(&self.at.chain, &message.head, &message.payload);
        blake3::Hash::from_bytes(chain).to_hex().as_str() == message.chain
    }

    /// Takes the next message; `None` if it does not go on from the one before.
    fn take(&mut self, message: &LogMessage) -> Result<Option<()>, StoreError> {
        let Some((name, part, count)) = split_head(&message.head).filter(|_| self.follows(message)) else {
            return Ok(None);
        };
        let chain = self.key.after(&self.at.chain, &message.head, &message.payload);
        self.at = Position { applied: message.sequence, chain };
        // What was begun and is not continued by the next message was given up.
        if part == 1 || name != self.name || part != self.next_part {
            self.name = name.to_owned();
            self.next_part = 1;
            self.bytes.clear();
        }
        let fits = part == self.next_part && self.bytes.len() + message.payload.len() <= PACKED_BYTES_MAX;
        self.next_part = if fits { part + 1 } else { usize::MAX };
        if !fits {
            self.end(None);
            return Ok(Some(()));
        }
        self.bytes.extend_from_slice(&message.payload);
        if part == count {
            let entry = LogEntry::decode(&std::mem::take(&mut self.bytes))?;
            self.next_part = 1;
            self.end(Some(entry));
        }
        Ok(Some(()))
    }

    fn end(&mut self, entry: Option<LogEntry>) {
        self.entries.push(ReadEntry { entry, position: self.at.clone() });
    }
}

impl Log {
    /// Reads the entries behind `from`, up to the message `last`. Everything up to `read` was read before. `None` if what
    /// comes next was removed from the log: a base has it.
    pub(super) async fn entries(
        &self,
        key: &ChainKey,
        (from, read, last): (&Position, u64, u64),
        received: &mut StoredMessages,
    ) -> Result<Option<ReadLog>, StoreError> {
        let mut reading = EntryReader::new(key, from);
        let mut next = read + 1;
        while next <= last {
            if let Some(message) = received.take_next(&reading, next, last) {
                reading.take(&message)?.ok_or_else(|| self.forked(message.sequence))?;
                next = message.sequence + 1;
                continue;
            }
            let up_to = last.min(next + AT_ONCE as u64 - 1);
            let asked = futures::stream::iter(next..=up_to).map(|sequence| self.message(sequence)).buffered(AT_ONCE);
            let asked: Vec<Result<Option<StreamMessage>, StoreError>> = asked.collect().await;
            for message in asked {
                let Some(message) = message? else { return Ok(None) };
                if message.subject.as_str() == self.subject() {
                    let message = log_message(&message);
                    reading.take(&message)?.ok_or_else(|| self.forked(message.sequence))?;
                }
            }
            next = up_to + 1;
        }
        // Behind the last whole entry there may be barriers, and parts of an entry that is not whole.
        let whole = reading.entries.last().map_or(from, |entry| &entry.position);
        let read = if *whole == reading.at { last } else { read.max(whole.applied) };
        Ok(Some(ReadLog { entries: reading.entries, read, tail: reading.at }))
    }

    /// Asks for a message of the log; `None` if it was removed. A server that does not know it yet is asked again.
    pub(super) async fn message(&self, sequence: u64) -> Result<Option<StreamMessage>, StoreError> {
        let until = self.deadline();
        loop {
            let error = match self.stream.get_raw_message(sequence).await {
                Ok(message) => return Ok(Some(message)),
                Err(error) => error,
            };
            let is_unknown = error.kind() == RawMessageErrorKind::NoMessageFound;
            if is_unknown && self.seen().await?.first_sequence > sequence {
                return Ok(None);
            }
            if Instant::now() >= until && is_unknown {
                let problem = format!("has no entry {sequence}, which the log needs");
                return Err(
                    self.unfit(&problem, "put the servers' files back, or see docs/cluster.md about a lost log")
                );
            }
            if Instant::now() >= until {
                return Err(self.unreachable(describe(&error)));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Whether there is any entry, and not only barriers.
    pub(super) async fn has_entries(&self) -> Result<bool, StoreError> {
        let until = self.deadline();
        loop {
            let error = match self.stream.get_last_raw_message_by_subject(&self.subject()).await {
                Ok(_) => return Ok(true),
                Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => return Ok(false),
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
        self.unfit(&problem, "the log was put back or written to by others: see docs/cluster.md about a lost log")
    }
}

fn log_message(message: &StreamMessage) -> LogMessage {
    let text = |name: &str| message.headers.get(name).map(|value| value.as_str().to_owned()).unwrap_or_default();
    LogMessage { sequence: message.sequence, head: text(PART), chain: text(CHAIN), payload: message.payload.clone() }
}

/// The entry's name, the part's number, and how many parts there are.
fn split_head(head: &str) -> Option<(&str, usize, usize)> {
    let mut words = head.split(' ');
    let (name, part, count) = (words.next()?, words.next()?, words.next()?);
    Some((name, part.parse().ok()?, count.parse().ok()?))
}
