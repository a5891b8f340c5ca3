//! What agents of branches said last, until it is stored.
//!
//! The listener hands the words in while an answer passes, before the client has all of it, and does not wait for the
//! store. Whoever looks at the session next, by whatever surface, stores them first; so a branch that is cut short then
//! still gives its last words to its parent. If the process dies before that, nobody was shown them.

use std::collections::VecDeque;
use std::sync::PoisonError;

use infold_core::{BranchId, Command, Owner, Principal, Session, SessionId, Thread};
use infold_store::{EndedBranches, SessionKey, Target};

use crate::gateway::TakenCalls;
use crate::{Engine, Error};

/// How many branches' words are held; the oldest are dropped first. Words are stored within moments, so there are
/// hardly ever more than a few.
const HELD_MAX: usize = 256;

/// Words that an agent said and that are not stored yet.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UnstoredWords {
    owner: Owner,
    session: SessionId,
    branch: BranchId,
    words: String,
}

/// Words that are not stored yet, over all sessions. Only the latest words of each branch are held.
#[derive(Debug, Default)]
pub(crate) struct HeldWords {
    held: VecDeque<UnstoredWords>,
}

/// What a session's agents said, and calls of theirs that were shown, to be recorded with the next decision on the
/// session.
#[derive(Debug, Default)]
pub(crate) struct PendingWords {
    held: Vec<UnstoredWords>,
    /// Calls of other servers' tools that are counted with the same decision.
    calls: TakenCalls,
    pub(crate) commands: Vec<Command>,
}

impl HeldWords {
    fn hold(&mut self, new: UnstoredWords) {
        self.held.retain(|held| (&held.owner, &held.session, &held.branch) != (&new.owner, &new.session, &new.branch));
        self.held.push_back(new);
        self.held.drain(..self.held.len().saturating_sub(HELD_MAX));
    }

    fn of(&self, owner: &Owner, session: &SessionId) -> Vec<UnstoredWords> {
        self.held.iter().filter(|held| held.owner == *owner && held.session == *session).cloned().collect()
    }

    /// Drops words that were stored. Words that came in the meantime stay.
    fn let_go(&mut self, stored: &[UnstoredWords]) {
        self.held.retain(|held| !stored.contains(held));
    }
}

impl Engine {
    /// Takes the words that the model said in a thread. Only a branch's are held, because a branch that is cut short
    /// gives its last words to its parent. They are scrubbed before they are stored.
    pub(super) fn note_words(&self, who: &Principal, session: &SessionId, thread: &Thread, words: &str) {
        let Some(branch) = thread.branch().filter(|_| !words.trim().is_empty()) else { return };
        let held = UnstoredWords {
            owner: who.owner.clone(),
            session: session.clone(),
            branch: branch.clone(),
            words: words.to_owned(),
        };
        self.inner.last_words.lock().unwrap_or_else(PoisonError::into_inner).hold(held);
    }

    /// Stores the pending words of a session. Counting an answer does so anyway.
    pub(super) async fn store_pending_words(&self, who: &Principal, session: &SessionId) -> Result<(), Error> {
        if self.has_pending_words(&who.owner, session) {
            let key = SessionKey { owner: who.owner.clone(), id: session.clone() };
            self.find_session(Target::Session(key), EndedBranches::Nothing).await?;
        }
        Ok(())
    }

    /// Whether words or calls of a session are not stored yet.
    pub(crate) fn has_pending_words(&self, owner: &Owner, session: &SessionId) -> bool {
        self.holds_calls(owner, session)
            || !self.inner.last_words.lock().unwrap_or_else(PoisonError::into_inner).of(owner, session).is_empty()
    }

    /// Returns the words of a session that are not stored yet, scrubbed. Words that cannot be scrubbed are never
    /// stored.
    pub(crate) async fn pending_words(&self, session: &Session) -> PendingWords {
        let held = self.inner.last_words.lock().unwrap_or_else(PoisonError::into_inner).of(&session.owner, &session.id);
        let calls = self.take_held_calls(&session.owner, &session.id);
        let mut pending = PendingWords { held, calls, commands: Vec::new() };
        for held in &pending.held {
            match self.scrub([held.words.clone()]).await {
                Ok([words]) => pending.commands.push(Command::NoteWords { branch: held.branch.clone(), words }),
                Err(error) => tracing::warn!(%error, "an agent's last words could not be scrubbed and are not kept"),
            }
        }
        // Words come first: a call may fold its branch, whose partial result has them.
        pending.commands.extend(pending.calls.commands());
        pending
    }

    /// Drops words and calls that are stored now, or never will be.
    pub(crate) fn confirm_stored(&self, pending: &PendingWords) {
        pending.calls.let_go();
        if !pending.held.is_empty() {
            self.inner.last_words.lock().unwrap_or_else(PoisonError::into_inner).let_go(&pending.held);
        }
    }
}

#[cfg(test)]
mod tests;
