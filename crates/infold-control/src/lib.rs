//! How people and programs reach a running daemon over HTTP: the JSON API, the stream of events,
//! metrics and health.
//!
//! [`router`] is made from one table of routes (`table`), and so is the OpenAPI description, so that
//! neither can name a route that the other lacks. A request passes through the door, which is not
//! part of this crate; then the check for a principal; then one handler, which reads the request into
//! a shape of this crate, asks the engine, and renders its answer into another.
//!
//! Must hold: every refusal and failure has the one shape that `error` defines; no route but the
//! public ones is answered without a principal; no stream, page or body is without a bound.
//!
//! Left to others: the door checks Host, Origin and who may come in; the engine decides what happens to a
//! session.

mod answering;
mod archive;
mod branches;
mod control;
mod error;
mod events;
mod extract;
mod forks;
mod health;
mod memories;
mod moment;
mod openapi;
mod page;
mod problem;
mod requests;
mod results;
mod route;
mod scrub;
mod servers;
mod sessions;
mod shapes;
mod snapshots;
mod table;

use std::collections::BTreeMap;

use axum::Router;
use infold_core::memory::Memory;
use infold_core::record::RequestTotals;
use infold_engine::{
    ChangeRow, Engine, ForgetReport, ListedSession, MemoryPage, NamedTools, ProjectRow, RequestRow, ResultPart,
    ServerOverview, SessionMemories, SessionView, ShownDetail, WhyShown, WithheldTool,
};
use serde_json::Value;

use page::Page;
use shapes::branch::BranchDetail;
use shapes::memory::{
    BranchMemories, MemoriesForgotten, MemoryChanges, MemoryList, MemoryProjects, MemoryWhole, MemoryWords,
};
use shapes::request::{RequestDetail, RequestSums};
use shapes::result::ResultRead;
use shapes::server::{ServerDetail, ServerSummary, ToolList};
use shapes::session::{SessionDetail, SessionSummary};

pub use control::ControlSettings;
pub use moment::moment_text;
pub use shapes::session::ContextRoom;

/// A session at a glance in the API's JSON, for commands that print the same.
pub fn session_json(known: &ListedSession, room: &ContextRoom) -> Value {
    json(SessionSummary::new(known, room))
}

/// A session with all its branches, each with everything that its record holds, in the shapes of the API.
pub fn session_detail_json(
    known: &ListedSession,
    view: Option<&SessionView>,
    memories: &SessionMemories,
    room: &ContextRoom,
) -> Value {
    let branches = branches::listed_as(view, Page { offset: 0, limit: usize::MAX - 1 }, BranchDetail::new);
    json(SessionDetail::new(known, view, (memories, room), branches))
}

/// Part of an offloaded result in the API's JSON, for commands that print the same.
pub fn result_json(part: ResultPart) -> Value {
    json(ResultRead::from(part))
}

/// A request to a model in the API's JSON, for commands that print the same.
pub fn request_json(row: &RequestRow) -> Value {
    json(RequestDetail::from(row))
}

/// The totals of many requests in the API's JSON, for commands that print the same.
pub fn request_totals_json(totals: &RequestTotals) -> Value {
    json(RequestSums::from(totals))
}

/// Another MCP server in the API's JSON, for commands that print the same.
pub fn server_json(server: &ServerOverview) -> Value {
    json(ServerSummary::from(server))
}

/// Another MCP server with the tools of it that may not be used, in the API's JSON.
pub fn server_detail_json(server: &ServerOverview, withheld: &[WithheldTool]) -> Value {
    json(ServerDetail::new(server, withheld))
}

/// Tools of other MCP servers in the API's JSON: those that fit a query best, or without a query the first ones.
pub fn tools_json(tools: &NamedTools, query: Option<&str>, limit: usize) -> Value {
    json(ToolList::new(tools, query, limit))
}

/// A list of memories in the API's JSON, for commands that print the same.
pub fn memories_json(page: &MemoryPage, offset: usize, limit: usize) -> Value {
    json(MemoryList::new(page, offset, limit, (page.memories.len() > limit).then_some(offset + limit)))
}

/// A memory in the API's JSON.
pub fn memory_json(memory: &Memory) -> Value {
    json(MemoryWords::from(memory))
}

/// A memory with all that is known of it, in the API's JSON.
pub fn memory_detail_json(shown: &ShownDetail) -> Value {
    json(MemoryWhole::from(shown))
}

/// What was forgotten, or would be, in the API's JSON.
pub fn forgotten_json(report: &ForgetReport) -> Value {
    json(MemoriesForgotten::from(report))
}

/// Which memories a branch was given, and why, in the API's JSON.
pub fn branch_memories_json(why: Option<&WhyShown>) -> Value {
    json(why.map(BranchMemories::from).unwrap_or_default())
}

/// Changes of memories in the API's JSON.
pub fn memory_changes_json(changes: &[ChangeRow]) -> Value {
    json(MemoryChanges { changes: changes.iter().map(Into::into).collect() })
}

/// Projects that have memories, and what is left alone, in the API's JSON.
pub fn memory_projects_json(projects: &[ProjectRow], silenced: &[String]) -> Value {
    json(MemoryProjects { projects: projects.iter().map(Into::into).collect(), silenced: silenced.to_vec() })
}

/// Writes a shape as JSON, which never fails: the shapes of this crate have only text keys.
fn json(shape: impl serde::Serialize) -> Value {
    serde_json::to_value(shape).unwrap_or_default()
}

/// The path that takes transcripts. They are longer than other bodies, so the door needs a larger bound for it.
pub const FORKS_PATH: &str = "/api/v1/forks";
/// The path that takes files of memories, which are as long.
pub const IMPORT_PATH: &str = "/api/v1/memories/import";

/// The routes of this surface, with their full paths; merge it into the program's router.
///
/// Paths that it does not know are answered with 404, so merge it only with routers that have no
/// fallback of their own. When `settings.shutdown` is cancelled, open event streams end.
pub fn router(engine: Engine, settings: ControlSettings) -> Router {
    answering::router(table::routes(), engine, settings)
}

/// Every path of [`router`] with the methods it answers, for tests that must leave none out.
pub fn routes() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut paths: BTreeMap<&'static str, Vec<&'static str>> = BTreeMap::new();
    for route in table::routes() {
        paths.entry(route.path).or_default().push(route.verb.as_str());
    }
    paths.into_iter().collect()
}
