//! Reads back what was decided about a session's model requests.

use infold_core::view::{Anchor, BlockKey, ForcedFold, Note, Replacement, Restart, ScriptedCall, ScrubbedJson};
use infold_core::{BlobId, BranchId, Thread};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::{CountedCall, DecisionRows, Proxied, Revision};
use crate::codec::{Payload, from_json};
use crate::load::find;
use crate::{EndedBranches, Load, SessionKey, Store, StoreError, Target};

impl Store {
    /// Reads a session with all its branches and the decisions about its model requests; `None` if it is not stored.
    pub async fn proxied(&self, key: SessionKey) -> Result<Option<Proxied>, StoreError> {
        let text = key.as_text();
        let load = Load {
            target: Target::Session(key),
            ended: EndedBranches::All,
            rate_back: 0,
            reply_key: None,
            counted: Vec::new(),
        };
        self.fresh().await?;
        self.read(move |transaction| {
            let Some(loaded) = find(transaction, &load)? else { return Ok(None) };
            Ok(Some(Proxied { session: loaded.session, decisions: read_decisions(transaction, &text)? }))
        })
        .await
    }

    /// Reads how far a session has got; `None` if it is not stored.
    pub async fn revision(&self, key: SessionKey) -> Result<Option<Revision>, StoreError> {
        self.fresh().await?;
        self.read_little(move |transaction| {
            let revision = transaction
                .prepare_cached(
                    "SELECT version, coalesce((SELECT decisions FROM proxied WHERE session_id = ?1), 0)
                     FROM sessions WHERE id = ?1",
                )?
                .query_row([key.as_text()], |row| Ok(Revision { version: row.get(0)?, appends: row.get(1)? }))
                .optional()?;
            Ok(revision)
        })
        .await
    }
}

fn read_decisions(transaction: &Transaction<'_>, key: &str) -> Result<DecisionRows, StoreError> {
    let proxied = transaction
        .prepare_cached("SELECT decisions, has_folded FROM proxied WHERE session_id = ?1")?
        .query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((appends, has_edited)) = proxied else { return Ok(DecisionRows::default()) };
    let rewrites = "SELECT call_id, content, sent, reason FROM rewrites WHERE session_id = ?1";
    let endings = "SELECT branch, generation, after_call, before_block, result FROM endings WHERE session_id = ?1
                   ORDER BY rowid";
    let notes = "SELECT after_call, text FROM notes WHERE session_id = ?1 ORDER BY rowid";
    let restarts = "SELECT root, from_call, after_call, before_block FROM restarts WHERE session_id = ?1
                    ORDER BY rowid";
    let answers = "SELECT call, answer FROM answers WHERE session_id = ?1";
    let continued = "SELECT place FROM heard WHERE session_id = ?1";
    let scripts = "SELECT run_by, tool, arguments, answer FROM scripted WHERE session_id = ?1 ORDER BY rowid";
    let to_lighten = "SELECT thread FROM to_lighten WHERE session_id = ?1";
    Ok(DecisionRows {
        appends,
        has_edited,
        rewrites: all(transaction, rewrites, key, rewrite)?,
        endings: all(transaction, endings, key, ending)?,
        notes: all(transaction, notes, key, |row| Ok(Note { after: row.get(0)?, text: row.get(1)? }))?,
        restarts: all(transaction, restarts, key, restart)?,
        answers: all(transaction, answers, key, answer)?,
        continued: all(transaction, continued, key, |row| Ok(BlockKey(row.get(0)?)))?,
        scripted: all(transaction, scripts, key, scripted)?,
        to_lighten: all(transaction, to_lighten, key, |row| Ok(Thread::from(row.get::<_, String>(0)?)))?,
    })
}

fn all<T>(
    transaction: &Transaction<'_>,
    sql: &str,
    key: &str,
    read: impl Fn(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = transaction.prepare_cached(sql)?;
    let mut rows = statement.query([key])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

fn rewrite(row: &Row<'_>) -> Result<(String, Replacement), StoreError> {
    let (Payload(sent), reason): (Payload, String) = (row.get(2)?, row.get(3)?);
    let rewrite = Replacement {
        content: BlockKey(row.get(1)?),
        sent: ScrubbedJson::stored(sent),
        reason: from_json("reason", &reason)?,
    };
    Ok((row.get(0)?, rewrite))
}

fn answer(row: &Row<'_>) -> Result<(BlockKey, String), StoreError> {
    let Payload(answer) = row.get(1)?;
    Ok((BlockKey(row.get(0)?), answer))
}

fn scripted(row: &Row<'_>) -> Result<(String, ScriptedCall), StoreError> {
    let (Payload(arguments), Payload(answer)) = (row.get(2)?, row.get(3)?);
    Ok((row.get(0)?, ScriptedCall { tool: row.get(1)?, arguments, answer }))
}

fn ending(row: &Row<'_>) -> Result<ForcedFold, StoreError> {
    let branch = BranchId::from_stored(row.get(0)?);
    Ok(ForcedFold { branch, generation: row.get(1)?, place: place(row, "ending")?, result: row.get(4)? })
}

fn restart(row: &Row<'_>) -> Result<Restart, StoreError> {
    let root: Option<String> = row.get(0)?;
    Ok(Restart { root: root.map(Thread::from), from: row.get(1)?, place: place(row, "restart")? })
}

/// Reads an anchor from the third and fourth columns of a row.
fn place(row: &Row<'_>, what: &'static str) -> Result<Anchor, StoreError> {
    match (row.get(2)?, row.get(3)?) {
        (Some(call), _) => Ok(Anchor::After { call }),
        (None, Some(block)) => Ok(Anchor::Before { block: BlockKey(block) }),
        (None, None) => Err(StoreError::Unreadable { what, problem: "it has no place".to_owned() }),
    }
}

/// Finds which of these calls had their results counted before.
pub(crate) fn counted(
    transaction: &Transaction<'_>,
    key: &str,
    calls: &[[u8; 16]],
) -> Result<Vec<CountedCall>, StoreError> {
    let mut found = Vec::new();
    for call in calls {
        let counted = transaction
            .prepare_cached("SELECT content, blob, shown FROM counted WHERE session_id = ?1 AND call = ?2")?
            .query_row(params![key, call], |row| {
                let (blob, shown): (Option<String>, Option<String>) = (row.get(1)?, row.get(2)?);
                let blob = blob.as_deref().and_then(BlobId::parse);
                Ok(CountedCall { call: *call, content: row.get(0)?, offloaded: blob.zip(shown) })
            })
            .optional()?;
        found.extend(counted);
    }
    Ok(found)
}
