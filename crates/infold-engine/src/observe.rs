//! Counts calls and their results in the threads that they belong to, for surfaces that show them.

use infold_core::{
    BranchId, Command, ContextState, Decision, Field, Operation, Principal, Refusal, ScrubError, Scrubbed, Session,
    Thread,
};
use infold_store::Loaded;

use crate::change::{Absent, ChangeTarget, Proposal, SessionChange};
use crate::notices::{notice, notices};
use crate::open::{asker, ended_branches_for};
use crate::{CallKind, Engine, Error, Observation, Observed, Verdict};

impl Engine {
    /// Counts a call and its result in the thread that they were seen in, and says whether the result may be shown. A
    /// result that does not fit its branch's budget is withheld, and the branch folds.
    #[tracing::instrument(skip_all)]
    pub async fn observe(&self, who: &Principal, request: Observation) -> Result<Observed, Error> {
        let thread = request.thread.as_deref().map(|thread| self.thread(thread)).transpose()?;
        if let Some(observed) = self.observe_nothing(who, &request, thread.as_ref()).await? {
            return Ok(observed);
        }
        let operation = self.operation(&request).await?;
        let change = SessionChange {
            owner: who.owner.clone(),
            target: ChangeTarget::Session(request.session.clone()),
            ended: ended_branches_for(thread.as_ref()),
            absent: Absent::Refuse(Refusal::SessionNotFound { session: request.session.describe() }),
            key: None,
        };

        let propose = |loaded: &Loaded| {
            let observe = Command::Observe { thread: thread.clone(), operation: Box::new(operation.clone()) };
            let asker = asker(thread.as_ref(), &loaded.session);
            let mut proposal = Proposal::telling(asker, observe);
            // If this very item makes the branch fold, the answer reports that to the parent. If a sibling goes on
            // first, the parent gets the report when it is its turn.
            let folds_last = asker.branch().filter(|id| !has_open_sibling(&loaded.session, id));
            proposal.commands.extend(folds_last.map(|id| Command::MarkEndReported { branch: id.clone() }));
            Ok(proposal)
        };
        let answer = |before: &Session, decision: &Decision| {
            Ok(self.observed(operation.tokens, asker(thread.as_ref(), before), before, decision))
        };
        self.change(&change, propose, answer).await
    }

    /// Answers a question that was asked in the main thread, because that is not counted. If there is nothing to report
    /// either, nothing is recorded.
    async fn observe_nothing(
        &self,
        who: &Principal,
        request: &Observation,
        thread: Option<&Thread>,
    ) -> Result<Option<Observed>, Error> {
        if request.kind == CallKind::Content {
            return Ok(None);
        }
        let session = self.require_session(who, &request.session, ended_branches_for(thread)).await?;
        let in_main = matches!(thread.unwrap_or(&session.active), Thread::Main);
        let is_over = session.ended_at_ms.is_some();
        if is_over || (in_main && session.unreported_to(&Thread::Main).is_empty()) {
            let state = ContextState::of(&session, self.limits());
            return Ok(Some(Observed { verdict: Verdict::Show, tokens: 0, state, notices: Vec::new() }));
        }
        if !in_main {
            return Ok(None);
        }
        self.tell(who, request).await.map(Some)
    }

    async fn tell(&self, who: &Principal, request: &Observation) -> Result<Observed, Error> {
        let change = SessionChange {
            owner: who.owner.clone(),
            target: ChangeTarget::Session(request.session.clone()),
            ended: infold_store::EndedBranches::Nothing,
            absent: Absent::Refuse(Refusal::SessionNotFound { session: request.session.describe() }),
            key: None,
        };
        let propose = |_: &Loaded| Ok(Proposal::of(vec![Command::MarkReported { to: Thread::Main }]));
        let answer = |before: &Session, decision: &Decision| {
            Ok(Observed {
                verdict: Verdict::Show,
                tokens: 0,
                state: ContextState::of(&decision.after, self.limits()),
                notices: notices(before, &Thread::Main),
            })
        };
        self.change(&change, propose, answer).await
    }

    async fn operation(&self, request: &Observation) -> Result<Operation, Error> {
        let tool = Field::TOOL_NAME.clean(&request.tool)?;
        // A client may send any id along: an improper one is left out, not refused.
        let call_id = request.call_id.as_deref().and_then(|id| Field::CALL_ID.clean(id).ok());
        let has_call_id = call_id.is_some();
        let texts = [tool, request.arguments.clone(), request.result.clone(), call_id.unwrap_or_default()];
        let [tool, arguments, result, call_id] = match self.scrub(texts.clone()).await {
            // What is answered was searched before it was stored; around it, it is encoded once more than it was then.
            Err(ScrubError::TooMuchCoded) => {
                let mut recorded = self.scrub_or_withhold(texts.into()).await?.into_iter();
                [(); 4].map(|()| recorded.next().unwrap_or_default())
            }
            scrubbed => scrubbed?,
        };
        let call_id = has_call_id.then_some(call_id);
        let tokens = self.count(arguments.as_str()) + self.count(&request.result);
        Ok(Operation { tool, call_id, arguments, result, blob: None, tokens })
    }

    /// What is answered to `asker` after counting an item of this many tokens.
    pub(crate) fn observed(&self, tokens: u64, asker: &Thread, before: &Session, decision: &Decision) -> Observed {
        let mut notices = notices(before, asker);
        let verdict = match exhausted_by(decision) {
            Some(notice) if !decision.item_was_let_in() => Verdict::Withheld(notice),
            filled => {
                // A result that uses the budget to the last token is shown, and its branch has folded all the same.
                notices.extend(filled);
                Verdict::Show
            }
        };
        let state = ContextState::of(&decision.after, self.limits());
        Observed { verdict, tokens, state, notices }
    }
}

pub(crate) fn has_open_sibling(session: &Session, id: &BranchId) -> bool {
    let parent = session.branches.get(id).map(|branch| &branch.parent);
    session.open().any(|other| other.id != *id && Some(&other.parent) == parent)
}

/// A notice of the branch whose budget an item used up or did not fit.
pub(crate) fn exhausted_by(decision: &Decision) -> Option<crate::Notice> {
    use infold_core::Event;
    let exhausted = decision.events.iter().find_map(|event| match event {
        Event::BudgetExhausted { branch, .. } => Some(branch),
        _ => None,
    })?;
    notice(&decision.after, exhausted)
}

/// Counts what a caller is shown together with what it asked.
pub(crate) fn tokens_of(engine: &Engine, arguments: &Scrubbed, shown: &Scrubbed) -> u64 {
    engine.count(arguments.as_str()) + engine.count(shown.as_str())
}
