//! Opening an index of the shared log: it has to be this log's, the log has to have what the index has, and the index gets
//! what the log has.

use rusqlite::{Connection, TransactionBehavior};

use super::apply::{self, Position};
use super::log::{FIRST, Log};
use super::tables;
use crate::StoreError;

/// Checks an index against the log, or makes a new one the log's. Returns how far it has come.
pub(super) async fn join(log: &Log, connection: &mut Connection) -> Result<Position, StoreError> {
    let position = read_position(log, connection)?;
    let newest = log.barrier().await?;
    check(log, newest, &position).await?;
    Ok(position)
}

/// Checks that the log has what an index has. `newest` is a barrier: what a quorum has agreed on just now lies behind
/// everything that was ever acknowledged.
pub(super) async fn check(log: &Log, newest: u64, position: &Position) -> Result<(), StoreError> {
    check_end(log, newest, position.applied)?;
    check_last(log, position).await?;
    // Of a log that was trimmed some entries are kept.
    if log.seen().await?.first_sequence > FIRST && !log.has_entries().await? {
        return Err(log.unfit("was begun anew, and that was not finished", "run `infold store republish` again"));
    }
    Ok(())
}

/// Checks that a barrier lies behind what this machine has seen.
pub(super) fn check_end(log: &Log, newest: u64, seen: u64) -> Result<(), StoreError> {
    if newest > seen {
        return Ok(());
    }
    let problem = format!("ends at {}, but this machine has seen entries up to {seen} acknowledged", newest - 1);
    Err(log.unfit(&problem, "put a newer copy of the servers' files back, or see docs/cluster.md about a lost log"))
}

/// How far an index has come that has entries of some log.
pub(super) fn indexed(connection: &mut Connection) -> Result<Option<Position>, StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
    let joined = apply::joined(&transaction)?.map(|(_, position)| position);
    Ok(joined.filter(|position| position.applied > 0))
}

/// Reads which log the index is of. A new one is made this log's.
fn read_position(log: &Log, connection: &mut Connection) -> Result<Position, StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let position = match apply::joined(&transaction)? {
        Some((name, position)) if name == log.name => position,
        Some(_) => {
            let remedy = "see docs/cluster.md about a lost log; to join this one all the same, move the folder `cluster` in the \
                          data folder away, but for infold.key";
            return Err(log.unfit("is not the one that this machine's index was made from", remedy));
        }
        None if tables::is_empty(&transaction)? => {
            let position = Position::start(&log.name);
            apply::join(&transaction, &log.name, &position)?;
            position
        }
        None => {
            let remedy = "copy what it has with `infold store move`, or name another folder with --data";
            return Err(log.unfit("cannot take over a database that has sessions of its own", remedy));
        }
    };
    transaction.commit()?;
    Ok(position)
}

/// The last message that the index has read must still be the one that is there.
async fn check_last(log: &Log, position: &Position) -> Result<(), StoreError> {
    if position.applied == 0 {
        return Ok(());
    }
    // What is so far behind that it was removed from the log gets a base.
    let Some(found) = log.message(position.applied).await? else { return Ok(()) };
    match found.headers.get(super::publish::CHAIN) {
        Some(chain) if position.has_chain(chain.as_str()) => Ok(()),
        Some(_) | None => Err(differs(log, position)),
    }
}

/// The log has another entry in the place of the last one that the index has.
pub(super) fn differs(log: &Log, position: &Position) -> StoreError {
    let problem = format!("has another entry at {} than the one that this machine has seen there", position.applied);
    log.unfit(&problem, "the log was put back from an old copy: see docs/cluster.md about a lost log")
}
