//! Handlers for the recorded requests to models: what each consisted of, what was edited, what it cost, and why
//! the cache missed.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use infold_core::record::RequestTotals;
use infold_engine::{RequestQuery, RequestSelection};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::control::Control;
use crate::error::{ApiError, shown};
use crate::extract::{Caller, Name, Query};
use crate::page::Page;
use crate::shapes::request::{RequestDetail, RequestList, RequestSums};

/// Query parameters of the list of requests.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequestsQuery {
    /// Requests of this session only.
    session_id: Option<String>,
    /// Requests after the one with this id; the newest if it is not given.
    after: Option<u64>,
    /// At most how many requests; 50 if it is not given, and never more than 500.
    limit: Option<u32>,
}

/// Lists the caller's requests, oldest first, with the totals of all of them.
pub(crate) async fn list(
    State(control): State<Control>,
    Caller(who): Caller,
    Query(query): Query<RequestsQuery>,
) -> Result<Json<RequestList>, ApiError> {
    let page = Page::new(None, query.limit)?;
    let session = control.session_in(&who, query.session_id.as_deref()).await?;
    let selection = query.after.map_or(RequestSelection::Newest, after);

    let wanted = RequestQuery { session: session.clone(), selection, limit: page.limit };
    let rows = control.engine.requests(&who, wanted).await?;
    let mut sums = RequestTotals::default();
    for (_, of_session) in control.engine.request_totals(&who, session).await? {
        sums.merge(&of_session);
    }

    let next_after = rows.last().map(|row| row.id).or(query.after);
    let requests = rows.iter().map(RequestDetail::from).collect();
    Ok(Json(RequestList { requests, limit: page.limit, next_after, request_totals: RequestSums::from(&sums) }))
}

/// Shows one request by its number.
pub(crate) async fn show(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(id): Name,
) -> Result<Json<RequestDetail>, ApiError> {
    let found = match id.parse() {
        Ok(id) => control.engine.request(&who, id).await?,
        Err(_) => None,
    };
    let absent = || {
        let message = format!("request {:?} not found: GET /api/v1/requests lists those there are", shown(&id));
        ApiError::new(StatusCode::NOT_FOUND, "request_not_found", message).with("request_id", shown(&id))
    };
    found.as_ref().map(|row| Json(row.into())).ok_or_else(absent)
}

/// Selects the requests after `id`, cut to the largest id that the store can hold.
fn after(id: u64) -> RequestSelection {
    RequestSelection::After(id.min(i64::MAX as u64))
}
