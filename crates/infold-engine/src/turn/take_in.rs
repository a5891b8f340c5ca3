//! Takes in results of a turn when they are first seen: decides by the room in the thread what is sent of each, counts
//! each call once, and offloads long results.

use infold_core::{
    Command, Counter, Decision, Mentions, Principal, Scrubbed, Session, SessionId, Thread, ToolEffect, ToolResult,
};
use infold_store::{CountedCall, Loaded, NewBlob, NewDecisions};

use crate::change::{Proposal, SessionChange};
use crate::intake::{NewResult, Offload, ResultSource, ScrubbedResult, ShownResult};
use crate::notices::notice;
use crate::observe::exhausted_by;
use crate::open::ended_branches_for;
use crate::{Engine, Error, Notice, SessionRef};

/// Results of one turn, to be taken in before they are sent for the first time.
#[derive(Debug, Clone)]
pub(crate) struct TakeIn {
    /// The thread that they were seen in.
    pub(crate) thread: Thread,
    /// The results, in the order of the request.
    pub(crate) results: Vec<NewResult>,
    /// Whether long ones may be offloaded.
    pub(crate) offload: Offload,
    /// What the thread has said and shown before them; see [`Engine::wants_mentions`].
    pub(crate) mentions: Mentions,
    /// Who gave them.
    pub(crate) given: ResultsGiven,
}

/// Who gave results that are taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultsGiven {
    /// A client sent them. It may change a result that it sent before; that is counted once all the same.
    ByClient,
    /// Tools, just now. A call that was run again has another result, which is counted and offloaded like any other.
    ByTool,
}

/// What becomes of results that were taken in.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TakenIn {
    /// What is sent of each result, in the given order, with the ids of their calls.
    pub(crate) results: Vec<(String, ShownResult)>,
    /// The branch that folded because a result did not fit, or that had folded before the results came. If there is
    /// one, what is known about the session has changed.
    pub(crate) folded: Option<Notice>,
}

impl Engine {
    /// Takes in results before they are sent for the first time. What was decided is on disk when this returns; the
    /// caller stores the bytes with [`Engine::store_replacements`].
    ///
    /// In the main thread only what was changed is recorded, so that a plain session writes nothing to disk.
    #[tracing::instrument(skip_all)]
    pub(crate) async fn take_in(&self, who: &Principal, session: &SessionId, new: TakeIn) -> Result<TakenIn, Error> {
        let TakeIn { thread, results, offload, mentions, given } = new;
        let counter = self.counter_in(&who.owner, session);
        let source = ResultSource::Request { offload, counter, is_bounded: thread != Thread::Main };
        let results = self.scrub_results(results, mentions, source).await?;
        if thread == Thread::Main {
            self.see_files(who, &SessionRef::Id(session.clone()), &results);
        }
        let calls: Vec<[u8; 16]> = results.iter().map(|result| result.call).collect();
        let change = SessionChange::in_session(who, session, ended_branches_for(Some(&thread)));

        let propose = |loaded: &Loaded| {
            let admission = Admission::make(loaded, &thread, &results, (counter, given));
            let new_decisions = NewDecisions { counted: admission.counted, ..NewDecisions::default() };
            let proposal = Proposal { blobs: admission.blobs, new_decisions, ..Proposal::of(admission.commands) };
            Ok((proposal, admission.taken))
        };
        let answer = |_: &Session, decision: &Decision| Ok(exhausted_by(decision));
        let (folded, taken) = self.change_counting(&change, &calls, propose, answer).await?;

        let taken = taken.unwrap_or_default();
        let offloaded = |(_, shown): &&(String, ShownResult)| matches!(shown, ShownResult::Reference { .. });
        self.inner.metrics.results_offloaded(taken.results.iter().filter(offloaded).count());
        Ok(TakenIn { folded: folded.or(taken.folded), ..taken })
    }

    /// Whether any of these results might be offloaded, so that it pays to gather what the thread has said and shown
    /// before.
    pub(super) fn wants_mentions(&self, results: &[NewResult]) -> bool {
        results.iter().filter(|result| result.can_go()).any(|result| {
            let parted = result.remarks.as_ref().map(|remarks| remarks.printed.clone());
            let text = parted.unwrap_or_else(|| result.texts.join("\n"));
            let tool_result = ToolResult { tool: &result.tool, arguments: &result.arguments, text: &text };
            self.inner.settings.shape.may_offload(&tool_result)
        })
    }
}

/// What becomes of results in the current state of their thread, and what has to be recorded for it.
#[derive(Default)]
struct Admission {
    commands: Vec<Command>,
    blobs: Vec<NewBlob>,
    counted: Vec<CountedCall>,
    taken: TakenIn,
}

/// How much room a thread has left.
enum ThreadRoom {
    /// The main thread, which nothing bounds.
    Unbounded,
    /// What is left of a branch's budget.
    Tokens(u64),
    /// The thread is over: nothing can be counted in it.
    Over,
}

impl ThreadRoom {
    fn of(loaded: &Loaded, thread: &Thread) -> Self {
        if loaded.session.ended_at_ms.is_some() {
            return Self::Over;
        }
        let Thread::Branch(id) = thread else { return Self::Unbounded };
        match loaded.session.branches.get(id) {
            Some(branch) if branch.is_open() => Self::Tokens(branch.budget_left_tokens()),
            Some(_) | None => Self::Over,
        }
    }

    /// Whether there is room for a number of tokens, which is counted only if it matters.
    fn has(&self, tokens: impl FnOnce() -> u64) -> bool {
        match self {
            Self::Unbounded => true,
            Self::Tokens(left_tokens) => tokens() <= *left_tokens,
            Self::Over => false,
        }
    }

    /// Uses up room for an item. A branch folds with an item that fills it, and with one that does not fit any more.
    fn take(&mut self, tokens: u64) {
        match self {
            Self::Unbounded | Self::Over => {}
            Self::Tokens(left_tokens) if tokens >= *left_tokens => *self = Self::Over,
            Self::Tokens(left_tokens) => *left_tokens -= tokens,
        }
    }
}

impl Admission {
    fn make(
        loaded: &Loaded,
        thread: &Thread,
        results: &[ScrubbedResult],
        (counter, given): (Counter, ResultsGiven),
    ) -> Self {
        let mut room = ThreadRoom::of(loaded, thread);
        let mut admission = Self::default();
        if let (ThreadRoom::Over, Some(id)) = (&room, thread.branch()) {
            admission.taken.folded = notice(&loaded.session, id);
        }
        for result in results {
            let counted = loaded.counted.iter().find(|counted| counted.call == result.call);
            let before = counted.filter(|before| given == ResultsGiven::ByClient || is_same(before, result));
            let is_repeated = admission.counted.iter().any(|counted| counted.call == result.call);
            let shown = match before {
                Some(before) => as_before(before, result),
                None if is_repeated || matches!(room, ThreadRoom::Over) => result.stays.clone(),
                None => admission.admit(result, thread, &mut room, counter),
            };
            admission.taken.results.push((result.call_id.clone(), shown));
        }
        admission
    }

    /// Admits a result that was not counted before.
    fn admit(
        &mut self,
        result: &ScrubbedResult,
        thread: &Thread,
        room: &mut ThreadRoom,
        counter: Counter,
    ) -> ShownResult {
        // The call itself is part of the model's answer, and is counted with that.
        let remarks_tokens = counter.count(result.remarks.as_str());
        let tokens = |text: &Scrubbed| counter.count(text.as_str()) + remarks_tokens;
        let fits = |text: &Scrubbed| room.has(|| tokens(text));
        let placement = result.place(fits);
        let is_changed = placement.stand_in.is_some() || result.stays != ShownResult::AsItIs;
        // Nothing bounds the main thread: there only a result that was changed is worth a write to disk.
        let is_worth_counting = is_changed || *thread != Thread::Main;
        if was_counted(result) || !is_worth_counting {
            return result.stays.clone();
        }
        let (tokens, fits) = (tokens(placement.text), fits(placement.text));
        let shown = match placement.stand_in {
            Some(stand_in) if fits && *placement.text != result.content => {
                ShownResult::Reference { text: result.with_remarks(placement.text), blob: stand_in.blob.clone() }
            }
            Some(_) | None => result.stays.clone(),
        };
        let (command, blob) = result.recorded(&placement, thread, tokens);
        self.commands.push(command);
        self.blobs.extend(blob);
        let offloaded = match &shown {
            ShownResult::Reference { text, blob } => Some((blob.clone(), text.clone())),
            ShownResult::AsItIs | ShownResult::Parts(_) => None,
        };
        self.counted.push(CountedCall { call: result.call, content: result.digest(), offloaded });
        room.take(tokens);
        shown
    }
}

/// Whether a result was counted when its call was made: one that opened or folded a branch.
fn was_counted(result: &ScrubbedResult) -> bool {
    ToolEffect::of(result.tool.as_str()).is_some_and(ToolEffect::changes_tree)
}

/// Whether this is the result that was counted: all of it, or the reference that the gateway has put there.
fn is_same(before: &CountedCall, result: &ScrubbedResult) -> bool {
    let is_reference = before.offloaded.as_ref().is_some_and(|(_, text)| *text == result.content.as_str());
    is_reference || before.content == result.digest()
}

/// What is sent of a result that was counted before: by the gateway, or by a process that then stopped before it stored the
/// bytes.
fn as_before(before: &CountedCall, result: &ScrubbedResult) -> ShownResult {
    match &before.offloaded {
        // The gateway has put the reference there.
        Some((_, text)) if *text == result.content.as_str() => result.stays.clone(),
        Some((blob, text)) if before.content == result.digest() => {
            ShownResult::Reference { text: text.clone(), blob: blob.clone() }
        }
        Some(_) | None => result.stays.clone(),
    }
}

#[cfg(test)]
mod tests;
