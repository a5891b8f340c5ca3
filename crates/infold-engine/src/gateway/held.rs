//! Calls that were shown and are not recorded yet. A commit for each would make every call wait for the disk, so they are
//! recorded together: by the next operation on their session, by the timer, or at once when a budget is nearly used up.
//!
//! What must hold: a call is recorded once. Whoever records calls takes them, and nobody else can meanwhile; what was
//! taken and not recorded is put back. If the process dies, the calls of the last second are not counted.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use infold_core::{Command, Decision, Event, Operation, Owner, Principal, Session, SessionId, Thread};
use infold_store::{EndedBranches, Load, SessionKey, Target};

use super::locked;
use crate::record::BoundedMap;
use crate::{Engine, Error};

/// How many calls of one session are held.
const CALLS_MAX: usize = 64;
/// How many bytes of calls are held of one session.
const BYTES_MAX: usize = 1 << 20;
/// Of how many sessions calls are held.
const SESSIONS_MAX: usize = 256;
/// How many sessions are remembered as they were a moment ago.
const KNOWN_MAX: usize = 64;
/// How long a session is taken to be as it was: another process may have changed it.
const KNOWN_FOR: Duration = Duration::from_millis(250);

type HeldKey = (Owner, SessionId);

/// A call that was shown and is not recorded yet.
#[derive(Debug, Clone)]
struct HeldCall {
    number: u64,
    thread: Thread,
    operation: Operation,
    /// Whether somebody is recording it.
    is_taken: bool,
}

impl HeldCall {
    fn bytes(&self) -> usize {
        self.operation.arguments.as_str().len() + self.operation.result.as_str().len()
    }

    fn command(&self) -> Command {
        Command::ObserveShown { thread: self.thread.clone(), operation: Box::new(self.operation.clone()) }
    }
}

/// Calls that are not recorded yet, by session.
#[derive(Debug, Default)]
pub(super) struct HeldCalls {
    sessions: HashMap<HeldKey, Vec<HeldCall>>,
    /// How many calls were ever held, by which each has its number.
    numbered: u64,
}

impl HeldCalls {
    /// Holds a call. Returns whether there was room for it.
    fn hold(&mut self, key: &HeldKey, thread: Thread, operation: Operation) -> bool {
        if !self.sessions.contains_key(key) && self.sessions.len() >= SESSIONS_MAX {
            return false;
        }
        let new = HeldCall { number: self.numbered, thread, operation, is_taken: false };
        let held = self.sessions.entry(key.clone()).or_default();
        let bytes: usize = held.iter().map(HeldCall::bytes).sum();
        if held.len() >= CALLS_MAX || bytes + new.bytes() > BYTES_MAX {
            return false;
        }
        held.push(new);
        self.numbered += 1;
        true
    }

    fn release(&mut self, key: &HeldKey, numbers: &[u64]) {
        if let Some(held) = self.sessions.get_mut(key) {
            held.retain(|held| !numbers.contains(&held.number));
            if held.is_empty() {
                self.sessions.remove(key);
            }
        }
    }

    fn put_back(&mut self, key: &HeldKey, numbers: &[u64]) {
        let held = self.sessions.get_mut(key).into_iter().flatten();
        held.filter(|held| numbers.contains(&held.number)).for_each(|held| held.is_taken = false);
    }
}

/// Calls that somebody is recording. Unless they are let go, they are put back.
#[derive(Debug, Default)]
pub(crate) struct TakenCalls {
    taken: Vec<HeldCall>,
    home: Option<(Arc<Mutex<HeldCalls>>, HeldKey)>,
}

impl TakenCalls {
    /// What records them.
    pub(crate) fn commands(&self) -> Vec<Command> {
        self.taken.iter().map(HeldCall::command).collect()
    }

    /// Drops the calls, which are recorded now, or never will be.
    pub(crate) fn let_go(&self) {
        if let Some((home, key)) = &self.home {
            locked(home).release(key, &self.numbers());
        }
    }

    fn numbers(&self) -> Vec<u64> {
        self.taken.iter().map(|taken| taken.number).collect()
    }
}

impl Drop for TakenCalls {
    fn drop(&mut self) {
        if let Some((home, key)) = &self.home {
            locked(home).put_back(key, &self.numbers());
        }
    }
}

/// A session as it was a moment ago, with what is held of it.
struct KnownNow {
    session: Arc<Session>,
    read_at: Instant,
    /// How many decisions this process had recorded before it was read.
    recorded: u64,
}

/// Sessions as they were a moment ago.
pub(super) struct KnownSessions(BoundedMap<HeldKey, KnownNow>);

impl Default for KnownSessions {
    fn default() -> Self {
        Self(BoundedMap::new(KNOWN_MAX))
    }
}

impl KnownSessions {
    /// The session, if nothing is known to have changed since it was read.
    fn fresh(&mut self, key: &HeldKey, recorded: u64) -> Option<Arc<Session>> {
        let known = self.0.get(key)?;
        let is_fresh = known.recorded == recorded && known.read_at.elapsed() < KNOWN_FOR;
        is_fresh.then(|| Arc::clone(&known.session))
    }
}

impl Engine {
    /// A session with what is held of it, as it was a moment ago at most; `None` if there is none such.
    pub(super) async fn known_now(&self, who: &Principal, session: &SessionId) -> Result<Option<Arc<Session>>, Error> {
        let state = &self.inner.gateway;
        let key = (who.owner.clone(), session.clone());
        let recorded = state.recorded.load(Ordering::SeqCst);
        if let Some(known) = locked(&state.known).fresh(&key, recorded) {
            return Ok(Some(known));
        }
        Box::pin(self.read_now(who, session, (key, recorded))).await
    }

    async fn read_now(
        &self,
        who: &Principal,
        session: &SessionId,
        (key, recorded): (HeldKey, u64),
    ) -> Result<Option<Arc<Session>>, Error> {
        let state = &self.inner.gateway;
        let read_at = Instant::now();
        let target = Target::Session(SessionKey { owner: who.owner.clone(), id: session.clone() });
        let ended = EndedBranches::Nothing;
        let load =
            Load { target: target.clone(), ended: ended.clone(), rate_back: 0, reply_key: None, counted: Vec::new() };
        let Some(loaded) = self.inner.store.load(load).await? else { return Ok(None) };
        let now_ms = self.now_ms();
        if loaded.session.open().any(|branch| branch.deadline_ms <= now_ms) {
            return Ok(self.find_session(target, ended).await?.map(Arc::new));
        }
        let held: Vec<Command> =
            locked(&state.held).sessions.get(&key).into_iter().flatten().map(HeldCall::command).collect();
        let session = Arc::new(infold_core::decide(&loaded.session, &held, self.rules(), now_ms)?.after);
        let known = KnownNow { session: Arc::clone(&session), read_at, recorded };
        locked(&state.known).0.insert(key, known);
        Ok(Some(session))
    }

    /// Holds a call if it does nothing to its session but count. `decide` gets the session as it is with what is held,
    /// and returns what counting leads to, if the call may be held at all. Returns that and the session before it.
    pub(super) fn hold_call<More>(
        &self,
        who: &Principal,
        session: &SessionId,
        decide: impl FnOnce(&Session) -> Option<(Decision, More)>,
    ) -> Option<(Arc<Session>, Decision, More)> {
        let state = &self.inner.gateway;
        let key = (who.owner.clone(), session.clone());
        let mut known = locked(&state.known);
        let before = known.fresh(&key, state.recorded.load(Ordering::SeqCst))?;
        let (decision, more) = decide(&before)?;
        let [Event::OperationSeen { thread, operation }] = &decision.events[..] else { return None };
        if !locked(&state.held).hold(&key, thread.clone(), (**operation).clone()) {
            return None;
        }
        let read_at = known.0.get(&key)?.read_at;
        let recorded = state.recorded.load(Ordering::SeqCst);
        known.0.insert(key, KnownNow { session: Arc::new(decision.after.clone()), read_at, recorded });
        drop(known);
        state.came.notify_one();
        Some((before, decision, more))
    }

    /// Takes the calls that are held of a session and that nobody else has taken.
    pub(crate) fn take_held_calls(&self, owner: &Owner, session: &SessionId) -> TakenCalls {
        let home = &self.inner.gateway.held;
        let mut calls = locked(home);
        if calls.sessions.is_empty() {
            return TakenCalls::default();
        }
        let key = (owner.clone(), session.clone());
        let held = calls.sessions.get_mut(&key).into_iter().flatten().filter(|held| !held.is_taken);
        let taken = held.map(|held| {
            held.is_taken = true;
            held.clone()
        });
        TakenCalls { taken: taken.collect(), home: Some((Arc::clone(home), key)) }
    }

    /// Whether calls of a session are not recorded yet.
    pub(crate) fn holds_calls(&self, owner: &Owner, session: &SessionId) -> bool {
        let calls = locked(&self.inner.gateway.held);
        !calls.sessions.is_empty() && calls.sessions.contains_key(&(owner.clone(), session.clone()))
    }

    /// Records all calls that are held.
    pub(super) async fn flush_held_calls(&self) {
        let keys: Vec<HeldKey> = locked(&self.inner.gateway.held).sessions.keys().cloned().collect();
        for (owner, id) in keys {
            let target = Target::Session(SessionKey { owner: owner.clone(), id: id.clone() });
            match self.find_session(target, EndedBranches::Nothing).await {
                Ok(Some(_)) => {}
                // The session has lapsed, and its calls with it.
                Ok(None) => self.take_held_calls(&owner, &id).let_go(),
                Err(error) => tracing::warn!(%error, "calls of other servers' tools could not be counted yet"),
            }
        }
    }
}
