//! Creates and migrates the database.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::{StoreError, identity};

/// One script for each schema, in order; a database at schema N has run the first N.
const MIGRATIONS: [&str; 13] = [
    include_str!("schema.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
    include_str!("schema_4.sql"),
    include_str!("schema_5.sql"),
    include_str!("schema_6.sql"),
    include_str!("schema_7.sql"),
    include_str!("schema_8.sql"),
    include_str!("schema_9.sql"),
    include_str!("schema_10.sql"),
    include_str!("schema_11.sql"),
    include_str!("schema_12.sql"),
    include_str!("schema_13.sql"),
];

/// The newest schema version, and so the newest that this program can read.
pub(crate) const KNOWN: i64 = MIGRATIONS.len() as i64;

pub(crate) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    // The lock is taken before looking, so that of two processes starting at once one migrates.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found > KNOWN {
        return Err(StoreError::TooNew { found, known: KNOWN });
    }
    for script in &MIGRATIONS[usize::try_from(found).unwrap_or(0)..] {
        transaction.execute_batch(script)?;
    }
    if found < KNOWN {
        transaction.pragma_update(None, "user_version", KNOWN)?;
    }
    identity::mark(&transaction)?;
    transaction.commit()?;
    Ok(())
}

/// Counts a row up by one, and returns what it holds then.
pub(crate) fn touch(transaction: &Transaction<'_>) -> Result<u64, StoreError> {
    let sql = "UPDATE instance SET touched = touched + 1 RETURNING touched";
    Ok(transaction.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}
