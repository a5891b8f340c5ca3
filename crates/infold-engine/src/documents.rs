//! Documents for programs that watch sessions in the cluster, as events lead to them. One machine publishes them.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use infold_core::{Branch, BranchId, Event, Scrubbed, Session, Status, Thread};
use infold_store::{
    Document, DocumentCursor, DocumentedSession, EndedBranches, KeepDocuments, Load, RecordedEvent, SessionKey, Target,
};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio_util::sync::CancellationToken;

use crate::{Engine, Error};

/// How many events are published at once.
const EVENTS_AT_ONCE: usize = 256;
/// What every session with documents has.
const STATE: &str = "meta.session_state";
/// How a branch is that a rollback went back to before.
const DISCARDED: &str = "discarded";
/// The pause between two looks for events.
const LOOK_EVERY: Duration = Duration::from_millis(250);
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(2);

/// Sessions as they are now, each with the branch that an event is about.
type LoadedSessions = HashMap<(SessionKey, Option<BranchId>), Option<Session>>;

impl Engine {
    /// Publishes documents while this machine is on duty, and notes how it is to others, until it is cancelled.
    pub(crate) async fn keep_documenting(&self, cancel: &CancellationToken) {
        if !self.inner.store.is_shared() {
            return;
        }
        let mut cursor = None;
        let mut pause = LOOK_EVERY;
        while cancel.run_until_cancelled(tokio::time::sleep(pause)).await.is_some() {
            pause = LOOK_EVERY;
            if let Some(state) = self.inner.store.cluster() {
                self.inner.metrics.cluster.note(&state);
            }
            if !self.inner.store.is_on_duty() {
                // Whoever is on duty goes on meanwhile.
                cursor = None;
                continue;
            }
            match self.document_from(cursor).await {
                Ok(up_to) => cursor = up_to,
                Err(error) => {
                    tracing::warn!(%error, "what programs watch could not be published; this is tried again");
                    cursor = None;
                    pause = PAUSE_AFTER_FAILURE;
                }
            }
        }
    }

    /// Publishes what has happened behind a cursor, or behind the one that the servers have. Returns up to where.
    async fn document_from(&self, cursor: Option<DocumentCursor>) -> Result<Option<DocumentCursor>, Error> {
        let cursor = match cursor {
            Some(cursor) => Some(cursor),
            None => self.inner.store.document_cursor().await?,
        };
        let Some(mut cursor) = cursor else { return Ok(None) };
        loop {
            let events = self.inner.store.all_events(cursor.event, EVENTS_AT_ONCE).await?;
            let Some(last) = events.last().map(|event| event.id) else { return Ok(Some(cursor)) };
            let mut documents = Vec::new();
            // How a session is now need be said once, behind the last of its events.
            let mut said = HashSet::new();
            let mut sessions = LoadedSessions::default();
            for event in events.iter().rev() {
                let mut of_event = self.documents_of(event, &mut sessions).await?;
                of_event.retain(|document| document.about != STATE || said.insert(event.session.clone()));
                documents.extend(of_event.into_iter().rev());
            }
            documents.reverse();
            cursor = self.inner.store.publish_documents(cursor, &documents, last).await?;
        }
    }

    /// A session as it is, with one of its branches, however often that is asked for.
    async fn documented_session<'a>(
        &self,
        recorded: &RecordedEvent,
        sessions: &'a mut LoadedSessions,
    ) -> Result<Option<&'a Session>, Error> {
        let branch = recorded.event.branch().cloned();
        let loaded = match sessions.entry((recorded.session.clone(), branch.clone())) {
            Entry::Occupied(loaded) => loaded.into_mut(),
            Entry::Vacant(place) => {
                let load = Load {
                    target: Target::Session(recorded.session.clone()),
                    ended: branch.map_or(EndedBranches::Nothing, EndedBranches::Branch),
                    rate_back: 0,
                    reply_key: None,
                    counted: Vec::new(),
                };
                place.insert(self.inner.store.load_known(load).await?.map(|loaded| loaded.session))
            }
        };
        Ok(loaded.as_ref())
    }

    async fn documents_of(
        &self,
        recorded: &RecordedEvent,
        sessions: &mut LoadedSessions,
    ) -> Result<Vec<Document>, Error> {
        let event = &recorded.event;
        if !changes_documents(event) {
            return Ok(Vec::new());
        }
        // The event is in the index, so what it led to is too. A session that has lapsed has no documents any more.
        let Some(session) = self.documented_session(recorded, sessions).await? else { return Ok(Vec::new()) };
        let project = session.project.as_ref().map(|project| project.as_str().to_owned());
        let document = |about: String, keep: KeepDocuments, value: Value| Document {
            session: DocumentedSession { key: recorded.session.clone(), project: project.clone() },
            about,
            keep,
            event: recorded.id,
            json: value.to_string(),
        };
        let mut documents = Vec::new();
        for (id, branch) in branch_documents(event, recorded.at_ms, session) {
            documents.push(document(format!("branches.{id}"), KeepDocuments::Newest, branch));
        }
        if let Some(happened) = event_document(event, recorded.at_ms) {
            documents.push(document(format!("events.{}", event.name()), KeepDocuments::All, happened));
        }
        documents.push(document(STATE.to_owned(), KeepDocuments::Newest, session_document(session)));
        Ok(documents)
    }
}

/// Whether a watcher sees something of an event: a branch, the event itself, or how the session is after it.
fn changes_documents(event: &Event) -> bool {
    match event {
        Event::BranchOpened(_)
        | Event::BranchEnded { .. }
        | Event::ResultAmended { .. }
        | Event::RolledBack { .. }
        | Event::OperationSeen { .. }
        | Event::Answered { .. } => true,
        Event::SessionStarted { .. }
        | Event::SessionForked { .. }
        | Event::BranchActivated { .. }
        | Event::Said { .. }
        | Event::BudgetWarning { .. }
        | Event::BudgetExhausted { .. }
        | Event::EndsReported { .. }
        | Event::SessionEnded {} => false,
    }
}

/// The branches that an event changes, as they are after it.
fn branch_documents(event: &Event, at_ms: u64, session: &Session) -> Vec<(BranchId, Value)> {
    match event {
        Event::BranchOpened(opening) => vec![(
            opening.branch.clone(),
            json!({
                "id": opening.branch,
                "description": opening.description.as_str(),
                "prompt": opening.prompt.as_ref().map(|prompt| prompt.as_str()),
                "parent_id": opening.parent.branch(),
                "status": Status::Active.in_context(),
                "created_at": moment(at_ms),
                "tokens": opening.brief_tokens,
            }),
        )],
        Event::BranchEnded { branch, reason, result, .. } => {
            vec![(branch.clone(), ended_document(session, branch, (reason.status(), at_ms), result))]
        }
        Event::ResultAmended { branch, result, .. } => {
            let end = session.branches.get(branch).and_then(|branch| branch.end.as_ref());
            let ended = end.map_or((Status::Completed, at_ms), |end| (end.reason.status(), end.at_ms));
            vec![(branch.clone(), ended_document(session, branch, ended, result))]
        }
        Event::RolledBack { reopened, discarded, .. } => {
            // One that has ended again has an event of its own for that.
            let reopened = reopened.iter().filter_map(|id| session.branches.get(id)).filter(|branch| branch.is_open());
            let discarded = discarded.iter().map(|id| (id.clone(), json!({"id": id, "status": DISCARDED})));
            reopened.map(|branch| (branch.id.clone(), reopened_document(branch))).chain(discarded).collect()
        }
        _ => Vec::new(),
    }
}

fn ended_document(session: &Session, id: &BranchId, (status, at_ms): (Status, u64), result: &Scrubbed) -> Value {
    json!({
        "id": id,
        "status": status.in_context(),
        "folded_at": moment(at_ms),
        "summary": result.as_str(),
        "tokens_folded": session.branches.get(id).map(|branch| branch.used_tokens),
    })
}

fn reopened_document(branch: &Branch) -> Value {
    json!({
        "id": branch.id,
        "description": branch.description.as_str(),
        "prompt": branch.prompt.as_ref().map(|prompt| prompt.as_str()),
        "parent_id": branch.parent.branch(),
        "status": branch.status.in_context(),
        "created_at": moment(branch.opened_at_ms),
        "tokens": branch.used_tokens,
    })
}

/// The event itself, if it is one of those that can be watched.
fn event_document(event: &Event, at_ms: u64) -> Option<Value> {
    let (tool, tokens) = match event {
        Event::BranchOpened(_) | Event::BranchEnded { .. } => (None, None),
        Event::OperationSeen { operation, .. } => (Some(operation.tool.as_str()), Some(operation.tokens)),
        _ => return None,
    };
    let at = moment(at_ms);
    Some(json!({"event": event.name(), "branch_id": event.branch(), "at": at, "tool": tool, "tokens": tokens}))
}

fn session_document(session: &Session) -> Value {
    let active = session.active_branch().map(|branch| branch.id.clone());
    let depth = active.clone().map_or(0, |id| session.depth(&Thread::Branch(id)));
    json!({
        "session_id": session.id,
        "active_branch_id": active,
        "branch_depth": depth,
        "total_tokens": session.total_tokens(),
    })
}

fn moment(at_ms: u64) -> String {
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(at_ms) * 1_000_000).ok();
    at.and_then(|at| at.format(&Rfc3339).ok()).unwrap_or_default()
}
