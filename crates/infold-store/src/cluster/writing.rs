//! The writer of a database that is an index of the shared log. Writes that are waiting share a transaction and an entry;
//! they are answered when the servers have it.
//!
//! A transaction is made on what the index has. If the log has moved on since, it is undone, the index is brought up to
//! date, and the same writes are made again on that.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{FutureExt, StreamExt};
use rusqlite::{Connection, TransactionBehavior};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use super::apply::{self, Position};
use super::base::Bases;
use super::capture::Capture;
use super::documents::Documents;
use super::follow::{ReadLog, StoredMessages};
use super::log::Log;
use super::publish::{ChainKey, Published};
use super::settings::ClusterSettings;
use super::{SharedState, duty, join, note};
use crate::StoreError;
use crate::writer::{GROUP_MAX, WaitingWrite, WriterRequest};

/// How long to wait until an entry that is under way is in the log.
const UNDER_WAY: Duration = Duration::from_millis(2);
/// How long an entry of several parts may rest before it counts as given up.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(1);
/// How many messages are read before they are written to the index; more where an entry has more parts.
const MESSAGES_AT_ONCE: u64 = 64;

/// What it takes to join a cluster.
pub(crate) struct Joining {
    /// The connection that writes to the index.
    pub connection: Connection,
    /// How the cluster is reached.
    pub settings: ClusterSettings,
    /// The secret that all machines have.
    pub secret: [u8; 32],
    /// Where the writer shows how it is.
    pub state: SharedState,
}

/// An index, its log and the connection that writes to it.
struct SharedWriter {
    runtime: Runtime,
    connection: Connection,
    log: Log,
    stored: async_nats::Subscriber,
    capture: Capture,
    chain_key: ChainKey,
    received: StoredMessages,
    /// Up to which message the log was read.
    read: u64,
    /// What lies behind the last whole entry, if anything does.
    unfinished: Option<Unfinished>,
    claims: duty::Claims,
    claim_at: tokio::time::Interval,
    state: SharedState,
}

/// The beginning of an entry whose rest is not there yet. Whoever writes it may be gone.
struct Unfinished {
    /// The position of the index before it.
    after: Position,
    /// The position behind what is there of it.
    tail: Position,
    /// Since when there is no more of it.
    since: Instant,
}

/// What the writer has to do next.
enum Next {
    /// What somebody asks for; `None` if nobody can any more.
    Asked(Option<WriterRequest>),
    /// Reading what a server has stored.
    Stored(Option<async_nats::Message>),
    /// Claiming the duty.
    Claim,
}

/// Joins the cluster, says how that went, and then does what is asked until nobody can ask any more.
pub(crate) fn write_shared(
    joining: Joining,
    mut waiting: mpsc::Receiver<WriterRequest>,
    ready: &std::sync::mpsc::Sender<Result<(), StoreError>>,
) {
    let mut writer = match SharedWriter::join(joining) {
        Ok(writer) => writer,
        Err(error) => {
            // Whoever opens the store waits for this.
            let _ = ready.send(Err(error));
            return;
        }
    };
    let _ = ready.send(Ok(()));
    while let Some(requests) = writer.next(&mut waiting) {
        writer.serve(requests);
    }
    writer.runtime.block_on(writer.claims.release(&writer.log, &writer.state.duty));
}

impl SharedWriter {
    fn join(joining: Joining) -> Result<Self, StoreError> {
        let Joining { mut connection, settings, secret, state } = joining;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| StoreError::File { path: "writer thread".to_owned(), problem: error.to_string() })?;
        let chain_key = ChainKey::of(&secret);
        let indexed = join::indexed(&mut connection)?;
        let (log, stored, read) = runtime.block_on(async {
            let log = Log::reach(&settings, &secret, indexed.as_ref(), Arc::clone(&state)).await?;
            // Subscribed before it is asked how far the log goes, so that nothing falls in between.
            let stored = log.client.subscribe(log.stored_subject()).await;
            let stored = stored.map_err(|error| log.unreachable(error.to_string()))?;
            let position = join::join(&log, &mut connection).await?;
            duty::make_stream(&log).await?;
            let documents = Documents::reach(&log).await?;
            let bases = Bases::reach(&log, &chain_key).await?;
            // Nobody else fills it.
            let _ = state.documents.set(documents);
            let _ = state.bases.set(bases);
            Ok::<_, StoreError>((log, stored, position.applied))
        })?;
        let capture = Capture::install(&connection)?;
        let mut claim_at = runtime.block_on(async { tokio::time::interval(duty::EVERY) });
        claim_at.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut writer = Self {
            runtime,
            connection,
            log,
            stored,
            capture,
            chain_key,
            received: StoredMessages::default(),
            read,
            unfinished: None,
            claims: duty::Claims::default(),
            claim_at,
            state,
        };
        writer.make_fresh()?;
        Ok(writer)
    }

    /// Waits for requests, and keeps the index up to date meanwhile. `None` when nobody can ask any more.
    fn next(&mut self, waiting: &mut mpsc::Receiver<WriterRequest>) -> Option<Vec<WriterRequest>> {
        loop {
            let stored = &mut self.stored;
            let next = self.runtime.block_on(async {
                tokio::select! {
                    request = waiting.recv() => Next::Asked(request),
                    message = stored.next() => Next::Stored(message),
                    _ = self.claim_at.tick() => Next::Claim,
                }
            });
            match next {
                Next::Asked(first) => {
                    let mut requests = vec![first?];
                    while requests.len() < GROUP_MAX
                        && let Ok(next) = waiting.try_recv()
                    {
                        requests.push(next);
                    }
                    return Some(requests);
                }
                Next::Stored(message) => self.follow(message),
                Next::Claim => self.runtime.block_on(self.claims.claim(&self.log, &self.state.duty)),
            }
        }
    }

    fn serve(&mut self, requests: Vec<WriterRequest>) {
        let (mut writes, mut readers) = (Vec::new(), Vec::new());
        for request in requests {
            match request {
                WriterRequest::Write(write) => writes.push(write),
                WriterRequest::Fresh(answer) => readers.push(answer),
            }
        }
        if !readers.is_empty() {
            let fresh = self.make_fresh();
            for answer in readers {
                // Who asked may have gone away.
                let _ = answer.send(fresh.clone());
            }
        }
        if !writes.is_empty() {
            let written = self.write(&mut writes);
            if let Err(error) = &written {
                tracing::error!(%error, writes = writes.len(), "a group of writes was not published");
            }
            for write in writes {
                write.answer(written.clone());
            }
        }
    }

    /// Makes the writes and publishes what they change.
    fn write(&mut self, writes: &mut [Box<dyn WaitingWrite>]) -> Result<(), StoreError> {
        let until = self.log.deadline();
        while Instant::now() < until {
            if self.try_write(writes)? == Attempt::Done {
                return Ok(());
            }
            note(&self.state, |state| state.moved += 1);
            let before = self.read;
            let last = self.runtime.block_on(self.log.seen())?.last_sequence;
            self.read_up_to(last)?;
            if self.read == before {
                self.runtime.block_on(async { tokio::time::sleep(UNDER_WAY).await });
            }
        }
        Err(StoreError::Busy)
    }

    fn try_write(&mut self, writes: &mut [Box<dyn WaitingWrite>]) -> Result<Attempt, StoreError> {
        if self.capture.is_outdated(&self.connection)? {
            self.capture = Capture::install(&self.connection)?;
        }
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let position = apply::position(&transaction)?;
        let from = match &self.unfinished {
            Some(unfinished) if unfinished.after != position => position,
            Some(unfinished) if unfinished.since.elapsed() < GIVEN_UP_AFTER => return Ok(Attempt::Moved),
            Some(unfinished) => unfinished.tail.clone(),
            None => position,
        };
        for write in writes {
            write.run(&transaction);
        }
        let Some(entry) = self.capture.take(&transaction)? else {
            transaction.commit()?;
            return Ok(Attempt::Done);
        };
        let entry = entry.encode()?;
        match self.runtime.block_on(self.log.publish(&self.chain_key, &from, &entry))? {
            Published::Landed(position) => {
                // The log has it whatever becomes of the index, which reads it from there the next time.
                let kept = apply::move_to(&transaction, &position).and_then(|()| Ok(transaction.commit()?));
                kept.map_err(|error| self.log.not_indexed(&error))?;
                self.unfinished = None;
                note(&self.state, |state| state.advance_to(position.applied));
                Ok(Attempt::Done)
            }
            Published::Moved => Ok(Attempt::Moved),
        }
    }

    /// Brings the index up to everything that was acknowledged to anybody before this was called.
    fn make_fresh(&mut self) -> Result<(), StoreError> {
        let barrier = self.runtime.block_on(self.log.barrier())?;
        self.read_up_to(barrier - 1)?;
        // The barrier itself is no entry. If what is before it was read, it is as good as read.
        if self.read + 1 == barrier {
            self.read = barrier;
        }
        Ok(())
    }

    /// Reads the log up to a message that it has.
    fn read_up_to(&mut self, last: u64) -> Result<(), StoreError> {
        let mut at_once = MESSAGES_AT_ONCE;
        loop {
            let from = self.position()?;
            let read = self.read.max(from.applied);
            if read >= last {
                return Ok(());
            }
            let up_to = last.min(read + at_once);
            let reading = self.log.entries(&self.chain_key, (&from, read, up_to), &mut self.received);
            let Some(found) = self.runtime.block_on(reading)? else {
                self.load_base(&from)?;
                continue;
            };
            self.apply(&from, found)?;
            let is_stuck = self.read == read;
            if is_stuck && up_to == last {
                // The rest of a long entry is still on its way.
                return Ok(());
            }
            at_once = if is_stuck { at_once * 2 } else { MESSAGES_AT_ONCE };
        }
    }

    /// Begins the index anew from the newest base, because what it needs is not in the log any more.
    fn load_base(&mut self, from: &Position) -> Result<(), StoreError> {
        let Some(bases) = self.state.bases.get() else { return Err(StoreError::Closed) };
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let position = self.runtime.block_on(bases.load(&transaction))?;
        // A log that was made anew goes on from a base that an index may have already.
        if position.applied < from.applied || (position.applied == from.applied && position != *from) {
            let problem = format!(
                "has a base of entry {}, but this machine has seen entries up to {} acknowledged",
                position.applied, from.applied
            );
            return Err(self.log.unfit(&problem, "see docs/cluster.md about a lost log"));
        }
        let first = self.runtime.block_on(self.log.seen())?.first_sequence;
        apply::move_to(&transaction, &position)?;
        self.capture.forget(&transaction)?;
        transaction.commit()?;
        tracing::info!(applied = position.applied, "the index was begun anew from a base");
        note(&self.state, |state| state.advance_to(position.applied));
        self.read = position.applied.max(first.saturating_sub(1));
        self.unfinished = None;
        Ok(())
    }

    /// Writes to the index what was read behind `from`.
    fn apply(&mut self, from: &Position, found: ReadLog) -> Result<(), StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process of this machine may have come further meanwhile.
        let mut at = apply::position(&transaction)?;
        let is_alone = at == *from;
        for read in found.entries {
            if read.position.applied <= at.applied {
                continue;
            }
            if let Some(entry) = &read.entry {
                apply::apply(&transaction, entry)?;
            }
            at = read.position;
        }
        apply::move_to(&transaction, &at)?;
        self.capture.forget(&transaction)?;
        transaction.commit()?;
        note(&self.state, |state| state.advance_to(at.applied));
        self.read = found.read;
        let tail = found.tail;
        self.unfinished = match self.unfinished.take() {
            _ if !is_alone || tail.applied <= at.applied => None,
            Some(known) if known.tail == tail => Some(known),
            _ => Some(Unfinished { after: at, tail, since: Instant::now() }),
        };
        Ok(())
    }

    fn position(&mut self) -> Result<Position, StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
        apply::position(&transaction)
    }

    /// Reads what a server says that it has stored, and what else has come in.
    fn follow(&mut self, first: Option<async_nats::Message>) {
        let mut last = first.and_then(|message| self.received.add(&message)).unwrap_or(0);
        while let Some(Some(message)) = self.stored.next().now_or_never() {
            last = last.max(self.received.add(&message).unwrap_or(0));
        }
        note(&self.state, |state| state.last = state.last.max(last));
        if let Err(error) = self.read_up_to(last) {
            tracing::warn!(%error, "what other machines wrote could not be read");
        }
    }
}

/// How an attempt to publish ended.
#[derive(Debug, PartialEq, Eq)]
enum Attempt {
    Done,
    Moved,
}
