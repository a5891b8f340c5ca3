//! The door through which everything is counted: a call and its result, in the thread they belong to.

use infold_core::{
    Command, ContextState, Decision, Field, Operation, Principal, Refusal, Scrubbed, Session, Thread, strip_controls,
};
use infold_store::Loaded;

use crate::change::{Absent, Change, ChangeTarget, Proposal, notice, notices};
use crate::open::named;
use crate::{CallKind, Engine, Error, Observation, Observed, Verdict};

/// Most characters of a client's id for a call.
const CALL_ID_CHARS_MAX: usize = 200;

impl Engine {
    /// Counts a call and its result in the thread they were seen in, and says whether the result may
    /// be shown: what does not fit a branch's budget is withheld, and the branch folds.
    #[tracing::instrument(skip_all)]
    pub async fn observe(&self, who: &Principal, request: Observation) -> Result<Observed, Error> {
        let thread = request.thread.as_deref().map(|thread| self.thread(thread)).transpose()?;
        if let Some(observed) = self.observe_nothing(who, &request, thread.as_ref()).await? {
            return Ok(observed);
        }
        let operation = self.operation(&request).await?;
        let change = Change {
            owner: who.owner.clone(),
            target: ChangeTarget::Session(request.session.clone()),
            also: named(thread.as_ref()),
            absent: Absent::Refuse(Refusal::SessionNotFound { session: request.session.describe() }),
            key: None,
        };

        let propose = |_: &Loaded| {
            let observe = Command::Observe { thread: thread.clone(), operation: Box::new(operation.clone()) };
            // Told before, for what happened meanwhile, and after, for what this very item causes.
            Ok(Proposal { commands: vec![Command::Tell, observe, Command::Tell], blob: None })
        };
        let seen =
            self.change(&change, propose, |before, decision| Ok(self.seen(&operation, before, decision))).await?;
        Ok(seen.into())
    }

    /// A question asked in the main thread is not counted; if there is nothing to tell either, there
    /// is nothing to record.
    async fn observe_nothing(
        &self,
        who: &Principal,
        request: &Observation,
        thread: Option<&Thread>,
    ) -> Result<Option<Observed>, Error> {
        if request.kind == CallKind::Content {
            return Ok(None);
        }
        let session = self.look_up(who, &request.session, named(thread)).await?;
        let in_main = matches!(thread.unwrap_or(&session.active), Thread::Main);
        let is_over = session.ended_at_ms.is_some();
        if is_over || (in_main && session.untold.is_empty()) {
            let state = ContextState::of(&session, self.limits());
            return Ok(Some(Observed { verdict: Verdict::Show, tokens: 0, state, notices: Vec::new() }));
        }
        if !in_main {
            return Ok(None);
        }
        self.tell(who, request).await.map(Some)
    }

    async fn tell(&self, who: &Principal, request: &Observation) -> Result<Observed, Error> {
        let change = Change {
            owner: who.owner.clone(),
            target: ChangeTarget::Session(request.session.clone()),
            also: infold_store::Also::Nothing,
            absent: Absent::Refuse(Refusal::SessionNotFound { session: request.session.describe() }),
            key: None,
        };
        let propose = |_: &Loaded| Ok(Proposal { commands: vec![Command::Tell], blob: None });
        let answer = |before: &Session, decision: &Decision| {
            Ok(Seen {
                tokens: 0,
                withheld: None,
                state: ContextState::of(&decision.after, self.limits()),
                notices: notices(before),
            })
        };
        Ok(self.change(&change, propose, answer).await?.into())
    }

    async fn operation(&self, request: &Observation) -> Result<Operation, Error> {
        let tool = Field::TOOL_NAME.clean(&request.tool)?;
        let texts = [tool, request.arguments.clone(), request.result.clone()];
        let [tool, arguments, result] = self.scrub(texts).await?;
        let tokens = self.count(arguments.as_str()) + self.count(result.as_str());
        Ok(Operation { tool, call_id: call_id(request.call_id.as_deref()), arguments, result, blob: None, tokens })
    }

    fn seen(&self, operation: &Operation, before: &Session, decision: &Decision) -> Seen {
        let mut told = notices(before);
        let exhausted = exhausted_by(decision);
        let withheld = if decision.item_was_let_in() {
            // It filled the budget to the last token: shown, and its branch has folded all the same.
            told.extend(exhausted);
            None
        } else {
            exhausted
        };
        let state = ContextState::of(&decision.after, self.limits());
        Seen { tokens: operation.tokens, withheld, state, notices: told }
    }
}

/// The branch whose budget an item used up, or did not fit.
pub(crate) fn exhausted_by(decision: &Decision) -> Option<crate::Notice> {
    use infold_core::Event;
    let exhausted = decision.events.iter().find_map(|event| match event {
        Event::BudgetExhausted { branch, .. } => Some(branch),
        _ => None,
    })?;
    notice(&decision.after, exhausted)
}

/// A client's id for a call, held to what an id looks like.
pub(crate) fn call_id(text: Option<&str>) -> Option<String> {
    let cleaned: String = strip_controls(text?).chars().take(CALL_ID_CHARS_MAX).collect();
    let plain = cleaned.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:/".contains(c));
    (plain && !cleaned.is_empty()).then_some(cleaned)
}

/// An answer in a form that could be kept; see [`Observed`].
#[derive(serde::Serialize, serde::Deserialize)]
struct Seen {
    tokens: u64,
    withheld: Option<crate::Notice>,
    state: ContextState,
    notices: Vec<crate::Notice>,
}

impl From<Seen> for Observed {
    fn from(seen: Seen) -> Self {
        let verdict = seen.withheld.map_or(Verdict::Show, Verdict::Withheld);
        Self { verdict, tokens: seen.tokens, state: seen.state, notices: seen.notices }
    }
}

/// Tokens of what a caller is shown, and of what it asked.
pub(crate) fn tokens_of(engine: &Engine, arguments: &Scrubbed, shown: &Scrubbed) -> u64 {
    engine.count(arguments.as_str()) + engine.count(shown.as_str())
}
