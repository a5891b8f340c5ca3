//! The writer of a database that is an index of the shared log. Writes that are waiting share a transaction and an entry;
//! they are answered when the servers have it.
//!
//! A transaction is made on what the index has. If the log has moved on since, it is undone, the index is brought up to
//! date, and the same writes are made again on that.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use futures::StreamExt;
use rusqlite::{Connection, TransactionBehavior};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use super::apply::{self, Position};
use super::base::Bases;
use super::capture::Capture;
use super::documents::Documents;
use super::follow::StoredMessages;
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
pub(super) struct SharedWriter {
    pub(super) runtime: Runtime,
    pub(super) connection: Connection,
    pub(super) log: Log,
    pub(super) stored: async_nats::Subscriber,
    pub(super) capture: Capture,
    pub(super) chain_key: ChainKey,
    pub(super) received: StoredMessages,
    /// Up to which message the log was read.
    pub(super) read: u64,
    /// What lies behind the last whole entry, if anything does.
    pub(super) unfinished: Option<Unfinished>,
    /// What shows that the log has lost what the index has. Nothing is answered or published any more then.
    pub(super) lost: Option<StoreError>,
    /// Which connection was made last before the log was seen to have what the index has.
    pub(super) checked: Option<u64>,
    claims: duty::Claims,
    claim_at: tokio::time::Interval,
    pub(super) state: SharedState,
}

/// The beginning of an entry whose rest is not there yet. Whoever writes it may be gone.
pub(super) struct Unfinished {
    /// The position of the index before it.
    pub(super) after: Position,
    /// The position behind what is there of it.
    pub(super) tail: Position,
    /// Since when there is no more of it.
    pub(super) since: Instant,
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
            lost: None,
            checked: None,
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
                Next::Claim => self.claim(),
            }
        }
    }

    fn serve(&mut self, requests: Vec<WriterRequest>) {
        self.follow(None);
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
            self.write_all(writes);
        }
    }

    /// Claims the duty, if there is somebody here to do it and the index can be kept up to date.
    fn claim(&mut self) {
        let last = self.state.state.lock().unwrap_or_else(PoisonError::into_inner).last;
        let is_able = self.state.duty.is_wanted() && self.lost.is_none() && self.read_up_to(last).is_ok();
        let (claims, duty) = (&mut self.claims, &self.state.duty);
        self.runtime.block_on(async {
            if is_able { claims.claim(&self.log, duty).await } else { claims.release(&self.log, duty).await }
        });
    }

    /// Makes the writes, all in one entry if that is not too long, and answers them.
    fn write_all(&mut self, mut writes: Vec<Box<dyn WaitingWrite>>) {
        let written = self.write(&mut writes);
        if matches!(written, Err(StoreError::TooLong { .. })) && writes.len() > 1 {
            let rest = writes.split_off(writes.len() / 2);
            self.write_all(writes);
            self.write_all(rest);
            return;
        }
        if let Err(error) = &written {
            tracing::error!(%error, writes = writes.len(), "a group of writes was not published");
        }
        for write in writes {
            write.answer(written.clone());
        }
    }

    /// Makes the writes and publishes what they change.
    fn write(&mut self, writes: &mut [Box<dyn WaitingWrite>]) -> Result<(), StoreError> {
        self.check_log()?;
        let until = self.log.deadline();
        let mut check_at = Instant::now() + GIVEN_UP_AFTER;
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
            // The log may be refusing what is behind its end, because it has lost entries.
            if self.read == before && Instant::now() >= check_at {
                self.checked = None;
                self.check_log()?;
                check_at = Instant::now() + GIVEN_UP_AFTER;
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
}

/// How an attempt to publish ended.
#[derive(Debug, PartialEq, Eq)]
enum Attempt {
    Done,
    Moved,
}
