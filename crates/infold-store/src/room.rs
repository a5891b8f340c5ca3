//! How many branches may be open in the database, over all sessions, and how many of them may be one owner's.

use rusqlite::Transaction;

use crate::{Append, StoreError};

/// How many branches may be open in the whole database.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// How many of all owners together.
    pub open_max: u64,
    /// How many of one owner, in percent of those that are still free. `None` is no bound. Since nobody may have more
    /// than a share of what is free, something is always free for others.
    pub fair_share_percent: Option<u64>,
}

/// Refuses an opening, which has been written already, if it is one too many for the database or for its owner.
pub(crate) fn check(transaction: &Transaction<'_>, append: &Append) -> Result<(), StoreError> {
    let Room { open_max, fair_share_percent } = append.room;
    let open: u64 =
        transaction.prepare_cached("SELECT count(*) FROM branches WHERE open = 1")?.query_row([], |row| row.get(0))?;
    if open > open_max {
        return Err(StoreError::InstanceFull { open_max });
    }
    let Some(percent) = fair_share_percent else { return Ok(()) };
    // A session's key is its owner, a slash and its name, and 0 is the character behind the slash.
    let owner = append.decision.after.owner.as_str();
    let own: u64 = transaction
        .prepare_cached(
            "SELECT count(*) FROM branches WHERE open = 1 AND session_id > ?1 || '/' AND session_id < ?1 || '0'",
        )?
        .query_row([owner], |row| row.get(0))?;
    let (own_before, free_before) = (own.saturating_sub(1), open_max - open + 1);
    let is_fair = own_before * 100 < free_before * percent;
    if is_fair { Ok(()) } else { Err(StoreError::ShareUsed { open: own_before }) }
}
