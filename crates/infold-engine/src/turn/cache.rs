//! What is held in memory of sessions, so that only what is new in a request has to be examined.
//!
//! Requests of one session are planned one after the other: each waits for the session's cache. The caches may be lost
//! at any time, because the store has everything, but for the fact that a request went unplanned: the provider may refuse
//! reasoning then, which is mended. They are bounded in sessions and in bytes.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use infold_core::view::{BlockKey, BranchState, LastAnswer};
use infold_core::{Owner, SessionId, Thread};
use tokio::sync::OwnedMutexGuard;

use super::known_session::KnownSession;
use super::lighten::ThreadLoad;
use super::mentioned::Mentioned;

/// What an entry of a set or map costs beside its content, roughly.
const ENTRY_BYTES: usize = 64;
/// How many threads of a session figures are held of.
const THREADS_MAX: usize = 64;

/// The caches of the sessions that were used last.
pub(crate) struct SessionCaches {
    held: Mutex<HeldSessions>,
    sessions_max: usize,
    bytes_max: usize,
}

#[derive(Default)]
struct HeldSessions {
    slots: HashMap<(Owner, SessionId), (Arc<SessionSlot>, u64)>,
    /// Counts up with each use, to find what was used longest ago.
    now: u64,
}

/// A session's cache, with what can be read without waiting for it.
#[derive(Default)]
pub(super) struct SessionSlot {
    pub(super) cache: Arc<tokio::sync::Mutex<SessionCache>>,
    bytes: AtomicUsize,
    /// The request whose answer was counted last, and with how many tokens.
    counted: Mutex<Option<([u8; 32], u64)>>,
    /// How often the session was rescued since a request last fitted by itself.
    rescues: AtomicU32,
    /// Whether the model's last answer broke off.
    has_broken_off: AtomicBool,
    /// What is known of the threads' last requests.
    threads: Mutex<HashMap<Thread, ThreadFigures>>,
}

/// What is known of a thread by its last request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ThreadFigures {
    /// What offloading would free.
    pub(super) load: Option<ThreadLoad>,
    /// Tokens of the prompt and the answer, as the provider reported them.
    pub(super) used_tokens: Option<u64>,
    /// What offloading was expected to free when nothing could be offloaded.
    pub(super) in_vain_tokens: Option<u64>,
}

impl SessionSlot {
    /// Returns how many tokens of an answer are still to be counted; `None` if none are. A request that is repeated
    /// word for word is answered again, and its client goes on from one of the answers, so the longest is counted.
    pub(super) fn uncounted(&self, request: [u8; 32], output_tokens: u64) -> Option<u64> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let before = counted.filter(|(known, _)| *known == request).map(|(_, tokens)| tokens);
        *counted = Some((request, output_tokens.max(before.unwrap_or_default())));
        match before {
            None => Some(output_tokens),
            Some(before) => output_tokens.checked_sub(before).filter(|more| *more > 0),
        }
    }

    /// Takes a place in the queue for the cache before this returns: whoever asks later gets the cache later.
    pub(super) fn queue_up(&self) -> QueuePosition {
        // Without `unconstrained`, tokio might not queue a task that has run for long without a pause.
        let mut waiting = Box::pin(tokio::task::unconstrained(Arc::clone(&self.cache).lock_owned()));
        match waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(cache) => QueuePosition::Reached(cache),
            Poll::Pending => QueuePosition::Waiting(waiting),
        }
    }

    /// Counts one more rescue, and returns how many there were in a row.
    pub(super) fn rescue(&self) -> u32 {
        self.rescues.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// How the model's last answer ended.
    pub(super) fn last_answer(&self) -> LastAnswer {
        if self.has_broken_off.load(Ordering::Relaxed) { LastAnswer::BrokeOff } else { LastAnswer::Ended }
    }

    /// Records how the model's answer to a turn ended.
    pub(super) fn answered(&self, how: LastAnswer) {
        self.has_broken_off.store(how == LastAnswer::BrokeOff, Ordering::Relaxed);
    }

    /// What is known of a thread's last request.
    pub(super) fn figures(&self, thread: &Thread) -> ThreadFigures {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.get(thread).copied().unwrap_or_default()
    }

    /// Records what offloading results of a thread would free.
    pub(super) fn note_load(&self, thread: &Thread, load: ThreadLoad) {
        self.change_figures(thread, |figures| figures.load = Some(load));
    }

    /// Records what a thread's last request and its answer took, as the provider counted them.
    pub(super) fn note_used(&self, thread: &Thread, used_tokens: u64) {
        self.change_figures(thread, |figures| figures.used_tokens = Some(used_tokens));
    }

    /// Records that nothing could be offloaded from a thread, whatever was expected.
    pub(super) fn lightened_in_vain(&self, thread: &Thread) {
        self.change_figures(thread, |figures| {
            figures.in_vain_tokens = Some(figures.load.map_or(0, |load| load.freed_tokens));
        });
    }

    fn change_figures(&self, thread: &Thread, change: impl FnOnce(&mut ThreadFigures)) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if threads.len() >= THREADS_MAX && !threads.contains_key(thread) {
            threads.clear();
        }
        change(threads.entry(thread.clone()).or_default());
    }

    /// Records that a request fitted by itself, which ends a row of rescues.
    pub(super) fn fits(&self) {
        self.rescues.store(0, Ordering::Relaxed);
    }
}

/// A place in the queue for a session's cache.
pub(super) enum QueuePosition {
    /// The cache is free, and locked for this one.
    Reached(OwnedMutexGuard<SessionCache>),
    /// Others have it before this one.
    Waiting(Pin<Box<dyn Future<Output = OwnedMutexGuard<SessionCache>> + Send>>),
}

impl QueuePosition {
    /// Waits until the cache is free.
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
    /// What is known about the session. It is taken out while a request is planned, so that a request that is given up
    /// halfway leaves nothing half known behind.
    pub(super) known: Option<KnownSession>,
    /// Contents of results, and words of the client's, that hold no secrets and are sent as they are.
    pub(super) clean: HashSet<BlockKey>,
    /// Words of the client's that hold secrets, in the form in which they are sent.
    pub(super) words: HashMap<BlockKey, Arc<str>>,
    /// Whether something was decided that is not stored, because only a count was planned.
    pub(super) has_passing: bool,
    /// Results of the last turn that were taken in and are sent as they are, by call and content. The same text from
    /// another call is another result, which is counted too.
    pub(super) taken: HashSet<(String, BlockKey)>,
    /// What its thread has said and shown.
    pub(super) mentioned: Mentioned,
    /// Whether a request was sent since the last plan that could not be planned.
    pub(super) went_unplanned: bool,
}

impl SessionCache {
    fn bytes(&self) -> usize {
        let clean = self.clean.len() * (size_of::<BlockKey>() + ENTRY_BYTES / 4);
        let known = self.known.as_ref().map_or(0, |known| {
            let known = &known.decisions;
            let rewrites: usize = known
                .rewrites
                .iter()
                .map(|(call, rewrite)| call.len() + rewrite.sent.bytes().len() + ENTRY_BYTES)
                .sum();
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

/// Length of what a branch gives its parent, or would give it now, in bytes.
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

    /// Returns the slot of a session, which then counts as used last.
    pub(super) fn of(&self, owner: &Owner, session: &SessionId) -> Arc<SessionSlot> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.now += 1;
        let now = held.now;
        let (slot, used) = held.slots.entry((owner.clone(), session.clone())).or_default();
        *used = now;
        Arc::clone(slot)
    }

    /// Returns the slot of a session, if there is one.
    pub(super) fn held(&self, owner: &Owner, session: &SessionId) -> Option<Arc<SessionSlot>> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.slots.get(&(owner.clone(), session.clone())).map(|(slot, _)| Arc::clone(slot))
    }

    /// Updates how much is held of a session. If that is too much over all sessions, drops those that were used longest
    /// ago. One that is in use stays.
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
