//! Handlers for sessions: list them, show one, end one, roll one back.
//! They read the request, ask the engine, and leave every decision to it.

use axum::Json;
use axum::extract::State;
use infold_core::{ProjectHash, normalise_project_path};
use infold_engine::{EndSession, Restore, RollBack};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::branches::listed_as;
use crate::control::Control;
use crate::error::ApiError;
use crate::extract::{Body, Caller, Key, Name, Query};
use crate::page::{LIMIT_MAX, Page};
use crate::shapes::branch::{BranchSummary, RolledBack};
use crate::shapes::session::{SessionDetail, SessionEnded, SessionList, SessionSummary};

/// Query parameters of a list: which page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageQuery {
    /// How many entries to pass over; 0 if it is not given.
    pub(crate) offset: Option<u32>,
    /// At most how many entries; 50 if it is not given, and never more than 500.
    pub(crate) limit: Option<u32>,
}

/// Query parameters of the list of sessions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionsQuery {
    /// Sessions of this project only: an absolute path.
    project_path: Option<String>,
    /// How many entries to pass over; 0 if it is not given.
    offset: Option<u32>,
    /// At most how many entries; 50 if it is not given, and never more than 500.
    limit: Option<u32>,
}

/// Lists the caller's sessions, those with the newest activity first.
pub(crate) async fn list(
    State(control): State<Control>,
    Caller(who): Caller,
    Query(query): Query<SessionsQuery>,
) -> Result<Json<SessionList>, ApiError> {
    let page = Page::new(query.offset, query.limit)?;
    let path = query.project_path.as_deref().map(normalise_project_path).transpose()?;
    let project = path.as_deref().map(ProjectHash::of);
    let mut known = control.engine.listed_sessions(&who).await?;
    if project.is_some() {
        known.retain(|session| session.live.as_ref().is_some_and(|row| row.session.project == project));
    }
    let on_page = known.into_iter().skip(page.offset).take(page.fetch());
    let (known, next_offset) = page.cut(on_page.collect());
    let sessions = known.iter().map(|session| SessionSummary::new(session, &control.settings.room)).collect();
    Ok(Json(SessionList { sessions, offset: page.offset, limit: page.limit, next_offset }))
}

/// Shows a session in its current state, with its first branches.
pub(crate) async fn show(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(session): Name,
) -> Result<Json<SessionDetail<BranchSummary>>, ApiError> {
    let session = control.engine.resolve_session(&who, &session).await?;
    let (known, view) = control.engine.listed_session(&who, &session).await?;
    let memories = control.engine.session_memories(&who, &session).await?;
    let branches = listed_as(view.as_ref(), Page::new(None, Some(LIMIT_MAX))?, BranchSummary::new);
    Ok(Json(SessionDetail::new(&known, view.as_ref(), (&memories, &control.settings.room), branches)))
}

/// Query parameters of a request to end a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndQuery {
    /// Makes repeating the request safe; the header Idempotency-Key does the same.
    idempotency_key: Option<String>,
}

/// Ends a session; the engine folds its open branches first.
pub(crate) async fn end(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(session): Name,
    Query(query): Query<EndQuery>,
    key: Key,
) -> Result<Json<SessionEnded>, ApiError> {
    let session = control.session(&who, &session).await?;
    let request = EndSession { session, idempotency_key: key.or(query.idempotency_key)? };
    // A client can only cancel this request by disconnecting, and nobody is there to follow its progress.
    let ended = control.engine.end_session(&who, request, &CancellationToken::new(), |_| ()).await?;
    Ok(Json(ended.into()))
}

/// Body of a rollback.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RollbackRequest {
    /// The branch to go back to.
    branch_id: String,
    /// Whether it is done; if false, the answer only says what it would lead to. True if it is not given.
    restore_state: Option<bool>,
    /// Makes repeating the request safe; the header Idempotency-Key does the same.
    idempotency_key: Option<String>,
}

/// Rolls the session back to a branch, or says what a rollback would do.
pub(crate) async fn roll_back(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(session): Name,
    key: Key,
    Body(body): Body<RollbackRequest>,
) -> Result<Json<RolledBack>, ApiError> {
    let restore = if body.restore_state.unwrap_or(true) { Restore::Yes } else { Restore::No };
    let request = RollBack {
        session: control.session(&who, &session).await?,
        to: body.branch_id,
        restore,
        idempotency_key: key.or(body.idempotency_key)?,
    };
    let rolled_back = control.engine.roll_back(&who, request).await?;
    Ok(Json(RolledBack::new(&rolled_back, restore)))
}
