//! Files that are read and edited in the main thread, compared with the lines that memories remember of them.
//!
//! What was seen waits here, in memory and bounded, until a task of its own compares it: a request waits for none of this.
//! Nothing is stored but whether a memory's lines were there. What a branch sees is compared when it ends.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use infold_core::memory::{LearnFrom, MemoryId, ProjectKey, SeenFile, mark_lines};
use infold_core::{Owner, Principal, Scrubbed};
use infold_store::{MarkNote, StoredMark};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::intake::ScrubbedResult;
use crate::{Engine, Error, SessionRef};

/// Results that wait at most; the oldest go first.
const RESULTS_MAX: usize = 64;
/// Bytes of all of them together.
const BYTES_MAX: usize = 8 << 20;
/// How long further results are waited for, so that many are compared at once.
const GATHER: Duration = Duration::from_millis(500);

/// Results that wait to be compared.
#[derive(Default)]
pub(crate) struct WaitingResults {
    results: Mutex<VecDeque<WaitingResult>>,
    came: Notify,
}

struct WaitingResult {
    who: Principal,
    session: SessionRef,
    tool: Scrubbed,
    arguments: Scrubbed,
    content: Scrubbed,
    at_ms: u64,
}

/// What a session has seen of files.
struct SessionSeen {
    who: Principal,
    session: SessionRef,
    /// The files, in the order in which they were seen.
    files: Vec<SeenFile>,
    /// When the last was seen.
    at_ms: u64,
}

impl WaitingResult {
    fn bytes(&self) -> usize {
        self.arguments.as_str().len() + self.content.as_str().len()
    }
}

impl Engine {
    /// Has results of a session's main thread compared, soon.
    pub(crate) fn see_files<'r>(
        &self,
        who: &Principal,
        session: &SessionRef,
        results: impl IntoIterator<Item = &'r ScrubbedResult>,
    ) {
        if self.inner.settings.memory.learn == LearnFrom::Off {
            return;
        }
        let of_files = results.into_iter().filter(|result| SeenFile::may_be_named_in(result.arguments.as_str()));
        let new = of_files.map(|result| WaitingResult {
            who: who.clone(),
            session: session.clone(),
            tool: result.tool.clone(),
            arguments: result.arguments.clone(),
            content: result.content.clone(),
            at_ms: self.now_ms(),
        });
        self.inner.learning.waiting.add(new.collect());
    }

    /// Compares what was seen with what memories remember, until it is cancelled.
    pub(crate) async fn keep_comparing(&self, cancel: &CancellationToken) {
        let compares = async {
            loop {
                self.inner.learning.waiting.came.notified().await;
                tokio::time::sleep(GATHER).await;
                for seen in self.inner.learning.waiting.take() {
                    if let Err(error) = self.compare(&seen).await {
                        tracing::warn!(%error, "files that were seen could not be compared with what memories remember");
                    }
                }
            }
        };
        tokio::select! {
            () = cancel.cancelled() => {}
            () = compares => {}
        }
    }

    async fn compare(&self, seen: &SessionSeen) -> Result<(), Error> {
        let SessionSeen { who, session, files, at_ms } = seen;
        let project = self.work_place(who, session, None).await.project;
        let (id, place) = (session.id().cloned(), Some(project.clone()));
        if self.inner.store.is_memory_silenced(who.owner.clone(), id, place).await? {
            return Ok(());
        }
        self.note_seen(&who.owner, project, files, *at_ms).await
    }

    /// Notes what was seen of files that memories of a project are about. What was noted of later looks stays.
    pub(super) async fn note_seen(
        &self,
        owner: &Owner,
        project: ProjectKey,
        seen: &[SeenFile],
        at_ms: u64,
    ) -> Result<(), Error> {
        if seen.is_empty() {
            return Ok(());
        }
        let names = seen.iter().map(SeenFile::name).collect();
        let marks = self.inner.store.memory_marks(owner.clone(), project, names).await?;
        let judged = |(memory, mark): (MemoryId, StoredMark)| {
            let lines = mark_lines(&mark.lines);
            let of_file = seen.iter().filter(|file| file.is_file(mark.file.as_str()));
            let is_changed = of_file.filter_map(|file| file.has_changed(&lines)).next_back()?;
            let is_news = is_changed != mark.is_changed && mark.at_ms <= at_ms;
            is_news.then_some(MarkNote { memory, file: mark.file, is_changed, at_ms })
        };
        let notes: Vec<MarkNote> = marks.into_iter().filter_map(judged).collect();
        if !notes.is_empty() {
            self.inner.store.note_memory_marks(owner.clone(), notes).await?;
        }
        Ok(())
    }
}

impl WaitingResults {
    fn add(&self, new: Vec<WaitingResult>) {
        if new.is_empty() {
            return;
        }
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        results.extend(new);
        let mut bytes: usize = results.iter().map(WaitingResult::bytes).sum();
        while results.len() > RESULTS_MAX || bytes > BYTES_MAX {
            bytes -= results.pop_front().map_or(bytes, |oldest| oldest.bytes());
        }
        drop(results);
        self.came.notify_one();
    }

    /// Takes all that waits, session by session.
    fn take(&self) -> Vec<SessionSeen> {
        let waiting = std::mem::take(&mut *self.results.lock().unwrap_or_else(PoisonError::into_inner));
        let mut sessions: Vec<SessionSeen> = Vec::new();
        for result in waiting {
            let WaitingResult { who, session, tool, arguments, content, at_ms } = result;
            let Some(file) = SeenFile::in_result(tool.as_str(), arguments.as_str(), content.as_str()) else { continue };
            match sessions.iter_mut().find(|seen| seen.who == who && seen.session == session) {
                Some(seen) => {
                    seen.files.push(file);
                    seen.at_ms = at_ms;
                }
                None => sessions.push(SessionSeen { who, session, files: vec![file], at_ms }),
            }
        }
        sessions
    }
}
