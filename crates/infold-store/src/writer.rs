//! One thread does all the writing. The writes that are waiting when it is free go into one transaction, so that many callers
//! share one sync. Nobody is answered before that is done, or, where machines share a log, before its servers have it.

mod waiting;

use std::sync::Mutex;
use std::thread::JoinHandle;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use crate::StoreError;
use crate::cluster::{self, Joining};

pub(crate) use waiting::{WaitingWrite, WriterRequest};

/// How many writes may wait at once; further callers wait until there is room.
const WAITING_MAX: usize = 1024;
/// How many writes may share one transaction.
pub(crate) const GROUP_MAX: usize = 256;

pub(crate) struct Writer {
    requests: Option<mpsc::Sender<WriterRequest>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    pub(crate) fn start(connection: Connection) -> Result<Self, StoreError> {
        let (requests, waiting) = mpsc::channel(WAITING_MAX);
        let thread = spawn(move || write(connection, waiting))?;
        Ok(Self { requests: Some(requests), thread: Mutex::new(Some(thread)) })
    }

    /// Starts a writer whose database is an index of a shared log. Returns once the index is up to date.
    pub(crate) fn start_shared(joining: Joining) -> Result<Self, StoreError> {
        let (requests, waiting) = mpsc::channel(WAITING_MAX);
        let (ready, readiness) = std::sync::mpsc::channel();
        let thread = spawn(move || cluster::write_shared(joining, waiting, &ready))?;
        readiness.recv().map_err(|_| StoreError::Closed)??;
        Ok(Self { requests: Some(requests), thread: Mutex::new(Some(thread)) })
    }

    /// Runs `work` in a transaction. The caller gets its result only once the commit is done. If `work` fails, what it
    /// wrote is undone, and the other writes of its group are not affected.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl Fn(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.send(WriterRequest::write(work, answer)).await?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    async fn send(&self, request: WriterRequest) -> Result<(), StoreError> {
        let requests = self.requests.as_ref().ok_or(StoreError::Closed)?;
        requests.send(request).await.map_err(|_| StoreError::Closed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.lock().ok().and_then(|mut thread| thread.take()) {
            // A panic of the writer has been seen by every caller it owed an answer to.
            let _ = thread.join();
        }
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, StoreError> {
    let thread = std::thread::Builder::new().name("infold-writer".to_owned()).spawn(work);
    thread.map_err(|error| StoreError::File { path: "writer thread".to_owned(), problem: error.to_string() })
}

fn write(mut connection: Connection, mut waiting: mpsc::Receiver<WriterRequest>) {
    let mut group = Vec::with_capacity(GROUP_MAX);
    while let Some(first) = waiting.blocking_recv() {
        first.join(&mut group);
        while group.len() < GROUP_MAX {
            let Ok(next) = waiting.try_recv() else { break };
            next.join(&mut group);
        }
        write_group(&mut connection, &mut group);
    }
}

fn write_group(connection: &mut Connection, group: &mut Vec<Box<dyn WaitingWrite>>) {
    let committed = commit_group(connection, group);
    if let Err(error) = &committed {
        tracing::error!(%error, writes = group.len(), "a group of writes was not committed");
    }
    for write in group.drain(..) {
        write.answer(committed.clone());
    }
}

fn commit_group(connection: &mut Connection, group: &mut [Box<dyn WaitingWrite>]) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for write in group {
        write.run(&transaction);
    }
    Ok(transaction.commit()?)
}
