//! The table of all routes. The router and the OpenAPI description are both made from it, so a route is added here
//! and nowhere else.

use infold_engine::EXPORT_TYPE;

use crate::archive::{self, ArchiveQuery, TrajectoryQuery};
use crate::branches::{self, OpenRequest, ReturnInSession, ReturnRequest};
use crate::events::{self, EventsQuery, LAST_EVENT_ID};
use crate::extract::IDEMPOTENCY_KEY;
use crate::forks::{self, ForkRequest};
use crate::health::{self, Health, METRICS_TYPE};
use crate::memories::{
    self, AddRequest, EditRequest, ExportQuery, FeedbackRequest, ForgetRequest, ImportRequest, MemoriesQuery,
    ReviewRequest, SilenceRequest, UndoRequest,
};
use crate::requests::{self, RequestsQuery};
use crate::results::{self, ReadQuery, RecordRequest};
use crate::route::Route;
use crate::scrub::{self, ScrubRequest};
use crate::servers::{self, ToolsQuery};
use crate::sessions::{self, EndQuery, PageQuery, RollbackRequest, SessionsQuery};
use crate::shapes::archive::{ArchiveList, Trajectory};
use crate::shapes::branch::{BranchDetail, BranchList, BranchOpened, BranchReturned, BranchSummary, RolledBack};
use crate::shapes::event::EventRecord;
use crate::shapes::fork::SessionForked;
use crate::shapes::memory::{
    BranchMemories, ChangeUndone, ImportDone, MemoriesForgotten, MemoryChanges, MemoryJudged, MemoryList, MemoryMade,
    MemoryProjects, MemoryWhole, MemoryWords, SilenceState,
};
use crate::shapes::request::{RequestDetail, RequestList};
use crate::shapes::result::{ResultRead, ResultRecorded, ScrubbedText};
use crate::shapes::server::{ServerDetail, ServerList, ToolList};
use crate::shapes::session::{SessionDetail, SessionEnded, SessionList};
use crate::snapshots::{self, SessionSnapshot, SnapshotRequest};

const KEY: &str = "Makes repeating the request safe: the same key gives the same answer.";

/// All routes of this crate, in the order in which the description shows them.
pub(crate) fn routes() -> Vec<Route> {
    let mut routes = session_routes();
    routes.extend(branch_routes());
    routes.extend(result_routes());
    routes.extend(fork_routes());
    routes.extend(request_routes());
    routes.extend(archive_routes());
    routes.extend(memory_routes());
    routes.extend(server_routes());
    routes.extend(other_routes());
    routes
}

fn session_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/sessions", "listSessions", sessions::list)
            .does("Lists the caller's sessions, newest activity first.")
            .query::<SessionsQuery>()
            .answers::<SessionList>(200)
            .refuses(&[400]),
        Route::get("/api/v1/sessions/{session}", "getSession", sessions::show)
            .does("Shows a session as it is now, with its first branches.")
            .answers::<SessionDetail<BranchSummary>>(200)
            .refuses(&[400, 404]),
        Route::delete("/api/v1/sessions/{session}", "endSession", sessions::end)
            .does("Ends a session; its open branches are folded, deepest first.")
            .query::<EndQuery>()
            .header(IDEMPOTENCY_KEY, KEY)
            .answers::<SessionEnded>(200)
            .refuses(&[400, 404, 409]),
        Route::post("/api/v1/sessions/{session}/rollback", "rollBack", sessions::roll_back)
            .does("Goes back to a branch: it is active again, and what was opened since no longer counts.")
            .body::<RollbackRequest>()
            .header(IDEMPOTENCY_KEY, KEY)
            .answers::<RolledBack>(200)
            .refuses(&[404, 409]),
        Route::get("/api/v1/sessions/{session}/snapshot", "getSnapshot", snapshots::show)
            .does("Shows the messages that a session is to be resumed from.")
            .answers::<SessionSnapshot>(200)
            .refuses(&[400, 404]),
        Route::post("/api/v1/sessions/{session}/snapshot", "saveSnapshot", snapshots::save)
            .does("Keeps the messages that a session is to be resumed from, in place of those before.")
            .body::<SnapshotRequest>()
            .answers::<SessionSnapshot>(200)
            .refuses(&[404, 409]),
    ]
}

fn branch_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/sessions/{session}/branches", "listBranches", branches::list)
            .does("Lists a session's branches in the order they were opened.")
            .query::<PageQuery>()
            .answers::<BranchList>(200)
            .refuses(&[400, 404]),
        Route::post("/api/v1/sessions/{session}/branches", "openBranch", branches::open)
            .does("Opens a branch, and with it the session if that is new.")
            .body::<OpenRequest>()
            .header(IDEMPOTENCY_KEY, KEY)
            .answers::<BranchOpened>(201)
            .refuses(&[404, 409, 429]),
        Route::get("/api/v1/sessions/{session}/branches/active", "getActiveBranch", branches::active)
            .does("Shows the branch of a session that works now.")
            .answers::<BranchDetail>(200)
            .refuses(&[400, 404]),
        Route::post("/api/v1/sessions/{session}/return", "returnInSession", branches::fold_in_session)
            .does("Ends the branch of a session that works now, or another one of it, and hands its message to its parent.")
            .body::<ReturnInSession>()
            .header(IDEMPOTENCY_KEY, KEY)
            .answers::<BranchReturned>(200)
            .refuses(&[404, 409]),
        Route::post("/api/v1/branches", "openBranchInProject", branches::open_in_project)
            .does("Opens a branch in a project's current session, or in one that is named.")
            .body::<OpenRequest>()
            .header(IDEMPOTENCY_KEY, KEY)
            .answers::<BranchOpened>(201)
            .refuses(&[404, 409, 429]),
        Route::get("/api/v1/branches/{branch}", "getBranch", branches::show)
            .does("Shows a branch as it is now.")
            .answers::<BranchDetail>(200)
            .refuses(&[400, 404]),
        Route::post("/api/v1/branches/{branch}/return", "returnBranch", branches::fold)
            .does("Ends a branch and hands its message, scrubbed, to its parent.")
            .body::<ReturnRequest>()
            .header(IDEMPOTENCY_KEY, KEY)
            .answers::<BranchReturned>(200)
            .refuses(&[404, 409]),
    ]
}

fn result_routes() -> Vec<Route> {
    vec![
        Route::post("/api/v1/sessions/{session}/results", "recordResult", results::record)
            .does("Records a tool's result: secrets are removed, tokens counted, and a long result is replaced by a reference.")
            .body::<RecordRequest>()
            .header(IDEMPOTENCY_KEY, KEY)
            .answers::<ResultRecorded>(200)
            .refuses(&[404, 409]),
        Route::get("/api/v1/results/{ref_id}", "readResult", results::read)
            .does("Reads part of a result that was replaced by a reference: bytes, lines, or lines that match.")
            .query::<ReadQuery>()
            .answers::<ResultRead>(200)
            .refuses(&[400, 404]),
    ]
}

fn fork_routes() -> Vec<Route> {
    vec![
        Route::post(crate::FORKS_PATH, "fork", forks::fork)
            .does("Starts a session from another's transcript, cut to fit; the other stays as it is.")
            .body::<ForkRequest>()
            .with_transcript()
            .header(IDEMPOTENCY_KEY, KEY)
            .answers::<SessionForked>(201)
            .refuses(&[404, 409]),
        Route::get("/api/v1/forks/{session}", "getFork", forks::show)
            .does("Shows what a forked session began with.")
            .answers::<SessionForked>(200)
            .refuses(&[400, 404]),
    ]
}

fn request_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/requests", "listRequests", requests::list)
            .does("Lists the caller's requests to models, oldest first, and what they add up to.")
            .query::<RequestsQuery>()
            .answers::<RequestList>(200)
            .refuses(&[400]),
        Route::get("/api/v1/requests/{request}", "getRequest", requests::show)
            .does("Shows what a request consists of, what infold changed, what it cost, and why the cache missed.")
            .answers::<RequestDetail>(200)
            .refuses(&[400, 404]),
    ]
}

fn archive_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/archive", "listArchive", archive::list)
            .does("Lists the caller's ended branches, newest first.")
            .query::<ArchiveQuery>()
            .answers::<ArchiveList>(200)
            .refuses(&[400]),
        Route::get("/api/v1/archive/{branch}", "getTrajectory", archive::show)
            .does("Shows an ended branch with everything that happened in it.")
            .query::<TrajectoryQuery>()
            .answers::<Trajectory>(200)
            .refuses(&[400, 404]),
    ]
}

fn memory_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/memories", "listMemories", memories::list)
            .does("Lists the caller's memories, or those that have to do with a text.")
            .query::<MemoriesQuery>()
            .answers::<MemoryList>(200)
            .refuses(&[400]),
        Route::post("/api/v1/memories", "addMemory", memories::add)
            .does("Adds a memory that a person wrote.")
            .body::<AddRequest>()
            .answers::<MemoryMade>(201)
            .refuses(&[404, 409]),
        Route::get("/api/v1/memories/{memory}", "getMemory", memories::show)
            .does("Shows a memory, with what speaks for it and the branches that it was given to.")
            .answers::<MemoryWhole>(200)
            .refuses(&[400, 404]),
        Route::patch("/api/v1/memories/{memory}", "editMemory", memories::edit)
            .does("Changes the words, the kind or the project of a memory.")
            .body::<EditRequest>()
            .answers::<MemoryWords>(200)
            .refuses(&[404]),
        Route::delete("/api/v1/memories/{memory}", "forgetMemory", memories::forget_one)
            .does("Forgets a memory, and what was derived from it alone. This cannot be undone.")
            .answers::<MemoriesForgotten>(200)
            .refuses(&[400, 404]),
        Route::post("/api/v1/memories/{memory}/feedback", "judgeMemory", memories::judge)
            .does("Says whether a memory was helpful, which moves its confidence.")
            .body::<FeedbackRequest>()
            .answers::<MemoryJudged>(200)
            .refuses(&[404]),
        Route::post("/api/v1/memories/{memory}/review", "reviewMemory", memories::review)
            .does("Accepts a memory, so that it is shown, or rejects it.")
            .body::<ReviewRequest>()
            .answers::<MemoryWords>(200)
            .refuses(&[404]),
        Route::get("/api/v1/branches/{branch}/memories", "getBranchMemories", memories::of_branch)
            .does("Says which memories a branch was given when it was opened, and why.")
            .answers::<BranchMemories>(200)
            .refuses(&[400, 404]),
    ]
    .into_iter()
    .chain(all_memories_routes())
    .collect()
}

fn all_memories_routes() -> Vec<Route> {
    vec![
        Route::post("/api/v1/memories/forget", "forgetMemories", memories::forget)
            .does("Forgets memories by name or by where they come from, or says what would go. This cannot be undone.")
            .body::<ForgetRequest>()
            .answers::<MemoriesForgotten>(200)
            .refuses(&[404]),
        Route::post(crate::IMPORT_PATH, "importMemories", memories::import)
            .does("Imports memories from a file of one JSON object a line, all or none.")
            .body::<ImportRequest>()
            .with_transcript()
            .answers::<ImportDone>(200)
            .refuses(&[409]),
        Route::get("/api/v1/memories/export", "exportMemories", memories::export)
            .does("Exports the memories that are in use, one JSON object a line.")
            .query::<ExportQuery>()
            .answers_text(EXPORT_TYPE)
            .refuses(&[400]),
        Route::get("/api/v1/memories/changes", "listMemoryChanges", memories::changes)
            .does("Lists changes of the caller's memories, the newest first.")
            .answers::<MemoryChanges>(200),
        Route::post("/api/v1/memories/undo", "undoMemoryChange", memories::undo)
            .does("Undoes a change of memories.")
            .body::<UndoRequest>()
            .answers::<ChangeUndone>(200)
            .refuses(&[404, 409]),
        Route::get("/api/v1/memories/projects", "listMemoryProjects", memories::projects)
            .does("Lists projects that have memories, and sessions and projects that are left alone.")
            .answers::<MemoryProjects>(200),
        Route::put("/api/v1/memories/silence", "silenceMemories", memories::silence)
            .does("Leaves a session or a project alone, or no longer: nothing is learnt from it or shown to it.")
            .body::<SilenceRequest>()
            .answers::<SilenceState>(200)
            .refuses(&[404]),
    ]
}

fn server_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/servers", "listServers", servers::list)
            .does("Lists other MCP servers: how they are, their tools, and what the caller's calls add up to.")
            .answers::<ServerList>(200),
        Route::get("/api/v1/servers/{server}", "getServer", servers::show)
            .does("Shows another MCP server, with those of its tools that may not be used.")
            .answers::<ServerDetail>(200)
            .refuses(&[400, 404]),
        Route::get("/api/v1/tools", "findTools", servers::tools)
            .does("Finds tools of other MCP servers by what they do or by name; lists them if no query is given.")
            .query::<ToolsQuery>()
            .answers::<ToolList>(200)
            .refuses(&[400]),
    ]
}

fn other_routes() -> Vec<Route> {
    vec![
        Route::post("/api/v1/scrub", "scrub", scrub::scrub)
            .does("Removes the secrets from a text. Nothing is stored.")
            .body::<ScrubRequest>()
            .answers::<ScrubbedText>(200),
        Route::get("/api/v1/events", "followEvents", events::follow)
            .does("Streams what happens to the caller's sessions, as server-sent events.")
            .query::<EventsQuery>()
            .header(LAST_EVENT_ID, "Events after the one with this id, as a client that comes back sends it.")
            .streams::<EventRecord>()
            .refuses(&[400, 429]),
        Route::get("/api/v1/openapi.json", "describe", health::describe).does("Describes this API."),
        Route::get("/metrics", "metrics", health::metrics)
            .does("Metrics, in the text format of Prometheus.")
            .answers_text(METRICS_TYPE),
        Route::get("/healthz", "alive", health::alive)
            .does("Says that the daemon runs.")
            .open_to_anyone()
            .answers::<Health>(200),
        Route::get("/readyz", "ready", health::ready)
            .does("Says whether the store and the scrubber work.")
            .open_to_anyone()
            .answers::<Health>(200),
    ]
}
