//! Documents for programs that watch sessions in the cluster, as events lead to them. One machine publishes them.

use std::collections::HashSet;
use std::time::Duration;

use infold_core::{Branch, BranchId, Event, Session, Thread};
use infold_store::{Document, DocumentedSession, EndedBranches, KeepDocuments, Load, RecordedEvent, Target};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio_util::sync::CancellationToken;

use crate::{Engine, Error};

/// How many events are published at once.
const EVENTS_AT_ONCE: usize = 256;
/// What every session with documents has.
const STATE: &str = "meta.session_state";
/// The pause between two looks for events.
const LOOK_EVERY: Duration = Duration::from_millis(250);

impl Engine {
    /// Publishes documents while this machine is on duty, and notes how it is to others, until it is cancelled.
    pub(crate) async fn keep_documenting(&self, cancel: &CancellationToken) {
        if !self.inner.store.is_shared() {
            return;
        }
        let mut after = None;
        while cancel.run_until_cancelled(tokio::time::sleep(LOOK_EVERY)).await.is_some() {
            if let Some(state) = self.inner.store.cluster() {
                self.inner.metrics.cluster.note(&state);
            }
            if !self.inner.store.is_on_duty() {
                // Whoever is on duty goes on meanwhile.
                after = None;
                continue;
            }
            match self.document_from(after).await {
                Ok(up_to) => after = up_to,
                Err(error) => {
                    tracing::warn!(%error, "what programs watch could not be published; this is tried again");
                    after = None;
                }
            }
        }
    }

    /// Publishes what has happened since an event, or since the last one that was published. Returns up to where.
    async fn document_from(&self, after: Option<u64>) -> Result<Option<u64>, Error> {
        let mut after = match after {
            Some(after) => after,
            None => match self.inner.store.documented_up_to().await? {
                Some(after) => after,
                None => return Ok(None),
            },
        };
        loop {
            let events = self.inner.store.all_events(after, EVENTS_AT_ONCE).await?;
            let Some(last) = events.last().map(|event| event.id) else { return Ok(Some(after)) };
            let mut documents = Vec::new();
            // How a session is now need be said once, behind the last of its events.
            let mut said = HashSet::new();
            for event in events.iter().rev() {
                let mut of_event = self.documents_of(event).await?;
                of_event.retain(|document| document.about != STATE || said.insert(event.session.clone()));
                documents.extend(of_event.into_iter().rev());
            }
            documents.reverse();
            self.inner.store.publish_documents(documents, last).await?;
            after = last;
        }
    }

    async fn documents_of(&self, recorded: &RecordedEvent) -> Result<Vec<Document>, Error> {
        let event = &recorded.event;
        if !matches!(event, Event::BranchOpened(_) | Event::BranchEnded { .. } | Event::OperationSeen { .. }) {
            return Ok(Vec::new());
        }
        let branch = event.branch().cloned();
        let load = Load {
            target: Target::Session(recorded.session.clone()),
            ended: branch.clone().map_or(EndedBranches::Nothing, EndedBranches::Branch),
            rate_back: 0,
            reply_key: None,
            counted: Vec::new(),
        };
        // The event is in the index, so what it led to is too. A session that has lapsed has no documents any more.
        let Some(loaded) = self.inner.store.load_known(load).await? else { return Ok(Vec::new()) };
        let session = loaded.session;
        let project = session.project.as_ref().map(|project| project.as_str().to_owned());
        let document = |about: String, keep: KeepDocuments, value: Value| Document {
            session: DocumentedSession { key: recorded.session.clone(), project: project.clone() },
            about,
            keep,
            event: recorded.id,
            json: value.to_string(),
        };
        let state = branch.as_ref().and_then(|id| branch_document(event, recorded.at_ms, session.branches.get(id)));
        let mut documents = Vec::new();
        if let (Some(id), Some(state)) = (&branch, state) {
            documents.push(document(format!("branches.{id}"), KeepDocuments::Newest, state));
        }
        let happened = event_document(event, recorded.at_ms, branch.as_ref());
        documents.push(document(format!("events.{}", event.name()), KeepDocuments::All, happened));
        documents.push(document(STATE.to_owned(), KeepDocuments::Newest, session_document(&session)));
        Ok(documents)
    }
}

/// A branch as it is after the event.
fn branch_document(event: &Event, at_ms: u64, branch: Option<&Branch>) -> Option<Value> {
    match event {
        Event::BranchOpened(opening) => Some(json!({
            "id": opening.branch,
            "description": opening.description.as_str(),
            "prompt": opening.prompt.as_ref().map(|prompt| prompt.as_str()),
            "parent_id": opening.parent.branch(),
            "status": "active",
            "created_at": moment(at_ms),
            "tokens": opening.brief_tokens,
        })),
        Event::BranchEnded { branch: id, result, .. } => Some(json!({
            "id": id,
            "status": "folded",
            "folded_at": moment(at_ms),
            "summary": result.as_str(),
            "tokens_folded": branch.map(|branch| branch.used_tokens),
        })),
        _ => None,
    }
}

fn event_document(event: &Event, at_ms: u64, branch: Option<&BranchId>) -> Value {
    let (tool, tokens) = match event {
        Event::OperationSeen { operation, .. } => (Some(operation.tool.as_str()), Some(operation.tokens)),
        _ => (None, None),
    };
    json!({"event": event.name(), "branch_id": branch, "at": moment(at_ms), "tool": tool, "tokens": tokens})
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
