//! Ended branches that a model of the user's is to be asked about, and what asking it has taken.
//!
//! What must hold: an end comes to an outcome once, whatever number of processes asks; what a request may take is counted
//! before it is sent, so that no crash lets a day's budget be exceeded; there is no text of a branch here.

use infold_core::memory::{MemoryId, ProjectKey};
use infold_core::{BranchId, Owner, Scrubbed, SessionId};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::learn::{LearnStep, WrittenLessons};
use super::{outbox, places};
use crate::requests::parse_session_id;
use crate::{Store, StoreError};

/// Ends that wait at most; beyond that the oldest is not asked about any more.
const ASKS_MAX: u32 = 1_000;
/// Days for which is known what asking took.
const DAYS_MAX: u64 = 31;
const DAY_MS: u64 = 86_400_000;

/// An ended branch that a model is to be asked about.
#[derive(Debug, Clone)]
pub struct NewAsk {
    /// Whose branch it is.
    pub owner: Owner,
    /// Its session.
    pub session: SessionId,
    /// The branch, and which opening of it.
    pub branch: (BranchId, u32),
    /// The place of its end in the feed.
    pub event: u64,
    /// When it ended, in milliseconds since 1970.
    pub at_ms: u64,
}

/// An ended branch that waits for a model to be asked about it.
#[derive(Debug, Clone)]
pub struct WaitingAsk {
    /// Which end it is.
    pub ask: NewAsk,
    /// How often the model was asked in vain.
    pub attempts: u32,
    /// Before this time it is not asked again, in milliseconds since 1970.
    pub not_before_ms: u64,
    /// The process that has the end's turn. If that runs no more, nobody has it.
    pub process: Option<String>,
    /// The project that the branch worked in, as its opening says.
    pub project: Option<ProjectKey>,
    /// The git branch that it worked on, as its opening says.
    pub git_branch: Option<Scrubbed>,
    /// Memories that its opening was given.
    pub shown: Vec<MemoryId>,
    /// Whether its session or project is left alone by now.
    pub is_silenced: bool,
}

/// An end whose turn it is, and who asks about it.
#[derive(Debug, Clone)]
pub struct AskTurn {
    /// The branch, and which opening of it.
    pub branch: (BranchId, u32),
    /// The process that asks.
    pub process: String,
}

/// Takes a turn.
#[derive(Debug, Clone)]
pub struct AskClaim {
    /// The end, and who takes its turn.
    pub turn: AskTurn,
    /// Who had its turn when that was decided on.
    pub from_process: Option<String>,
    /// What the request may take.
    pub tokens: u64,
    /// What all requests of a day may take.
    pub tokens_per_day: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
}

/// How taking a turn went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimAnswer {
    /// The turn is taken, and the tokens are counted.
    Taken,
    /// Another process was faster, or the end waits no more.
    Overtaken,
    /// The day's tokens are used up.
    NoTokens,
}

/// How a request ended.
#[derive(Debug, Clone)]
pub struct AskEnd {
    /// The end that it was about, and who asked.
    pub turn: AskTurn,
    /// When the turn was taken, in milliseconds since 1970: the tokens are counted on that day.
    pub at_ms: u64,
    /// What was counted when the turn was taken.
    pub counted_tokens: u64,
    /// What the request took.
    pub tokens: u64,
    /// What becomes of the end.
    pub outcome: AskOutcome,
}

/// What becomes of an end that a model was asked about.
#[derive(Debug, Clone)]
pub enum AskOutcome {
    /// There is an answer. It is learnt from next, in the same turn.
    Answered,
    /// The model is asked again.
    Again {
        /// Why.
        problem: String,
        /// How often it was asked in vain.
        attempts: u32,
        /// Not before this time, in milliseconds since 1970.
        not_before_ms: u64,
    },
    /// The model is not asked about this end any more.
    GivenUp {
        /// Why.
        problem: String,
    },
}

/// What asking takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskSpending {
    /// How many ends wait.
    pub waiting: u64,
    /// Requests of the day.
    pub requests: u64,
    /// Tokens of the day.
    pub tokens: u64,
    /// Why the model could not be asked the last time, if it could not.
    pub problem: Option<String>,
}

/// How learning from an answer went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerLearnt {
    /// It is done. So many memories are new.
    Done(u64),
    /// Something else was learnt meanwhile: it has to be decided again.
    Overtaken,
    /// The end does not wait any more: it was forgotten, silenced, rolled back, or somebody else was faster.
    Gone,
}

impl Store {
    /// Lists ends that wait, the oldest first.
    pub async fn waiting_asks(&self, asks_max: usize) -> Result<Vec<WaitingAsk>, StoreError> {
        self.read(move |transaction| {
            let sql = "SELECT owner, session, branch, generation, event, at, attempts, not_before, process
                 FROM memory_asks ORDER BY event LIMIT ?1";
            let mut statement = transaction.prepare_cached(sql)?;
            let mut rows = statement.query([asks_max])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(waiting(transaction, row)?);
            }
            Ok(found)
        })
        .await
    }

    /// Takes an end's turn, and counts what the request may take, unless that is more than the day has left.
    pub async fn claim_ask(&self, claim: AskClaim) -> Result<ClaimAnswer, StoreError> {
        self.inner.writer.run(move |transaction| take_turn(transaction, &claim)).await
    }

    /// Notes how a request ended.
    pub async fn end_ask(&self, end: AskEnd) -> Result<(), StoreError> {
        self.inner.writer.run(move |transaction| note_end(transaction, &end)).await
    }

    /// Takes an end off the list: there is nothing to ask about it.
    pub async fn leave_ask(&self, branch: (BranchId, u32)) -> Result<(), StoreError> {
        self.inner.writer.run(move |transaction| remove(transaction, &branch)).await
    }

    /// Learns from an answer, and takes its end off the list, in one transaction. `step.from` is the mark that it was
    /// decided on; it does not move.
    pub async fn learn_answer(
        &self,
        waited: WaitingAsk,
        process: String,
        step: LearnStep,
    ) -> Result<AnswerLearnt, StoreError> {
        let secret = *self.secret();
        self.inner.writer.run(move |transaction| learn_answer(transaction, &waited, &process, &step, &secret)).await
    }

    /// What asking takes on the day of a time, and how many ends wait.
    pub async fn ask_spending(&self, at_ms: u64) -> Result<AskSpending, StoreError> {
        self.read(move |transaction| spending(transaction, at_ms)).await
    }
}

/// Puts an end on the list. One that is there already waits from the beginning.
pub(super) fn list(transaction: &Transaction<'_>, ask: &NewAsk) -> Result<(), StoreError> {
    let (branch, generation) = &ask.branch;
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO memory_asks (branch, generation, event, owner, session, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            branch.as_str(),
            generation,
            ask.event,
            ask.owner.as_str(),
            ask.session.as_str(),
            ask.at_ms
        ])?;
    transaction
        .prepare_cached(
            "DELETE FROM memory_asks WHERE event <= (SELECT event FROM memory_asks ORDER BY event DESC LIMIT 1 OFFSET ?1)",
        )?
        .execute([ASKS_MAX])?;
    Ok(())
}

/// Takes all ends of a branch off the list.
pub(super) fn leave(transaction: &Transaction<'_>, owner: &Owner, branch: &BranchId) -> Result<(), StoreError> {
    transaction
        .prepare_cached("DELETE FROM memory_asks WHERE owner = ?1 AND branch = ?2")?
        .execute([owner.as_str(), branch.as_str()])?;
    Ok(())
}

/// Takes all ends off the list that had a part in a memory.
pub(super) fn leave_memory(transaction: &Transaction<'_>, owner: &Owner, memory: &MemoryId) -> Result<(), StoreError> {
    transaction
        .prepare_cached(
            "DELETE FROM memory_asks WHERE owner = ?1 AND branch IN (SELECT branch FROM memory_evidence WHERE memory = ?2)",
        )?
        .execute([owner.as_str(), memory.as_str()])?;
    Ok(())
}

/// Takes all ends of a project off the list.
pub(super) fn leave_project(
    transaction: &Transaction<'_>,
    owner: &Owner,
    project: &ProjectKey,
) -> Result<(), StoreError> {
    transaction
        .prepare_cached(
            "DELETE FROM memory_asks WHERE owner = ?1 AND branch IN
                 (SELECT branch FROM memory_shown WHERE owner = ?1 AND (project = ?2 OR project IN
                     (SELECT alias FROM memory_projects WHERE owner = ?1 AND project = ?2)))",
        )?
        .execute([owner.as_str(), project.as_str()])?;
    Ok(())
}

fn waiting(transaction: &Transaction<'_>, row: &Row<'_>) -> Result<WaitingAsk, StoreError> {
    let ask = NewAsk {
        owner: Owner::from_stored(row.get(0)?),
        session: parse_session_id(row.get(1)?)?,
        branch: (BranchId::from_stored(row.get(2)?), row.get(3)?),
        event: row.get(4)?,
        at_ms: row.get(5)?,
    };
    let (project, git_branch, shown) = outbox::opening_of(transaction, &ask.branch.0)?.unwrap_or_default();
    Ok(WaitingAsk {
        attempts: row.get(6)?,
        not_before_ms: row.get(7)?,
        process: row.get(8)?,
        is_silenced: places::is_silenced(transaction, &ask.owner, Some(&ask.session), project.as_ref())?,
        ask,
        project,
        git_branch,
        shown,
    })
}

fn take_turn(transaction: &Transaction<'_>, claim: &AskClaim) -> Result<ClaimAnswer, StoreError> {
    let day = claim.at_ms / DAY_MS;
    let sql = "SELECT tokens FROM memory_spending WHERE day = ?1";
    let spent: Option<u64> = transaction.prepare_cached(sql)?.query_row([day], |row| row.get(0)).optional()?;
    if spent.unwrap_or(0).saturating_add(claim.tokens) > claim.tokens_per_day {
        return Ok(ClaimAnswer::NoTokens);
    }
    let AskTurn { branch: (branch, generation), process } = &claim.turn;
    let taken = transaction
        .prepare_cached("UPDATE memory_asks SET process = ?3 WHERE branch = ?1 AND generation = ?2 AND process IS ?4")?
        .execute(params![branch.as_str(), generation, process, claim.from_process])?;
    if taken == 0 {
        return Ok(ClaimAnswer::Overtaken);
    }
    transaction
        .prepare_cached(
            "INSERT INTO memory_spending (day, requests, tokens) VALUES (?1, 1, ?2)
             ON CONFLICT (day) DO UPDATE SET requests = requests + 1, tokens = tokens + ?2",
        )?
        .execute(params![day, claim.tokens])?;
    transaction
        .prepare_cached("DELETE FROM memory_spending WHERE day < ?1")?
        .execute([day.saturating_sub(DAYS_MAX)])?;
    Ok(ClaimAnswer::Taken)
}

fn note_end(transaction: &Transaction<'_>, end: &AskEnd) -> Result<(), StoreError> {
    let AskTurn { branch: (branch, generation), process } = &end.turn;
    let problem = match &end.outcome {
        AskOutcome::Answered => None,
        AskOutcome::Again { problem, attempts, not_before_ms } => {
            transaction
                .prepare_cached(
                    "UPDATE memory_asks SET process = NULL, attempts = ?4, not_before = ?5
                     WHERE branch = ?1 AND generation = ?2 AND process = ?3",
                )?
                .execute(params![branch.as_str(), generation, process, attempts, not_before_ms])?;
            Some(problem)
        }
        AskOutcome::GivenUp { problem } => {
            transaction
                .prepare_cached("DELETE FROM memory_asks WHERE branch = ?1 AND generation = ?2 AND process = ?3")?
                .execute(params![branch.as_str(), generation, process])?;
            Some(problem)
        }
    };
    transaction
        .prepare_cached("UPDATE memory_spending SET tokens = max(tokens - ?2, 0) + ?3, problem = ?4 WHERE day = ?1")?
        .execute(params![end.at_ms / DAY_MS, end.counted_tokens, end.tokens, problem])?;
    Ok(())
}

fn remove(transaction: &Transaction<'_>, (branch, generation): &(BranchId, u32)) -> Result<(), StoreError> {
    transaction
        .prepare_cached("DELETE FROM memory_asks WHERE branch = ?1 AND generation = ?2")?
        .execute(params![branch.as_str(), generation])?;
    Ok(())
}

fn learn_answer(
    transaction: &Transaction<'_>,
    waited: &WaitingAsk,
    process: &str,
    step: &LearnStep,
    secret: &[u8; 32],
) -> Result<AnswerLearnt, StoreError> {
    let (branch, generation) = &waited.ask.branch;
    let sql = "SELECT 1 FROM memory_asks WHERE branch = ?1 AND generation = ?2 AND process = ?3";
    let key = params![branch.as_str(), generation, process];
    if !transaction.prepare_cached(sql)?.exists(key)? {
        return Ok(AnswerLearnt::Gone);
    }
    let learnt: u64 = transaction.query_row("SELECT learnt FROM instance", [], |row| row.get(0))?;
    if learnt != step.from {
        return Ok(AnswerLearnt::Overtaken);
    }
    remove(transaction, &waited.ask.branch)?;
    let ask = &waited.ask;
    if places::is_silenced(transaction, &ask.owner, Some(&ask.session), waited.project.as_ref())? {
        return Ok(AnswerLearnt::Gone);
    }
    Ok(AnswerLearnt::Done(WrittenLessons::write(transaction, step, secret)?.made))
}

fn spending(transaction: &Transaction<'_>, at_ms: u64) -> Result<AskSpending, StoreError> {
    let waiting = transaction.query_row("SELECT count(*) FROM memory_asks", [], |row| row.get(0))?;
    let of_day = transaction
        .prepare_cached("SELECT requests, tokens, problem FROM memory_spending WHERE day = ?1")?
        .query_row([at_ms / DAY_MS], |row| {
            Ok(AskSpending { waiting, requests: row.get(0)?, tokens: row.get(1)?, problem: row.get(2)? })
        })
        .optional()?;
    Ok(of_day.unwrap_or(AskSpending { waiting, ..AskSpending::default() }))
}
