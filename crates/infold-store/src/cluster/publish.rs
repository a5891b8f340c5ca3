//! Publishing an entry: it is acknowledged by a quorum of servers, or refused because the log has moved on, or its fate is
//! found out.
//!
//! A long entry is several messages, one behind the other. If another machine's entry comes between them, those that were
//! sent count for nothing, and the entry is published anew.

use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use async_nats::connection::State;
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::{self, ErrorCode};

use super::apply::Position;
use super::log::{Log, PAUSE, describe};
use super::note;
use crate::StoreError;

/// Says what a message continues: the entry's random name, its part, and how many parts there are.
pub(super) const PART: &str = "Infold-Part";
/// A keyed hash over the log up to the message itself.
pub(super) const CHAIN: &str = "Infold-Chain";

/// What the chain's key is derived for.
const CHAIN_CONTEXT: &str = "infold 2026 chain of the shared log";

/// What became of an entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Published {
    /// A quorum has it on disk.
    Landed(Position),
    /// Another machine was faster; nothing of the entry counts.
    Moved,
}

/// What became of one message.
enum Sent {
    /// It is in the log, at this sequence.
    Landed(u64),
    Moved,
}

/// The hash that authenticates a log from here on.
#[derive(Clone)]
pub(super) struct ChainKey([u8; 32]);

impl ChainKey {
    /// The key of machines that have this secret.
    pub(super) fn of(secret: &[u8; 32]) -> Self {
        Self(blake3::derive_key(CHAIN_CONTEXT, secret))
    }

    /// The hash behind a message, given the one before it.
    pub(super) fn after(&self, chain: &[u8; 32], head: &str, payload: &[u8]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(chain);
        hasher.update(&(head.len() as u64).to_be_bytes());
        hasher.update(head.as_bytes());
        hasher.update(payload);
        *hasher.finalize().as_bytes()
    }
}

impl Log {
    /// Publishes an entry behind a position.
    pub(super) async fn publish(&self, key: &ChainKey, from: &Position, entry: &[u8]) -> Result<Published, StoreError> {
        let name = random_name()?;
        let count = entry.len().div_ceil(self.part_bytes_max).max(1);
        let mut position = from.clone();
        for (index, part) in entry.chunks(self.part_bytes_max).enumerate() {
            let head = format!("{name} {} {count}", index + 1);
            let chain = key.after(&position.chain, &head, part);
            match self.send(&position, position.applied, &chain, (&head, part)).await? {
                Sent::Landed(applied) => position = Position { applied, chain },
                Sent::Moved => return Ok(Published::Moved),
            }
        }
        Ok(Published::Landed(position))
    }

    /// Publishes the first entry of a log that was made anew: it goes on from what an index has.
    pub(super) async fn publish_first(&self, key: &ChainKey, from: &Position, entry: &[u8]) -> Result<(), StoreError> {
        let head = format!("{} 1 1", random_name()?);
        let chain = key.after(&from.chain, &head, entry);
        match self.send(from, 0, &chain, (&head, entry)).await? {
            Sent::Landed(_) => Ok(()),
            Sent::Moved => {
                Err(self.unfit("was written to while it was made anew", "stop infold on all machines, and try again"))
            }
        }
    }

    /// Sends one message that goes on from a position until it is known what became of it, or time is up. `last` is the
    /// sequence of the last message that may be there.
    async fn send(
        &self,
        from: &Position,
        last: u64,
        chain: &[u8; 32],
        (head, payload): (&str, &[u8]),
    ) -> Result<Sent, StoreError> {
        let chain = blake3::Hash::from_bytes(*chain).to_hex().to_string();
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", chain.as_str());
        headers.insert("Nats-Expected-Last-Subject-Sequence", last.to_string().as_str());
        headers.insert(PART, head);
        headers.insert(CHAIN, chain.as_str());
        let payload = bytes::Bytes::copy_from_slice(payload);
        let until = self.deadline();
        // An attempt that was not answered may have landed all the same.
        let mut unanswered = false;
        loop {
            let error = match self.attempt(self.subject(), headers.clone(), payload.clone()).await {
                Ok(sequence) if sequence > from.applied => return Ok(Sent::Landed(sequence)),
                Ok(sequence) => return Err(self.lost(from, sequence)),
                Err(error) => error,
            };
            match error.kind() {
                _ if has_moved(&error) && unanswered => return self.what_landed(from, &chain, until).await,
                _ if has_moved(&error) => return Ok(Sent::Moved),
                PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe => unanswered = true,
                PublishErrorKind::MaxPayloadExceeded => {
                    return Err(self.unfit("refuses long messages", "set max_payload to 8MB on all servers"));
                }
                // Servers look for room before they look whether they have the message already.
                _ if unanswered => {}
                _ => self.refused(&error)?,
            }
            match Instant::now() >= until {
                true if unanswered => return self.what_landed(from, &chain, until).await,
                true => return Err(self.unreachable(describe(&error))),
                false => {}
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn attempt(&self, subject: String, headers: HeaderMap, payload: bytes::Bytes) -> Result<u64, PublishError> {
        // The client would hold the message back and send it when nobody waits for it any more.
        if self.client.connection_state() != State::Connected {
            return Err(PublishError::with_source(PublishErrorKind::Other, "there is no connection to a server"));
        }
        let wait = Duration::from_millis(self.settings.attempt_ms);
        let published = async {
            let acknowledged = self.context.publish_with_headers(subject, headers, payload).await?;
            acknowledged.await
        };
        match tokio::time::timeout(wait, published).await {
            Ok(Ok(acknowledged)) => {
                note(&self.state, |state| state.problem = None);
                Ok(acknowledged.sequence)
            }
            Ok(Err(error)) => Err(error),
            Err(_) => Err(PublishError::new(PublishErrorKind::TimedOut)),
        }
    }

    /// After an attempt without an answer: whether the message that the log has behind `from` is the one that was sent.
    async fn what_landed(&self, from: &Position, chain: &str, until: Instant) -> Result<Sent, StoreError> {
        loop {
            let found = self.stream.get_first_raw_message_by_subject(self.subject(), from.applied + 1).await;
            let problem = match found {
                Ok(found) if found.headers.get(CHAIN).is_some_and(|value| value.as_str() == chain) => {
                    return Ok(Sent::Landed(found.sequence));
                }
                Ok(_) => return self.what_removed(from).await,
                // There may be one that is not stored yet, or that this server does not have yet.
                Err(error) => describe(&error),
            };
            if Instant::now() >= until {
                return Err(self.unknown(problem));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Another message follows `from` in the log: nothing else did before, unless it was removed since, after a long sleep.
    async fn what_removed(&self, from: &Position) -> Result<Sent, StoreError> {
        match self.seen().await {
            Ok(seen) if seen.first_sequence <= from.applied + 1 => Ok(Sent::Moved),
            Ok(_) => Err(self.unknown("the log was trimmed meanwhile".to_owned())),
            Err(error) => Err(self.unknown(error.to_string())),
        }
    }

    /// Puts a message into the log that is no entry, and returns its sequence. A quorum of servers has agreed on it: whatever
    /// was acknowledged to anybody before this was called has a lower one.
    pub(super) async fn barrier(&self) -> Result<u64, StoreError> {
        let until = self.deadline();
        loop {
            let error = match self.attempt(self.barrier_subject(), HeaderMap::new(), bytes::Bytes::new()).await {
                Ok(sequence) => return Ok(sequence),
                Err(error) => error,
            };
            self.refused(&error)?;
            if Instant::now() >= until {
                return Err(self.unreachable(describe(&error)));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// What a server says that cannot take the entry now. `Ok` if it may be able to soon.
    fn refused(&self, error: &PublishError) -> Result<(), StoreError> {
        let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<jetstream::Error>());
        match source.map(jetstream::Error::error_code) {
            Some(
                ErrorCode::STREAM_STORE_FAILED
                | ErrorCode::INSUFFICIENT_RESOURCES
                | ErrorCode::ACCOUNT_RESOURCES_EXCEEDED
                | ErrorCode::STORAGE_RESOURCES_EXCEEDED,
            ) => {
                let problem = describe(error);
                let remedy = "give the servers more room on disk: raise the stream's max-bytes or the account's limits, or \
                              max_file_store in the servers' configuration and restart them";
                Err(self.unfit(&format!("takes no more entries ({problem})"), remedy))
            }
            _ => Ok(()),
        }
    }

    fn unknown(&self, problem: String) -> StoreError {
        let StoreError::Unreachable { servers, problem } = self.unreachable(problem) else { return StoreError::Closed };
        StoreError::Unknown { servers, problem }
    }

    /// The log has an entry that could not be written to this machine's index.
    pub(super) fn not_indexed(&self, error: &StoreError) -> StoreError {
        let problem = format!("it is in the log, but not in this machine's index ({error})");
        StoreError::Unknown { servers: self.settings.servers.join(", "), problem }
    }

    /// The servers have given the message another place than the one that they had been asked for.
    fn lost(&self, from: &Position, sequence: u64) -> StoreError {
        let problem = format!("has put an entry at {sequence} that belongs behind {}", from.applied);
        self.unfit(&problem, "stop infold on all machines, and see docs/cluster.md about a lost log")
    }
}

/// Whether the server says that the log has another last entry, or is about to have.
fn has_moved(error: &PublishError) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<jetstream::Error>());
    let is_overtaken =
        source.is_some_and(|source| source.error_code() == ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT);
    error.kind() == PublishErrorKind::WrongLastSequence || is_overtaken
}

pub(super) fn random_name() -> Result<String, StoreError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random)
        .map_err(|error| StoreError::File { path: "random source".to_owned(), problem: error.to_string() })?;
    Ok(blake3::hash(&random).to_hex()[..16].to_owned())
}
