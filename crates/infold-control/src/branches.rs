//! Handlers for branches: list a session's branches, open one, show one, return from one.
//! They read the request, ask the engine, and leave every decision to it.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::LOCATION;
use infold_core::{Branch, Field, Principal, Refusal, ReturnOutcome, Start};
use infold_engine::{BranchRef, Extraction, FoldBranch, MemoryWish, OpenBranch, SessionRef, SessionView, Teaching};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::control::Control;
use crate::error::{ApiError, shown};
use crate::extract::{Body, Caller, Key, Name, Query};
use crate::page::Page;
use crate::sessions::PageQuery;
use crate::shapes::branch::{BranchDetail, BranchList, BranchOpened, BranchReturned, BranchSummary, IsolationShape};
use crate::shapes::lesson::LessonBody;

/// The thread that this API reads as. People may see everything, and the main thread does.
const READER: &str = "main";

/// Lists a session's branches.
pub(crate) async fn list(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(session): Name,
    Query(query): Query<PageQuery>,
) -> Result<Json<BranchList>, ApiError> {
    let page = Page::new(query.offset, query.limit)?;
    let view = control.engine.session_with_branches(&who, &control.session(&who, &session).await?).await?;
    Ok(Json(listed(&view, page)))
}

/// One page of a session's branches, at a glance.
pub(crate) fn listed(view: &SessionView, page: Page) -> BranchList {
    listed_as(Some(view), page, BranchSummary::new)
}

/// One page of a session's branches, each made into JSON by `shape`. A session without live state (`None`) has no
/// branches to list.
pub(crate) fn listed_as<B>(view: Option<&SessionView>, page: Page, shape: fn(&str, &Branch) -> B) -> BranchList<B> {
    let all = view.map(SessionView::branches).unwrap_or_default();
    let id = view.map_or("", |view| view.session.id.as_str());
    let open = all.iter().filter(|branch| branch.is_open()).count();
    let discarded = all.iter().filter(|branch| branch.discarded).count();
    let on_page = all.iter().skip(page.offset).take(page.fetch());
    let (branches, next_offset) = page.cut(on_page.map(|branch| shape(id, branch)).collect());
    BranchList {
        branches,
        total_branches: all.len(),
        active_branches: open,
        folded_branches: all.len().saturating_sub(open + discarded),
        discarded_branches: discarded,
        offset: page.offset,
        limit: page.limit,
        next_offset,
    }
}

/// Body of a request to open a branch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenRequest {
    /// What it is for, in at most 500 characters.
    description: String,
    /// What it is asked to do, in at most 10,000 characters.
    prompt: Option<String>,
    /// Tokens it may use; a wish over the maximum is capped, and the answer says so.
    budget: Option<u64>,
    /// How long it may take; a wish over the maximum is capped, and the answer says so.
    timeout_seconds: Option<u64>,
    /// What its thread begins with; as the settings say if it is not given.
    isolation: Option<IsolationShape>,
    /// Whether it is given memories of earlier work. True if it is not given.
    inject_memories: Option<bool>,
    /// The branch to open it under, or `main`; the session's active thread if it is not given.
    parent_branch_id: Option<String>,
    /// The project that the session belongs to: an absolute path.
    project_path: Option<String>,
    /// The session, where the path of the request does not name it. Without one the branch is opened in the project's
    /// current session.
    session_id: Option<String>,
    /// Makes repeating the request safe; the header Idempotency-Key does the same.
    idempotency_key: Option<String>,
}

/// Opens a branch in a project's current session, or in one that is named.
pub(crate) async fn open_in_project(
    State(control): State<Control>,
    Caller(who): Caller,
    key: Key,
    Body(body): Body<OpenRequest>,
) -> Result<Response, ApiError> {
    let session = match (&body.project_path, &body.session_id) {
        (Some(path), session) => SessionRef::by_project(path, session.as_deref())?,
        (None, Some(session)) => SessionRef::by_id(session)?,
        (None, None) => {
            let problem = "or session_id is required: name the project or the session";
            return Err(ApiError::invalid("project_path", problem));
        }
    };
    opened(&control, &who, session, key, body).await
}

/// Opens a branch, and with it the session if that is new. The session's id must be given in full: a new session may
/// have any id, so here the first characters of an id are not an abbreviation of a longer one.
pub(crate) async fn open(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(session): Name,
    key: Key,
    Body(body): Body<OpenRequest>,
) -> Result<Response, ApiError> {
    if body.session_id.as_ref().is_some_and(|named| *named != session) {
        return Err(ApiError::invalid("session_id", "differs from the session in the path: leave it out"));
    }
    let session = match &body.project_path {
        Some(path) => SessionRef::by_project(path, Some(&session))?,
        None => SessionRef::by_id(&session)?,
    };
    opened(&control, &who, session, key, body).await
}

async fn opened(
    control: &Control,
    who: &Principal,
    session: SessionRef,
    key: Key,
    body: OpenRequest,
) -> Result<Response, ApiError> {
    let request = OpenBranch {
        session,
        parent: body.parent_branch_id,
        description: body.description,
        description_field: Field::BRANCH_DESCRIPTION,
        prompt: body.prompt,
        budget_tokens: body.budget,
        timeout_s: body.timeout_seconds,
        isolation: body.isolation.map(Into::into),
        memories: if body.inject_memories == Some(false) { MemoryWish::Nothing } else { MemoryWish::Fitting },
        folder: None,
        start: Start::AtOnce,
        idempotency_key: key.or(body.idempotency_key)?,
    };
    let opened = control.engine.open_branch(who, request).await?;
    let location = format!("/api/v1/branches/{}", opened.branch_id);
    Ok((StatusCode::CREATED, [(LOCATION, location)], Json(BranchOpened::from(opened))).into_response())
}

/// Shows a branch in its current state.
pub(crate) async fn show(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(branch): Name,
) -> Result<Json<BranchDetail>, ApiError> {
    let absent = || Refusal::BranchNotFound { branch: shown(&branch) };
    let found =
        control.engine.branch(&who, &BranchRef::Id { branch: branch.clone(), session: None }, Some(READER)).await?;
    let view = found.ok_or_else(absent)?;
    Ok(Json(BranchDetail::new(view.session_id.as_str(), &view.branch)))
}

/// Shows the active branch of a session.
pub(crate) async fn active(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(session): Name,
) -> Result<Json<BranchDetail>, ApiError> {
    let session = control.engine.resolve_session(&who, &session).await?;
    let active = BranchRef::Active(SessionRef::Id(session.clone()));
    let found = control.engine.branch(&who, &active, Some(READER)).await?;
    let Some(view) = found else {
        // An unknown session is refused as unknown here, and not as a session without an active branch.
        control.engine.session(&who, &SessionRef::Id(session.clone())).await?;
        return Err(Refusal::NothingActive { session }.into());
    };
    Ok(Json(BranchDetail::new(view.session_id.as_str(), &view.branch)))
}

/// Body of a return that names the session, and perhaps the branch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReturnInSession {
    /// The branch; the one that works now if it is not given.
    branch_id: Option<String>,
    /// The message, in at most 50,000 characters; secrets are removed from it.
    message: String,
    /// Whether the branch could not do what it was asked. False if it is not given.
    failed: Option<bool>,
    /// What its agent has learnt that would help or mislead others later.
    #[serde(default)]
    lessons: Vec<LessonBody>,
    /// The memories that it relied on.
    #[serde(default)]
    memories_used: Vec<String>,
    /// Whether something is learnt from the branch if there are no lessons. True if it is not given.
    extract_memory: Option<bool>,
    /// Makes repeating the request safe; the header Idempotency-Key does the same.
    idempotency_key: Option<String>,
}

fn teaching(lessons: Vec<LessonBody>, memories_used: Vec<String>, extract_memory: Option<bool>) -> Teaching {
    Teaching {
        lessons: lessons.into_iter().map(Into::into).collect(),
        memories_used,
        extraction: if extract_memory == Some(false) { Extraction::Unwanted } else { Extraction::Wished },
    }
}

/// Ends a branch of a session and hands its message to its parent.
pub(crate) async fn fold_in_session(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(session): Name,
    key: Key,
    Body(body): Body<ReturnInSession>,
) -> Result<Json<BranchReturned>, ApiError> {
    let session = control.session(&who, &session).await?;
    let request = FoldBranch {
        branch: match body.branch_id {
            Some(branch) => BranchRef::Id { branch, session: Some(session) },
            None => BranchRef::Active(session),
        },
        message: body.message,
        outcome: if body.failed.unwrap_or(false) { ReturnOutcome::Failed } else { ReturnOutcome::Completed },
        teaching: teaching(body.lessons, body.memories_used, body.extract_memory),
        idempotency_key: key.or(body.idempotency_key)?,
    };
    Ok(Json(control.engine.fold_branch(&who, request).await?.into()))
}

/// Body of a return where the path names the branch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReturnRequest {
    /// The message, in at most 50,000 characters; secrets are removed from it.
    message: String,
    /// Whether the branch could not do what it was asked. False if it is not given.
    failed: Option<bool>,
    /// What its agent has learnt that would help or mislead others later.
    #[serde(default)]
    lessons: Vec<LessonBody>,
    /// The memories that it relied on.
    #[serde(default)]
    memories_used: Vec<String>,
    /// Whether something is learnt from the branch if there are no lessons. True if it is not given.
    extract_memory: Option<bool>,
    /// Makes repeating the request safe; the header Idempotency-Key does the same.
    idempotency_key: Option<String>,
}

/// Ends a branch and hands its message to its parent.
pub(crate) async fn fold(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(branch): Name,
    key: Key,
    Body(body): Body<ReturnRequest>,
) -> Result<Json<BranchReturned>, ApiError> {
    let request = FoldBranch {
        branch: BranchRef::Id { branch, session: None },
        message: body.message,
        outcome: if body.failed.unwrap_or(false) { ReturnOutcome::Failed } else { ReturnOutcome::Completed },
        teaching: teaching(body.lessons, body.memories_used, body.extract_memory),
        idempotency_key: key.or(body.idempotency_key)?,
    };
    Ok(Json(control.engine.fold_branch(&who, request).await?.into()))
}
