//! Handlers for snapshots: the messages from which a session is resumed after its agent has compacted it.

use axum::Json;
use axum::extract::State;
use infold_engine::SessionRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::control::Control;
use crate::error::ApiError;
use crate::extract::{Body, Caller, Name};

/// Body of a request to store a snapshot.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SnapshotRequest {
    /// The messages, in whatever form the agent has them.
    messages: Vec<Value>,
}

/// What a session is resumed from.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionSnapshot {
    /// The messages with secrets removed; null if none were ever stored.
    messages: Option<Vec<Value>>,
    /// How many tokens the messages have.
    token_count: u64,
}

impl From<infold_engine::Snapshot> for SessionSnapshot {
    fn from(snapshot: infold_engine::Snapshot) -> Self {
        Self { messages: serde_json::from_str(&snapshot.messages).ok(), token_count: snapshot.token_count }
    }
}

/// Stores the messages that a session is to be resumed from, in place of earlier ones.
pub(crate) async fn save(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(session): Name,
    Body(body): Body<SnapshotRequest>,
) -> Result<Json<SessionSnapshot>, ApiError> {
    let snapshot = control.engine.save_snapshot(&who, &SessionRef::by_id(&session)?, &body.messages).await?;
    Ok(Json(snapshot.into()))
}

/// Shows what a session is to be resumed from.
pub(crate) async fn show(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(session): Name,
) -> Result<Json<SessionSnapshot>, ApiError> {
    let snapshot = control.engine.snapshot(&who, &control.session(&who, &session).await?).await?;
    let none = SessionSnapshot { messages: None, token_count: 0 };
    Ok(Json(snapshot.map_or(none, SessionSnapshot::from)))
}
