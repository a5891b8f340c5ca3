//! The logs of infold's own agent: appends scrubbed records, and reads them back.
//!
//! What an append returns is what was stored, so that whoever appends goes on from the same words as somebody who resumes
//! the session later.

use infold_core::{Principal, Refusal, SessionId};
use infold_store::{ListedLog, SessionKey, StoreError};
use serde_json::Value;

use crate::{Engine, Error, Failure};

/// How many records are read at once.
const PAGE_RECORDS: usize = 1_000;

/// A record of an agent's log.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRecord {
    /// Its place in the log, counted from 1.
    pub seq: u64,
    /// When it was appended, in milliseconds since 1970.
    pub at_ms: u64,
    /// What it says.
    pub record: Value,
}

impl Engine {
    /// Appends records to a session's log, which has to have `decided_on` records, and starts the session if it is new.
    /// Returns them as they were stored: without secrets.
    #[tracing::instrument(skip_all)]
    pub async fn append_agent_log(
        &self,
        who: &Principal,
        session: &SessionId,
        decided_on: u64,
        records: &[Value],
    ) -> Result<Vec<Value>, Error> {
        if decided_on == 0 {
            // Its requests are infold's own, so that it is kept as long as sessions whose requests are edited.
            self.store_edited(who, session).await?;
        }
        let mut scrubbed = Vec::with_capacity(records.len());
        for record in records {
            scrubbed.push(self.scrub_json(record.to_string().as_bytes(), &[]).await?);
        }
        let stored = scrubbed.iter().map(|json| serde_json::from_slice(json.bytes()).map_err(|_| Failure::Planning));
        let stored = stored.collect::<Result<Vec<Value>, Failure>>()?;

        let key = SessionKey { owner: who.owner.clone(), id: session.clone() };
        match self.inner.store.append_log(key, decided_on, self.now_ms(), scrubbed).await {
            Ok(()) => Ok(stored),
            Err(StoreError::Moved) => Err(Refusal::SessionBusy { session: session.clone() }.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads a session's log behind a place; empty if it has none.
    #[tracing::instrument(skip_all)]
    pub async fn agent_log(
        &self,
        who: &Principal,
        session: &SessionId,
        behind: u64,
    ) -> Result<Vec<AgentRecord>, Error> {
        let key = SessionKey { owner: who.owner.clone(), id: session.clone() };
        let mut records = Vec::new();
        let mut last = behind;
        loop {
            let page = self.inner.store.agent_log(key.clone(), last, PAGE_RECORDS).await?;
            let Some(end) = page.last().map(|record| record.seq) else { return Ok(records) };
            last = end;
            for row in page {
                let unreadable = |error: serde_json::Error| StoreError::Unreadable {
                    what: "a record of an agent's log",
                    problem: error.to_string(),
                };
                let record = serde_json::from_str(&row.json).map_err(unreadable)?;
                records.push(AgentRecord { seq: row.seq, at_ms: row.at_ms, record });
            }
        }
    }

    /// Lists the caller's sessions that have a log, the most recent first.
    pub async fn agent_logs(&self, who: &Principal) -> Result<Vec<ListedLog>, Error> {
        Ok(self.inner.store.agent_logs(who.owner.clone()).await?)
    }
}

#[cfg(test)]
mod tests;
