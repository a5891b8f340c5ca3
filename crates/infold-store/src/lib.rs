//! Keeps what happened: events, the sessions and branches they add up to, blobs, snapshots and the
//! archive. The only crate that knows SQL.
//!
//! What must hold: an append that was acknowledged is on disk; an append decided on a session that
//! has moved on since is refused ([`StoreError::Moved`]); several processes share one database.
//! What a session's events mean is the core's; when to append is the engine's.

mod agent_log;
mod append;
mod archive;
mod blobs;
mod cluster;
mod codec;
mod connection;
mod error;
mod feed;
mod fitness;
mod gateway;
mod health;
mod identity;
mod key_file;
mod list;
mod load;
mod memory;
mod proxied;
mod readers;
mod replay;
mod reply;
mod requests;
mod room;
mod schema;
mod snapshots;
mod sweep;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use infold_core::{Owner, SessionId};

pub use agent_log::{ListedLog, LogRecord};
pub use append::{Append, NewBlob, ProjectSlot};
pub use archive::{ArchiveQuery, Archived, Trajectory};
pub use blobs::{Blob, SessionBlob};
pub use cluster::{
    ClusterAccess, ClusterSettings, ClusterState, Copied, CreateStream, Document, DocumentCursor, DocumentedSession,
    KeepDocuments, LostLog, Trimmed,
};
pub use connection::{StoreSettings, Synchronous};
pub use error::StoreError;
pub use feed::{FeedQuery, RecordedEvent};
pub use gateway::{KeptDefinition, StoredPin, StoredServer, StoredTool, ToolFigures};
pub use health::Health;
pub use key_file::{KEY_BYTES, KEY_FILE, key_beside};
pub use list::{SessionQuery, SessionRow};
pub use load::{EndedBranches, Load, Loaded, Target};
pub use memory::{
    AddedMemories, AnswerLearnt, AskClaim, AskEnd, AskOutcome, AskSpending, AskTurn, BelievedMemory, ChangeRow,
    ClaimAnswer, Clones, EmbeddedMemory, EvidenceKind, EvidenceRow, Extraction, FieldWords, ForgetSource, Forgotten,
    FoundMemories, HeldText, KeptMemory, LearnAnswer, LearnStep, LearnWrite, MarkNote, MemoryCandidate, MemoryCounts,
    MemoryDetail, MemoryFilter, MemoryRow, MemorySearch, MemoryUpdate, MemoryVector, NamedProject, NewAsk, NewEvidence,
    NewLessons, NewMemories, NewShown, OutboxBatch, OutboxEnd, ProjectKind, ProjectRow, SearchReach, ShownMemory,
    ShownRow, SilenceScope, StateFilter, StoredMark, TextLapse, UndoAnswer, UnmergedBranch, WaitingAsk,
};
pub use proxied::{CountedCall, DecisionRows, Edits, NewDecisions, Proxied, Revision};
pub use replay::ReplayStep;
pub use reply::Reply;
pub use requests::{NewRequest, RequestQuery, RequestRow, RequestSelection, SessionRequests, StoredCalibration};
pub use room::Room;
pub use snapshots::Snapshot;
pub use sweep::{Sweep, Swept};

/// Identifies a session in the database. Two owners may each have a session of the same name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey {
    /// The principal to whom the session belongs.
    pub owner: Owner,
    /// The session's name, unique among its owner's sessions.
    pub id: SessionId,
}

impl SessionKey {
    /// The key as one text. Neither part contains a slash, so no two keys have the same text.
    pub fn as_text(&self) -> String {
        format!("{}/{}", self.owner.as_str(), self.id)
    }
}

/// An open database. Clones share its connections.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    secret: [u8; 32],
    writer: writer::Writer,
    cluster: Option<cluster::SharedState>,
    readers: readers::Readers,
    fitness: tokio::sync::Mutex<fitness::Fitness>,
}

impl Store {
    /// Opens the database at `path`. Creates it, or migrates it to the newest schema, as needed. Refuses files that are
    /// not infold's, and what is left of a database.
    pub fn open(path: &Path, settings: &StoreSettings) -> Result<Self, StoreError> {
        identity::create_if_absent(path)?;
        let mut connection = connection::open_writer(path, settings)?;
        schema::migrate(&mut connection)?;
        let secret = key_file::secret(path, &mut connection)?;
        let (writer, cluster) = match &settings.cluster {
            None => (writer::Writer::start(connection)?, None),
            Some(cluster) => {
                let state = cluster::SharedState::default();
                let joining =
                    cluster::Joining { connection, settings: cluster.clone(), secret, state: Arc::clone(&state) };
                (writer::Writer::start_shared(joining)?, Some(state))
            }
        };
        let inner = Inner {
            path: path.to_owned(),
            secret,
            writer,
            cluster,
            readers: readers::Readers::new(path, settings),
            fitness: tokio::sync::Mutex::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The path of the database file, as it was given to [`Store::open`].
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The database's secret: ids and placeholders are made with keys derived from it.
    pub fn secret(&self) -> &[u8; 32] {
        &self.inner.secret
    }

    /// Commits one small row and nothing else, to measure what the cheapest durable write costs on this machine.
    pub async fn bare_commit(&self) -> Result<(), StoreError> {
        self.inner.writer.run(schema::touch).await.map(|_| ())
    }

    /// Reads a few rows by their keys. Waking another thread would take longer than the read, so the read runs on the
    /// calling thread if a connection is idle.
    async fn read_little<T: Send + 'static>(
        &self,
        read: impl FnOnce(&rusqlite::Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match self.inner.readers.try_with(read) {
            Ok(outcome) => outcome,
            Err(read) => self.read(read).await,
        }
    }

    /// Waits, where several machines share the state, until this one has everything that was acknowledged to any
    /// of them. What is decided on is read after that.
    async fn fresh(&self) -> Result<(), StoreError> {
        match self.inner.cluster {
            Some(_) => self.inner.writer.fresh().await,
            None => Ok(()),
        }
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&rusqlite::Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let inner = Arc::clone(&self.inner);
        tokio::task::spawn_blocking(move || inner.readers.with(read)).await.map_err(|_| StoreError::Closed)?
    }
}

#[cfg(test)]
mod tests;
