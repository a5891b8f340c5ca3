//! Snapshots: what a session is resumed from after its agent has compacted it.

use axum::Json;
use axum::extract::State;
use infold_engine::SessionRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::control::Control;
use crate::error::ApiError;
use crate::extract::{Body, Caller, Name};

/// Messages to resume a session from.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SnapshotRequest {
    /// The messages, of any form.
    messages: Vec<Value>,
}

/// What a session is resumed from.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionSnapshot {
    /// The messages, scrubbed; null if none were ever kept.
    messages: Option<Vec<Value>>,
    /// Their tokens.
    token_count: u64,
}

impl From<infold_engine::Snapshot> for SessionSnapshot {
    fn from(snapshot: infold_engine::Snapshot) -> Self {
        Self { messages: serde_json::from_str(&snapshot.messages).ok(), token_count: snapshot.token_count }
    }
}

/// Keeps the messages that a session is to be resumed from, in place of those before.
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
