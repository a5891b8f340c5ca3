//! The sessions of infold's agent, as a face lists them.

use infold_agent::points::person_words;
use infold_agent::record::SessionRecord;
use infold_agent::session::live;
use infold_core::{Principal, SessionId};
use infold_engine::Engine;

use super::started::records;
use crate::parts::command_error;
use crate::recognised::short_ids;

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedAgentSession {
    /// Its id.
    pub id: SessionId,
    /// As much of it as has to be typed.
    pub short_id: String,
    /// The folder that it works in.
    pub folder: String,
    /// What was said first in it.
    pub first_words: String,
    /// When something last happened in it.
    pub last_at_ms: u64,
}

/// The latest sessions, the newest first.
pub async fn agent_sessions(engine: &Engine, limit: usize) -> anyhow::Result<Vec<ListedAgentSession>> {
    let who = Principal::local();
    let logs = engine.agent_logs(&who).await.map_err(command_error)?;
    let mut short = short_ids(&engine.listed_sessions(&who).await.map_err(command_error)?);
    let mut sessions = Vec::new();
    for log in logs.into_iter().take(limit) {
        let folder = match serde_json::from_str(&log.first) {
            Ok(SessionRecord::Began(beginning)) => beginning.folder,
            Ok(_) | Err(_) => String::new(),
        };
        let rows = engine.agent_log(&who, &log.session, 0).await.map_err(command_error)?;
        let said = live(records(rows)?).into_iter().find_map(|(_, record)| match record {
            SessionRecord::Said { entries, .. } => person_words(&entries),
            _ => None,
        });
        let short_id = short.remove(&log.session).unwrap_or_else(|| log.session.to_string());
        sessions.push(ListedAgentSession {
            id: log.session,
            short_id,
            folder,
            first_words: said.unwrap_or_default(),
            last_at_ms: log.last_at_ms,
        });
    }
    Ok(sessions)
}
