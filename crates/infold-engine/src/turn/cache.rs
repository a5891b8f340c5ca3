//! What is held in memory of sessions, so that only what is new in a request is looked at closely.
//!
//! Requests of one session are planned one after the other: each waits for the state of its session. What is
//! held can be lost at any time, and is bounded in sessions and in bytes; the engine has all of it.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use infold_core::view::{BlockKey, BranchState, LastAnswer};
use infold_core::{Owner, SessionId};
use tokio::sync::OwnedMutexGuard;

use super::known_session::KnownSession;
use super::mentioned::Mentioned;

/// What an entry of a set or map costs beside what it holds, roughly.
const ENTRY_BYTES: usize = 64;

/// The sessions that are held.
pub(crate) struct SessionCaches {
    held: Mutex<HeldSessions>,
    sessions_max: usize,
    bytes_max: usize,
}

#[derive(Default)]
struct HeldSessions {
    slots: HashMap<(Owner, SessionId), (Arc<SessionSlot>, u64)>,
    /// Counts up with each use, to tell what was used longest ago.
    now: u64,
}

/// A session's place.
#[derive(Default)]
pub(super) struct SessionSlot {
    pub(super) cache: Arc<tokio::sync::Mutex<SessionCache>>,
    bytes: AtomicUsize,
    /// The request whose answer was counted last, and how much of it.
    counted: Mutex<Option<([u8; 32], u64)>>,
    /// How often it was rescued since it last fitted by itself.
    rescues: AtomicU32,
    /// Whether the model's last answer broke off.
    has_broken_off: AtomicBool,
}

impl SessionSlot {
    /// How much is still to be counted of an answer of so many tokens; none if nothing is. A request that is repeated
    /// word for word is answered again, and its client goes on from one of the answers: the longest is counted.
    pub(super) fn uncounted(&self, request: [u8; 32], output_tokens: u64) -> Option<u64> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let before = counted.filter(|(known, _)| *known == request).map(|(_, tokens)| tokens);
        *counted = Some((request, output_tokens.max(before.unwrap_or_default())));
        match before {
            None => Some(output_tokens),
            Some(before) => output_tokens.checked_sub(before).filter(|more| *more > 0),
        }
    }

    /// Takes a place in the line for the state, before this returns: whoever asks for it later gets it later.
    pub(super) fn queue_up(&self) -> QueuePosition {
        // A task that has done much without a pause would not be let into the line.
        let mut waiting = Box::pin(tokio::task::unconstrained(Arc::clone(&self.cache).lock_owned()));
        match waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(cache) => QueuePosition::Reached(cache),
            Poll::Pending => QueuePosition::Waiting(waiting),
        }
    }

    /// One more rescue; how many there were in a row.
    pub(super) fn rescue(&self) -> u32 {
        self.rescues.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// How the model's last answer ended.
    pub(super) fn last_answer(&self) -> LastAnswer {
        if self.has_broken_off.load(Ordering::Relaxed) { LastAnswer::BrokeOff } else { LastAnswer::Ended }
    }

    /// The model has answered a turn.
    pub(super) fn answered(&self, how: LastAnswer) {
        self.has_broken_off.store(how == LastAnswer::BrokeOff, Ordering::Relaxed);
    }

    /// A request fitted by itself.
    pub(super) fn fits(&self) {
        self.rescues.store(0, Ordering::Relaxed);
    }
}

/// A place in the line for a session's state.
pub(super) enum QueuePosition {
    /// It is this one's turn.
    Reached(OwnedMutexGuard<SessionCache>),
    /// It will be.
    Waiting(Pin<Box<dyn Future<Output = OwnedMutexGuard<SessionCache>> + Send>>),
}

impl QueuePosition {
    /// Waits for the turn.
    pub(super) async fn reached(self) -> OwnedMutexGuard<SessionCache> {
        match self {
            Self::Reached(cache) => cache,
            Self::Waiting(waiting) => waiting.await,
        }
    }
}

/// What is held of a session.
#[derive(Default)]
pub(super) struct SessionCache {
    /// What the engine knows. Taken out while a request is planned, so that one that is given up halfway
    /// leaves nothing half known behind.
    pub(super) known: Option<KnownSession>,
    /// Contents of results, and words of the client's, that hold no secrets and go as they are.
    pub(super) clean: HashSet<BlockKey>,
    /// Words of the client's that hold secrets, as they are sent.
    pub(super) words: HashMap<BlockKey, Arc<str>>,
    /// Whether something was decided that is not stored, while a count is planned.
    pub(super) has_passing: bool,
    /// Results of the last turn that were taken in and go as they are, by call and content: the same words
    /// from another call are another result, which is counted too.
    pub(super) taken: HashSet<(String, BlockKey)>,
    /// What its thread has said and shown.
    pub(super) mentioned: Mentioned,
}

impl SessionCache {
    fn bytes(&self) -> usize {
        let clean = self.clean.len() * (size_of::<BlockKey>() + ENTRY_BYTES / 4);
        let known = self.known.as_ref().map_or(0, |known| {
            let known = &known.decisions;
            let rewrites: usize =
                known.rewrites.iter().map(|(call, rewrite)| call.len() + rewrite.sent.len() + ENTRY_BYTES).sum();
            let notes: usize = known.notes.iter().map(|note| note.text.len() + ENTRY_BYTES).sum();
            let endings: usize = known.endings.iter().map(|ending| ending.result.len() + ENTRY_BYTES).sum();
            let branches: usize = known.branches.values().map(|branch| text_of(&branch.state) + 4 * ENTRY_BYTES).sum();
            rewrites + notes + endings + branches + known.restarts.len() * ENTRY_BYTES
        });
        let taken: usize = self.taken.iter().map(|(call, _)| call.len() + ENTRY_BYTES).sum();
        let words: usize = self.words.values().map(|text| text.len() + ENTRY_BYTES).sum();
        clean + words + known + taken + self.mentioned.bytes()
    }
}

/// Bytes of what a branch gives its parent, or would give it now.
fn text_of(cache: &BranchState) -> usize {
    match cache {
        BranchState::Open { partial } => partial.len(),
        BranchState::Ended { result, .. } => result.len(),
    }
}

impl SessionCaches {
    pub(crate) fn new(sessions_max: usize, bytes_max: usize) -> Self {
        Self { held: Mutex::new(HeldSessions::default()), sessions_max, bytes_max }
    }

    /// The place of a session.
    pub(super) fn of(&self, owner: &Owner, session: &SessionId) -> Arc<SessionSlot> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.now += 1;
        let now = held.now;
        let (slot, used) = held.slots.entry((owner.clone(), session.clone())).or_default();
        *used = now;
        Arc::clone(slot)
    }

    /// Takes note of how much is held of a session now, and lets go of those that were used longest ago if
    /// it is too much in all. One that is in use stays.
    pub(super) fn weigh(&self, slot: &SessionSlot, cache: &SessionCache) {
        slot.bytes.store(cache.bytes(), Ordering::Relaxed);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes: usize = held.slots.values().map(|(slot, _)| slot.bytes.load(Ordering::Relaxed)).sum();
        if held.slots.len() <= self.sessions_max && bytes <= self.bytes_max {
            return;
        }
        let mut idle: Vec<(u64, (Owner, SessionId))> = held
            .slots
            .iter()
            .filter(|(_, (slot, _))| Arc::strong_count(slot) == 1)
            .map(|(key, (_, used))| (*used, key.clone()))
            .collect();
        idle.sort_by_key(|(used, _)| *used);
        for (_, key) in idle {
            if held.slots.len() <= self.sessions_max && bytes <= self.bytes_max {
                return;
            }
            if let Some((slot, _)) = held.slots.remove(&key) {
                bytes = bytes.saturating_sub(slot.bytes.load(Ordering::Relaxed));
            }
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).slots.len()
    }
}

#[cfg(test)]
mod tests;
