//! Takes in results of other servers' tools: what is shown of each, and where it is counted.
//!
//! A result that a model will send back through the proxy is counted there, by the id of its call. Only if the gateway
//! offloads it does it count it itself, and stores with it that the proxy must not.

use std::sync::OnceLock;

use infold_core::{
    BlobId, Command, Counter, Decision, Principal, ScrubError, Scrubbed, Session, SessionId, TextSize, Thread,
};
use infold_store::{Loaded, NewDecisions};
use serde_json::json;

use super::place::{CountedPlace, FoundPlace};
use super::{CallPlace, Metered, RelayedCall, RelayedResult, RelayedShown};
use crate::change::{Proposal, SessionChange};
use crate::intake::{CallWords, Offload, ResultSource, ScrubbedRelay};
use crate::notices::notice;
use crate::observe::has_open_sibling;
use crate::open::{asker, ended_branches_for};
use crate::turn::Shaping;
use crate::{Engine, Error, Notice, Observed, SessionRef, Verdict};

/// The rest of a longer text is taken to be like its beginning, because counting all of it takes long.
const COUNTED_BYTES_MAX: usize = 64 << 10;

/// A result that is taken in, with figures that are needed more than once.
struct WeighedRelay {
    scrubbed: ScrubbedRelay,
    counter: Counter,
    tokens_in: u64,
    content_tokens: OnceLock<u64>,
}

/// What was decided about a result.
struct Taken {
    /// What is shown in the result's place, if it is offloaded.
    reference: Option<(BlobId, String)>,
    metered: Metered,
    observed: Option<Observed>,
}

/// What becomes of a result in a session as it is.
struct Admitted {
    thread: Thread,
    tokens: u64,
    reference: Option<(BlobId, String)>,
    /// Whether nothing can be counted in the thread any more, and what its parent got.
    over: Option<Option<Notice>>,
}

/// A call of another server's tool that was begun, with what is recorded of it beside its result.
#[derive(Debug)]
pub struct BegunCall {
    call: RelayedCall,
    words: Result<CallWords, ScrubError>,
    arguments_size: FrontSize,
}

/// The size of a text, as far as it is counted.
#[derive(Debug, Clone, Copy, Default)]
struct FrontSize {
    front: TextSize,
    front_bytes: usize,
    bytes: usize,
}

impl Engine {
    /// Makes ready what is recorded of a call beside its result. It needs nothing of the result, so it can be done while
    /// the server works; what went wrong with it is said when the result is taken in.
    pub async fn begin_relayed(&self, call: RelayedCall) -> BegunCall {
        let call = with_call_id(call);
        let words = self.scrub_call(&call).await;
        let arguments = words.as_ref().ok().map(|words| words.arguments.as_str());
        BegunCall { arguments_size: arguments.map(FrontSize::of).unwrap_or_default(), call, words }
    }

    /// Takes in the result of another server's tool: takes out what cannot be seen and secrets, offloads it if it is long
    /// or does not fit its branch's budget, and counts it where it belongs. If the store cannot take it, it is shown as
    /// it is, without secrets.
    #[tracing::instrument(level = "debug", skip_all)]
    pub async fn take_in_relayed(
        &self,
        who: &Principal,
        begun: BegunCall,
        result: RelayedResult,
    ) -> Result<RelayedShown, Error> {
        let BegunCall { call, words, arguments_size } = begun;
        let place = self.find_place(who, &call.place).await?;
        let source = self.source_for(who, &place, &call).await;
        let scrubbed = self.scrub_relayed((&call, words?), result, source).await?;
        let counter = self.counter_for_place(who, &place);
        let tokens_in = arguments_size.tokens(counter);
        let relay = WeighedRelay { scrubbed, counter, tokens_in, content_tokens: OnceLock::new() };

        let taken = match &place {
            FoundPlace::Proxied { session, thread } => {
                Box::pin(self.take_in_proxied(who, session, thread, &relay)).await
            }
            FoundPlace::Counted(place) => {
                if matches!(place.thread, None | Some(Thread::Main)) {
                    let session = SessionRef::Id(place.session.clone());
                    self.see_files(who, &session, [&relay.scrubbed.result]);
                }
                self.take_in_counted(who, place, &relay).await
            }
            FoundPlace::Nowhere { reason } => Ok(Taken::uncounted(reason)),
        };
        let taken = taken.unwrap_or_else(|error| {
            tracing::warn!(%error, server = %call.server, "a result could not be stored and is shown as it is");
            self.inner.metrics.gateway.left_inline();
            Taken::uncounted("the store could not take it")
        });
        self.inner.metrics.results_offloaded(usize::from(taken.reference.is_some()));
        Ok(relay.shown(taken))
    }

    /// Who counts a result counts it in its own way.
    fn counter_for_place(&self, who: &Principal, place: &FoundPlace) -> Counter {
        match place {
            FoundPlace::Proxied { session, .. } => self.counter_in(&who.owner, session),
            FoundPlace::Counted(_) | FoundPlace::Nowhere { .. } => self.inner.settings.counter,
        }
    }

    /// How a result is shaped; `None` if it may not be offloaded.
    async fn source_for(&self, who: &Principal, place: &FoundPlace, call: &RelayedCall) -> Option<ResultSource> {
        // Without an id the proxy could not know that the result was counted.
        let has_id = call.call_id.as_ref().is_some_and(|id| !id.is_empty());
        if self.inner.settings.turn.shaping == Shaping::Off {
            return None;
        }
        let source = |session: &SessionId, is_bounded: bool| {
            let counter = self.counter_in(&who.owner, session);
            Some(ResultSource::Request { offload: Offload::Allowed, counter, is_bounded })
        };
        match place {
            FoundPlace::Proxied { .. } if !has_id => None,
            FoundPlace::Proxied { session, .. } => source(session, false),
            FoundPlace::Counted(place) => source(&place.session, self.is_bounded(who, place).await),
            FoundPlace::Nowhere { .. } => None,
        }
    }

    /// Whether a call's thread has a budget, or may have one. Only then may a result have to be offloaded that is short,
    /// and writing a stand-in takes longer than searching it for secrets.
    async fn is_bounded(&self, who: &Principal, place: &CountedPlace) -> bool {
        match &place.thread {
            Some(thread) => *thread != Thread::Main,
            None => {
                let known = self.known_now(who, &place.session).await;
                !matches!(known, Ok(Some(session)) if session.active == Thread::Main)
            }
        }
    }

    /// Leaves a result to the proxy, unless it is so long that it is offloaded here.
    async fn take_in_proxied(
        &self,
        who: &Principal,
        session: &SessionId,
        thread: &Thread,
        relay: &WeighedRelay,
    ) -> Result<Taken, Error> {
        let result = &relay.scrubbed.result;
        let placement = result.place(|_| true);
        let tokens = relay.tokens(placement.text);
        let metered = Metered::In { session: session.clone(), thread: thread.clone(), tokens, by: "proxy" };
        let Some(stand_in) = placement.stand_in else {
            return Ok(Taken { reference: None, metered, observed: None });
        };

        let change = SessionChange::in_session(who, session, ended_branches_for(Some(thread)));
        let propose = |loaded: &Loaded| {
            if let Some(before) = loaded.counted.first() {
                // A client that makes the call again gets the same reference, if that is what it got.
                return Ok((Proposal::default(), before.offloaded.clone()));
            }
            if is_over(&loaded.session, thread) {
                return Ok((Proposal::default(), None));
            }
            let (command, blob) = result.recorded(&placement, thread, tokens);
            let counted = vec![result.counted_as(&stand_in.blob, placement.text)];
            let new_decisions = NewDecisions { counted, ..NewDecisions::default() };
            let proposal = Proposal { blobs: blob.into_iter().collect(), new_decisions, ..Proposal::of(vec![command]) };
            Ok((proposal, Some((stand_in.blob.clone(), placement.text.as_str().to_owned()))))
        };
        let answer = |before: &Session, decision: &Decision| Ok(self.observed(tokens, thread, before, decision));
        let (observed, reference) = self.change_counting(&change, &[result.call], propose, answer).await?;
        // The proxy says itself which branches were cut short.
        let observed = Observed { notices: Vec::new(), ..observed };
        Ok(Taken { reference: reference.flatten(), metered, observed: Some(observed) })
    }

    /// Counts a result that no proxy will see.
    async fn take_in_counted(
        &self,
        who: &Principal,
        place: &CountedPlace,
        relay: &WeighedRelay,
    ) -> Result<Taken, Error> {
        let (session, thread) = (&place.session, place.thread.as_ref());
        let is_long = relay.scrubbed.result.place(|_| true).stand_in.is_some();
        if !is_long && self.known_now(who, session).await?.is_some() {
            // Counted beforehand, because others wait while a call is held.
            relay.tokens(&relay.scrubbed.result.content);
            let held = self.hold_call(who, session, |known| {
                let (proposal, admitted) = relay.admit(known, thread);
                let may_wait = proposal.blobs.is_empty() && admitted.over.is_none();
                let decide = || infold_core::decide(known, &proposal.commands, self.rules(), self.now_ms()).ok();
                may_wait.then(decide).flatten().map(|decision| (decision, admitted))
            });
            if let Some((before, decision, admitted)) = held {
                let observed = self.observed(admitted.tokens, &admitted.thread, &before, &decision);
                return Ok(Taken::counted(place, admitted, observed));
            }
        }

        // Boxed, because every call would otherwise be as large as what only some of them need.
        Box::pin(self.record_counted(who, place, relay)).await
    }

    /// Counts a result at once, in a commit of its own.
    async fn record_counted(
        &self,
        who: &Principal,
        place: &CountedPlace,
        relay: &WeighedRelay,
    ) -> Result<Taken, Error> {
        let (session, thread) = (&place.session, place.thread.as_ref());
        let change = SessionChange::in_session(who, session, ended_branches_for(thread));
        let propose = |loaded: &Loaded| Ok(relay.admit(&loaded.session, thread));
        let answer =
            |before: &Session, decision: &Decision| Ok(self.observed(0, asker(thread, before), before, decision));
        let (observed, admitted) = self.change_counting(&change, &[], propose, answer).await?;
        let admitted = admitted.ok_or(crate::Failure::Undecided("a result"))?;
        Ok(Taken::counted(place, admitted, observed))
    }
}

impl WeighedRelay {
    fn tokens(&self, text: &Scrubbed) -> u64 {
        let count = || count_front(self.counter, text.as_str());
        let is_content = std::ptr::eq(text, &self.scrubbed.result.content);
        if is_content { *self.content_tokens.get_or_init(count) } else { count() }
    }

    /// Decides what is shown of the result, by the room that its thread has left.
    fn admit(&self, session: &Session, thread: Option<&Thread>) -> (Proposal, Admitted) {
        let result = &self.scrubbed.result;
        let thread = asker(thread, session).clone();
        if is_over(session, &thread) {
            let over = Some(thread.branch().and_then(|id| notice(session, id)));
            return (Proposal::default(), Admitted { thread, tokens: 0, reference: None, over });
        }
        let branch = thread.branch().and_then(|id| session.branches.get(id));
        let left_tokens = branch.map(|branch| branch.budget_left_tokens());
        let tokens = |shown: &Scrubbed| self.tokens_in + self.tokens(shown);
        let placement = result.place(|shown| left_tokens.is_none_or(|left_tokens| tokens(shown) <= left_tokens));
        let tokens = tokens(placement.text);
        let reference = placement.stand_in.filter(|_| *placement.text != result.content);
        let reference = reference.map(|stand_in| (stand_in.blob.clone(), placement.text.as_str().to_owned()));

        let (command, blob) = result.recorded(&placement, &thread, tokens);
        let mut proposal = Proposal { blobs: blob.into_iter().collect(), ..Proposal::telling(&thread, command) };
        // If the result makes the branch fold, the answer says so to the parent; see `observe`.
        let folds_last = thread.branch().filter(|id| !has_open_sibling(session, id));
        proposal.commands.extend(folds_last.map(|id| Command::MarkEndReported { branch: id.clone() }));
        (proposal, Admitted { thread, tokens, reference, over: None })
    }

    fn shown(self, taken: Taken) -> RelayedShown {
        let (verdict, notices, state) = match taken.observed {
            Some(Observed { verdict, notices, state, .. }) => (verdict, notices, Some(state)),
            None => (Verdict::Show, Vec::new(), None),
        };
        let mut tokens_out = match &taken.reference {
            Some((_, text)) => count_front(self.counter, text),
            None => self.tokens(&self.scrubbed.result.content),
        };
        let tokens_in = self.tokens_in;
        let ScrubbedRelay { result, texts, structured } = self.scrubbed;
        let (texts, structured) = match (&verdict, &taken.reference) {
            (Verdict::Withheld(_), _) => {
                tokens_out = 0;
                (Vec::new(), None)
            }
            (Verdict::Show, None) => (texts.into_iter().map(Scrubbed::into_string).collect(), structured),
            (Verdict::Show, Some((blob, text))) => {
                let stored_bytes = result.content.as_str().len();
                let reference = json!({"ref_id": blob.as_str(), "stored_bytes": stored_bytes, "shown": text});
                (vec![text.clone()], structured.map(|_| reference))
            }
        };
        let (ref_id, metered) = (taken.reference.map(|(blob, _)| blob), taken.metered);
        RelayedShown { texts, structured, ref_id, verdict, tokens_in, tokens_out, metered, notices, state }
    }
}

impl Taken {
    fn uncounted(reason: &'static str) -> Self {
        Self { reference: None, metered: Metered::Nowhere { reason }, observed: None }
    }

    fn counted(place: &CountedPlace, admitted: Admitted, mut observed: Observed) -> Self {
        let Admitted { thread, tokens, reference, over } = admitted;
        let metered = match over {
            None => Metered::In { session: place.session.clone(), thread, tokens, by: place.by },
            Some(ended) => {
                observed.notices.extend(ended);
                Metered::Nowhere { reason: "the branch or the session has ended meanwhile" }
            }
        };
        Self { reference, metered, observed: Some(observed) }
    }
}

/// The proxy's id of a call is the one that the call is counted by.
fn with_call_id(call: RelayedCall) -> RelayedCall {
    match &call.place {
        CallPlace::Proxy { call_id, .. } => RelayedCall { call_id: Some(call_id.clone()), ..call },
        CallPlace::Script | CallPlace::Meta { .. } | CallPlace::OnlyOpen | CallPlace::Nobody => call,
    }
}

/// Whether nothing can be counted in a thread any more.
fn is_over(session: &Session, thread: &Thread) -> bool {
    let is_open = |id: &infold_core::BranchId| session.branches.get(id).is_some_and(|branch| branch.is_open());
    session.ended_at_ms.is_some() || thread.branch().is_some_and(|id| !is_open(id))
}

/// Counts the tokens of a text; of a long one only the front, from which the whole is estimated.
fn count_front(counter: Counter, text: &str) -> u64 {
    FrontSize::of(text).tokens(counter)
}

impl FrontSize {
    fn of(text: &str) -> Self {
        let front = &text[..text.floor_char_boundary(COUNTED_BYTES_MAX)];
        Self { front: TextSize::of(front), front_bytes: front.len(), bytes: text.len() }
    }

    /// How many tokens the whole text has, by its front.
    fn tokens(&self, counter: Counter) -> u64 {
        let tokens = counter.tokens(&self.front);
        if self.front_bytes == self.bytes {
            return tokens;
        }
        tokens * self.bytes as u64 / (self.front_bytes as u64).max(1)
    }
}
