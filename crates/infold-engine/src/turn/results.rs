//! Results when they are first seen. Those of the last turn are taken in: scrubbed, counted and perhaps offloaded.
//! Older ones, which were seen before or are older than infold's part in the session, are only scrubbed. Each content
//! is examined once; what was decided is stored as bytes and sent again ever after.

use std::borrow::Cow;

use infold_core::view::{BlockKind, Reason, Replacement, ResultBlock, ViewPiece, ViewPlan};
use infold_core::{Mentions, Scrubbed, Thread};
use infold_wire::request::Request;

use super::cache::SessionCache;
use super::known_session::KnownSession;
use super::prompt::{AgentTurn, PlanningFault};
use super::take_in::{ResultsGiven, TakeIn};
use super::{Purpose, Shaping};
use crate::intake::{NewResult, Offload, Remarks, ShownResult};
use crate::{Engine, Failure};

/// A result that was not seen before, with the index of its block.
type Unseen<'r, 'a> = (usize, &'r ResultBlock<'a>);

impl Engine {
    /// Takes in or scrubs those results of a plan that were not examined before. Returns whether anything is known now
    /// that was not, so that the plan has to be made again.
    pub(super) async fn examine_results(
        &self,
        turn: &AgentTurn<'_>,
        plan: &ViewPlan,
        cache: &mut SessionCache,
        known: &mut KnownSession,
    ) -> Result<bool, PlanningFault> {
        let took_in = match turn.purpose {
            Purpose::Send => self.take_in_new(turn, plan, cache, known).await?,
            Purpose::Count => false,
        };
        if took_in {
            return Ok(true);
        }
        let mut found = Vec::new();
        for (at, result) in unchanged_results(&turn.request, plan) {
            let is_decided =
                known.decisions.rewrites.get(&*result.call).is_some_and(|known| known.content == result.content);
            if is_decided || cache.clean.contains(&result.content) {
                continue;
            }
            if let Some(rewrite) = self.scrubbed(turn, at, result, cache).await? {
                found.push((result.call.clone().into_owned(), rewrite));
            }
        }
        let has_found = !found.is_empty();
        self.store_rewrites(turn, found, cache, known).await?;
        Ok(has_found)
    }

    /// Takes in results that were never seen, thread by thread. Returns whether there were any.
    async fn take_in_new(
        &self,
        turn: &AgentTurn<'_>,
        plan: &ViewPlan,
        cache: &mut SessionCache,
        known: &mut KnownSession,
    ) -> Result<bool, PlanningFault> {
        let new = |at: usize| {
            let result = result_at(&turn.request, at)?;
            let is_new = !cache.taken.contains(&(result.call.clone().into_owned(), result.content));
            is_new.then_some((at, result))
        };
        let mut threads: Vec<(&Thread, Vec<Unseen<'_, '_>>)> = Vec::new();
        for (at, thread) in plan.unseen.iter().zip(&plan.unseen_in) {
            let Some(unseen) = new(*at) else { continue };
            match threads.iter_mut().find(|(known, _)| *known == thread) {
                Some((_, results)) => results.push(unseen),
                None => threads.push((thread, vec![unseen])),
            }
        }
        cache.taken.retain(|(call, _)| plan.unseen.iter().any(|at| is_of_call(&turn.request, *at, call)));
        let has_new = !threads.is_empty();
        for (thread, unseen) in threads {
            self.take_in_thread(turn, plan, (thread, &unseen), cache, known).await?;
        }
        Ok(has_new)
    }

    async fn take_in_thread(
        &self,
        turn: &AgentTurn<'_>,
        plan: &ViewPlan,
        (thread, unseen): (&Thread, &[Unseen<'_, '_>]),
        cache: &mut SessionCache,
        known: &mut KnownSession,
    ) -> Result<(), PlanningFault> {
        let (request, identity) = (&turn.request, &turn.identity);
        let results: Vec<NewResult> = unseen.iter().map(|(at, result)| new_result(request, *at, result)).collect();
        let may_offload = plan.reads_results && self.inner.settings.turn.shaping == Shaping::On;
        let offload = if may_offload { Offload::Allowed } else { Offload::No };
        let is_worth_it = may_offload && self.wants_mentions(&results);
        let mentions = if is_worth_it { cache.mentioned.in_view(request, plan) } else { Mentions::default() };
        let take_in = TakeIn { thread: thread.clone(), results, offload, mentions, given: ResultsGiven::ByClient };

        let taken = self.take_in(&identity.who, &identity.session, take_in).await?;

        let mut rewrites = Vec::new();
        for ((at, result), (call_id, shown)) in unseen.iter().zip(&taken.results) {
            let (sent, known) = match shown {
                ShownResult::AsItIs => (None, Vec::new()),
                ShownResult::Parts(parts) => {
                    (Some(content_json(request, *at, parts)), parts.iter().flatten().collect())
                }
                ShownResult::Reference { text, .. } => (Some(request.content_of_text(*at, text)), Vec::new()),
            };
            match (sent, shown.reason()) {
                (Some(sent), Some(reason)) => {
                    let sent = self.scrub_json(&sent, &known).await?;
                    let rewrite = Replacement { content: result.content, sent, reason };
                    rewrites.push((call_id.clone(), rewrite));
                }
                (_, _) => {
                    cache.clean.insert(result.content);
                    cache.taken.insert((call_id.clone(), result.content));
                }
            }
        }
        self.store_rewrites(turn, rewrites, cache, known).await?;
        if taken.folded.is_some() {
            self.refresh(&identity.who, &identity.session, known).await?;
        }
        Ok(())
    }

    /// Stores decisions about results; for a count, applies them to this request alone.
    async fn store_rewrites(
        &self,
        turn: &AgentTurn<'_>,
        rewrites: Vec<(String, Replacement)>,
        cache: &mut SessionCache,
        known: &mut KnownSession,
    ) -> Result<(), PlanningFault> {
        if rewrites.is_empty() {
            return Ok(());
        }
        match turn.purpose {
            Purpose::Send => {
                let identity = &turn.identity;
                self.store_replacements(&identity.who, &identity.session, rewrites.clone()).await?;
            }
            Purpose::Count => cache.has_passing = true,
        }
        known.decisions.rewrites.extend(rewrites);
        Ok(())
    }

    /// Returns a result without its secrets; `None` if it has none, and then it counts as clean from now on.
    pub(super) async fn scrubbed(
        &self,
        turn: &AgentTurn<'_>,
        at: usize,
        result: &ResultBlock<'_>,
        cache: &mut SessionCache,
    ) -> Result<Option<Replacement>, PlanningFault> {
        if cache.clean.contains(&result.content) {
            return Ok(None);
        }
        let texts = turn.request.text_parts(at);
        let scrubbed = self.scrub_parts_or_withhold(texts.iter().map(|text| text.clone().into_owned()).collect()).await;
        let changed = |(before, after): (&Cow<'_, str>, Scrubbed)| (*before != after.as_str()).then_some(after);
        let scrubbed = scrubbed.map_err(Failure::Scrubbing)?;
        let parts: Vec<Option<Scrubbed>> = texts.iter().zip(scrubbed).map(changed).collect();
        if parts.iter().all(Option::is_none) {
            cache.clean.insert(result.content);
            return Ok(None);
        }
        let known: Vec<&Scrubbed> = parts.iter().flatten().collect();
        let sent = self.scrub_json(&content_json(&turn.request, at, &parts), &known).await?;
        Ok(Some(Replacement { content: result.content, sent, reason: Reason::Scrubbed }))
    }
}

fn result_at<'r, 'a>(request: &'r Request<'a>, at: usize) -> Option<&'r ResultBlock<'a>> {
    match &request.blocks().get(at)?.kind {
        BlockKind::Result(result) => Some(result),
        _ => None,
    }
}

/// The content of a result with these texts in it; `None` leaves a text as it is.
fn content_json(request: &Request<'_>, at: usize, parts: &[Option<Scrubbed>]) -> Vec<u8> {
    let texts: Vec<Option<String>> = parts.iter().map(|part| part.clone().map(Scrubbed::into_string)).collect();
    request.content_json(at, &texts)
}

fn is_of_call(request: &Request<'_>, at: usize, call: &str) -> bool {
    result_at(request, at).is_some_and(|result| result.call == call)
}

/// Results that a plan sends as they came.
fn unchanged_results<'r, 'a>(
    request: &'r Request<'a>,
    plan: &'r ViewPlan,
) -> impl Iterator<Item = (usize, &'r ResultBlock<'a>)> {
    plan.pieces.iter().filter_map(move |piece| match piece {
        ViewPiece::Keep(at) => Some((*at, result_at(request, *at)?)),
        ViewPiece::Quote { block, json: None, .. } => Some((*block, result_at(request, *block)?)),
        ViewPiece::Content { .. }
        | ViewPiece::Text { .. }
        | ViewPiece::Words { .. }
        | ViewPiece::Quote { .. }
        | ViewPiece::Say { .. } => None,
    })
}

/// A result together with its call.
pub(super) fn new_result(request: &Request<'_>, at: usize, result: &ResultBlock<'_>) -> NewResult {
    let (tool, arguments) = request.call(&result.call);
    let texts: Vec<String> = request.text_parts(at).into_iter().map(|text| text.into_owned()).collect();
    let is_all_text = request.is_all_text(at);
    let said: Vec<&str> = result.remarks.iter().map(|remark| &*remark.text).collect();
    let remarks =
        (!said.is_empty()).then(|| Remarks { printed: request.printed(at).join("\n"), said: said.join("\n\n") });
    NewResult { call_id: result.call.clone().into_owned(), tool, arguments, texts, remarks, is_all_text }
}
