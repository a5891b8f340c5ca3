//! The way every change goes: load, decide, record, answer. If somebody else changed the session in between, it goes
//! again from the start.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use infold_core::{Command, Decision, Owner, Principal, ProjectHash, Refusal, Session, SessionId, Thread};
use infold_store::{
    Append, EndedBranches, Load, Loaded, NewBlob, NewDecisions, NewLessons, NewShown, ProjectSlot, Reply, StoreError,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::MutexGuard;

use crate::naming::{check_project, fresh, new_session, store_target};
use crate::turn::PendingWords;
use crate::{Engine, Error, Failure, SessionRef};

/// How often a change is decided again before it is given up. From the second time on, writers of one process wait for
/// each other, so only other processes can get in between.
pub(crate) const ATTEMPTS_MAX: usize = 50;

/// What happens if the session of a change does not exist yet.
#[derive(Debug, Clone)]
pub(crate) enum Absent {
    /// The session is started.
    Start,
    /// The session is started as a fork, in its parent's project.
    Fork(Option<ProjectHash>),
    /// The change is refused.
    Refuse(Refusal),
}

/// Which session a change is for, and what has to be loaded of it.
#[derive(Debug, Clone)]
pub(crate) struct SessionChange {
    pub(crate) owner: Owner,
    pub(crate) target: ChangeTarget,
    pub(crate) ended: EndedBranches,
    pub(crate) absent: Absent,
    /// The hash of the caller's idempotency key, and a fingerprint of its request.
    pub(crate) key: Option<(String, [u8; 32])>,
}

impl SessionChange {
    /// A change of a session by its name. The session is started if it does not exist.
    pub(crate) fn in_session(who: &Principal, session: &SessionId, ended: EndedBranches) -> Self {
        Self {
            owner: who.owner.clone(),
            target: ChangeTarget::Session(SessionRef::Id(session.clone())),
            ended,
            absent: Absent::Start,
            key: None,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum ChangeTarget {
    Session(SessionRef),
    Branch(infold_core::BranchId),
}

/// When a session is brought up to date before a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Occasion {
    /// Whenever there is anything to do.
    Any,
    /// Only if a branch's time is over. Pending words alone are recorded with the change that follows.
    Overdue,
}

/// What a change is decided on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Basis {
    /// What this machine knows. It is enough for what is recorded: that is refused if another machine knows more.
    Known,
    /// Everything that was acknowledged to anybody. Refusals, and answers that record nothing, need it.
    Newest,
}

/// How an attempt at a change ended.
enum Tried<T> {
    Answered(T),
    /// The session is another one by now.
    Moved(Box<Session>),
    /// It was brought up to date, or has to be decided with more than this machine knows.
    Again,
}

/// What a change should lead to.
#[derive(Default)]
pub(crate) struct Proposal {
    pub(crate) commands: Vec<Command>,
    /// Offloaded results that are stored with it.
    pub(crate) blobs: Vec<NewBlob>,
    /// Decisions about model requests that are stored with it.
    pub(crate) new_decisions: NewDecisions,
    /// What a branch that returns says about lessons.
    pub(crate) lessons: Option<NewLessons>,
    /// Memories that a branch that opens may be given.
    pub(crate) shown: Option<NewShown>,
}

impl Proposal {
    /// Proposes commands, and nothing to store beside what they lead to.
    pub(crate) fn of(commands: Vec<Command>) -> Self {
        Self { commands, ..Self::default() }
    }

    /// Proposes a command whose answer also reports to `asker` those of its branches that were cut short meanwhile.
    pub(crate) fn telling(asker: &Thread, command: Command) -> Self {
        Self::of(vec![Command::MarkReported { to: asker.clone() }, command])
    }
}

/// A fingerprint of a request, which distinguishes a repeated request from a key that is reused by mistake.
pub(crate) fn fingerprint(request: &impl Serialize) -> [u8; 32] {
    let json = serde_json::to_vec(request).unwrap_or_default();
    *blake3::hash(&json).as_bytes()
}

impl Engine {
    /// Makes a change. `propose` says what is wanted, given the current session; `answer` says what to answer, given
    /// the session before the change and what was decided.
    pub(crate) async fn change<T: Serialize + DeserializeOwned>(
        &self,
        change: &SessionChange,
        propose: impl Fn(&Loaded) -> Result<Proposal, Error>,
        answer: impl Fn(&Session, &Decision) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        let propose = |loaded: &Loaded| Ok((propose(loaded)?, ()));
        Ok(self.change_counting(change, &[], propose, answer).await?.0)
    }

    /// Makes a change, like [`Engine::change`]. `propose` learns which of `calls` were counted before, and returns more
    /// than the answer holds. That is `None` if an earlier answer is repeated.
    pub(crate) async fn change_counting<T: Serialize + DeserializeOwned, More>(
        &self,
        change: &SessionChange,
        calls: &[[u8; 16]],
        propose: impl Fn(&Loaded) -> Result<(Proposal, More), Error>,
        answer: impl Fn(&Session, &Decision) -> Result<T, Failure>,
    ) -> Result<(T, Option<More>), Error> {
        let mut lock: Option<MutexGuard<'_, ()>> = None;
        let mut basis = if self.inner.store.is_shared() { Basis::Known } else { Basis::Newest };
        for _ in 0..ATTEMPTS_MAX {
            match self.try_change(change, calls, (&propose, &answer), basis).await {
                Ok(Tried::Answered(answered)) => return Ok(answered),
                Ok(Tried::Moved(session)) if lock.is_none() => lock = Some(self.wait_in_line(&session).await),
                Ok(Tried::Moved(_) | Tried::Again) => {}
                Err(Error::Refused(_)) if basis == Basis::Known => {}
                Err(error) => return Err(error),
            }
            basis = Basis::Newest;
        }
        Err(Failure::Contended.into())
    }

    /// Makes a change, unless the session is changed by somebody else at the same time.
    async fn try_change<T: Serialize + DeserializeOwned, More>(
        &self,
        change: &SessionChange,
        calls: &[[u8; 16]],
        (propose, answer): (
            &impl Fn(&Loaded) -> Result<(Proposal, More), Error>,
            &impl Fn(&Session, &Decision) -> Result<T, Failure>,
        ),
        basis: Basis,
    ) -> Result<Tried<(T, Option<More>)>, Error> {
        let now_ms = self.now_ms();
        let (loaded, place) = self.load_or_start(change, calls, now_ms, basis).await?;
        if let Some(answer) = repeated_answer(&loaded, change)? {
            return Ok(Tried::Answered((answer, None)));
        }
        let pending = self.pending_words(&loaded.session).await;
        if self.bring_up_to_date_with(&loaded.session, &pending, Occasion::Overdue, now_ms).await? {
            return Ok(Tried::Again);
        }

        let (decision, proposal, more) = self.decide_with(&loaded, &pending, propose, now_ms)?;
        let answer = answer(&loaded.session, &decision)?;
        if decision.events.is_empty() && proposal.new_decisions.is_empty() {
            if basis == Basis::Known {
                return Ok(Tried::Again);
            }
            self.confirm_stored(&pending);
            return Ok(Tried::Answered((answer, Some(more))));
        }

        let reply = change.key.as_ref().map(|(key, fingerprint)| Reply {
            key: key.clone(),
            fingerprint: *fingerprint,
            answer: serde_json::to_string(&answer).unwrap_or_default(),
        });
        let append = Append {
            decided_on: loaded.session.version,
            at_ms: now_ms,
            decision: Arc::new(decision),
            blobs: proposal.blobs,
            new_decisions: proposal.new_decisions,
            lessons: proposal.lessons,
            shown: proposal.shown,
            reply,
            place,
            room: self.room(),
        };
        match self.record(append).await {
            Ok(()) => {
                self.confirm_stored(&pending);
                Ok(Tried::Answered((answer, Some(more))))
            }
            Err(StoreError::Moved) => Ok(Tried::Moved(Box::new(loaded.session))),
            Err(error) => Err(error.into()),
        }
    }

    /// Decides what a proposal leads to, after the pending words have been applied to the session.
    fn decide_with<More>(
        &self,
        loaded: &Loaded,
        pending: &PendingWords,
        propose: impl Fn(&Loaded) -> Result<(Proposal, More), Error>,
        now_ms: u64,
    ) -> Result<(Decision, Proposal, More), Error> {
        let decide = |commands: &[Command]| infold_core::decide(&loaded.session, commands, self.rules(), now_ms);
        if pending.commands.is_empty() {
            let (proposal, more) = propose(loaded)?;
            return Ok((decide(&proposal.commands)?, proposal, more));
        }
        // The proposal may depend on what the pending words change.
        let (proposal, more) = propose(&Loaded { session: decide(&pending.commands)?.after, ..loaded.clone() })?;
        let commands = [&pending.commands[..], &proposal.commands].concat();
        Ok((decide(&commands)?, proposal, more))
    }

    /// Records a decision, and wakes those who wait for events.
    pub(crate) async fn record(&self, append: Append) -> Result<(), StoreError> {
        let decision = Arc::clone(&append.decision);
        self.inner.store.append(append).await?;
        self.inner.metrics.recorded(&decision);
        self.inner.alarm.set_for(&decision.after);
        self.inner.feed.ring();
        self.inner.learning.note_recorded(&decision);
        self.inner.gateway.note_recorded();
        Ok(())
    }

    /// Stores the pending words of a session, and folds its branches whose time is over. Returns whether there was
    /// anything to do.
    pub(crate) async fn bring_up_to_date(&self, session: &Session, now_ms: u64) -> Result<bool, Error> {
        let pending = self.pending_words(session).await;
        self.bring_up_to_date_with(session, &pending, Occasion::Any, now_ms).await
    }

    async fn bring_up_to_date_with(
        &self,
        session: &Session,
        pending: &PendingWords,
        occasion: Occasion,
        now_ms: u64,
    ) -> Result<bool, Error> {
        let decide = |commands: &[Command]| infold_core::decide(session, commands, self.rules(), now_ms);
        let mut decision = decide(&[Command::FoldOverdue])?;
        let is_overdue = !decision.events.is_empty();
        if !is_overdue && occasion == Occasion::Overdue {
            return Ok(false);
        }
        if !pending.commands.is_empty() {
            decision = decide(&[&pending.commands[..], &[Command::FoldOverdue]].concat())?;
        }
        if decision.events.is_empty() {
            self.confirm_stored(pending);
            return Ok(false);
        }
        let append = Append {
            decided_on: session.version,
            at_ms: now_ms,
            decision: Arc::new(decision),
            blobs: Vec::new(),
            new_decisions: NewDecisions::default(),
            lessons: None,
            shown: None,
            reply: None,
            place: ProjectSlot::Any,
            room: self.room(),
        };
        match self.record(append).await {
            Ok(()) => {
                self.confirm_stored(pending);
                Ok(true)
            }
            // Whoever changed the session has brought it up to date, or the next attempt does.
            Err(StoreError::Moved) => Ok(true),
            // A session stays usable if its last words cannot be stored.
            Err(error) if !is_overdue => {
                tracing::warn!(%error, "an agent's last words could not be stored");
                self.confirm_stored(pending);
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until no other writer of this process is at work on the session, after a collision.
    async fn wait_in_line(&self, session: &Session) -> MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        (session.owner.as_str(), session.id.as_str()).hash(&mut hasher);
        let at = usize::try_from(hasher.finish() % self.inner.locks.len() as u64).unwrap_or(0);
        self.inner.locks[at].lock().await
    }

    async fn load_or_start(
        &self,
        change: &SessionChange,
        calls: &[[u8; 16]],
        now_ms: u64,
        basis: Basis,
    ) -> Result<(Loaded, ProjectSlot), Error> {
        let load = Load {
            target: store_target(&change.owner, &change.target),
            ended: change.ended.clone(),
            rate_back: self.limits().openings_per_minute_max,
            reply_key: change.key.as_ref().map(|(key, _)| key.clone()),
            counted: calls.to_vec(),
        };
        let found = match basis {
            Basis::Known => self.inner.store.load_known(load).await?,
            Basis::Newest => self.inner.store.load(load).await?,
        };
        if let Some(loaded) = found {
            if let ChangeTarget::Session(session) = &change.target {
                check_project(session, &loaded.session)?;
            }
            return Ok((loaded, ProjectSlot::Any));
        }
        match (&change.absent, &change.target) {
            (Absent::Start, ChangeTarget::Session(session)) => {
                let (session, place) = new_session(&change.owner, session, now_ms)?;
                Ok((fresh(session), place))
            }
            (Absent::Fork(project), ChangeTarget::Session(session)) => {
                let (session, place) = new_session(&change.owner, session, now_ms)?;
                let session = Session { project: project.clone(), ..session };
                Ok((fresh(session), place))
            }
            (Absent::Refuse(refusal), _) => Err(refusal.clone().into()),
            (Absent::Start | Absent::Fork(_), ChangeTarget::Branch(branch)) => {
                Err(Refusal::BranchNotFound { branch: branch.to_string() }.into())
            }
        }
    }
}

/// The answer that is stored for this change's key, if there is one.
pub(crate) fn repeated_answer<T: DeserializeOwned>(
    loaded: &Loaded,
    change: &SessionChange,
) -> Result<Option<T>, Error> {
    let (Some(reply), Some((_, fingerprint))) = (&loaded.reply, &change.key) else { return Ok(None) };
    if reply.fingerprint != *fingerprint {
        return Err(Refusal::KeyReused.into());
    }
    let unreadable =
        |error: serde_json::Error| Failure::Store(StoreError::Unreadable { what: "reply", problem: error.to_string() });
    Ok(Some(serde_json::from_str(&reply.answer).map_err(unreadable)?))
}
