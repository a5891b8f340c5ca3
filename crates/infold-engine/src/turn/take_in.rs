//! Taking results in when they are first seen: scrubbed, counted, and kept elsewhere where they are long.

mod choice;
mod moving;
mod seen;

use std::sync::{Mutex, PoisonError};

use infold_core::view::{Reason, Verb, reads_back};
use infold_core::{BlobId, Mentions, Principal, Session, SessionId, Sight, Thread};
use infold_store::{Keep, Loaded};

use crate::change::{Change, Proposal};
use crate::observe::exhausted_by;
use crate::open::named;
use crate::{Engine, Error, Notice};
use choice::Choice;
pub(super) use moving::{Away, Rescue};
use seen::Shaping;
pub(super) use seen::withheld;

/// Whether long results may be kept elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offload {
    /// They may: the model can call `read_result`.
    Allowed,
    /// They may not.
    No,
}

/// A result when it is first seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FirstSeen {
    /// The id of the call.
    pub(crate) call_id: String,
    /// The tool, as the client spells it.
    pub(crate) tool: String,
    /// What it was called with, as JSON.
    pub(crate) arguments: String,
    /// The text parts of the result, decoded, in order.
    pub(crate) texts: Vec<String>,
    /// What the client put into it behind what the tool printed. It is shown whatever becomes of the rest.
    pub(crate) remarks: Option<Remarks>,
    /// Whether there is nothing else in it. What is no text, an image for instance, could not be read back
    /// by a handle, so such a result is never kept elsewhere.
    pub(crate) is_all_text: bool,
}

/// A result, parted: what the tool printed, and what the client put behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remarks {
    /// What the tool printed.
    pub(crate) printed: String,
    /// What the client put behind it, as it stands.
    pub(crate) said: String,
}

/// Results of one turn, to be taken in before they are sent for the first time.
#[derive(Debug, Clone)]
pub(crate) struct TakeIn {
    /// The thread that they were seen in.
    pub(crate) thread: Thread,
    /// The results, in order.
    pub(crate) results: Vec<FirstSeen>,
    /// Whether long ones may be kept elsewhere.
    pub(crate) offload: Offload,
    /// What the thread has said and shown before them; see [`Engine::wants_mentions`].
    pub(crate) mentions: Mentions,
}

/// What becomes of results that were taken in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TakenIn {
    /// The results, in the order in which they were given.
    pub(crate) results: Vec<Taken>,
    /// The branch that folded because one did not fit, or had folded before they came. What is known of the
    /// session has changed then.
    pub(crate) folded: Option<Notice>,
}

/// What becomes of one result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The id of its call.
    pub(crate) call_id: String,
    /// What is sent of it.
    pub(crate) shown: Shown,
}

/// What is sent of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shown {
    /// It, as it is.
    AsItIs,
    /// Its text parts, without secrets; `None` where a part is as it was.
    Parts(Vec<Option<String>>),
    /// One text in place of the whole.
    Reference {
        /// The text.
        text: String,
        /// Where the whole is kept.
        blob: BlobId,
    },
}

impl Shown {
    /// Why it is not the result as it is.
    pub(crate) fn reason(&self) -> Option<Reason> {
        match self {
            Self::AsItIs => None,
            Self::Parts(_) => Some(Reason::Scrubbed),
            Self::Reference { .. } => Some(Reason::Offloaded),
        }
    }
}

impl Engine {
    /// Takes in results before they are sent for the first time. Secrets are taken out of each; long ones
    /// are kept elsewhere, and so is one that would break its branch's budget; what is sent of them is
    /// counted in the thread, once for each call. When this returns, what was decided is on disk, and the
    /// caller stores the bytes with [`Engine::keep_rewrites`].
    ///
    /// In the main thread, only what was changed is recorded: a plain session costs the disk nothing.
    #[tracing::instrument(skip_all)]
    pub(super) async fn take_in(
        &self,
        who: &Principal,
        session: &SessionId,
        request: TakeIn,
    ) -> Result<TakenIn, Error> {
        let TakeIn { thread, results, offload, mentions } = request;
        let counter = self.counter_in(&who.owner, session);
        let shaping = Shaping { offload, counter, rules: self.inner.settings.shape, bounded: thread != Thread::Main };
        let seen = self.seen(results, mentions, shaping).await?;
        let calls: Vec<[u8; 16]> = seen.iter().map(|seen| seen.call).collect();
        let change = Change::in_session(who, session, named(Some(&thread)));
        // What was chosen last is what was recorded.
        let chosen: Mutex<Option<TakenIn>> = Mutex::new(None);

        let propose = |loaded: &Loaded| {
            let choice = Choice::make(loaded, &thread, &seen, counter);
            *chosen.lock().unwrap_or_else(PoisonError::into_inner) = Some(choice.taken);
            let keep = Keep { counted: choice.counted, ..Keep::default() };
            Ok(Proposal { blobs: choice.blobs, keep, ..Proposal::of(choice.commands) })
        };
        let answer = |_: &Session, decision: &infold_core::Decision| Ok(exhausted_by(decision));
        let folded = self.change_counting(&change, &calls, propose, answer).await?;

        let chosen = chosen.into_inner().unwrap_or_else(PoisonError::into_inner);
        let taken = chosen.unwrap_or(TakenIn { results: Vec::new(), folded: None });
        let offloaded = |taken: &&Taken| matches!(taken.shown, Shown::Reference { .. });
        self.inner.metrics.results_offloaded(taken.results.iter().filter(offloaded).count());
        Ok(TakenIn { folded: folded.or(taken.folded), results: taken.results })
    }

    /// Whether any of these results might be kept elsewhere, so that it pays to gather what the thread has
    /// said and shown before.
    pub(super) fn wants_mentions(&self, results: &[FirstSeen]) -> bool {
        results.iter().filter(|result| may_go(result, Offload::Allowed)).any(|result| {
            let parted = result.remarks.as_ref().map(|remarks| remarks.printed.clone());
            let text = parted.unwrap_or_else(|| result.texts.join("\n"));
            let sight = Sight { tool: &result.tool, arguments: &result.arguments, text: &text };
            self.inner.settings.shape.may_be_over(&sight)
        })
    }
}

/// Whether a result may be kept elsewhere at all.
fn may_go(result: &FirstSeen, offload: Offload) -> bool {
    let is_ours = || Verb::of(&result.tool).is_some() || reads_back(&result.tool, &result.arguments);
    offload == Offload::Allowed && result.is_all_text && !is_ours()
}

#[cfg(test)]
mod tests;
