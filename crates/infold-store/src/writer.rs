//! One thread does all the writing. The writes that are waiting when it is free go into one transaction, so that many
//! callers share one sync of the disk. Nobody is answered before that sync is done.

use std::sync::Mutex;
use std::thread::JoinHandle;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use crate::StoreError;

/// How many writes may wait at once; further callers wait until there is room.
const WAITING_MAX: usize = 1024;
/// How many writes may share one transaction.
const GROUP_MAX: usize = 256;

/// A write: done inside the group's transaction, if there is one, and answered after its commit.
type Job = Box<dyn FnOnce(Option<&Transaction<'_>>) -> WriteAnswer + Send>;
/// Answers the caller, given how the commit went.
type WriteAnswer = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

pub(crate) struct Writer {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    pub(crate) fn start(connection: Connection) -> Result<Self, StoreError> {
        let (jobs, waiting) = mpsc::channel(WAITING_MAX);
        let thread = std::thread::Builder::new()
            .name("infold-writer".to_owned())
            .spawn(move || write(connection, waiting))
            .map_err(|error| StoreError::File { path: "writer thread".to_owned(), problem: error.to_string() })?;
        Ok(Self { jobs: Some(jobs), thread: Mutex::new(Some(thread)) })
    }

    /// Runs `work` in a transaction. The caller gets its result only once the commit is done. If `work` fails, what it
    /// wrote is undone, and the other writes of its group are not affected.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |transaction| {
            let done = transaction.map_or(Err(StoreError::Closed), |transaction| in_savepoint(transaction, work));
            Box::new(move |committed| {
                // The caller may have gone away; what was committed stays committed.
                let _ = answer.send(committed.and(done));
            })
        });
        let jobs = self.jobs.as_ref().ok_or(StoreError::Closed)?;
        jobs.send(job).await.map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Closed)?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.lock().ok().and_then(|mut thread| thread.take()) {
            // A panic of the writer has been seen by every caller it owed an answer to.
            let _ = thread.join();
        }
    }
}

fn write(mut connection: Connection, mut waiting: mpsc::Receiver<Job>) {
    let mut group = Vec::with_capacity(GROUP_MAX);
    while let Some(first) = waiting.blocking_recv() {
        group.push(first);
        while group.len() < GROUP_MAX {
            let Ok(next) = waiting.try_recv() else { break };
            group.push(next);
        }
        write_group(&mut connection, &mut group);
    }
}

fn write_group(connection: &mut Connection, group: &mut Vec<Job>) {
    let begun = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    let (answers, committed): (Vec<WriteAnswer>, _) = match begun {
        Ok(transaction) => {
            let answers = group.drain(..).map(|job| job(Some(&transaction))).collect();
            (answers, transaction.commit().map_err(StoreError::from))
        }
        Err(error) => (group.drain(..).map(|job| job(None)).collect(), Err(error.into())),
    };
    if let Err(error) = &committed {
        tracing::error!(%error, writes = answers.len(), "a group of writes was not committed");
    }
    for answer in answers {
        answer(committed.clone());
    }
}

fn in_savepoint<T>(
    transaction: &Transaction<'_>,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    transaction.execute_batch("SAVEPOINT one")?;
    let done = work(transaction);
    let close = if done.is_ok() { "RELEASE one" } else { "ROLLBACK TO one; RELEASE one" };
    transaction.execute_batch(close)?;
    done
}
