//! What agents of branches were heard to say, until it is stored.
//!
//! The proxy hands it in while an answer passes, before the client has all of it, and waits for nothing. Whoever
//! looks at the session next, by whatever door, stores it first: so a branch that is cut short then gives its last
//! words too. What is lost with the process was shown to nobody.

use std::collections::VecDeque;
use std::sync::PoisonError;

use infold_core::{BranchId, Command, Owner, Principal, Session, SessionId, Thread};
use infold_store::{EndedBranches, SessionKey, Target};

use crate::{Engine, Error};

/// Branches whose words are held; the oldest go first. They are stored within moments, so there are hardly ever
/// more than a few.
const HELD_MAX: usize = 256;

/// Words that are not stored yet.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UnstoredWords {
    owner: Owner,
    session: SessionId,
    branch: BranchId,
    words: String,
}

/// Words that were heard. Of each branch the latest are held.
#[derive(Debug, Default)]
pub(crate) struct HeardWords {
    held: VecDeque<UnstoredWords>,
}

/// What a session's agents said, to be recorded with the next decision on it.
#[derive(Debug, Default)]
pub(crate) struct PendingWords {
    held: Vec<UnstoredWords>,
    pub(crate) commands: Vec<Command>,
}

impl HeardWords {
    fn hold(&mut self, new: UnstoredWords) {
        self.held.retain(|held| (&held.owner, &held.session, &held.branch) != (&new.owner, &new.session, &new.branch));
        self.held.push_back(new);
        self.held.drain(..self.held.len().saturating_sub(HELD_MAX));
    }

    fn of(&self, owner: &Owner, session: &SessionId) -> Vec<UnstoredWords> {
        self.held.iter().filter(|held| held.owner == *owner && held.session == *session).cloned().collect()
    }

    /// Lets go of what was stored. What was said in the meantime stays.
    fn let_go(&mut self, stored: &[UnstoredWords]) {
        self.held.retain(|held| !stored.contains(held));
    }
}

impl Engine {
    /// Takes note of what the model has said in a thread. It is stored without secrets, and of a branch only, which
    /// gives its last words to its parent if it is cut short.
    pub(super) fn note_words(&self, who: &Principal, session: &SessionId, thread: &Thread, words: &str) {
        let Some(branch) = thread.branch().filter(|_| !words.trim().is_empty()) else { return };
        let held = UnstoredWords {
            owner: who.owner.clone(),
            session: session.clone(),
            branch: branch.clone(),
            words: words.to_owned(),
        };
        self.inner.said.lock().unwrap_or_else(PoisonError::into_inner).hold(held);
    }

    /// Stores what was said in a session. Whoever counts an answer need not ask for it.
    pub(super) async fn store_pending_words(&self, who: &Principal, session: &SessionId) -> Result<(), Error> {
        if self.has_pending_words(&who.owner, session) {
            let key = SessionKey { owner: who.owner.clone(), id: session.clone() };
            self.find_session(Target::Session(key), EndedBranches::Nothing).await?;
        }
        Ok(())
    }

    /// Whether something was said in a session that is not stored yet.
    pub(crate) fn has_pending_words(&self, owner: &Owner, session: &SessionId) -> bool {
        !self.inner.said.lock().unwrap_or_else(PoisonError::into_inner).of(owner, session).is_empty()
    }

    /// What was said in a session and is not stored yet, without secrets. What cannot be searched for them is never
    /// stored.
    pub(crate) async fn pending_words(&self, session: &Session) -> PendingWords {
        let held = self.inner.said.lock().unwrap_or_else(PoisonError::into_inner).of(&session.owner, &session.id);
        let mut unheard = PendingWords { held, commands: Vec::new() };
        for held in &unheard.held {
            match self.scrub([held.words.clone()]).await {
                Ok([words]) => unheard.commands.push(Command::Hear { branch: held.branch.clone(), words }),
                Err(error) => tracing::warn!(%error, "an agent's last words could not be scrubbed and are not kept"),
            }
        }
        unheard
    }

    /// Takes note that it is stored, or never will be.
    pub(crate) fn confirm_stored(&self, unheard: &PendingWords) {
        if !unheard.held.is_empty() {
            self.inner.said.lock().unwrap_or_else(PoisonError::into_inner).let_go(&unheard.held);
        }
    }
}

#[cfg(test)]
mod tests;
