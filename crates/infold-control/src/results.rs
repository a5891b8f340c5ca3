//! Handlers for results: record one, and read part of an offloaded one.

mod portion;

use axum::Json;
use axum::extract::State;
use infold_engine::{ReadResult, RecordResult, SessionRef};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::control::Control;
use crate::error::ApiError;
use crate::extract::{Body, Caller, Key, Name, Query};
use crate::shapes::result::{ResultRead, ResultRecorded};

/// Bytes that a read returns if the request names no limit.
const LIMIT_DEFAULT_BYTES: u64 = 4_096;
/// The thread that reads if the request names none. The main thread sees everything.
const READER_DEFAULT: &str = "main";

/// Body of a request to record a tool's result.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordRequest {
    /// The tool, in at most 128 characters.
    tool_name: String,
    /// The whole result; secrets are taken out of it.
    content: String,
    /// What the tool was called with, of any form.
    arguments: Option<Value>,
    /// The client's id for the call.
    call_id: Option<String>,
    /// The branch it was seen in, or `main`; the session's active thread if it is not given.
    branch_id: Option<String>,
    /// Makes repeating the request safe; the header Idempotency-Key does the same.
    idempotency_key: Option<String>,
}

/// Takes in the result of a tool that infold did not run.
pub(crate) async fn record(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(session): Name,
    key: Key,
    Body(body): Body<RecordRequest>,
) -> Result<Json<ResultRecorded>, ApiError> {
    let request = RecordResult {
        session: SessionRef::by_id(&session)?,
        thread: body.branch_id,
        tool_name: body.tool_name,
        call_id: body.call_id,
        arguments: body.arguments.map(|arguments| arguments.to_string()).unwrap_or_default(),
        content: body.content,
        idempotency_key: key.or(body.idempotency_key)?,
    };
    Ok(Json(control.engine.record_result(&who, request).await?.into()))
}

/// Query parameters of a read: bytes from an offset on, lines, or lines that match.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadQuery {
    /// The byte to begin at; 0 if it is not given.
    offset: Option<u64>,
    /// At most how many bytes; 4096 if it is not given.
    limit: Option<u64>,
    /// Instead of an offset: lines, counted from 1, as in `10-20`, `10-` or `10`. With a pattern: the
    /// line to begin at, as in `10-`.
    lines: Option<String>,
    /// Instead of an offset: a regular expression; lines that match it are given.
    pattern: Option<String>,
    /// How many lines to give around each that matches; 0 if it is not given.
    context: Option<u64>,
    /// The branch that reads, which sees its own results and those below it; `main`, which sees all,
    /// if it is not given.
    branch_id: Option<String>,
}

/// Reads part of an offloaded result.
pub(crate) async fn read(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(ref_id): Name,
    Query(query): Query<ReadQuery>,
) -> Result<Json<ResultRead>, ApiError> {
    let request = ReadResult {
        ref_id,
        portion: portion::read(&query)?,
        limit_bytes: portion::size(query.limit.unwrap_or(LIMIT_DEFAULT_BYTES)),
        thread: Some(query.branch_id.unwrap_or_else(|| READER_DEFAULT.to_owned())),
    };
    Ok(Json(control.engine.read_result(&who, &request).await?.into()))
}
