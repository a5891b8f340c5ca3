//! Moving results out of a request that its model cannot take: they are kept elsewhere, and their thread starts
//! anew with references in their places.
//!
//! Must hold: what they and their references took was counted when they were first seen, so nothing is counted
//! here; and all of a rescue is stored, or nothing.

use infold_core::view::{Note, Replacement, Restart};
use infold_core::{Mentions, Principal, Scrubbed, SessionId, Thread};
use infold_store::{Folds, NewBlob, NewDecisions};

use crate::intake::{NewResult, Offload, ResultSource, ScrubbedResult};
use crate::{Engine, Error};

/// A result that is to be kept elsewhere.
pub(super) struct Leaving {
    /// What stands in its place.
    pub(super) text: String,
    /// The whole of it, and where it will be kept.
    pub(super) blob: NewBlob,
}

/// What a rescue does to a session.
pub(super) struct StoredRescue {
    /// What is kept elsewhere.
    pub(super) blobs: Vec<NewBlob>,
    /// The bytes that are sent in their places, by the ids of their calls.
    pub(super) rewrites: Vec<(String, Replacement)>,
    /// Where the thread starts anew.
    pub(super) restart: Restart,
    /// The receipt.
    pub(super) note: Note,
}

impl Engine {
    /// What would stand in the places of results of a thread, in their order; none where that would be no shorter.
    /// Nothing is stored by this.
    #[tracing::instrument(skip_all)]
    pub(super) async fn write_references(
        &self,
        who: &Principal,
        session: &SessionId,
        thread: &Thread,
        results: Vec<NewResult>,
    ) -> Result<Vec<Option<Leaving>>, Error> {
        let counter = self.counter_in(&who.owner, session);
        // As in a thread with a budget, each may have to go, whatever its length.
        let source = ResultSource::Request { offload: Offload::Allowed, counter, is_bounded: true };
        let results = self.scrub_results(results, Mentions::default(), source).await?;
        Ok(results.iter().map(|result| leaving(result, thread)).collect())
    }

    /// Stores a rescue.
    pub(super) async fn keep_rescue(
        &self,
        who: &Principal,
        session: &SessionId,
        rescue: StoredRescue,
    ) -> Result<(), Error> {
        let StoredRescue { blobs, rewrites, restart, note } = rescue;
        let moved = blobs.len();
        let keep = NewDecisions {
            rewrites,
            restarts: vec![restart],
            notes: vec![note],
            folds: Folds::Yes,
            ..NewDecisions::default()
        };
        self.keep_beside(who, session, blobs, keep).await?;
        self.inner.metrics.results_offloaded(moved);
        Ok(())
    }
}

fn leaving(result: &ScrubbedResult, thread: &Thread) -> Option<Leaving> {
    let stand_in = result.stand_in.as_ref()?;
    let is_shorter = |text: &&Scrubbed| text.as_str().len() < result.content.as_str().len();
    let text = [&stand_in.shaped, &stand_in.reference].into_iter().find(is_shorter)?;
    Some(Leaving { text: result.with_remarks(text), blob: result.blob(&stand_in.blob, thread) })
}
