//! Keeping an index up to date with its log, and noticing that the log has lost what the index has.

use std::sync::PoisonError;
use std::time::Instant;

use futures::{FutureExt, StreamExt};
use rusqlite::TransactionBehavior;

use super::apply::{self, Position};
use super::follow::ReadLog;
use super::writing::{SharedWriter, Unfinished};
use super::{join, note};
use crate::StoreError;

/// How many messages are read before they are written to the index; more where an entry has more parts.
const MESSAGES_AT_ONCE: u64 = 64;

impl SharedWriter {
    /// Brings the index up to everything that was acknowledged to anybody before this was called.
    pub(super) fn make_fresh(&mut self) -> Result<(), StoreError> {
        self.check_log()?;
        // Before the barrier: another process of this machine may write to the index at any time.
        let seen = self.read.max(self.position()?.applied);
        let barrier = self.runtime.block_on(self.log.barrier())?;
        join::check_end(&self.log, barrier, seen).map_err(|lost| self.lose(lost))?;
        self.read_up_to(barrier - 1)?;
        // The barrier itself is no entry. If what is before it was read, it is as good as read.
        if self.read + 1 == barrier {
            self.read = barrier;
        }
        Ok(())
    }

    /// Looks whether the log still has what the index has, if that was not seen since the connection was made: behind it may be
    /// servers whose files were put back from an old copy.
    pub(super) fn check_log(&mut self) -> Result<(), StoreError> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        let connection = self.state.state.lock().unwrap_or_else(PoisonError::into_inner).reconnects;
        if self.checked == Some(connection) {
            return Ok(());
        }
        let position = self.position()?;
        let newest = self.runtime.block_on(self.log.barrier())?;
        match self.runtime.block_on(join::check(&self.log, newest, &position)) {
            Ok(()) => self.checked = Some(connection),
            Err(lost @ StoreError::Unfit { .. }) => return Err(self.lose(lost)),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Remembers that the log has lost entries: it would take new ones again some time, in other places' stead.
    fn lose(&mut self, lost: StoreError) -> StoreError {
        tracing::error!(%lost, "the log has lost what this machine has seen");
        self.lost = Some(lost.clone());
        lost
    }

    /// Reads the log up to a message that it has.
    pub(super) fn read_up_to(&mut self, last: u64) -> Result<(), StoreError> {
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
        self.without_foreign_keys(|writer| writer.try_load_base(from))
    }

    fn try_load_base(&mut self, from: &Position) -> Result<(), StoreError> {
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
        self.without_foreign_keys(|writer| writer.try_apply(from, found))
    }

    /// Entries have whatever goes and comes because of foreign keys.
    fn without_foreign_keys(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.connection.pragma_update(None, "foreign_keys", "OFF")?;
        let done = work(self);
        self.connection.pragma_update(None, "foreign_keys", "ON")?;
        done
    }

    fn try_apply(&mut self, from: &Position, found: ReadLog) -> Result<(), StoreError> {
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

    /// Whether the log has another entry in the place of the last one that the index has. Where a server seems to have stored one
    /// there just now, the log is asked: anybody can say so.
    fn is_overwritten(&mut self) -> bool {
        let Ok(position) = self.position() else { return false };
        let is_other = self.received.chain_of(position.applied).is_some_and(|chain| !position.has_chain(chain));
        self.received.forget_up_to(position.applied);
        if is_other {
            self.checked = None;
        }
        is_other && self.check_log().is_err()
    }

    fn position(&mut self) -> Result<Position, StoreError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
        apply::position(&transaction)
    }

    /// Reads what a server says that it has stored, and what else has come in.
    pub(super) fn follow(&mut self, first: Option<async_nats::Message>) {
        let mut last = first.and_then(|message| self.received.add(&message)).unwrap_or(0);
        while let Some(Some(message)) = self.stored.next().now_or_never() {
            last = last.max(self.received.add(&message).unwrap_or(0));
        }
        note(&self.state, |state| state.last = state.last.max(last));
        if self.lost.is_some() || self.is_overwritten() {
            return;
        }
        if let Err(error) = self.read_up_to(last) {
            tracing::warn!(%error, "what other machines wrote could not be read");
        }
    }
}
