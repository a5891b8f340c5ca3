//! Requests that could not be planned, or continue what their provider holds: they are sent as they came, as far as
//! that is safe.

use std::collections::BTreeMap;
use std::sync::Arc;

use infold_core::Thread;
use infold_core::record::WarningKind;
use infold_core::view::{BlockKind, Edit, Reason, Restart, ViewPiece, ViewPlan};

use super::Purpose;
use super::cache::SessionCache;
use super::identify::Identity;
use super::known_session::KnownSession;
use super::prompt::SentPrompt;
use super::prompt::{AgentTurn, PlanningFault};
use crate::Engine;

/// What becomes of the model's earlier reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OldReasoning {
    Kept,
    Dropped,
}

impl Engine {
    /// Makes the prompt of a request that could not be planned.
    pub(super) async fn prompt_unplanned(
        &self,
        turn: &AgentTurn<'_>,
        cache: &mut SessionCache,
        known: Option<&KnownSession>,
        fault: PlanningFault,
    ) -> Result<SentPrompt, PlanningFault> {
        let kind = match fault {
            PlanningFault::Unscrubbed(_) => return Err(fault),
            PlanningFault::Unplanned(kind) => kind,
        };
        self.inner.metrics.unplanned(kind);
        cache.went_unplanned |= turn.purpose == Purpose::Send;
        let mut plan = self.unplanned(turn, cache, known).await?;
        self.scrub_words(turn, &mut plan, cache, known).await?;
        let mut prompt = SentPrompt::of(turn, plan);
        let warning = format!("the request could not be planned ({kind}) and went as it came");
        prompt.warnings.push((WarningKind::PlanningFailed, warning));
        Ok(prompt)
    }

    /// Restarts the thread of a request if earlier ones of its session could not be planned: reasoning that was made
    /// meanwhile is bound to what was sent then.
    pub(super) async fn restart_after_unplanned(
        &self,
        turn: &AgentTurn<'_>,
        cache: &mut SessionCache,
        known: &mut KnownSession,
        plan: ViewPlan,
    ) -> Result<ViewPlan, PlanningFault> {
        if turn.purpose == Purpose::Count || !cache.went_unplanned {
            return Ok(plan);
        }
        let restart = plan.restart_here.clone().filter(|_| known.has_edited);
        let plan = match restart {
            Some(restart) => {
                // Any of the threads may have gone on meanwhile.
                let restart = Restart { root: None, ..restart };
                let Identity { who, session, .. } = &turn.identity;
                *known = self.store_restart(who, session, restart).await?;
                self.plan(turn, cache, known).await?
            }
            None => plan,
        };
        cache.went_unplanned = false;
        Ok(plan)
    }

    /// Decides what is sent of a request that could not be planned: all of it, with results as they were decided or
    /// else scrubbed. Reasoning is left out if the session has folded before, because it was made on other prefixes.
    async fn unplanned(
        &self,
        turn: &AgentTurn<'_>,
        cache: &mut SessionCache,
        known: Option<&KnownSession>,
    ) -> Result<ViewPlan, PlanningFault> {
        let drops_reasoning = match known {
            Some(known) if known.has_edited => true,
            Some(known) if !known.is_new => false,
            // The store does not say, so the transcript has to show it.
            Some(_) | None => self.shows_folds(turn) || self.lacks_decisions(turn),
        };
        let reasoning = if drops_reasoning { OldReasoning::Dropped } else { OldReasoning::Kept };
        self.all_scrubbed(turn, cache, known, reasoning).await
    }

    /// Makes the prompt of a request that continues what its provider holds. It shows only its end, so nothing of it is
    /// planned; what tools and the client put into it is scrubbed.
    pub(super) async fn continued_prompt(&self, turn: &AgentTurn<'_>) -> Result<SentPrompt, PlanningFault> {
        let identity = &turn.identity;
        let slot = self.inner.sessions.of(&identity.who.owner, &identity.session);
        let mut cache = slot.cache.lock().await;
        let mut plan = self.all_scrubbed(turn, &mut cache, None, OldReasoning::Kept).await?;
        self.scrub_words(turn, &mut plan, &mut cache, None).await?;
        self.inner.sessions.weigh(&slot, &cache);
        Ok(SentPrompt::of(turn, plan))
    }

    /// A plan that sends everything in its place, with results as they were decided or else scrubbed.
    async fn all_scrubbed(
        &self,
        turn: &AgentTurn<'_>,
        cache: &mut SessionCache,
        known: Option<&KnownSession>,
        reasoning: OldReasoning,
    ) -> Result<ViewPlan, PlanningFault> {
        let blocks = turn.request.blocks();
        let mut pieces = Vec::with_capacity(blocks.len());
        let mut edits: BTreeMap<Reason, usize> = BTreeMap::new();
        for (at, block) in blocks.iter().enumerate() {
            let piece = match &block.kind {
                BlockKind::Reasoning if reasoning == OldReasoning::Dropped => {
                    *edits.entry(Reason::Reasoning).or_default() += 1;
                    continue;
                }
                BlockKind::Result(result) => {
                    let rewrite = known.and_then(|known| known.decisions.rewrites.get(&*result.call));
                    let rewrite = rewrite.filter(|rewrite| rewrite.content == result.content).cloned();
                    let rewrite = match rewrite {
                        Some(rewrite) => Some(rewrite),
                        None => self.scrubbed(turn, at, result, cache).await?,
                    };
                    rewrite.map(|rewrite| {
                        *edits.entry(rewrite.reason).or_default() += 1;
                        ViewPiece::Content { block: at, json: Arc::clone(rewrite.sent.bytes()) }
                    })
                }
                _ => None,
            };
            pieces.push(piece.unwrap_or(ViewPiece::Keep(at)));
        }
        Ok(ViewPlan {
            thread: Thread::Main,
            restart_here: None,
            pieces,
            edits: edits.into_iter().map(|(reason, blocks)| Edit { reason, blocks }).collect(),
            actions: Vec::new(),
            unseen: Vec::new(),
            unseen_in: Vec::new(),
            reads_results: false,
            open: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests;
