//! What is known about a session beside what its client sends: branches and stored decisions, held in memory and
//! compared with the store before each request.

use std::collections::HashMap;

use infold_core::view::{BranchState, ScriptedCall, StoredBranch, StoredDecisions};
use infold_core::{Branch, BranchId, EndReason, Principal, Session, SessionId, Thread, partial_result};
use infold_store::{DecisionRows, EndedBranches, SessionKey, Target};

use crate::{Engine, Error, Failure};

/// What is known about a session, with figures that show whether it is up to date.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownSession {
    /// The branches and decisions that planning needs.
    pub decisions: StoredDecisions,
    /// Whether nothing is stored of the session yet.
    pub is_new: bool,
    /// Whether the session's model was ever sent something other than its client sent. If so, reasoning that the client
    /// holds may be bound to what was sent.
    pub has_edited: bool,
    /// Threads whose agents have asked for space.
    pub to_lighten: Vec<Thread>,
    /// How many events the session had when this was read.
    version: u64,
    /// How many appends had stored decisions when this was read.
    decided: u64,
    /// Figures that change whenever an ended branch does.
    tree: TreeFigures,
    /// The earliest deadline of the session's open branches, in milliseconds since 1970.
    deadline_ms: Option<u64>,
}

/// Figures of a session that change whenever a branch opens, ends, or changes after its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct TreeFigures {
    opened: u64,
    folded_tokens: u64,
    returned_tokens: u64,
    unreported: Vec<BranchId>,
}

/// How often a session is read again because its branches run out of time meanwhile.
const ATTEMPTS_MAX: usize = 10;

impl Engine {
    /// Reads what is stored of a session; of a new one that is nothing. Branches whose time is over are folded first.
    #[tracing::instrument(skip_all)]
    pub(super) async fn known_session(&self, who: &Principal, session: &SessionId) -> Result<KnownSession, Error> {
        let key = SessionKey { owner: who.owner.clone(), id: session.clone() };
        for _ in 0..ATTEMPTS_MAX {
            let Some(found) = self.inner.store.proxied(key.clone()).await? else {
                return Ok(KnownSession { is_new: true, ..KnownSession::default() });
            };
            if !self.bring_up_to_date(&found.session, self.now_ms()).await? {
                return Ok(KnownSession::of(&found.session, found.decisions));
            }
        }
        Err(Failure::Contended.into())
    }

    /// Reads the session again if it may have changed, and is cheap if it has not. It is called for every request,
    /// because branches open and fold by other surfaces too.
    #[tracing::instrument(skip_all)]
    pub(super) async fn refresh(
        &self,
        who: &Principal,
        session: &SessionId,
        known: &mut KnownSession,
    ) -> Result<(), Error> {
        let key = SessionKey { owner: who.owner.clone(), id: session.clone() };
        let revision = self.inner.store.revision(key.clone()).await?;
        let is_overdue = known.deadline_ms.is_some_and(|deadline_ms| deadline_ms <= self.now_ms());
        let has_pending = self.has_pending_words(&who.owner, session);
        match revision {
            None if known.is_new => return Ok(()),
            Some(revision) if revision.appends == known.decided && !known.is_new && !is_overdue => {
                if revision.version == known.version && !has_pending {
                    return Ok(());
                }
                // Most of what happens in a session leaves its tree of branches unchanged.
                let found = self.find_session(Target::Session(key), EndedBranches::Nothing).await?;
                if found.is_some_and(|session| known.follow(&session)) {
                    return Ok(());
                }
            }
            None | Some(_) => {}
        }
        *known = self.known_session(who, session).await?;
        Ok(())
    }
}

impl KnownSession {
    fn of(session: &Session, rows: DecisionRows) -> Self {
        let has_edited =
            rows.has_edited || session.opened > 0 || !rows.rewrites.is_empty() || !rows.restarts.is_empty();
        let branches = session.branches.values().map(|branch| (branch.id.clone(), known(branch))).collect();
        Self {
            is_new: false,
            has_edited,
            to_lighten: rows.to_lighten,
            version: session.version,
            decided: rows.appends,
            tree: TreeFigures::of(session),
            deadline_ms: next_deadline_ms(session),
            decisions: StoredDecisions {
                branches,
                endings: rows.endings,
                rewrites: rows.rewrites.into_iter().collect(),
                notes: rows.notes,
                restarts: rows.restarts,
                answers: rows.answers.into_iter().collect(),
                continued: rows.continued.into_iter().collect(),
                scripted: by_script(rows.scripted),
            },
        }
    }

    /// Updates this from a session whose ended branches were not loaded. Returns whether that was enough: it is not if
    /// a branch has opened, ended, or changed after its end.
    fn follow(&mut self, session: &Session) -> bool {
        let is_open = |known: &StoredBranch| matches!(known.state, BranchState::Open { .. });
        let were_open = self.decisions.branches.iter().filter(|(_, known)| is_open(known));
        let were_open: Vec<(&BranchId, u32)> = were_open.map(|(id, known)| (id, known.generation)).collect();
        let are_open: Vec<(&BranchId, u32)> = session.open().map(|branch| (&branch.id, branch.generation)).collect();
        if were_open != are_open || self.tree != TreeFigures::of(session) {
            return false;
        }
        for branch in session.open() {
            self.decisions.branches.insert(branch.id.clone(), known(branch));
        }
        (self.version, self.deadline_ms) = (session.version, next_deadline_ms(session));
        true
    }

    /// Treats a branch as open although the store does not have it so, because the transcript goes on in it.
    pub(super) fn assume_open(&mut self, branch: BranchId) {
        let known = self
            .decisions
            .branches
            .entry(branch)
            .or_insert_with(|| StoredBranch { generation: 1, state: BranchState::Open { partial: String::new() } });
        if let BranchState::Ended { result, .. } = &mut known.state {
            known.state = BranchState::Open { partial: std::mem::take(result) };
        }
    }
}

impl TreeFigures {
    fn of(session: &Session) -> Self {
        Self {
            opened: session.opened,
            folded_tokens: session.folded_tokens,
            returned_tokens: session.returned_tokens,
            unreported: session.unreported.clone(),
        }
    }
}

/// Groups calls by the script that made them.
fn by_script(calls: Vec<(String, ScriptedCall)>) -> HashMap<String, Vec<ScriptedCall>> {
    let mut scripts: HashMap<String, Vec<ScriptedCall>> = HashMap::new();
    for (run_by, call) in calls {
        scripts.entry(run_by).or_default().push(call);
    }
    scripts
}

fn next_deadline_ms(session: &Session) -> Option<u64> {
    session.open().map(|branch| branch.deadline_ms).min()
}

fn known(branch: &Branch) -> StoredBranch {
    let state = match &branch.end {
        None => BranchState::Open { partial: partial_result(branch, EndReason::Interrupted).into_string() },
        Some(end) => BranchState::Ended { reason: end.reason, result: end.result.as_str().to_owned() },
    };
    StoredBranch { generation: branch.generation, state }
}
