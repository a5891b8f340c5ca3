//! Moving results out of a request that its model cannot take: they are kept elsewhere, and their thread starts
//! anew with references in their places.
//!
//! Must hold: what they and their references took was counted when they were first seen, so nothing is counted
//! here; and all of a rescue is stored, or nothing.

use infold_core::view::{Note, Restart, Rewrite};
use infold_core::{BlobId, Mentions, Principal, Scrubbed, SessionId, Thread};
use infold_store::{Folds, Keep, NewBlob};

use super::seen::{Seen, Shaping};
use super::{FirstSeen, Offload};
use crate::{Engine, Error};

/// A result that is to be kept elsewhere.
#[derive(Debug, Clone)]
pub(crate) struct Away {
    /// What stands in its place.
    pub text: String,
    /// Where it will be kept.
    pub blob: BlobId,
    tool: Scrubbed,
    content: Scrubbed,
}

/// What a rescue does to a session.
#[derive(Debug, Clone)]
pub(crate) struct Rescue {
    /// The thread that is rescued.
    pub thread: Thread,
    /// What is kept elsewhere.
    pub away: Vec<Away>,
    /// The bytes that are sent in their places, by the ids of their calls.
    pub rewrites: Vec<(String, Rewrite)>,
    /// Where the thread starts anew.
    pub restart: Restart,
    /// The receipt.
    pub note: Note,
}

impl Engine {
    /// What would stand in the places of results, in their order; none where that would be no shorter. Nothing is
    /// stored by this.
    #[tracing::instrument(skip_all)]
    pub(crate) async fn put_away(
        &self,
        who: &Principal,
        session: &SessionId,
        results: Vec<FirstSeen>,
    ) -> Result<Vec<Option<Away>>, Error> {
        let counter = self.counter_in(&who.owner, session);
        // As in a thread with a budget, each may have to go, whatever its length.
        let shaping = Shaping { offload: Offload::Allowed, counter, rules: self.inner.settings.shape, bounded: true };
        let seen = self.seen(results, Mentions::default(), shaping).await?;
        Ok(seen.into_iter().map(away).collect())
    }

    /// Stores a rescue.
    pub(crate) async fn keep_rescue(&self, who: &Principal, session: &SessionId, rescue: Rescue) -> Result<(), Error> {
        let Rescue { thread, away, rewrites, restart, note } = rescue;
        let moved = away.len();
        let keep = Keep { rewrites, restarts: vec![restart], notes: vec![note], folds: Folds::Yes, ..Keep::default() };
        let blobs: Vec<NewBlob> = away.into_iter().map(|away| blob(away, &thread)).collect();
        self.keep_beside(who, session, blobs, keep).await?;
        self.inner.metrics.results_offloaded(moved);
        Ok(())
    }
}

fn away(seen: Seen) -> Option<Away> {
    let instead = seen.instead.as_ref()?;
    let is_shorter = |text: &&Scrubbed| text.as_str().len() < seen.content.as_str().len();
    let text = [&instead.shaped, &instead.reference].into_iter().find(is_shorter)?;
    Some(Away {
        text: seen.with_remarks(text),
        blob: instead.blob.clone(),
        tool: seen.tool.clone(),
        content: seen.content.clone(),
    })
}

fn blob(away: Away, thread: &Thread) -> NewBlob {
    NewBlob { id: away.blob, tool_name: away.tool, content: away.content, branch: thread.branch().cloned() }
}
