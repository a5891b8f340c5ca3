//! Keeping the log short. The machine on duty writes everything that machines share, as it is at one entry, into a stream beside
//! the log: a base. Entries that lie before the base before it are removed then, and an index that needs them begins
//! anew from the newest base.
//!
//! What must hold: an entry is removed only when a base that has it is whole and acknowledged. A base that was not
//! finished has no head, and counts for nothing.

use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use async_nats::jetstream::stream::{self, LastRawMessageErrorKind};
use futures::StreamExt;
use rusqlite::Transaction;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::apply::{self, Position};
use super::connect::unreachable;
use super::entry::{LogEntry, TableChange};
use super::log::{Log, PAUSE, describe};
use super::publish::{CHAIN, ChainKey, random_name};
use super::settings::ClusterSettings;
use super::{tables, transfer};
use crate::{Store, StoreError, schema};

/// How many pieces are asked for at once.
const AT_ONCE: usize = 8;
/// How many batches of rows may wait to be published.
const BATCHES_WAITING: usize = 2;
/// How long publishing one piece may take.
const PIECE_MAX: Duration = Duration::from_secs(30);
/// What the hash that authenticates a head is made for.
const HEAD: &str = "head of a base";
/// The bytes that say how long the entry behind them is.
const LENGTH_BYTES: usize = size_of::<u64>();

/// What a base is, published when all of its pieces are there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BaseHead {
    /// The base's random name.
    name: String,
    /// The log that it is of.
    log: String,
    /// The entry that it has everything up to.
    pub(super) applied: u64,
    /// The log's hash at that entry.
    chain: String,
    /// How many pieces it has, and their bytes.
    pieces: u64,
    bytes: u64,
    /// The sequence of its first piece in the stream of bases.
    first: u64,
    /// The hash over its pieces.
    hash: String,
    /// The entry of the base before this one. What lies before it is removed from the log.
    before: u64,
}

/// What trimming did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trimmed {
    /// The log is not long enough.
    Nothing,
    /// Everything up to this entry is in a new base.
    Based {
        /// The entry's sequence.
        applied: u64,
    },
}

/// The pieces of a base, as they were published.
#[derive(Default)]
struct Pieces {
    count: u64,
    bytes: u64,
    /// The sequence of the first one.
    first: u64,
    hasher: blake3::Hasher,
}

/// The way to the bases of a log.
pub(super) struct Bases {
    log: Log,
    key: ChainKey,
}

impl Bases {
    /// Finds the stream of bases, or makes it.
    pub(super) async fn reach(log: &Log, key: &ChainKey) -> Result<Self, StoreError> {
        let bases = Self { log: log.clone(), key: key.clone() };
        let config = stream::Config {
            name: bases.stream(),
            description: Some("What infold's machines share, as it was at one entry of their log".to_owned()),
            subjects: vec![bases.head_subject(), format!("{}.*.*", bases.head_subject())],
            discard: stream::DiscardPolicy::New,
            storage: stream::StorageType::File,
            num_replicas: log.settings.replicas,
            allow_direct: false,
            ..Default::default()
        };
        log.make_beside(config).await?;
        Ok(bases)
    }

    fn stream(&self) -> String {
        stream_name(&self.log.settings)
    }

    fn head_subject(&self) -> String {
        format!("{}.base", self.log.settings.subject_prefix)
    }

    fn piece_subject(&self, name: &str, number: u64) -> String {
        format!("{}.{name}.{number}", self.head_subject())
    }

    fn unreachable(&self, error: &dyn std::error::Error) -> StoreError {
        unreachable(&self.log.settings, format!("the stream {} ({})", self.stream(), describe(error)))
    }

    async fn handle(&self) -> Result<stream::Stream, StoreError> {
        self.log.context.get_stream(self.stream()).await.map_err(|error| self.unreachable(&error))
    }

    /// The newest head with its sequence in the stream of bases; `None` if there is none yet.
    async fn newest(&self) -> Result<Option<(BaseHead, u64)>, StoreError> {
        let message = match self.handle().await?.get_last_raw_message_by_subject(&self.head_subject()).await {
            Ok(message) => message,
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => return Ok(None),
            Err(error) => return Err(self.unreachable(&error)),
        };
        let is_ours = message.headers.get(CHAIN).is_some_and(|value| value.as_str() == self.seal(&message.payload));
        let head: Option<BaseHead> = serde_json::from_slice(&message.payload).ok();
        match head.filter(|head| is_ours && head.log == self.log.name) {
            Some(head) => Ok(Some((head, message.sequence))),
            None => {
                let problem = format!("has a base in {} that its machines did not write", self.stream());
                Err(self.log.unfit(&problem, "see docs/cluster.md about a lost log"))
            }
        }
    }

    fn seal(&self, head: &[u8]) -> String {
        blake3::Hash::from_bytes(self.key.after(&[0; 32], HEAD, head)).to_hex().to_string()
    }

    async fn publish(&self, subject: String, headers: HeaderMap, payload: Vec<u8>) -> Result<u64, StoreError> {
        let sent = async { self.log.context.publish_with_headers(subject, headers, payload.into()).await?.await };
        match tokio::time::timeout(PIECE_MAX, sent).await {
            Ok(Ok(acknowledged)) => Ok(acknowledged.sequence),
            Ok(Err(error)) => Err(self.unreachable(&error)),
            Err(error) => Err(self.unreachable(&error)),
        }
    }

    /// Whether so much was written since the newest base that another one is worth its own length.
    fn is_due(&self, seen: &stream::State, newest: Option<&BaseHead>) -> bool {
        let applied = newest.map_or(seen.first_sequence.saturating_sub(1), |head| head.applied);
        let messages = seen.last_sequence.saturating_sub(applied);
        let since = seen.bytes / seen.messages.max(1) * messages;
        since >= self.log.settings.trim_bytes.max(newest.map_or(0, |head| head.bytes))
    }

    /// Removes the pieces of a base that has no head.
    async fn remove_pieces(&self, name: &str) -> Result<(), StoreError> {
        let of_base = format!("{}.{name}.*", self.head_subject());
        self.handle().await?.purge().filter(of_base).await.map(|_| ()).map_err(|error| self.unreachable(&error))
    }

    /// Removes what the newest base makes superfluous: older bases, and entries before the base before it.
    async fn remove_before(&self, head: &BaseHead) -> Result<(), StoreError> {
        let purge = |stream: stream::Stream, first: u64| async move {
            stream.purge().sequence(first).await.map(|_| ()).map_err(|error| self.unreachable(&error))
        };
        purge(self.handle().await?, head.first).await?;
        if head.before > 0 {
            purge(self.log.stream.clone(), head.before).await?;
        }
        Ok(())
    }

    /// Publishes what comes in as pieces of a base.
    async fn publish_pieces(
        &self,
        name: &str,
        batches: &mut mpsc::Receiver<TableChange>,
    ) -> Result<Pieces, StoreError> {
        let (mut waiting, mut pieces) = (Vec::new(), Pieces::default());
        loop {
            let batch = batches.recv().await;
            let is_end = batch.is_none();
            if let Some(batch) = batch {
                let entry = LogEntry { schema: schema::KNOWN, tables: vec![batch] }.encode()?;
                waiting.extend((entry.len() as u64).to_be_bytes());
                waiting.extend(entry);
            }
            while waiting.len() >= self.log.part_bytes_max || (is_end && !waiting.is_empty()) {
                let rest = waiting.split_off(waiting.len().min(self.log.part_bytes_max));
                let piece = std::mem::replace(&mut waiting, rest);
                pieces.bytes += piece.len() as u64;
                pieces.hasher.update(&piece);
                let sequence = self.publish(self.piece_subject(name, pieces.count), HeaderMap::new(), piece).await?;
                pieces.first = if pieces.count == 0 { sequence } else { pieces.first };
                pieces.count += 1;
            }
            if is_end {
                return Ok(pieces);
            }
        }
    }

    /// Reads the newest base into an index, in place of what it has. Tries again if another base takes its place meanwhile.
    pub(super) async fn load(&self, transaction: &Transaction<'_>) -> Result<Position, StoreError> {
        let until = self.log.deadline();
        loop {
            let loaded = match self.newest().await {
                Ok(Some((head, _))) => self.load_one(transaction, &head).await,
                Ok(None) => Err(self.log.unfit(
                    "lacks its first entries, and there is no base",
                    "put a copy of the servers' files back, or see docs/cluster.md about a lost log",
                )),
                Err(error) => Err(error),
            };
            match loaded {
                Ok(position) => return Ok(position),
                Err(error) if Instant::now() >= until => return Err(error),
                Err(error) => tracing::warn!(%error, "a base could not be read; this is tried again"),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn load_one(&self, transaction: &Transaction<'_>, head: &BaseHead) -> Result<Position, StoreError> {
        tables::clear(transaction)?;
        let stream = self.handle().await?;
        let subjects = (0..head.pieces).map(|number| self.piece_subject(&head.name, number));
        let mut pieces = futures::stream::iter(subjects)
            .map(|subject| {
                let stream = stream.clone();
                async move { stream.get_last_raw_message_by_subject(&subject).await }
            })
            .buffered(AT_ONCE);
        let (mut waiting, mut hasher) = (Vec::new(), blake3::Hasher::new());
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|error| self.unreachable(&error))?.payload;
            hasher.update(&piece);
            waiting.extend_from_slice(&piece);
            while let Some(entry) = next_entry(&mut waiting) {
                apply::apply(transaction, &LogEntry::decode(&entry)?)?;
            }
        }
        let chain = blake3::Hash::from_hex(&head.chain).ok();
        let (Some(chain), true) = (chain, hasher.finalize().to_hex().as_str() == head.hash) else {
            let problem = format!("has a base of entry {} that is damaged", head.applied);
            return Err(self.log.unfit(&problem, "remove the stream of bases if all machines have an index"));
        };
        Ok(Position { applied: head.applied, chain: *chain.as_bytes() })
    }
}

/// The stream beside a log that holds its bases.
pub(super) fn stream_name(settings: &ClusterSettings) -> String {
    format!("{}_BASE", settings.stream)
}

/// Takes the first entry out of what was read of a base, if it is whole.
fn next_entry(waiting: &mut Vec<u8>) -> Option<Vec<u8>> {
    let (length, rest) = waiting.split_first_chunk::<LENGTH_BYTES>()?;
    let length = usize::try_from(u64::from_be_bytes(*length)).ok()?;
    let entry = rest.get(..length)?.to_vec();
    waiting.drain(..LENGTH_BYTES + length);
    Some(entry)
}

impl Store {
    /// Writes a base and removes old entries, if the log has become long. One machine should do it.
    pub async fn trim_log(&self) -> Result<Trimmed, StoreError> {
        let Some(bases) = self.inner.cluster.as_ref().and_then(|shown| shown.bases.get()) else {
            return Ok(Trimmed::Nothing);
        };
        let (newest, seen) = (bases.newest().await?, bases.log.seen().await?);
        // Whoever wrote the newest base may have been cut off before the rest was done.
        if let Some((head, _)) = newest.as_ref().filter(|(head, _)| seen.first_sequence < head.before) {
            bases.remove_before(head).await?;
        }
        if !bases.is_due(&seen, newest.as_ref().map(|(head, _)| head)) {
            return Ok(Trimmed::Nothing);
        }
        let (before, behind) = newest.map_or((0, 0), |(head, sequence)| (head.applied, sequence));
        self.fresh().await?;
        if self.read(apply::position).await?.applied <= before {
            // There is nothing but barriers, which go with the entries before them.
            self.inner.writer.run(|transaction| tables::touch(transaction)).await?;
        }
        let Some(head) = self.publish_base(bases, before, behind).await? else { return Ok(Trimmed::Nothing) };
        bases.remove_before(&head).await?;
        Ok(Trimmed::Based { applied: head.applied })
    }

    /// Publishes everything that this index has as a base. `before` is the entry of the base before it, and `behind` the
    /// sequence of that one's head. `None` if this index is not further than that one.
    pub(super) async fn publish_base(
        &self,
        bases: &Bases,
        before: u64,
        behind: u64,
    ) -> Result<Option<BaseHead>, StoreError> {
        let name = random_name()?;
        let published = self.publish_rows(bases, &name, before).await;
        let head = match published {
            Ok(head) if head.applied > before => head,
            unusable => {
                bases.remove_pieces(&name).await?;
                return unusable.map(|_| None);
            }
        };
        let json = serde_json::to_vec(&head)
            .map_err(|error| StoreError::Unreadable { what: "head of a base", problem: error.to_string() })?;
        let mut headers = HeaderMap::new();
        // Another machine that believes that this is its duty may have been faster; its base is as good.
        headers.insert("Nats-Expected-Last-Subject-Sequence", behind.to_string().as_str());
        headers.insert(CHAIN, bases.seal(&json).as_str());
        bases.publish(bases.head_subject(), headers, json).await?;
        Ok(Some(head))
    }

    async fn publish_rows(&self, bases: &Bases, name: &str, before: u64) -> Result<BaseHead, StoreError> {
        let (batches, mut waiting) = mpsc::channel(BATCHES_WAITING);
        let reading = self.read(move |transaction| {
            let position = apply::position(transaction)?;
            transfer::send_rows(transaction, &batches)?;
            Ok(position)
        });
        let publishing = async {
            let published = bases.publish_pieces(name, &mut waiting).await;
            // Whoever reads must not wait for a publication that has failed.
            waiting.close();
            published
        };
        let (read, published) = tokio::join!(reading, publishing);
        let (pieces, position) = (published?, read?);
        Ok(BaseHead {
            name: name.to_owned(),
            log: bases.log.name.clone(),
            applied: position.applied,
            chain: blake3::Hash::from_bytes(position.chain).to_hex().to_string(),
            pieces: pieces.count,
            bytes: pieces.bytes,
            first: pieces.first,
            hash: pieces.hasher.finalize().to_hex().to_string(),
            before,
        })
    }
}
