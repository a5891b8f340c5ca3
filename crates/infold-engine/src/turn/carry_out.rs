//! Carries out what a plan asks for: ends and opens branches as the transcript has it, without a call of infold's
//! tools.

use infold_core::memory::OpeningMemories;
use infold_core::view::{Anchor, ForcedFold, FoundOpening};
use infold_core::{
    BranchId, Command, EndReason, Field, Open, Principal, Refusal, Scrubbed, Session, SessionId, Start, Thread,
};
use infold_store::{Edits, EndedBranches, Loaded, NewDecisions, StoreError};

use super::known_session::KnownSession;
use crate::change::{Absent, Proposal, SessionChange};
use crate::{Engine, Error, Failure, SessionRef};

/// A branch of this database's that is in a transcript and not in the store.
#[derive(Debug, Clone)]
pub(super) struct Adoption {
    /// The branch's id, which was verified.
    pub branch: BranchId,
    /// The thread that opened the branch.
    pub parent: Thread,
    /// What the branch was opened with, as far as the transcript shows it.
    pub opening: FoundOpening,
}

impl Engine {
    /// Folds a branch because a person spoke, or the client compacts, while it was open. If it has ended by now, it
    /// stays as it is, and ends at this place in the transcript.
    #[tracing::instrument(skip_all)]
    pub(super) async fn interrupt(
        &self,
        who: &Principal,
        session: &SessionId,
        branch: &BranchId,
        place: Anchor,
    ) -> Result<KnownSession, Error> {
        let cut_short = Command::CutShort { branch: branch.clone(), reason: EndReason::Interrupted };
        self.end_there(who, session, branch, place, vec![cut_short]).await
    }

    /// Stores where a branch that was folded by force ends in the transcript. From then on its parent has been
    /// informed, and a late return is refused.
    #[tracing::instrument(skip_all)]
    pub(super) async fn end_at(
        &self,
        who: &Principal,
        session: &SessionId,
        branch: &BranchId,
        place: Anchor,
    ) -> Result<KnownSession, Error> {
        self.end_there(who, session, branch, place, Vec::new()).await
    }

    async fn end_there(
        &self,
        who: &Principal,
        session: &SessionId,
        branch: &BranchId,
        place: Anchor,
        mut commands: Vec<Command>,
    ) -> Result<KnownSession, Error> {
        commands.push(Command::MarkEndReported { branch: branch.clone() });
        let propose = |loaded: &Loaded| {
            let decided = infold_core::decide(&loaded.session, &commands, self.rules(), self.now_ms())?;
            let ending = ending(&decided.after, branch, &place);
            let new_decisions =
                NewDecisions { endings: ending.into_iter().collect(), edits: Edits::Yes, ..NewDecisions::default() };
            Ok(Proposal { new_decisions, ..Proposal::of(commands.clone()) })
        };
        self.change(&in_tree(who, session, branch), propose, |_, _| Ok(())).await?;
        self.known_session(who, session).await
    }

    /// Opens a branch again, because the client has gone back and the transcript goes on in it. Nothing is discarded:
    /// what is no longer in the transcript is left out by itself. If reopening is impossible, the store stays as it is,
    /// and the branch counts as open for this request.
    #[tracing::instrument(skip_all)]
    pub(super) async fn reopen(
        &self,
        who: &Principal,
        session: &SessionId,
        branch: &BranchId,
    ) -> Result<KnownSession, Error> {
        let propose = |_: &Loaded| Ok(Proposal::of(vec![Command::Reopen { branch: branch.clone() }]));
        let reopened = self.change(&in_tree(who, session, branch), propose, |_, _| Ok(())).await;
        self.open_in_any_case(who, session, branch, reopened).await
    }

    /// Opens a branch that the store does not know, under the id that it has in the transcript. If that is impossible,
    /// the store stays as it is, and the branch counts as open for this request.
    #[tracing::instrument(skip_all)]
    pub(super) async fn adopt(
        &self,
        who: &Principal,
        session: &SessionId,
        adoption: Adoption,
    ) -> Result<KnownSession, Error> {
        let open = self.opening_of(who, session, &adoption).await?;
        let change = SessionChange { absent: Absent::Start, ..in_tree(who, session, &adoption.branch) };
        let propose = |_: &Loaded| {
            let new_decisions = NewDecisions { edits: Edits::Yes, ..NewDecisions::default() };
            Ok(Proposal { new_decisions, ..Proposal::of(vec![Command::Adopt(Box::new(open.clone()))]) })
        };
        let adopted = self.change(&change, propose, |_, _| Ok(())).await;
        self.open_in_any_case(who, session, &adoption.branch, adopted).await
    }

    /// Ends a branch as failed, because its opening is no longer in the transcript.
    #[tracing::instrument(skip_all)]
    pub(super) async fn lose(
        &self,
        who: &Principal,
        session: &SessionId,
        branch: &BranchId,
    ) -> Result<KnownSession, Error> {
        let lost = Command::CutShort { branch: branch.clone(), reason: EndReason::OpeningLost };
        let propose = |_: &Loaded| Ok(Proposal::of(vec![lost.clone()]));
        self.change(&in_tree(who, session, branch), propose, |_, _| Ok(())).await?;
        self.known_session(who, session).await
    }

    async fn open_in_any_case(
        &self,
        who: &Principal,
        session: &SessionId,
        branch: &BranchId,
        outcome: Result<(), Error>,
    ) -> Result<KnownSession, Error> {
        match outcome {
            // The id may belong to another session, because clients copy transcripts.
            Ok(()) | Err(Error::Refused(_) | Error::Failed(Failure::Store(StoreError::IdTaken(_)))) => {}
            Err(error) => return Err(error),
        }
        let mut known = self.known_session(who, session).await?;
        known.assume_open(branch.clone());
        known.has_edited = true;
        Ok(known)
    }

    /// Reconstructs an opening from the call and its answer in the transcript.
    async fn opening_of(&self, who: &Principal, session: &SessionId, adoption: &Adoption) -> Result<Open, Error> {
        let FoundOpening { description, prompt, budget_tokens, timeout_s, isolation, injected_context } =
            adoption.opening.clone();
        let description = Field::BRANCH_DESCRIPTION.clean(&description.unwrap_or_default()).unwrap_or_default();
        let prompt = Field::PROMPT.clean(&prompt.unwrap_or_default()).unwrap_or_default();
        let texts = vec![description, prompt, injected_context.unwrap_or_default()];
        let mut texts = self.scrub_or_withhold(texts).await?.into_iter();
        let [description, prompt, injected] = [(); 3].map(|()| texts.next().unwrap_or_default());
        Ok(Open {
            id: adoption.branch.clone(),
            parent: Some(adoption.parent.clone()),
            description: if description.is_empty() { Scrubbed::fixed("a branch found again") } else { description },
            prompt: (!prompt.is_empty()).then_some(prompt),
            budget_tokens: budget_tokens.map(|budget_tokens| budget_tokens.min(self.limits().budget_max_tokens)),
            timeout_s,
            claims: who.claims.clone(),
            isolation,
            start: Start::InTurn,
            memories: if injected.is_empty() { OpeningMemories::Nothing } else { OpeningMemories::Given(injected) },
            work_place: Some(self.work_place(who, &SessionRef::Id(session.clone()), None).await),
            rate_mark_ms: None,
        })
    }
}

/// A change of a session's tree at a branch that may have ended.
fn in_tree(who: &Principal, session: &SessionId, branch: &BranchId) -> SessionChange {
    let absent = Absent::Refuse(Refusal::SessionNotFound { session: session.to_string() });
    SessionChange { absent, ..SessionChange::in_session(who, session, EndedBranches::Branch(branch.clone())) }
}

/// The forced end of a branch at a place; `None` if the branch is still open.
fn ending(session: &Session, branch: &BranchId, place: &Anchor) -> Option<ForcedFold> {
    let ended = session.branches.get(branch)?;
    let result = ended.end.as_ref()?.result.as_str().to_owned();
    Some(ForcedFold { branch: branch.clone(), generation: ended.generation, place: place.clone(), result })
}
