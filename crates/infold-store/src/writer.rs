//! One thread does all the writing. The writes that are waiting when it is free go into one transaction, so that many
//! callers share one sync of the disk. Nobody is answered before that sync is done, or, where the database is an index of
//! a log that several machines share, before the servers have it.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use crate::StoreError;
use crate::cluster::{self, ClusterSettings, SharedState};

/// How many writes may wait at once; further callers wait until there is room.
const WAITING_MAX: usize = 1024;
/// How many writes may share one transaction.
pub(crate) const GROUP_MAX: usize = 256;

/// What the writer's thread is asked for.
pub(crate) enum Request {
    /// A write, in the group's transaction.
    Write(Box<dyn WaitingWrite>),
    /// That the index has everything that any machine was told is written.
    Fresh(oneshot::Sender<Result<(), StoreError>>),
}

/// A write with somebody who waits for it.
pub(crate) trait WaitingWrite: Send {
    /// Makes the write in the group's transaction; once more if the transaction before was undone.
    fn run(&mut self, transaction: &Transaction<'_>);
    /// Answers the caller, given how the commit went.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Write<T, W> {
    work: W,
    done: Result<T, StoreError>,
    answer: oneshot::Sender<Result<T, StoreError>>,
}

impl<T: Send, W: Fn(&Transaction<'_>) -> Result<T, StoreError> + Send> WaitingWrite for Write<T, W> {
    fn run(&mut self, transaction: &Transaction<'_>) {
        self.done = in_savepoint(transaction, &self.work);
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        // The caller may have gone away; what was committed stays committed.
        let _ = self.answer.send(committed.and(self.done));
    }
}

pub(crate) struct Writer {
    requests: Option<mpsc::Sender<Request>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    pub(crate) fn start(connection: Connection) -> Result<Self, StoreError> {
        let (requests, waiting) = mpsc::channel(WAITING_MAX);
        let thread = spawn(move || write(connection, waiting))?;
        Ok(Self { requests: Some(requests), thread: Mutex::new(Some(thread)) })
    }

    /// Starts a writer whose database is an index of a shared log. Returns once the index is up to date.
    pub(crate) fn start_shared(
        connection: Connection,
        settings: &ClusterSettings,
        secret: [u8; 32],
        state: &SharedState,
    ) -> Result<Self, StoreError> {
        let (requests, waiting) = mpsc::channel(WAITING_MAX);
        let (ready, readiness) = std::sync::mpsc::channel();
        let (settings, state) = (settings.clone(), Arc::clone(state));
        let work = move || cluster::write_shared(connection, &settings, &secret, &state, waiting, &ready);
        let thread = spawn(work)?;
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
        self.send(Request::Write(Box::new(Write { work, done: Err(StoreError::Closed), answer }))).await?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    /// Waits until the database has everything that any machine was told is written.
    pub(crate) async fn fresh(&self) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        self.send(Request::Fresh(answer)).await?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    async fn send(&self, request: Request) -> Result<(), StoreError> {
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

fn write(mut connection: Connection, mut waiting: mpsc::Receiver<Request>) {
    let mut group = Vec::with_capacity(GROUP_MAX);
    while let Some(first) = waiting.blocking_recv() {
        take(first, &mut group);
        while group.len() < GROUP_MAX {
            let Ok(next) = waiting.try_recv() else { break };
            take(next, &mut group);
        }
        write_group(&mut connection, &mut group);
    }
}

fn take(request: Request, group: &mut Vec<Box<dyn WaitingWrite>>) {
    match request {
        Request::Write(write) => group.push(write),
        // This file is all there is. Who asked may have gone away.
        Request::Fresh(answer) => drop(answer.send(Ok(()))),
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

fn in_savepoint<T>(
    transaction: &Transaction<'_>,
    work: impl Fn(&Transaction<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    transaction.execute_batch("SAVEPOINT one")?;
    let done = work(transaction);
    let close = if done.is_ok() { "RELEASE one" } else { "ROLLBACK TO one; RELEASE one" };
    transaction.execute_batch(close)?;
    done
}
