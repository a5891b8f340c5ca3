//! Figures of calls of others' tools, added up by owner, server and tool.

use infold_core::Owner;
use infold_core::gateway::{LatencyCounts, ServerKey};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use crate::codec::{column, from_json, to_json};
use crate::{Store, StoreError};

/// What the calls of one tool by one owner add up to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFigures {
    /// Who made the calls.
    pub owner: Owner,
    /// The tool's server.
    pub server: ServerKey,
    /// What its server calls it.
    pub tool: String,
    /// How many calls there were.
    pub calls: u64,
    /// How many of them failed.
    pub errors: u64,
    /// Tokens of the arguments.
    pub tokens_in: u64,
    /// Tokens of what was shown of the results.
    pub tokens_out: u64,
    /// Bytes of the results as they came.
    pub bytes: u64,
    /// How many results were offloaded.
    pub offloaded: u64,
    /// How long the calls took.
    pub latencies: LatencyCounts,
    /// When the last one was made, in milliseconds since 1970.
    pub last_at_ms: u64,
}

impl ToolFigures {
    /// Adds the figures of other calls of the same tool.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.errors += other.errors;
        self.tokens_in += other.tokens_in;
        self.tokens_out += other.tokens_out;
        self.bytes += other.bytes;
        self.offloaded += other.offloaded;
        self.latencies.add(&other.latencies);
        self.last_at_ms = self.last_at_ms.max(other.last_at_ms);
    }
}

impl Store {
    /// Adds figures to those that are stored, all in one transaction.
    pub async fn add_gateway_calls(&self, figures: Vec<ToolFigures>) -> Result<(), StoreError> {
        self.inner.writer.run(move |transaction| figures.iter().try_for_each(|new| add(transaction, new))).await
    }

    /// Reads the figures of one owner's calls, in order of servers and tools.
    pub async fn gateway_calls(&self, owner: Owner) -> Result<Vec<ToolFigures>, StoreError> {
        self.read(move |transaction| {
            let mut statement = transaction.prepare_cached(
                "SELECT server, tool, calls, errors, tokens_in, tokens_out, bytes, offloaded, latencies, last_at
                 FROM gateway_calls WHERE owner = ?1 ORDER BY server, tool",
            )?;
            let mut rows = statement.query([owner.as_str()])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(stored_figures(&owner, row)?);
            }
            Ok(found)
        })
        .await
    }
}

fn stored_figures(owner: &Owner, row: &Row<'_>) -> Result<ToolFigures, StoreError> {
    Ok(ToolFigures {
        owner: owner.clone(),
        server: ServerKey::new(row.get::<_, String>(0)?),
        tool: row.get(1)?,
        calls: row.get(2)?,
        errors: row.get(3)?,
        tokens_in: row.get(4)?,
        tokens_out: row.get(5)?,
        bytes: row.get(6)?,
        offloaded: row.get(7)?,
        latencies: column(row, 8, "latencies")?,
        last_at_ms: row.get(9)?,
    })
}

fn add(transaction: &Transaction<'_>, new: &ToolFigures) -> Result<(), StoreError> {
    let key = params![new.owner.as_str(), new.server.as_str(), new.tool];
    let before: Option<String> = transaction
        .prepare_cached("SELECT latencies FROM gateway_calls WHERE owner = ?1 AND server = ?2 AND tool = ?3")?
        .query_row(key, |row| row.get(0))
        .optional()?;
    let mut latencies = new.latencies.clone();
    if let Some(before) = before {
        latencies.add(&from_json("latencies", &before)?);
    }
    transaction
        .prepare_cached(
            "INSERT INTO gateway_calls
             (owner, server, tool, calls, errors, tokens_in, tokens_out, bytes, offloaded, latencies, last_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
             ON CONFLICT (owner, server, tool) DO UPDATE SET calls = calls + ?4, errors = errors + ?5,
             tokens_in = tokens_in + ?6, tokens_out = tokens_out + ?7, bytes = bytes + ?8,
             offloaded = offloaded + ?9, latencies = ?10, last_at = max(last_at, ?11)",
        )?
        .execute(params![
            new.owner.as_str(),
            new.server.as_str(),
            new.tool,
            new.calls,
            new.errors,
            new.tokens_in,
            new.tokens_out,
            new.bytes,
            new.offloaded,
            to_json("latencies", &latencies)?,
            new.last_at_ms
        ])?;
    Ok(())
}
