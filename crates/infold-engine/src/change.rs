//! The way every change goes: load, decide, record, answer; and again from the start if somebody
//! else changed the session in between.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use infold_core::{Command, Decision, Owner, Principal, ProjectHash, Refusal, Session, SessionId, Thread};
use infold_store::{
    Append, EndedBranches, Load, Loaded, NewBlob, NewDecisions, ProjectSlot, Reply, SessionKey, StoreError, Target,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::MutexGuard;

use crate::turn::PendingWords;
use crate::{Engine, Error, Failure, Notice, SessionRef, random};

/// How often a change is decided again before giving up. From the second time on, writers of one
/// process wait for each other, so only other processes can get in between.
const ATTEMPTS_MAX: usize = 50;

/// What becomes of a change whose session does not exist yet.
#[derive(Debug, Clone)]
pub(crate) enum Absent {
    /// It is started.
    Start,
    /// It is started as a fork, in its parent's project.
    Fork(Option<ProjectHash>),
    /// The change is refused.
    Refuse(Refusal),
}

/// Which session a change is for, and what it needs to know of it.
#[derive(Debug, Clone)]
pub(crate) struct SessionChange {
    pub(crate) owner: Owner,
    pub(crate) target: ChangeTarget,
    pub(crate) also: EndedBranches,
    pub(crate) absent: Absent,
    /// The caller's key and a fingerprint of its request.
    pub(crate) key: Option<(String, [u8; 32])>,
}

impl SessionChange {
    /// A change of a session by its name, which starts it if there is none.
    pub(crate) fn in_session(who: &Principal, session: &SessionId, also: EndedBranches) -> Self {
        Self {
            owner: who.owner.clone(),
            target: ChangeTarget::Session(SessionRef::Id(session.clone())),
            also,
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

/// When a session is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Occasion {
    /// If anything is to be done.
    Any,
    /// If a branch's time is over: what was said is recorded with the change that follows.
    Overdue,
}

/// What a change leads to.
#[derive(Default)]
pub(crate) struct Proposal {
    pub(crate) commands: Vec<Command>,
    /// Results that are kept with it.
    pub(crate) blobs: Vec<NewBlob>,
    /// Decisions of the proxy that are kept with it.
    pub(crate) keep: NewDecisions,
}

impl Proposal {
    /// Commands, and nothing to be kept beside what they lead to.
    pub(crate) fn of(commands: Vec<Command>) -> Self {
        Self { commands, ..Self::default() }
    }

    /// A command whose answer also tells `asker` of its branches that were cut short meanwhile.
    pub(crate) fn telling(asker: &Thread, command: Command) -> Self {
        Self::of(vec![Command::Tell { to: asker.clone() }, command])
    }
}

/// A fingerprint of a request, to tell a repetition from a mistake.
pub(crate) fn fingerprint(request: &impl Serialize) -> [u8; 32] {
    let json = serde_json::to_vec(request).unwrap_or_default();
    *blake3::hash(&json).as_bytes()
}

impl Engine {
    /// Makes a change. `propose` says what is wanted, given the session as it stands; `answer` says
    /// what to answer, given the session before and what was decided.
    pub(crate) async fn change<T: Serialize + DeserializeOwned>(
        &self,
        change: &SessionChange,
        propose: impl Fn(&Loaded) -> Result<Proposal, Error>,
        answer: impl Fn(&Session, &Decision) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        let propose = |loaded: &Loaded| Ok((propose(loaded)?, ()));
        Ok(self.change_counting(change, &[], propose, answer).await?.0)
    }

    /// The same; `propose` knows which of `calls` were counted before, and says more of what was recorded than an answer
    /// does, which is nothing where an earlier answer is repeated.
    pub(crate) async fn change_counting<T: Serialize + DeserializeOwned, More>(
        &self,
        change: &SessionChange,
        calls: &[[u8; 16]],
        propose: impl Fn(&Loaded) -> Result<(Proposal, More), Error>,
        answer: impl Fn(&Session, &Decision) -> Result<T, Failure>,
    ) -> Result<(T, Option<More>), Error> {
        let mut turn: Option<MutexGuard<'_, ()>> = None;
        for _ in 0..ATTEMPTS_MAX {
            let now_ms = self.now_ms();
            let (loaded, place) = self.load_or_start(change, calls, now_ms).await?;
            if let Some(answer) = replay(&loaded, change)? {
                return Ok((answer, None));
            }
            let unheard = self.pending_words(&loaded.session).await;
            if self.bring_up_to_date_with(&loaded.session, &unheard, Occasion::Overdue, now_ms).await? {
                continue;
            }

            let (decision, proposal, more) = self.decide_with(&loaded, &unheard, &propose, now_ms)?;
            let answer = answer(&loaded.session, &decision)?;
            if decision.events.is_empty() && proposal.keep.is_empty() {
                self.confirm_stored(&unheard);
                return Ok((answer, Some(more)));
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
                keep: proposal.keep,
                reply,
                place,
                open_branches_max: self.limits().open_per_instance_max,
            };
            match self.record(append).await {
                Ok(()) => {
                    self.confirm_stored(&unheard);
                    return Ok((answer, Some(more)));
                }
                Err(StoreError::Moved) if turn.is_none() => turn = Some(self.turn(&loaded.session).await),
                Err(StoreError::Moved) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Failure::Contended.into())
    }

    /// What a proposal leads to, after what was said in the session and is not stored yet.
    fn decide_with<More>(
        &self,
        loaded: &Loaded,
        unheard: &PendingWords,
        propose: impl Fn(&Loaded) -> Result<(Proposal, More), Error>,
        now_ms: u64,
    ) -> Result<(Decision, Proposal, More), Error> {
        let decide = |commands: &[Command]| infold_core::decide(&loaded.session, commands, self.rules(), now_ms);
        if unheard.commands.is_empty() {
            let (proposal, more) = propose(loaded)?;
            return Ok((decide(&proposal.commands)?, proposal, more));
        }
        // What is proposed may depend on it.
        let (proposal, more) = propose(&Loaded { session: decide(&unheard.commands)?.after, ..loaded.clone() })?;
        let commands = [&unheard.commands[..], &proposal.commands].concat();
        Ok((decide(&commands)?, proposal, more))
    }

    /// What was answered to this change before, for those whose work is too much to be done twice.
    pub(crate) async fn answered<T: DeserializeOwned>(&self, change: &SessionChange) -> Result<Option<T>, Error> {
        let load = Load {
            target: store_target(&change.owner, &change.target),
            also: EndedBranches::Nothing,
            rate_back: 0,
            reply_key: change.key.as_ref().map(|(key, _)| key.clone()),
            counted: Vec::new(),
        };
        match self.inner.store.load(load).await? {
            Some(loaded) => replay(&loaded, change),
            None => Ok(None),
        }
    }

    /// Records a decision, and lets those know who wait for news.
    pub(crate) async fn record(&self, append: Append) -> Result<(), StoreError> {
        let decision = Arc::clone(&append.decision);
        self.inner.store.append(append).await?;
        self.inner.metrics.recorded(&decision);
        self.inner.alarm.set_for(&decision.after);
        self.inner.feed.ring();
        Ok(())
    }

    /// Stores what was said in a session, and folds its branches whose time is over. Tells whether there was
    /// anything to do.
    pub(crate) async fn bring_up_to_date(&self, session: &Session, now_ms: u64) -> Result<bool, Error> {
        let unheard = self.pending_words(session).await;
        self.bring_up_to_date_with(session, &unheard, Occasion::Any, now_ms).await
    }

    async fn bring_up_to_date_with(
        &self,
        session: &Session,
        unheard: &PendingWords,
        occasion: Occasion,
        now_ms: u64,
    ) -> Result<bool, Error> {
        let decide = |commands: &[Command]| infold_core::decide(session, commands, self.rules(), now_ms);
        let mut decision = decide(&[Command::Settle])?;
        let is_overdue = !decision.events.is_empty();
        if !is_overdue && occasion == Occasion::Overdue {
            return Ok(false);
        }
        if !unheard.commands.is_empty() {
            decision = decide(&[&unheard.commands[..], &[Command::Settle]].concat())?;
        }
        if decision.events.is_empty() {
            self.confirm_stored(unheard);
            return Ok(false);
        }
        let append = Append {
            decided_on: session.version,
            at_ms: now_ms,
            decision: Arc::new(decision),
            blobs: Vec::new(),
            keep: NewDecisions::default(),
            reply: None,
            place: ProjectSlot::Any,
            open_branches_max: self.limits().open_per_instance_max,
        };
        match self.record(append).await {
            Ok(()) => {
                self.confirm_stored(unheard);
                Ok(true)
            }
            // Whoever moved it has settled it, or the next look will.
            Err(StoreError::Moved) => Ok(true),
            // Nobody has to do without a session because of its last words.
            Err(error) if !is_overdue => {
                tracing::warn!(%error, "an agent's last words could not be stored");
                self.confirm_stored(unheard);
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until no other writer of this process is at work on the session after a collision.
    async fn turn(&self, session: &Session) -> MutexGuard<'_, ()> {
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
    ) -> Result<(Loaded, ProjectSlot), Error> {
        let load = Load {
            target: store_target(&change.owner, &change.target),
            also: change.also.clone(),
            rate_back: self.limits().openings_per_minute_max,
            reply_key: change.key.as_ref().map(|(key, _)| key.clone()),
            counted: calls.to_vec(),
        };
        if let Some(loaded) = self.inner.store.load(load).await? {
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

    /// Loads a session to look at, with what is overdue in it folded first.
    pub(crate) async fn find_session(&self, target: Target, also: EndedBranches) -> Result<Option<Session>, Error> {
        for _ in 0..ATTEMPTS_MAX {
            let load =
                Load { target: target.clone(), also: also.clone(), rate_back: 0, reply_key: None, counted: Vec::new() };
            let Some(loaded) = self.inner.store.load(load).await? else { return Ok(None) };
            if !self.bring_up_to_date(&loaded.session, self.now_ms()).await? {
                return Ok(Some(loaded.session));
            }
        }
        Err(Failure::Contended.into())
    }

    /// The session that a branch of this caller's belongs to.
    pub async fn session_of_branch(&self, who: &Principal, branch: &str) -> Result<Option<SessionId>, Error> {
        let Ok(id) = self.branch_id(branch) else { return Ok(None) };
        let found = self.find_session(Target::Branch(who.owner.clone(), id), EndedBranches::Nothing).await?;
        Ok(found.map(|session| session.id))
    }

    /// A session that must exist for this caller.
    pub(crate) async fn require_session(
        &self,
        who: &Principal,
        session: &SessionRef,
        also: EndedBranches,
    ) -> Result<Session, Error> {
        let target = store_target(&who.owner, &ChangeTarget::Session(session.clone()));
        let found = self.find_session(target, also).await?;
        let found = found.ok_or_else(|| Refusal::SessionNotFound { session: session.describe() })?;
        check_project(session, &found)?;
        Ok(found)
    }
}

/// A session that is named beside a project must not be another project's.
fn check_project(named: &SessionRef, found: &Session) -> Result<(), Refusal> {
    let SessionRef::Project { path, session: Some(id) } = named else { return Ok(()) };
    let is_anothers = found.project.as_ref().is_some_and(|project| *project != ProjectHash::of(path));
    if is_anothers { Err(Refusal::SessionNotFound { session: id.to_string() }) } else { Ok(()) }
}

/// What a caller's way of naming a session means to the store.
pub(crate) fn store_target(owner: &Owner, target: &ChangeTarget) -> Target {
    let by_id = |id: &SessionId| Target::Session(SessionKey { owner: owner.clone(), id: id.clone() });
    match target {
        ChangeTarget::Session(SessionRef::Id(id)) => by_id(id),
        ChangeTarget::Session(SessionRef::Project { session: Some(id), .. }) => by_id(id),
        ChangeTarget::Session(SessionRef::Project { path, session: None }) => {
            Target::Project(owner.clone(), ProjectHash::of(path))
        }
        ChangeTarget::Branch(branch) => Target::Branch(owner.clone(), branch.clone()),
    }
}

/// A session that is about to start.
fn fresh(session: Session) -> Loaded {
    Loaded { session, rate_mark_ms: None, reply: None, counted: Vec::new() }
}

fn new_session(owner: &Owner, session: &SessionRef, now_ms: u64) -> Result<(Session, ProjectSlot), Failure> {
    let (id, project, place) = match session {
        SessionRef::Id(id) => (id.clone(), None, ProjectSlot::Any),
        SessionRef::Project { path, session: Some(id) } => (id.clone(), Some(path), ProjectSlot::Any),
        SessionRef::Project { path, session: None } => (SessionId::mint(random()?), Some(path), ProjectSlot::Current),
    };
    let mut session = Session::new(owner.clone(), id, now_ms);
    session.project = project.map(|path| ProjectHash::of(path));
    Ok((session, place))
}

/// The answer that was given to this key before, if there was one.
fn replay<T: DeserializeOwned>(loaded: &Loaded, change: &SessionChange) -> Result<Option<T>, Error> {
    let (Some(reply), Some((_, fingerprint))) = (&loaded.reply, &change.key) else { return Ok(None) };
    if reply.fingerprint != *fingerprint {
        return Err(Refusal::KeyReused.into());
    }
    let unreadable =
        |error: serde_json::Error| Failure::Store(StoreError::Unreadable { what: "reply", problem: error.to_string() });
    Ok(Some(serde_json::from_str(&reply.answer).map_err(unreadable)?))
}

/// What a thread is still to be told of its branches that were cut short.
pub(crate) fn notices(session: &Session, to: &Thread) -> Vec<Notice> {
    session.untold_to(to).iter().filter_map(|id| notice(session, id)).collect()
}

pub(crate) fn notice(session: &Session, id: &infold_core::BranchId) -> Option<Notice> {
    let branch = session.branches.get(id)?;
    let end = branch.end.as_ref()?;
    Some(Notice {
        branch_id: id.clone(),
        parent: branch.parent.clone(),
        status: branch.status,
        reason: end.reason,
        result: end.result.as_str().to_owned(),
    })
}
