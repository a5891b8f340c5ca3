//! Connections for reading, lent to one reader at a time. Each read sees one moment of the database.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::StoreError;
use crate::connection::{StoreSettings, open_reader};

pub(crate) struct Readers {
    path: PathBuf,
    settings: StoreSettings,
    pool: Mutex<Pool>,
    freed: Condvar,
}

#[derive(Default)]
struct Pool {
    idle: Vec<Connection>,
    lent: usize,
}

impl Readers {
    pub(crate) fn new(path: &Path, settings: &StoreSettings) -> Self {
        Self {
            path: path.to_owned(),
            settings: settings.clone(),
            pool: Mutex::new(Pool::default()),
            freed: Condvar::new(),
        }
    }

    /// How its connections are opened.
    pub(crate) fn settings(&self) -> &StoreSettings {
        &self.settings
    }

    /// Runs `read` in a transaction of its own. Blocks while all connections are lent.
    pub(crate) fn with<T>(
        &self,
        read: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let idle = self.borrow();
        self.read_and_give_back(idle, read)
    }

    /// Runs `read` if a connection is idle, and hands it back otherwise. Never blocks for one.
    pub(crate) fn try_with<T, R>(&self, read: R) -> Result<Result<T, StoreError>, R>
    where
        R: FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    {
        match self.try_borrow() {
            Some(idle) => Ok(self.read_and_give_back(Some(idle), read)),
            None => Err(read),
        }
    }

    fn read_and_give_back<T>(
        &self,
        idle: Option<Connection>,
        read: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let (connection, outcome) = match self.read_with(idle, read) {
            Ok((connection, value)) => (Some(connection), Ok(value)),
            Err(error) => (None, Err(error)),
        };
        self.give_back(connection);
        outcome
    }

    /// A connection that failed a read is dropped and not used again, in case the fault is its own.
    fn read_with<T>(
        &self,
        idle: Option<Connection>,
        read: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<(Connection, T), StoreError> {
        let mut connection = match idle {
            Some(connection) => connection,
            None => open_reader(&self.path, &self.settings)?,
        };
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
        let value = read(&transaction)?;
        transaction.finish()?;
        Ok((connection, value))
    }

    fn borrow(&self) -> Option<Connection> {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        while pool.idle.is_empty() && pool.lent >= self.settings.readers_max {
            pool = self.freed.wait(pool).unwrap_or_else(PoisonError::into_inner);
        }
        pool.lent += 1;
        pool.idle.pop()
    }

    fn try_borrow(&self) -> Option<Connection> {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = pool.idle.pop()?;
        pool.lent += 1;
        Some(idle)
    }

    fn give_back(&self, connection: Option<Connection>) {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.lent -= 1;
        pool.idle.extend(connection);
        self.freed.notify_one();
    }
}
