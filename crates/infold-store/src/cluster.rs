//! One state for several machines. What a transaction changes is one entry of a log that the servers of a NATS cluster
//! keep; every machine applies the entries, in the log's order, to a SQLite file of its own, which serves all reads.
//!
//! An entry is published with the sequence of the last entry that its transaction was made on, and the servers refuse it
//! if the log has moved on since. So there is one history, every index is a copy of the same moment of it, and no query
//! exists twice. An index can be removed at any time: it is made anew from the log.
//!
//! What must hold: nobody is answered before a quorum of servers has the entry on disk; an index never has what the log
//! does not have; an entry whose fate is unknown is looked for before anything else is decided.

mod apply;
mod base;
mod capture;
mod connect;
mod documents;
mod duty;
mod entry;
mod follow;
mod join;
mod log;
mod publish;
mod reading;
mod republish;
mod settings;
mod tables;
mod transfer;
mod version;
mod writing;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub use base::Trimmed;
pub use documents::{Document, DocumentCursor, DocumentedSession, KeepDocuments};
pub use republish::LostLog;
pub use settings::{ClusterAccess, ClusterSettings, CreateStream};
pub use transfer::Copied;
pub(crate) use writing::{Joining, write_shared};

use crate::{Store, StoreError};

/// What is known of the cluster, for people who ask.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterState {
    /// The log's random name, made when it was.
    pub name: String,
    /// The stream that holds it.
    pub stream: String,
    /// On how many servers.
    pub replicas: usize,
    /// The server that leads it.
    pub leader: Option<String>,
    /// The sequence of the newest entry that is known of.
    pub last: u64,
    /// The sequence of the newest entry that is in this machine's index.
    pub applied: u64,
    /// How often the log had moved on before an entry could be published.
    pub moved: u64,
    /// How often the connection was made again.
    pub reconnects: u64,
    /// Whether this machine does what is done once for all of them.
    pub on_duty: bool,
    /// Why the cluster cannot be reached just now.
    pub problem: Option<String>,
}

impl ClusterState {
    /// Notes that the index has come so far.
    fn advance_to(&mut self, applied: u64) {
        self.applied = applied;
        self.last = self.last.max(applied);
    }
}

/// What the writer of an index shows to others.
#[derive(Default)]
pub(crate) struct ClusterShown {
    state: Mutex<ClusterState>,
    duty: duty::Duty,
    documents: OnceLock<documents::Documents>,
    bases: OnceLock<base::Bases>,
}

pub(crate) type SharedState = Arc<ClusterShown>;

fn note(shown: &SharedState, change: impl FnOnce(&mut ClusterState)) {
    change(&mut shown.state.lock().unwrap_or_else(PoisonError::into_inner));
}

impl Store {
    /// What is known of the cluster; `None` if the database is this machine's own.
    pub fn cluster(&self) -> Option<ClusterState> {
        let shown = self.inner.cluster.as_ref()?;
        let mut state = shown.state.lock().unwrap_or_else(PoisonError::into_inner).clone();
        state.on_duty = shown.duty.is_held();
        Some(state)
    }

    /// Whether several machines share the state.
    pub fn is_shared(&self) -> bool {
        self.inner.cluster.is_some()
    }

    /// Whether this machine does what is done once for all that share the state. A machine with a state of its own does. One
    /// where nobody asks is never on duty.
    pub fn is_on_duty(&self) -> bool {
        self.inner.cluster.as_ref().is_none_or(|shown| shown.duty.ask())
    }

    /// Hashes everything that machines share, row by row. Two databases with the same hash hold the same.
    pub async fn shared_digest(&self) -> Result<String, StoreError> {
        self.read(|transaction| tables::digest(transaction)).await
    }
}

#[cfg(test)]
mod tests;
