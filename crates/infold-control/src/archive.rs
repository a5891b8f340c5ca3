//! Handlers for the archive, which holds ended branches, also those of sessions whose live state is gone.
//! The engine finds them; `shapes::archive` says how they look as JSON.

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::control::Control;
use crate::error::ApiError;
use crate::extract::{Caller, Name, Query};
use crate::moment::Moment;
use crate::page::Page;
use crate::shapes::archive::{ArchiveList, Trajectory, TrajectoryStep};
use crate::shapes::branch::{BranchDetail, BranchSummary};

/// Query parameters of the list of ended branches.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArchiveQuery {
    /// Branches of this session only.
    session_id: Option<String>,
    /// How many entries to pass over; 0 if it is not given.
    offset: Option<u32>,
    /// At most how many entries; 50 if it is not given, and never more than 500.
    limit: Option<u32>,
}

/// Lists the caller's ended branches.
pub(crate) async fn list(
    State(control): State<Control>,
    Caller(who): Caller,
    Query(query): Query<ArchiveQuery>,
) -> Result<Json<ArchiveList>, ApiError> {
    let page = Page::new(query.offset, query.limit)?;
    let session = control.session_in(&who, query.session_id.as_deref()).await?.map(String::from);
    let (rows, next_offset) = page.cut(control.engine.archive(&who, session, page.offset, page.fetch()).await?);
    let branches = rows.iter().map(|row| BranchSummary::new(&row.session, &row.branch)).collect();
    Ok(Json(ArchiveList { branches, offset: page.offset, limit: page.limit, next_offset }))
}

/// Query parameters of one ended branch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrajectoryQuery {
    /// Which opening of the branch, counted from 1; the latest that has ended if it is not given.
    generation: Option<u32>,
}

/// Shows an ended branch with everything that happened in it.
pub(crate) async fn show(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(branch): Name,
    Query(query): Query<TrajectoryQuery>,
) -> Result<Json<Trajectory>, ApiError> {
    let found = control.engine.trajectory(&who, &branch, query.generation).await?;
    let steps =
        found.steps.iter().map(|step| TrajectoryStep { at: Moment(step.at_ms), event: (&step.event).into() }).collect();
    let branch = BranchDetail::new(&found.archived.session, &found.archived.branch);
    Ok(Json(Trajectory { branch, steps }))
}
