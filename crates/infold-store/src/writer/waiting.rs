//! What waits for the writer: writes, and readers that want the index to be up to date.

use rusqlite::Transaction;
use tokio::sync::oneshot;

use super::Writer;
use crate::StoreError;

/// What the writer's thread is asked for.
pub(crate) enum WriterRequest {
    /// A write, in the group's transaction.
    Write(Box<dyn WaitingWrite>),
    /// That the index has everything that was acknowledged to any machine.
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

impl WriterRequest {
    /// A request to run `work` in a transaction, and to answer with what it returned.
    pub(super) fn write<T: Send + 'static>(
        work: impl Fn(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
        answer: oneshot::Sender<Result<T, StoreError>>,
    ) -> Self {
        Self::Write(Box::new(Write { work, done: Err(StoreError::Closed), answer }))
    }

    /// Joins the writes of a group, in a database that is all there is.
    pub(super) fn join(self, group: &mut Vec<Box<dyn WaitingWrite>>) {
        match self {
            Self::Write(write) => group.push(write),
            // Who asked may have gone away.
            Self::Fresh(answer) => drop(answer.send(Ok(()))),
        }
    }
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

impl Writer {
    /// Waits until the database has everything that was acknowledged to any machine.
    pub(crate) async fn fresh(&self) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        self.send(WriterRequest::Fresh(answer)).await?;
        answered.await.map_err(|_| StoreError::Closed)?
    }
}
