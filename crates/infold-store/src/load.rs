//! Finding a session by what a caller knows of it, with the branches that a decision needs.

use infold_core::{Branch, BranchId, Owner, ProjectHash, Session};
use rusqlite::{OptionalExtension, Transaction, params};

use crate::codec::column;
use crate::{CountedCall, Reply, SessionKey, Store, StoreError, proxied};

/// How a caller names a session.
#[derive(Debug, Clone)]
pub enum Target {
    /// By its owner and name.
    Session(SessionKey),
    /// By one of its branches; the session has to belong to this owner.
    Branch(Owner, BranchId),
    /// By its project, whose current session it is.
    Project(Owner, ProjectHash),
}

/// Which ended branches are loaded beside the open ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndedBranches {
    /// None, except those whose end still has to be reported to their parents.
    Nothing,
    /// This branch and those above it, if it belongs to the session.
    Branch(BranchId),
    /// The same, and every branch that was opened after it.
    Since(BranchId),
    /// Every branch of the session.
    All,
}

/// What to load of a session.
#[derive(Debug, Clone)]
pub struct Load {
    /// How the caller names the session.
    pub target: Target,
    /// Which of its ended branches to load.
    pub ended: EndedBranches,
    /// Which opening [`Loaded::rate_mark_ms`] is about, counted back from the next one.
    pub rate_back: u64,
    /// The idempotency key whose answer is wanted, if the call has one.
    pub reply_key: Option<String>,
    /// Digests of the ids of calls; [`Loaded::counted`] says which of them were counted before.
    pub counted: Vec<[u8; 16]>,
}

/// A session, and what else was asked for.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The session, with its open branches and the ended ones that were asked for.
    pub session: Session,
    /// When the branch was opened that lies `rate_back` openings before the next one; `None` if there were fewer.
    pub rate_mark_ms: Option<u64>,
    /// The answer that is stored for the idempotency key.
    pub reply: Option<Reply>,
    /// Those of the calls asked for whose results were counted.
    pub counted: Vec<CountedCall>,
}

impl Store {
    /// Loads a session; `None` if its owner has no such session.
    #[tracing::instrument(name = "store_load", skip_all)]
    pub async fn load(&self, load: Load) -> Result<Option<Loaded>, StoreError> {
        self.fresh().await?;
        self.load_known(load).await
    }

    /// Loads a session as far as this machine knows of it. Where machines share the state that may be old: what is decided on
    /// it can be recorded all the same, because recording refuses what is, and must not be answered otherwise.
    pub async fn load_known(&self, load: Load) -> Result<Option<Loaded>, StoreError> {
        match load.ended {
            EndedBranches::Nothing | EndedBranches::Branch(_) => {
                self.read_little(move |transaction| find(transaction, &load)).await
            }
            EndedBranches::Since(_) | EndedBranches::All => {
                self.read(move |transaction| find(transaction, &load)).await
            }
        }
    }

    /// Lists sessions that have an open branch whose deadline has passed.
    pub async fn due(&self, now_ms: u64, sessions_max: usize) -> Result<Vec<SessionKey>, StoreError> {
        self.read(move |transaction| {
            let mut statement = transaction.prepare_cached(
                "SELECT DISTINCT sessions.owner, sessions.name FROM branches INDEXED BY branches_open
                 JOIN sessions ON sessions.id = session_id
                 WHERE open = 1 AND deadline <= ?1 LIMIT ?2",
            )?;
            let rows = statement.query_map(params![now_ms, sessions_max], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.map(|row| session_key(row?)).collect()
        })
        .await
    }

    /// The earliest deadline of all open branches, in milliseconds since 1970.
    pub async fn next_deadline_ms(&self) -> Result<Option<u64>, StoreError> {
        self.read(|transaction| {
            let next = transaction
                .prepare_cached("SELECT min(deadline) FROM branches WHERE open = 1")?
                .query_row([], |row| row.get(0))?;
            Ok(next)
        })
        .await
    }
}

pub(crate) fn session_key((owner, name): (String, String)) -> Result<SessionKey, StoreError> {
    let id = infold_core::SessionId::parse(&name)
        .map_err(|error| StoreError::Unreadable { what: "session name", problem: error.to_string() })?;
    Ok(SessionKey { owner: Owner::from_stored(owner), id })
}

pub(crate) fn find(transaction: &Transaction<'_>, load: &Load) -> Result<Option<Loaded>, StoreError> {
    let Some(key) = resolve(transaction, &load.target)? else { return Ok(None) };
    let Some(mut session) = read_session(transaction, &key)? else { return Ok(None) };
    read_open(transaction, &key, &mut session)?;
    for branch in session.unreported.clone() {
        read_branch(transaction, &key, &mut session, &branch)?;
    }
    read_ended(transaction, &key, &mut session, &load.ended)?;
    let rate_mark_ms = read_rate_mark(transaction, &key, &session, load.rate_back)?;
    let reply = match &load.reply_key {
        Some(reply_key) => read_reply(transaction, &key, reply_key)?,
        None => None,
    };
    let counted = proxied::counted(transaction, &key, &load.counted)?;
    Ok(Some(Loaded { session, rate_mark_ms, reply, counted }))
}

fn resolve(transaction: &Transaction<'_>, target: &Target) -> Result<Option<String>, StoreError> {
    match target {
        Target::Session(key) => Ok(Some(key.as_text())),
        Target::Branch(owner, branch) => {
            let key: Option<String> = transaction
                .prepare_cached("SELECT session_id FROM branches WHERE id = ?1")?
                .query_row([branch.as_str()], |row| row.get(0))
                .optional()?;
            let prefix = format!("{}/", owner.as_str());
            Ok(key.filter(|key| key.starts_with(&prefix)))
        }
        Target::Project(owner, project) => Ok(transaction
            .prepare_cached("SELECT session_id FROM projects WHERE owner = ?1 AND project = ?2")?
            .query_row(params![owner.as_str(), project.as_str()], |row| row.get(0))
            .optional()?),
    }
}

fn read_session(transaction: &Transaction<'_>, key: &str) -> Result<Option<Session>, StoreError> {
    let mut statement = transaction.prepare_cached("SELECT state FROM sessions WHERE id = ?1")?;
    let mut rows = statement.query([key])?;
    match rows.next()? {
        Some(row) => Ok(Some(column(row, 0, "session")?)),
        None => Ok(None),
    }
}

fn read_open(transaction: &Transaction<'_>, key: &str, session: &mut Session) -> Result<(), StoreError> {
    let sql = "SELECT state FROM branches WHERE session_id = ?1 AND open = 1";
    read_branches(transaction, sql, params![key], session)
}

fn read_branch(
    transaction: &Transaction<'_>,
    key: &str,
    session: &mut Session,
    branch: &BranchId,
) -> Result<(), StoreError> {
    let sql = "SELECT state FROM branches WHERE id = ?2 AND session_id = ?1";
    read_branches(transaction, sql, params![key, branch.as_str()], session)
}

fn read_ended(
    transaction: &Transaction<'_>,
    key: &str,
    session: &mut Session,
    ended: &EndedBranches,
) -> Result<(), StoreError> {
    match ended {
        EndedBranches::Nothing => Ok(()),
        EndedBranches::Branch(branch) => read_upwards(transaction, key, session, branch),
        EndedBranches::All => {
            let sql = "SELECT state FROM branches WHERE session_id = ?1";
            read_branches(transaction, sql, params![key], session)
        }
        EndedBranches::Since(branch) => {
            read_upwards(transaction, key, session, branch)?;
            let since = session.branches.get(branch).map_or(0, |branch| branch.ordinal);
            let sql = "SELECT state FROM branches WHERE session_id = ?1 AND ordinal > ?2";
            read_branches(transaction, sql, params![key, since], session)
        }
    }
}

fn read_upwards(
    transaction: &Transaction<'_>,
    key: &str,
    session: &mut Session,
    branch: &BranchId,
) -> Result<(), StoreError> {
    let mut next = Some(branch.clone());
    while let Some(id) = next {
        read_branch(transaction, key, session, &id)?;
        next = session.branches.get(&id).and_then(|branch| branch.parent.branch().cloned());
    }
    Ok(())
}

fn read_branches(
    transaction: &Transaction<'_>,
    sql: &str,
    params: impl rusqlite::Params,
    session: &mut Session,
) -> Result<(), StoreError> {
    let mut statement = transaction.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    while let Some(row) = rows.next()? {
        let branch: Branch = column(row, 0, "branch")?;
        session.branches.insert(branch.id.clone(), branch);
    }
    Ok(())
}

/// Looks up when the opening took place that lies `rate_back` before the next one. It is found by its ordinal, so this
/// costs the same however many openings there were.
fn read_rate_mark(
    transaction: &Transaction<'_>,
    key: &str,
    session: &Session,
    rate_back: u64,
) -> Result<Option<u64>, StoreError> {
    let Some(ordinal) = (session.opened + 1).checked_sub(rate_back).filter(|ordinal| *ordinal > 0) else {
        return Ok(None);
    };
    let mark = transaction
        .prepare_cached("SELECT opened_at FROM branches WHERE session_id = ?1 AND ordinal = ?2")?
        .query_row(params![key, ordinal], |row| row.get(0))
        .optional()?;
    Ok(mark)
}

fn read_reply(transaction: &Transaction<'_>, key: &str, reply_key: &str) -> Result<Option<Reply>, StoreError> {
    let reply = transaction
        .prepare_cached("SELECT key, fingerprint, answer FROM replies WHERE session_id = ?1 AND key = ?2")?
        .query_row(params![key, reply_key], |row| {
            Ok(Reply { key: row.get(0)?, fingerprint: row.get(1)?, answer: row.get(2)? })
        })
        .optional()?;
    Ok(reply)
}
