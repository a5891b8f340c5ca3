//! The gateway's rows: servers, their tools with pins and offers, and approvals. What a difference between a pin and an
//! offer means is the core's; when rows are written is the engine's.

mod calls;

#[cfg(test)]
mod tests;

use infold_core::gateway::{DefinitionHash, ServerKey};
use infold_core::view::ScrubbedJson;
use infold_core::{BranchId, Owner, ProjectHash, Scrubbed, Thread};
use rusqlite::{Row, Transaction, params};

use crate::codec::Payload;
use crate::load::session_key;
use crate::{SessionKey, Store, StoreError};

pub use calls::ToolFigures;

/// How many open branches of one owner are looked at to find the one that works. Nobody has more, and with more of them
/// there is hardly ever only one that works.
const OPEN_MAX: usize = 256;

/// A definition, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptDefinition {
    /// The hash of what the server sent.
    pub hash: DefinitionHash,
    /// The definition in the protocol's form, without secrets.
    pub definition: ScrubbedJson,
}

/// A pin of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPin {
    /// The definition that the tool is used with.
    pub kept: KeptDefinition,
    /// How many tokens it takes in a request.
    pub tokens: u64,
    /// When it was pinned, in milliseconds since 1970.
    pub at_ms: u64,
}

/// A tool of a server: what is pinned of it, and what waits for approval. A tool with neither is not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTool {
    /// Its server.
    pub server: ServerKey,
    /// Which server has that name, as a hash; empty if it was stored before that was known.
    pub target: String,
    /// What its server calls it.
    pub tool: String,
    /// The pin, if it has one.
    pub pin: Option<StoredPin>,
    /// The definition that waits for approval.
    pub waiting: Option<KeptDefinition>,
    /// When its server had it no longer, in milliseconds since 1970.
    pub gone_at_ms: Option<u64>,
}

/// What is known of a server beside its tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredServer {
    /// Its name.
    pub key: ServerKey,
    /// A word for how it is.
    pub state: Scrubbed,
    /// Why it is so.
    pub detail: Option<Scrubbed>,
    /// How it was spoken to last; if a note has none, the one from before stays.
    pub era: Option<Scrubbed>,
    /// When this was noted, in milliseconds since 1970.
    pub at_ms: u64,
    /// The process that noted it.
    pub process: Option<String>,
}

impl Store {
    /// Reads the tools of a server, or of all servers, in order of names.
    pub async fn gateway_tools(&self, server: Option<ServerKey>) -> Result<Vec<StoredTool>, StoreError> {
        self.read(move |transaction| read_tools(transaction, server.as_ref())).await
    }

    /// Changes the tools of a server in one transaction. `decide` gets those that are stored, and returns those that
    /// have changed together with what the caller wants to know. One that is left with neither pin nor offer is deleted.
    pub async fn change_gateway_tools<T: Send + 'static>(
        &self,
        server: ServerKey,
        decide: impl Fn(Vec<StoredTool>) -> (Vec<StoredTool>, T) + Send + 'static,
    ) -> Result<T, StoreError> {
        self.inner
            .writer
            .run(move |transaction| {
                let (changed, answer) = decide(read_tools(transaction, Some(&server))?);
                changed.iter().try_for_each(|tool| write_tool(transaction, tool))?;
                Ok(answer)
            })
            .await
    }

    /// Reads what is known of servers, in order of names.
    pub async fn gateway_servers(&self) -> Result<Vec<StoredServer>, StoreError> {
        self.read(|transaction| {
            let mut statement = transaction
                .prepare_cached("SELECT key, state, detail, era, at, process FROM gateway_servers ORDER BY key")?;
            let rows = statement.query_map([], |row| {
                Ok(StoredServer {
                    key: ServerKey::new(row.get::<_, String>(0)?),
                    state: stored_text(row.get(1)?),
                    detail: row.get::<_, Option<String>>(2)?.map(stored_text),
                    era: row.get::<_, Option<String>>(3)?.map(stored_text),
                    at_ms: row.get(4)?,
                    process: row.get(5)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Stores what is known of a server.
    pub async fn note_gateway_server(&self, server: StoredServer) -> Result<(), StoreError> {
        self.inner
            .writer
            .run(move |transaction| {
                let text = |text: &Option<Scrubbed>| text.as_ref().map(|text| text.as_str().to_owned());
                transaction
                    .prepare_cached(
                        "INSERT INTO gateway_servers (key, state, detail, era, at, process) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                         ON CONFLICT (key) DO UPDATE
                         SET state = ?2, detail = ?3, era = coalesce(?4, era), at = ?5, process = ?6",
                    )?
                    .execute(params![
                        server.key.as_str(),
                        server.state.as_str(),
                        text(&server.detail),
                        text(&server.era),
                        server.at_ms,
                        server.process
                    ])?;
                Ok(())
            })
            .await
    }

    /// Stores that the user approved a server of a project, as it was written when its hash was taken.
    pub async fn approve_gateway_entry(
        &self,
        project: ProjectHash,
        server: ServerKey,
        hash: String,
        at_ms: u64,
    ) -> Result<(), StoreError> {
        self.inner
            .writer
            .run(move |transaction| {
                transaction
                    .prepare_cached(
                        "INSERT OR IGNORE INTO gateway_approvals (project, server, hash, at) VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute(params![project.as_str(), server.as_str(), hash, at_ms])?;
                Ok(())
            })
            .await
    }

    /// Whether the user approved a server of a project, written like this.
    pub async fn is_gateway_entry_approved(
        &self,
        project: ProjectHash,
        server: ServerKey,
        hash: String,
    ) -> Result<bool, StoreError> {
        self.read_little(move |transaction| {
            let sql = "SELECT 1 FROM gateway_approvals WHERE project = ?1 AND server = ?2 AND hash = ?3";
            Ok(transaction.prepare_cached(sql)?.exists(params![project.as_str(), server.as_str(), hash])?)
        })
        .await
    }

    /// Finds the one branch of an owner that works: it is open, and no open branch is below it. `None` if there is none
    /// or more than one.
    pub async fn only_open_branch(&self, owner: Owner) -> Result<Option<(SessionKey, BranchId)>, StoreError> {
        self.read_little(move |transaction| {
            // A session's key is its owner, a slash and its name, and 0 is the character behind the slash.
            let mut statement = transaction.prepare_cached(
                "SELECT sessions.owner, sessions.name, branches.id, branches.state ->> 'parent'
                 FROM branches JOIN sessions ON sessions.id = session_id
                 WHERE open = 1 AND session_id > ?1 || '/' AND session_id < ?1 || '0' LIMIT ?2",
            )?;
            let rows = statement.query_map(params![owner.as_str(), OPEN_MAX], |row| {
                Ok((
                    (row.get(0)?, row.get(1)?),
                    BranchId::from_stored(row.get(2)?),
                    Thread::from(row.get::<_, String>(3)?),
                ))
            })?;
            let open: Vec<((String, String), BranchId, Thread)> = rows.collect::<Result<_, _>>()?;
            let is_parent = |id: &BranchId| open.iter().any(|(_, _, parent)| parent.branch() == Some(id));
            let mut working = open.iter().filter(|(_, id, _)| !is_parent(id));
            match (working.next(), working.next()) {
                (Some((session, id, _)), None) => Ok(Some((session_key(session.clone())?, id.clone()))),
                _ => Ok(None),
            }
        })
        .await
    }
}

/// Text that was scrubbed before it was stored.
pub(crate) fn stored_text(text: String) -> Scrubbed {
    serde_json::from_value(serde_json::Value::String(text)).unwrap_or_default()
}

fn read_tools(transaction: &Transaction<'_>, server: Option<&ServerKey>) -> Result<Vec<StoredTool>, StoreError> {
    let mut statement = transaction.prepare_cached(
        "SELECT server, tool, hash, definition, tokens, pinned_at, offered_hash, offered, gone_at, target
         FROM gateway_definitions WHERE ?1 IS NULL OR server = ?1 ORDER BY server, tool, target",
    )?;
    let rows = statement.query_map([server.map(ServerKey::as_str)], stored_tool)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn stored_tool(row: &Row<'_>) -> rusqlite::Result<StoredTool> {
    let kept = |hash: usize, definition: usize| -> rusqlite::Result<Option<KeptDefinition>> {
        let Some(hash) = row.get::<_, Option<String>>(hash)? else { return Ok(None) };
        let definition: Payload = row.get(definition)?;
        let definition = ScrubbedJson::stored(definition.0);
        Ok(Some(KeptDefinition { hash: DefinitionHash::from_stored(hash), definition }))
    };
    let pin = match kept(2, 3)? {
        Some(kept) => Some(StoredPin { kept, tokens: row.get(4)?, at_ms: row.get(5)? }),
        None => None,
    };
    Ok(StoredTool {
        server: ServerKey::new(row.get::<_, String>(0)?),
        target: row.get(9)?,
        tool: row.get(1)?,
        pin,
        waiting: kept(6, 7)?,
        gone_at_ms: row.get(8)?,
    })
}

fn write_tool(transaction: &Transaction<'_>, tool: &StoredTool) -> Result<(), StoreError> {
    if tool.pin.is_none() && tool.waiting.is_none() {
        transaction
            .prepare_cached("DELETE FROM gateway_definitions WHERE server = ?1 AND tool = ?2 AND target = ?3")?
            .execute(params![tool.server.as_str(), tool.tool, tool.target])?;
        return Ok(());
    }
    let (pin, waiting) = (tool.pin.as_ref(), tool.waiting.as_ref());
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO gateway_definitions
             (server, tool, hash, definition, tokens, pinned_at, offered_hash, offered, gone_at, target)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            tool.server.as_str(),
            tool.tool,
            pin.map(|pin| pin.kept.hash.as_str()),
            pin.map(|pin| payload(&pin.kept)).transpose()?,
            pin.map(|pin| pin.tokens),
            pin.map(|pin| pin.at_ms),
            waiting.map(|waiting| waiting.hash.as_str()),
            waiting.map(payload).transpose()?,
            tool.gone_at_ms,
            tool.target
        ])?;
    Ok(())
}

fn payload(kept: &KeptDefinition) -> Result<Payload, StoreError> {
    let unreadable = |problem: String| StoreError::Unreadable { what: "definition", problem };
    let json = std::str::from_utf8(kept.definition.bytes()).map_err(|error| unreadable(error.to_string()))?;
    Ok(Payload(json.to_owned()))
}
