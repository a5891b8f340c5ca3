//! Searches all offloaded results of a session that a thread may read, the newest first.
//!
//! A search ends when it has found enough, has read enough, or has taken long enough; it then says where it goes on.

use std::fmt::Write;
use std::time::{Duration, Instant};

use infold_core::{BlobId, Principal, SessionId};
use infold_store::{EndedBranches, SessionKey};

use crate::results::{compile_pattern, limit_bytes, may_read};
use crate::{Engine, Error, FindInResults};

/// Bytes of results that one search reads.
const READ_BYTES_MAX: usize = 64 << 20;
/// How long one search takes.
const SEARCH_TIME: Duration = Duration::from_secs(2);
/// Lines of one result that are shown; there may be many results.
const LINES_MAX: usize = 20;
/// Characters of a line that are shown.
const LINE_CHARS_MAX: usize = 300;

/// What a search has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundInResults {
    /// The session that was searched.
    pub session_id: SessionId,
    /// Lines that match, each with the handle of its result and its number; empty if there are none.
    pub content: String,
    /// How many results were searched.
    pub searched: usize,
    /// How many results are to be passed over to go on, if there are more.
    pub next: Option<usize>,
}

impl Engine {
    /// Searches the offloaded results of a session. A branch finds what it has seen itself and what those below it have;
    /// the main thread finds everything.
    #[tracing::instrument(skip_all)]
    pub async fn find_in_results(&self, who: &Principal, request: &FindInResults) -> Result<FoundInResults, Error> {
        let pattern = compile_pattern(&request.pattern)?;
        let limit = limit_bytes(request.limit_bytes)?;
        let session = self.require_session(who, &request.session, EndedBranches::All).await?;
        let thread = request.thread.as_deref().map(|thread| self.thread(thread)).transpose()?;
        let reader = thread.unwrap_or_else(|| session.active.clone());
        let key = SessionKey { owner: who.owner.clone(), id: session.id.clone() };

        let mut found =
            FoundInResults { session_id: session.id.clone(), content: String::new(), searched: 0, next: None };
        let (began, mut read_bytes) = (Instant::now(), 0);
        let mut place = request.passed_over;
        while let Some(blob) = self.inner.store.nth_blob(key.clone(), place).await? {
            if found.content.len() >= limit || read_bytes >= READ_BYTES_MAX || began.elapsed() >= SEARCH_TIME {
                found.next = Some(place);
                break;
            }
            place += 1;
            if !may_read(&session, &reader, blob.branch.as_ref()) {
                continue;
            }
            found.searched += 1;
            read_bytes += blob.content.len();
            found.content.push_str(&matching_lines(&blob.id, &blob.content, &pattern));
            found.content.truncate(found.content.floor_char_boundary(limit));
        }
        Ok(found)
    }
}

fn matching_lines(id: &BlobId, content: &str, pattern: &regex::Regex) -> String {
    let mut lines = String::new();
    let mut matching = content.lines().enumerate().filter(|(_, line)| pattern.is_match(line));
    for (at, line) in matching.by_ref().take(LINES_MAX) {
        let line_offset = line.as_ptr() as usize - content.as_ptr() as usize;
        let line = match infold_core::around_matches(line, pattern, line_offset, LINE_CHARS_MAX) {
            Some(parts) => parts,
            None => line.chars().take(LINE_CHARS_MAX).collect(),
        };
        let _ = writeln!(lines, "{id}:{}:{line}", at + 1);
    }
    let more = matching.count();
    if more > 0 {
        let _ = writeln!(lines, "{id}: {more} more lines match");
    }
    lines
}
