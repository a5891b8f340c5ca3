//! Handlers for forks: start a session from another's transcript, and show what a fork began with.
//! `infold_wire` reads transcripts, and the engine makes the fork.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use infold_core::fork::Profile;
use infold_core::transcript::Item;
use infold_core::{SessionId, strip_controls};
use infold_engine::{ForkSession, ForkSource, SessionRef};
use infold_wire::{Format, read_handed_in};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::control::Control;
use crate::error::ApiError;
use crate::extract::{Caller, ForkPlace, Key, LongBody, Name};
use crate::shapes::fork::SessionForked;

/// The thread whose view is forked if the request names none. The main thread sees everything.
const VIEW_DEFAULT: &str = "main";
/// Most characters of a transcript reader's error message that are passed on.
const WORDS_CHARS_MAX: usize = 300;

/// Body of a fork: what to fork, and what for. Either a session of this infold or a transcript is needed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkRequest {
    /// The session to fork. With a transcript it only says where the transcript comes from, and may be
    /// another program's name for the session.
    parent_session_id: Option<String>,
    /// The thread whose view of the session is forked: a branch's id, or `main`; `main` if it is not given.
    branch_id: Option<String>,
    /// The transcript in the client's own form: a list of messages or lines, an exported session, or the
    /// text of a file.
    #[serde(default)]
    #[schemars(schema_with = "transcript_schema")]
    transcript: Option<Box<RawValue>>,
    /// The form of the transcript: claude-code, codex, opencode, infold, anthropic, openai or
    /// normalized. It is detected if it is not given.
    format: Option<String>,
    /// What the child is asked to do.
    prompt: Option<String>,
    /// Which parts of the transcript are kept, seed (by age) or recall (by likely use); as settings say
    /// if it is not given.
    profile: Option<String>,
    /// The new session's id; one is made if it is not given.
    session_id: Option<String>,
    /// Makes repeating the request safe; the header Idempotency-Key does the same.
    idempotency_key: Option<String>,
}

fn transcript_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["array", "object", "string", "null"] })
}

/// Starts a session from another's transcript, and answers with what the new session begins with.
pub(crate) async fn fork(
    State(control): State<Control>,
    Caller(who): Caller,
    key: Key,
    _place: ForkPlace,
    LongBody(body): LongBody<ForkRequest>,
) -> Result<(StatusCode, Json<SessionForked>), ApiError> {
    let request = ForkSession {
        prompt: body.prompt.clone(),
        profile: body.profile.as_deref().map(profile).transpose()?,
        child: body.session_id.as_deref().map(|id| session_id("session_id", id)).transpose()?,
        idempotency_key: key.or(body.idempotency_key.clone())?,
        source: source(body).await?,
    };
    let forked = control.engine.fork(&who, request).await?;
    // The answer shows what was stored, so that a repeated request gets the same.
    let view = control.engine.fork_view(&who, &SessionRef::Id(forked.session_id)).await?;
    Ok((StatusCode::CREATED, Json(view.into())))
}

/// What to fork from. With a transcript, the parent is only a name and need not be a session of ours.
async fn source(body: ForkRequest) -> Result<ForkSource, ApiError> {
    let parent = body.parent_session_id.as_deref().map(|id| session_id("parent_session_id", id)).transpose()?;
    let format = body.format.as_deref().map(format).transpose()?;
    match (body.transcript, parent) {
        (Some(_), _) if body.branch_id.is_some() => {
            Err(ApiError::invalid("branch_id", "goes with a session that is kept here: leave it or transcript out"))
        }
        (Some(transcript), parent) => {
            let items = read(transcript, format).await?;
            Ok(ForkSource::Transcript { items, parent: parent.map(SessionRef::Id) })
        }
        (None, _) if format.is_some() => {
            Err(ApiError::invalid("format", "goes with a transcript: send one, or leave format out"))
        }
        (None, Some(parent)) => {
            let thread = Some(body.branch_id.unwrap_or_else(|| VIEW_DEFAULT.to_owned()));
            Ok(ForkSource::Session { session: SessionRef::Id(parent), thread })
        }
        (None, None) => {
            let problem = "or transcript is required: name a session, or send what was said";
            Err(ApiError::invalid("parent_session_id", problem))
        }
    }
}

/// Reads a transcript on a blocking thread, because a long one takes a while.
async fn read(transcript: Box<RawValue>, format: Option<Format>) -> Result<Vec<Item>, ApiError> {
    let reading = tokio::task::spawn_blocking(move || read_handed_in(transcript.get(), format));
    match reading.await {
        Ok(Ok(items)) => Ok(items),
        Ok(Err(refused)) => Err(ApiError::invalid("transcript", &shown_whole(&refused.to_string()))),
        Err(_) => Err(ApiError::invalid("transcript", "is more than can be made sense of: please report this")),
    }
}

/// A transcript reader's error message, on one line and bounded.
fn shown_whole(words: &str) -> String {
    strip_controls(words).replace(['\n', '\t'], " ").chars().take(WORDS_CHARS_MAX).collect()
}

fn session_id(field: &str, text: &str) -> Result<SessionId, ApiError> {
    let problem = "must be 1 to 128 characters, each one of A-Z a-z 0-9 . _ : -";
    SessionId::parse(text).map_err(|_| ApiError::invalid(field, problem))
}

fn profile(name: &str) -> Result<Profile, ApiError> {
    name.parse().map_err(|_| ApiError::invalid("profile", "must be seed or recall"))
}

fn format(name: &str) -> Result<Format, ApiError> {
    let names = Format::ALL.map(Format::name).join(", ");
    name.parse().map_err(|_| ApiError::invalid("format", &format!("must be one of {names}")))
}

/// Shows what a forked session began with.
pub(crate) async fn show(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(session): Name,
) -> Result<Json<SessionForked>, ApiError> {
    Ok(Json(control.engine.fork_view(&who, &control.session(&who, &session).await?).await?.into()))
}
