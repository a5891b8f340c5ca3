//! What is known of a session beside what its client sends.

use std::collections::HashMap;

use infold_core::view::{BranchState, ScriptedCall, StoredBranch, StoredDecisions};
use infold_core::{Branch, BranchId, EndReason, Principal, Session, SessionId, partial_result};
use infold_store::{EndedBranches, KeptDecisions, SessionKey, Target};

use crate::{Engine, Error, Failure};

/// What is known of a session, with what tells whether it still holds.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownSession {
    /// What was stored.
    pub decisions: StoredDecisions,
    /// Whether nothing is stored of it yet.
    pub is_new: bool,
    /// Whether its model was ever sent something else than its client sent: reasoning that the client
    /// holds may then be bound to what was sent.
    pub has_folded: bool,
    /// Events of the session when this was read.
    version: u64,
    /// Decisions of the proxy that were stored when this was read.
    decided: u64,
    /// What changes whenever an ended branch does.
    tree: TreeFigures,
    /// When the next open branch runs out of time.
    deadline_ms: Option<u64>,
}

/// Figures of a session that change whenever a branch opens, ends, or is not as it was at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct TreeFigures {
    opened: u64,
    folded_tokens: u64,
    returned_tokens: u64,
    untold: Vec<BranchId>,
}

/// How often a session is read again because its branches were running out of time.
const ATTEMPTS_MAX: usize = 10;

impl Engine {
    /// What is stored of a session; of a new one, nothing. Branches whose time is over are folded first.
    #[tracing::instrument(skip_all)]
    pub(super) async fn known_session(&self, who: &Principal, session: &SessionId) -> Result<KnownSession, Error> {
        let key = SessionKey { owner: who.owner.clone(), id: session.clone() };
        for _ in 0..ATTEMPTS_MAX {
            let Some(found) = self.inner.store.proxied(key.clone()).await? else {
                return Ok(KnownSession { is_new: true, ..KnownSession::default() });
            };
            if !self.bring_up_to_date(&found.session, self.now_ms()).await? {
                return Ok(KnownSession::of(&found.session, found.kept));
            }
        }
        Err(Failure::Contended.into())
    }

    /// Reads again what is known, if it may have changed: cheap where it has not. To be called for every
    /// request on facts that are held in memory, because branches open and fold by other doors too.
    #[tracing::instrument(skip_all)]
    pub(super) async fn refresh(
        &self,
        who: &Principal,
        session: &SessionId,
        known: &mut KnownSession,
    ) -> Result<(), Error> {
        let key = SessionKey { owner: who.owner.clone(), id: session.clone() };
        let standing = self.inner.store.standing(key.clone()).await?;
        let is_overdue = known.deadline_ms.is_some_and(|deadline_ms| deadline_ms <= self.now_ms());
        let has_unheard = self.has_pending_words(&who.owner, session);
        match standing {
            None if known.is_new => return Ok(()),
            Some(standing) if standing.decisions == known.decided && !known.is_new && !is_overdue => {
                if standing.version == known.version && !has_unheard {
                    return Ok(());
                }
                // Most of what happens in a session leaves its tree as it was.
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
    fn of(session: &Session, kept: KeptDecisions) -> Self {
        let has_folded =
            kept.has_folded || session.opened > 0 || !kept.rewrites.is_empty() || !kept.restarts.is_empty();
        let branches = session.branches.values().map(|branch| (branch.id.clone(), known(branch))).collect();
        Self {
            is_new: false,
            has_folded,
            version: session.version,
            decided: kept.decisions,
            tree: TreeFigures::of(session),
            deadline_ms: next_deadline_ms(session),
            decisions: StoredDecisions {
                branches,
                endings: kept.endings,
                rewrites: kept.rewrites.into_iter().collect(),
                notes: kept.notes,
                restarts: kept.restarts,
                answers: kept.answers.into_iter().collect(),
                heard: kept.heard.into_iter().collect(),
                scripted: by_script(kept.scripted),
            },
        }
    }

    /// Takes over how a session stands whose ended branches were not loaded. Tells whether that was enough:
    /// not if a branch has opened or ended, or is not as it was at its end.
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

    /// Has a branch as open that the store has otherwise, because the transcript goes on in it.
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
            untold: session.untold.clone(),
        }
    }
}

/// The calls of each script.
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
