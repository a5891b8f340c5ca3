//! Handlers for memories: list, show, write, change, judge, forget, take along, and say why a branch was given some.

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use infold_core::Refusal;
use infold_core::memory::{BeliefMove, LessonDraft, MemoryId, MemoryKind};
use infold_engine::{
    AddMemory, EXPORT_TYPE, EditMemory, ForgetMode, ImportMemories, ImportMode, ListMemories, MemoryReview, Silence,
    StateFilter,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::control::Control;
use crate::error::{ApiError, shown};
use crate::extract::{Body, Caller, LongBody, Name, Query};
use crate::page::Page;
use crate::shapes::memory::{
    BranchMemories, ChangeUndone, ImportDone, MemoriesForgotten, MemoryChanges, MemoryJudged, MemoryList, MemoryMade,
    MemoryProjects, MemoryWhole, MemoryWords, SilenceState, rounded,
};

/// Query parameters of the list of memories.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MemoriesQuery {
    /// Only memories that have to do with this text, the best first.
    query: Option<String>,
    /// Only memories that count in this project: an absolute path, or a project's key.
    project: Option<String>,
    /// Only memories of a kind: works, fails, fact or preference.
    kind: Option<String>,
    /// Only memories of a state: live or waiting.
    state: Option<String>,
    /// Whether to say why each was found and whether a branch would be given it; needs query. False if it is not given.
    explain: Option<bool>,
    /// How many entries to pass over; 0 if it is not given.
    offset: Option<u32>,
    /// At most how many entries; 50 if it is not given, and never more than 500.
    limit: Option<u32>,
}

/// Lists memories.
pub(crate) async fn list(
    State(control): State<Control>,
    Caller(who): Caller,
    Query(query): Query<MemoriesQuery>,
) -> Result<Json<MemoryList>, ApiError> {
    let page = Page::new(query.offset, query.limit)?;
    let request = ListMemories {
        project: query.project,
        kind: query.kind.as_deref().map(kind).transpose()?,
        state: query.state.as_deref().map(state).transpose()?,
        explain: query.explain.unwrap_or(false),
        query: query.query,
        offset: page.offset,
        limit: page.fetch(),
    };
    let found = control.engine.list_memories(&who, &request).await?;
    let has_more = found.memories.len() > page.limit;
    let next_offset = has_more.then_some(page.offset + page.limit);
    Ok(Json(MemoryList::new(&found, page.offset, page.limit, next_offset)))
}

/// Body of a request to add a memory.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddRequest {
    /// The lesson in a line, up to 120 characters.
    title: String,
    /// The lesson in a few sentences, up to 1,200 characters.
    lesson: String,
    /// What it tells its reader: works, fails, fact or preference; fact if it is not given.
    kind: Option<String>,
    /// The project that it counts in: an absolute path, or a project's key; everywhere if it is not given.
    project: Option<String>,
    /// The memory whose place it takes.
    replaces: Option<String>,
}

/// Adds a memory that a person wrote.
pub(crate) async fn add(
    State(control): State<Control>,
    Caller(who): Caller,
    Body(body): Body<AddRequest>,
) -> Result<(StatusCode, Json<MemoryMade>), ApiError> {
    let kind = body.kind.as_deref().map(kind).transpose()?;
    let draft = LessonDraft { title: body.title, lesson: body.lesson, kind };
    let request = AddMemory { draft, project: body.project, replaces: body.replaces };
    let added = control.engine.add_memory(&who, request).await?;
    let made = MemoryMade { words: MemoryWords::from(&added.memory), change: added.change, said_by: added.said_by };
    Ok((StatusCode::CREATED, Json(made)))
}

/// Shows a memory.
pub(crate) async fn show(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(memory): Name,
) -> Result<Json<MemoryWhole>, ApiError> {
    Ok(Json(MemoryWhole::from(&control.engine.show_memory(&who, &memory).await?)))
}

/// Body of a change of a memory. What is not given stays.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditRequest {
    /// The lesson in a line.
    title: Option<String>,
    /// The lesson in a few sentences.
    lesson: Option<String>,
    /// What it tells its reader: works, fails, fact or preference.
    kind: Option<String>,
    /// The project that it counts in: an absolute path, or a project's key; an empty text means everywhere.
    project: Option<String>,
}

/// Changes a memory.
pub(crate) async fn edit(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(memory): Name,
    Body(body): Body<EditRequest>,
) -> Result<Json<MemoryWords>, ApiError> {
    let kind = body.kind.as_deref().map(kind).transpose()?;
    let edit = EditMemory { title: body.title, lesson: body.lesson, kind, project: body.project };
    Ok(Json(MemoryWords::from(&control.engine.edit_memory(&who, &memory, edit).await?)))
}

/// Forgets a memory.
pub(crate) async fn forget_one(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(memory): Name,
) -> Result<Json<MemoriesForgotten>, ApiError> {
    let report = control.engine.forget_memories(&who, &[memory], ForgetMode::Forget).await?;
    Ok(Json(MemoriesForgotten::from(&report)))
}

/// Body of a judgement.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeedbackRequest {
    /// Whether the memory was helpful.
    helpful: bool,
}

/// Moves what is believed of a memory.
pub(crate) async fn judge(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(memory): Name,
    Body(body): Body<FeedbackRequest>,
) -> Result<Json<MemoryJudged>, ApiError> {
    let by = if body.helpful { BeliefMove::Helpful } else { BeliefMove::Unhelpful };
    let id = MemoryId::parse(&memory).ok_or_else(|| Refusal::MemoryNotFound { memory: shown(&memory) })?;
    let confidence = control.engine.move_belief(&who, &id, by).await?;
    Ok(Json(MemoryJudged { memory_id: id.to_string(), confidence: rounded(confidence) }))
}

/// Body of a review.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReviewRequest {
    /// Whether the memory may be shown; if false, it is rejected.
    accept: bool,
}

/// Accepts or rejects a memory.
pub(crate) async fn review(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(memory): Name,
    Body(body): Body<ReviewRequest>,
) -> Result<Json<MemoryWords>, ApiError> {
    let review = if body.accept { MemoryReview::Accept } else { MemoryReview::Reject };
    Ok(Json(MemoryWords::from(&control.engine.review_memory(&who, &memory, review).await?)))
}

/// Body of a request to forget.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForgetRequest {
    /// The memories to forget.
    memories: Option<Vec<String>>,
    /// Where those to forget come from: session:, branch:, import:, tool:, host: or project: and a name, or hand.
    from: Option<String>,
    /// Whether the answer only says what would go. False if it is not given.
    dry_run: Option<bool>,
}

/// Forgets memories by name or by where they come from.
pub(crate) async fn forget(
    State(control): State<Control>,
    Caller(who): Caller,
    Body(body): Body<ForgetRequest>,
) -> Result<Json<MemoriesForgotten>, ApiError> {
    let mode = if body.dry_run.unwrap_or(false) { ForgetMode::Preview } else { ForgetMode::Forget };
    let report = match (body.memories, body.from) {
        (Some(memories), None) => control.engine.forget_memories(&who, &memories, mode).await?,
        (None, Some(from)) => control.engine.forget_source(&who, &from, mode).await?,
        (Some(_), Some(_)) | (None, None) => {
            return Err(ApiError::invalid("memories", "or from must be given, and not both"));
        }
    };
    Ok(Json(MemoriesForgotten::from(&report)))
}

/// Body of an import.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImportRequest {
    /// The file: one JSON object a line, each with title and lesson; up to 10,000 lines and 16 MiB.
    lines: String,
    /// What the import is called; all of it can be forgotten by that name.
    name: String,
    /// The project that the memories count in: an absolute path, or a project's key; everywhere if it is not given.
    project: Option<String>,
    /// Whether the lines are only checked. False if it is not given.
    dry_run: Option<bool>,
}

/// Imports memories, all or none.
pub(crate) async fn import(
    State(control): State<Control>,
    Caller(who): Caller,
    LongBody(body): LongBody<ImportRequest>,
) -> Result<Json<ImportDone>, ApiError> {
    let mode = if body.dry_run.unwrap_or(false) { ImportMode::DryRun } else { ImportMode::Keep };
    let request = ImportMemories { lines: body.lines.into_bytes(), name: body.name, project: body.project, mode };
    let done = control.engine.import_memories(&who, request).await?;
    Ok(Json(ImportDone { lines: done.lines, made: done.made, change: done.change }))
}

/// Query parameters of an export.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportQuery {
    /// Only memories that count in this project: an absolute path, or a project's key.
    project: Option<String>,
}

/// Exports the memories that are in use.
pub(crate) async fn export(
    State(control): State<Control>,
    Caller(who): Caller,
    Query(query): Query<ExportQuery>,
) -> Result<impl IntoResponse, ApiError> {
    let lines = control.engine.export_memories(&who, query.project.as_deref()).await?;
    Ok(([(CONTENT_TYPE, EXPORT_TYPE)], lines))
}

/// Lists changes of memories.
pub(crate) async fn changes(
    State(control): State<Control>,
    Caller(who): Caller,
) -> Result<Json<MemoryChanges>, ApiError> {
    let changes = control.engine.memory_changes(&who).await?;
    Ok(Json(MemoryChanges { changes: changes.iter().map(Into::into).collect() }))
}

/// Body of a request to undo a change.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UndoRequest {
    /// The change's number; the newest change that can be undone if it is not given.
    change: Option<u32>,
}

/// Undoes a change of memories.
pub(crate) async fn undo(
    State(control): State<Control>,
    Caller(who): Caller,
    Body(body): Body<UndoRequest>,
) -> Result<Json<ChangeUndone>, ApiError> {
    let (change, what, memories) = control.engine.undo_memories(&who, body.change.map(i64::from)).await?;
    Ok(Json(ChangeUndone { change, what, memories: memories.iter().map(MemoryId::to_string).collect() }))
}

/// Lists projects that have memories, and what is left alone.
pub(crate) async fn projects(
    State(control): State<Control>,
    Caller(who): Caller,
) -> Result<Json<MemoryProjects>, ApiError> {
    let projects = control.engine.memory_projects(&who).await?;
    let silenced = control.engine.silenced(&who).await?;
    Ok(Json(MemoryProjects { projects: projects.iter().map(Into::into).collect(), silenced }))
}

/// Body of a request to leave something alone.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SilenceRequest {
    /// What: session: or project: and a name.
    scope: String,
    /// Whether nothing is learnt from it and nothing is shown to it.
    silent: bool,
}

/// Leaves a session or a project alone, or no longer.
pub(crate) async fn silence(
    State(control): State<Control>,
    Caller(who): Caller,
    Body(body): Body<SilenceRequest>,
) -> Result<Json<SilenceState>, ApiError> {
    let silence = if body.silent { Silence::On } else { Silence::Off };
    let scope = control.engine.silence(&who, &body.scope, silence).await?;
    Ok(Json(SilenceState { scope: scope.to_string(), silent: body.silent }))
}

/// Says which memories a branch was given, and why.
pub(crate) async fn of_branch(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(branch): Name,
) -> Result<Json<BranchMemories>, ApiError> {
    let why = control.engine.why_shown(&who, &branch).await?;
    Ok(Json(why.as_ref().map(BranchMemories::from).unwrap_or_default()))
}

fn kind(word: &str) -> Result<MemoryKind, ApiError> {
    MemoryKind::parse(word).ok_or_else(|| ApiError::invalid("kind", "must be works, fails, fact or preference"))
}

fn state(word: &str) -> Result<StateFilter, ApiError> {
    match word {
        "live" => Ok(StateFilter::Live),
        "waiting" => Ok(StateFilter::Waiting),
        _ => Err(ApiError::invalid("state", "must be live or waiting")),
    }
}
