//! Offloads results that a thread has had before: it is restarted with references in their places.
//!
//! Must hold: results and references were counted when they were first seen, so nothing is counted here; all of it is
//! stored, or nothing.

use infold_core::view::{Note, Replacement, Restart};
use infold_core::{Mentions, Principal, Scrubbed, SessionId, Thread};
use infold_store::{Edits, NewBlob, NewDecisions};

use crate::intake::{NewResult, Offload, ResultSource, ScrubbedResult};
use crate::{Engine, Error};

/// A result that is to be offloaded.
pub(super) struct OffloadCandidate {
    /// What replaces it in the prompt.
    pub(super) text: String,
    /// The whole result, and the handle under which it will be stored.
    pub(super) blob: NewBlob,
}

/// Everything that is stored when results of a thread are offloaded.
pub(super) struct StoredRelief {
    /// The results that are offloaded.
    pub(super) blobs: Vec<NewBlob>,
    /// The bytes that are sent in their places, by the ids of their calls.
    pub(super) rewrites: Vec<(String, Replacement)>,
    /// The place where the thread is restarted.
    pub(super) restart: Restart,
    /// The receipt, which says to the model what was done.
    pub(super) note: Note,
    /// The thread, if its agent had asked for it.
    pub(super) lightened: Option<Thread>,
}

impl Engine {
    /// Writes what would replace results of a thread, in their order; `None` for those that it would not shorten.
    /// Nothing is stored.
    #[tracing::instrument(skip_all)]
    pub(super) async fn write_references(
        &self,
        who: &Principal,
        session: &SessionId,
        thread: &Thread,
        results: Vec<NewResult>,
    ) -> Result<Vec<Option<OffloadCandidate>>, Error> {
        let counter = self.counter_in(&who.owner, session);
        // As in a thread with a budget, any result may have to go, whatever its length.
        let source = ResultSource::Request { offload: Offload::Allowed, counter, is_bounded: true };
        let results = self.scrub_results(results, Mentions::default(), source).await?;
        Ok(results.iter().map(|result| candidate(result, thread)).collect())
    }

    /// Stores in one transaction that results were offloaded.
    pub(super) async fn store_relief(
        &self,
        who: &Principal,
        session: &SessionId,
        stored: StoredRelief,
    ) -> Result<(), Error> {
        let StoredRelief { blobs, rewrites, restart, note, lightened } = stored;
        let offloaded = blobs.len();
        let new = NewDecisions {
            rewrites,
            restarts: vec![restart],
            notes: vec![note],
            lightened: lightened.into_iter().collect(),
            edits: Edits::Yes,
            ..NewDecisions::default()
        };
        self.store_with_blobs(who, session, blobs, new).await?;
        self.inner.metrics.results_offloaded(offloaded);
        Ok(())
    }
}

fn candidate(result: &ScrubbedResult, thread: &Thread) -> Option<OffloadCandidate> {
    let stand_in = result.stand_in.as_ref()?;
    let is_shorter = |text: &&Scrubbed| text.as_str().len() < result.content.as_str().len();
    let text = [&stand_in.shaped, &stand_in.reference].into_iter().find(is_shorter)?;
    Some(OffloadCandidate { text: result.with_remarks(text), blob: result.blob(&stand_in.blob, thread) })
}
