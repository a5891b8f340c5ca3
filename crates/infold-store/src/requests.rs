//! Rows of requests that were sent to models, their sums by session, and how providers count tokens.

use std::collections::BTreeMap;

use infold_core::record::{RequestRecord, RequestTotals, SessionLabel, SessionOverview};
use infold_core::{Owner, SessionId};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use crate::codec::{Payload, column, from_json, to_json};
use crate::{Store, StoreError};

/// A finished model request that is to be stored.
#[derive(Debug, Clone)]
pub struct NewRequest {
    /// To whom the request's session belongs.
    pub owner: Owner,
    /// The request's figures: what it was made of, how it was answered and what it cost.
    pub record: Box<RequestRecord>,
    /// What the request shows that helps people recognise its session.
    pub label: SessionLabel,
}

/// What is stored about the requests of one session.
#[derive(Debug, Clone)]
pub struct SessionRequests {
    /// The session that the requests belong to.
    pub session: SessionId,
    /// The figures of all its requests, added up.
    pub totals: RequestTotals,
    /// What people recognise the session by.
    pub overview: SessionOverview,
}

/// A model request, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRow {
    /// Position among all stored requests. Positions only grow.
    pub id: u64,
    /// What the recorder stored about the request.
    pub record: RequestRecord,
}

/// Which end of a long list of requests is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestSelection {
    /// Those with a larger id than this one, from the oldest on.
    After(u64),
    /// The newest ones, up to the limit.
    Newest,
}

/// Selects requests for a list.
#[derive(Debug, Clone)]
pub struct RequestQuery {
    /// Only requests of this owner's sessions.
    pub owner: Owner,
    /// Only requests of this session; `None` means all sessions.
    pub session: Option<SessionId>,
    /// Which end of the list is wanted.
    pub selection: RequestSelection,
    /// How many requests to return at most.
    pub limit: usize,
}

/// How the provider of one family of models counts tokens, compared with infold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCalibration {
    /// Name of the family of models.
    pub family: String,
    /// The provider's tokens for each thousand that infold counts.
    pub per_mille: u64,
    /// How many requests this was learnt from.
    pub samples: u64,
    /// When it was last learnt from a request, in milliseconds since 1970.
    pub at_ms: u64,
}

impl Store {
    /// Stores requests in one transaction. Of each session only the newest `rows_per_session_max` rows stay.
    pub async fn insert_requests(
        &self,
        requests: Vec<NewRequest>,
        calibrations: Vec<StoredCalibration>,
        rows_per_session_max: u64,
    ) -> Result<(), StoreError> {
        self.inner
            .writer
            .run(move |transaction| {
                insert(transaction, &requests)?;
                let mut sessions = BTreeMap::<_, Vec<&NewRequest>>::new();
                for request in &requests {
                    let session = (request.owner.as_str(), &request.record.session);
                    sessions.entry(session).or_default().push(request);
                }
                for ((owner, session), requests) in sessions {
                    add_up(transaction, owner, session, &requests)?;
                    trim(transaction, owner, session, rows_per_session_max)?;
                }
                calibrations.iter().try_for_each(|calibration| write_calibration(transaction, calibration))
            })
            .await
    }

    /// Lists requests, oldest first.
    pub async fn requests(&self, query: RequestQuery) -> Result<Vec<RequestRow>, StoreError> {
        self.read(move |transaction| {
            let (after, order) = match query.selection {
                RequestSelection::After(id) => (i64::try_from(id).unwrap_or(i64::MAX), "ASC"),
                RequestSelection::Newest => (0, "DESC"),
            };
            let of_session = if query.session.is_some() { "AND session = ?4" } else { "AND ?4 IS NULL" };
            let sql = format!(
                "SELECT id, payload FROM requests WHERE owner = ?1 {of_session} AND id > ?2 ORDER BY id {order} LIMIT ?3"
            );
            let session = query.session.as_ref().map(SessionId::as_str);
            let mut statement = transaction.prepare_cached(&sql)?;
            let mut rows = statement.query(params![query.owner.as_str(), after, query.limit, session])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(request_row(row)?);
            }
            if query.selection == RequestSelection::Newest {
                found.reverse();
            }
            Ok(found)
        })
        .await
    }

    /// Reads one request by its id; `None` if this owner has none such.
    pub async fn request(&self, owner: Owner, id: u64) -> Result<Option<RequestRow>, StoreError> {
        self.read(move |transaction| {
            let mut statement =
                transaction.prepare_cached("SELECT id, payload FROM requests WHERE id = ?1 AND owner = ?2")?;
            let mut rows = statement.query(params![i64::try_from(id).unwrap_or(-1), owner.as_str()])?;
            rows.next()?.map(request_row).transpose()
        })
        .await
    }

    /// Reads the sums of requests by session; the session that was used last comes first.
    pub async fn request_totals(
        &self,
        owner: Owner,
        session: Option<SessionId>,
    ) -> Result<Vec<(SessionId, RequestTotals)>, StoreError> {
        self.read(move |transaction| {
            let mut statement = transaction.prepare_cached(
                "SELECT session, totals FROM request_totals WHERE owner = ?1 AND (?2 IS NULL OR session = ?2)
                 ORDER BY last_at DESC, session",
            )?;
            let mut rows = statement.query(params![owner.as_str(), session.as_ref().map(SessionId::as_str)])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push((parse_session_id(row.get(0)?)?, column(row, 1, "sum of requests")?));
            }
            Ok(found)
        })
        .await
    }

    /// Reads what is stored about the requests of each session, or of one; the session that was used last comes first.
    pub async fn session_requests(
        &self,
        owner: Owner,
        session: Option<SessionId>,
    ) -> Result<Vec<SessionRequests>, StoreError> {
        self.read(move |transaction| {
            let mut statement = transaction.prepare_cached(
                "SELECT session, totals, coalesce(overview, '{}') FROM request_totals
                 WHERE owner = ?1 AND (?2 IS NULL OR session = ?2) ORDER BY last_at DESC, session",
            )?;
            let mut rows = statement.query(params![owner.as_str(), session.as_ref().map(SessionId::as_str)])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let (totals, overview) = (column(row, 1, "sum of requests")?, column(row, 2, "session's overview")?);
                found.push(SessionRequests { session: parse_session_id(row.get(0)?)?, totals, overview });
            }
            Ok(found)
        })
        .await
    }

    /// Deletes requests that came before a time, and the sums of sessions without later ones. Returns how many requests
    /// were deleted.
    pub async fn sweep_requests(&self, before_ms: u64) -> Result<usize, StoreError> {
        self.inner
            .writer
            .run(move |transaction| {
                transaction.prepare_cached("DELETE FROM request_totals WHERE last_at < ?1")?.execute([before_ms])?;
                Ok(transaction.prepare_cached("DELETE FROM requests WHERE at < ?1")?.execute([before_ms])?)
            })
            .await
    }

    /// Reads how providers count tokens, for each family of models.
    pub async fn calibrations(&self) -> Result<Vec<StoredCalibration>, StoreError> {
        self.read(read_calibrations).await
    }

    /// Does the same as [`Store::calibrations`] on the calling thread, for callers that cannot wait.
    pub fn calibrations_now(&self) -> Result<Vec<StoredCalibration>, StoreError> {
        self.inner.readers.with(read_calibrations)
    }
}

fn insert(transaction: &Transaction<'_>, requests: &[NewRequest]) -> Result<(), StoreError> {
    let mut statement =
        transaction.prepare_cached("INSERT INTO requests (owner, session, at, payload) VALUES (?1, ?2, ?3, ?4)")?;
    for request in requests {
        let record = &request.record;
        let payload = Payload(to_json("request", record)?);
        statement.execute(params![request.owner.as_str(), record.session.as_str(), record.at_ms, payload])?;
    }
    Ok(())
}

fn add_up(
    transaction: &Transaction<'_>,
    owner: &str,
    session: &SessionId,
    requests: &[&NewRequest],
) -> Result<(), StoreError> {
    let before: Option<(String, Option<String>)> = transaction
        .prepare_cached("SELECT totals, overview FROM request_totals WHERE owner = ?1 AND session = ?2")?
        .query_row(params![owner, session.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (mut totals, mut overview) = (RequestTotals::default(), SessionOverview::default());
    if let Some((totals_json, overview_json)) = before {
        totals = from_json("sum of requests", &totals_json)?;
        overview = overview_json.map_or(Ok(overview), |json| from_json("session's overview", &json))?;
    }
    for request in requests {
        totals.add(&request.record);
        overview.add(&request.record, &request.label);
    }
    let (totals_json, overview_json) =
        (to_json("sum of requests", &totals)?, to_json("session's overview", &overview)?);
    transaction
        .prepare_cached(
            "INSERT INTO request_totals (owner, session, last_at, totals, overview) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (owner, session) DO UPDATE SET last_at = ?3, totals = ?4, overview = ?5",
        )?
        .execute(params![owner, session.as_str(), totals.last_at_ms, totals_json, overview_json])?;
    Ok(())
}

fn trim(transaction: &Transaction<'_>, owner: &str, session: &SessionId, rows_max: u64) -> Result<(), StoreError> {
    // The newest row that has to go is found by its place in the index.
    transaction
        .prepare_cached(
            "DELETE FROM requests WHERE owner = ?1 AND session = ?2 AND id <=
             (SELECT id FROM requests WHERE owner = ?1 AND session = ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3)",
        )?
        .execute(params![owner, session.as_str(), rows_max])?;
    Ok(())
}

fn write_calibration(transaction: &Transaction<'_>, calibration: &StoredCalibration) -> Result<(), StoreError> {
    transaction
        .prepare_cached("INSERT OR REPLACE INTO calibration (family, per_mille, samples, at) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![calibration.family, calibration.per_mille, calibration.samples, calibration.at_ms])?;
    Ok(())
}

fn read_calibrations(transaction: &Transaction<'_>) -> Result<Vec<StoredCalibration>, StoreError> {
    let mut statement =
        transaction.prepare_cached("SELECT family, per_mille, samples, at FROM calibration ORDER BY family")?;
    let rows = statement.query_map([], |row| {
        Ok(StoredCalibration { family: row.get(0)?, per_mille: row.get(1)?, samples: row.get(2)?, at_ms: row.get(3)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn request_row(row: &Row<'_>) -> Result<RequestRow, StoreError> {
    let payload: Payload = row.get(1)?;
    Ok(RequestRow { id: row.get(0)?, record: from_json("request", &payload.0)? })
}

pub(crate) fn parse_session_id(session: String) -> Result<SessionId, StoreError> {
    SessionId::parse(&session).map_err(|error| StoreError::Unreadable { what: "session", problem: error.to_string() })
}

#[cfg(test)]
mod tests;
