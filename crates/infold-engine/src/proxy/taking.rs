//! Taking results in when they are first seen: scrubbed, counted, and kept elsewhere where they are long.

mod choice;
mod moving;
mod seen;

use std::sync::{Mutex, PoisonError};

use infold_core::view::{Verb, reads_back};
use infold_core::{Principal, Session, SessionId, Sight, Thread};
use infold_store::{Keep, Loaded};

use super::{FirstSeen, Offload, Shown, TakeIn, Taken, TakenIn};
use crate::change::{Change, Proposal};
use crate::observe::exhausted_by;
use crate::open::named;
use crate::{Engine, Error};
use choice::Choice;
pub use moving::{Away, Rescue};
use seen::Shaping;

impl Engine {
    /// Takes in results before they are sent for the first time. Secrets are taken out of each; long ones
    /// are kept elsewhere, and so is one that would break its branch's budget; what is sent of them is
    /// counted in the thread, once for each call. When this returns, what was decided is on disk, and the
    /// caller stores the bytes with [`Engine::keep_rewrites`].
    ///
    /// In the main thread, only what was changed is recorded: a plain session costs the disk nothing.
    #[tracing::instrument(skip_all)]
    pub async fn take_in(&self, who: &Principal, session: &SessionId, request: TakeIn) -> Result<TakenIn, Error> {
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
    pub fn wants_mentions(&self, results: &[FirstSeen]) -> bool {
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
