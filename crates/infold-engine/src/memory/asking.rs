//! Asks a model of the user's about ended branches whose agents wrote no lessons, one after another, in the background.
//!
//! Nothing waits for it: what can be taken from a branch without a model was learnt when it ended. What waits is a list in
//! the store, so that a crash loses nothing. An end comes to an outcome once; after a crash a model may be asked about it
//! twice. What a request may take is counted before it is sent.

use std::time::Duration;

use infold_core::Scrubbed;
use infold_core::memory::{
    AskBounds, EndedBranch, LearnFrom, LessonDraft, MemoryState, QuoteKey, ask_instructions, ask_record, read_lessons,
};
use infold_store::{AskClaim, AskEnd, AskOutcome, AskSpending, AskTurn, ClaimAnswer, Trajectory, WaitingAsk};
use tokio_util::sync::CancellationToken;

use super::learning::is_of_store;
use super::models::{AskFault, Distiller, ModelQuestion};
use crate::{Engine, Error, process};

/// A model that was asked about an end so often in vain is not asked about it any more.
const ATTEMPTS_MAX: u32 = 5;
/// Ends that are looked at for one whose turn it is: other processes have the turns of others.
const LOOKED_AT: usize = 16;
/// The longest pause after requests in vain.
const PAUSE_MAX_MS: u64 = 3_600_000;
/// What is kept of the words for a problem.
const PROBLEM_CHARS_MAX: usize = 300;
/// The longest pause between two looks: another process may have learnt from an end and died.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(5);

/// What asking takes.
#[derive(Debug, Clone)]
pub struct AskStatus {
    /// The model's name.
    pub model: String,
    /// What it took today, and what waits.
    pub spending: AskSpending,
    /// What it may take a day.
    pub tokens_per_day: u64,
}

/// How fast to go on.
#[derive(Default)]
struct AskPace {
    /// Requests in vain since the last answer.
    in_vain: u32,
    /// No model is asked before this time.
    paused_until_ms: u64,
    /// What was said last, so that it is said once.
    said: Option<String>,
}

/// An end whose turn it is, with all that is needed to ask about it.
struct ReadyAsk {
    waiting: WaitingAsk,
    trajectory: Trajectory,
    question: ModelQuestion,
}

impl Engine {
    /// Asks about ended branches until it is cancelled, if the user has named a model.
    pub(crate) async fn keep_asking(&self, cancel: &CancellationToken) {
        let Some(distiller) = self.distiller() else { return };
        let mut pace = AskPace::default();
        loop {
            let rest = tokio::select! {
                () = cancel.cancelled() => return,
                rest = self.ask_if_on_duty(distiller, &mut pace) => rest,
            };
            tokio::select! {
                () = cancel.cancelled() => return,
                () = tokio::time::sleep(rest) => {}
                () = self.inner.learning.listed.notified() => {}
            }
        }
    }

    /// Asks about the next end, if asking is this machine's: of several with one state, one asks.
    async fn ask_if_on_duty(&self, distiller: &Distiller, pace: &mut AskPace) -> Duration {
        match self.inner.store.is_on_duty() {
            true => self.ask_next(distiller, pace).await,
            false => LOOK_AT_LEAST_EVERY,
        }
    }

    /// What asking takes; `None` if no model is asked.
    pub(super) async fn ask_status(&self) -> Result<Option<AskStatus>, Error> {
        let Some(distiller) = self.distiller() else { return Ok(None) };
        let spending = self.inner.store.ask_spending(self.now_ms()).await?;
        let (model, tokens_per_day) = (distiller.model.clone(), distiller.tokens_per_day);
        Ok(Some(AskStatus { model, spending, tokens_per_day }))
    }

    /// The model that is asked about ended branches.
    pub(super) fn distiller(&self) -> Option<&Distiller> {
        let settings = &self.inner.settings;
        settings.memory_models.distiller.as_ref().filter(|_| settings.memory.learn == LearnFrom::All)
    }

    /// Asks about the next end, if its turn has come. Returns how long to rest.
    async fn ask_next(&self, distiller: &Distiller, pace: &mut AskPace) -> Duration {
        let pause = Duration::from_millis(pace.paused_until_ms.saturating_sub(self.now_ms()));
        if !pause.is_zero() {
            return pause.min(LOOK_AT_LEAST_EVERY);
        }
        match self.ask_about_one(distiller, pace).await {
            Ok(Some(())) => Duration::ZERO,
            Ok(None) => LOOK_AT_LEAST_EVERY,
            Err(error) => {
                tracing::error!(%error, "no model could be asked about ended branches; this is tried again");
                LOOK_AT_LEAST_EVERY
            }
        }
    }

    /// Brings the next end that waits a step further; `None` if none can be.
    async fn ask_about_one(&self, distiller: &Distiller, pace: &mut AskPace) -> Result<Option<()>, Error> {
        let now_ms = self.now_ms();
        let own = process::own_name().unwrap_or_default();
        let is_free = |waiting: &WaitingAsk| {
            let has_turn = waiting.process.as_ref().is_some_and(|name| *name != own && process::lives(name));
            waiting.not_before_ms <= now_ms && !has_turn
        };
        let waiting = self.inner.store.waiting_asks(LOOKED_AT).await?;
        let Some(waiting) = waiting.into_iter().find(is_free) else { return Ok(None) };
        let branch = waiting.ask.branch.clone();
        let ready = match self.ready(distiller, waiting).await {
            Ok(Some(ready)) => ready,
            Ok(None) => return Ok(Some(self.inner.store.leave_ask(branch).await?)),
            Err(error) if is_of_store(&error) => return Err(error),
            Err(error) => {
                tracing::warn!(%error, "a model is not asked about an ended branch");
                return Ok(Some(self.inner.store.leave_ask(branch).await?));
            }
        };

        let turn = AskTurn { branch, process: own };
        let counted = self.count(&ready.question.instructions) + self.count(ready.question.text.as_str());
        let claim = AskClaim {
            turn: turn.clone(),
            from_process: ready.waiting.process.clone(),
            tokens: counted + distiller.answer_tokens_max,
            tokens_per_day: distiller.tokens_per_day,
            at_ms: now_ms,
        };
        match self.inner.store.claim_ask(claim.clone()).await? {
            ClaimAnswer::Taken => {}
            ClaimAnswer::Overtaken => return Ok(Some(())),
            ClaimAnswer::NoTokens => {
                pace.say(format!(
                    "the day's {} tokens are used up, or too few are left for a request of {}: it goes on tomorrow, or \
                     with a higher memory.distill_tokens_per_day",
                    distiller.tokens_per_day, claim.tokens
                ));
                return Ok(None);
            }
        }
        self.ask_in_turn(distiller, pace, ready, claim).await.map(Some)
    }

    /// What is needed to ask about an end; `None` if there is nothing to ask about it any more.
    async fn ready(&self, distiller: &Distiller, waiting: WaitingAsk) -> Result<Option<ReadyAsk>, Error> {
        let (owner, (branch, generation)) = (waiting.ask.owner.clone(), waiting.ask.branch.clone());
        let mechanical = self.end_memory_id(&branch, generation, 0);
        let mechanical = self.inner.store.memory(owner.clone(), mechanical).await?;
        let is_rejected = mechanical.is_some_and(|found| found.row.memory.state == MemoryState::Rejected);
        if waiting.is_silenced || is_rejected {
            return Ok(None);
        }
        let found = self.inner.store.trajectory(owner, branch, Some(generation)).await?;
        let Some(trajectory) = found else { return Ok(None) };
        let Some(ended) = EndedBranch::of(&trajectory.archived.branch) else { return Ok(None) };

        let lessons_max = self.inner.settings.memory.lessons_max;
        let bounds = AskBounds { record_bytes_max: distiller.record_bytes_max, lessons_max };
        let key = QuoteKey::derive(self.inner.store.secret());
        let record = ask_record(&ended, &super::learning::operations_in(&trajectory), bounds, &key);
        // What the record is made of was scrubbed; that it is put together anew makes it new text.
        let [text] = self.scrub([record]).await?;
        let instructions = ask_instructions(bounds);
        let question = ModelQuestion { instructions, text, answer_tokens_max: distiller.answer_tokens_max };
        Ok(Some(ReadyAsk { waiting, trajectory, question }))
    }

    /// Asks, notes what it took, and learns from the answer.
    async fn ask_in_turn(
        &self,
        distiller: &Distiller,
        pace: &mut AskPace,
        ready: ReadyAsk,
        claim: AskClaim,
    ) -> Result<(), Error> {
        let ReadyAsk { waiting, trajectory, question } = ready;
        let lessons_max = self.inner.settings.memory.lessons_max;
        let replied = distiller.ask.ask(question).await;
        let (drafts, tokens, outcome) = match replied {
            Ok(reply) => {
                let tokens = reply.tokens.unwrap_or(claim.tokens);
                match read_lessons(&reply.words, lessons_max) {
                    Ok(drafts) => (Some(drafts), tokens, AskOutcome::Answered),
                    Err(why) => {
                        let problem = format!(
                            "{}: if that stays so, name a model in memory.distill_model that answers in JSON",
                            why.as_str()
                        );
                        (None, tokens, self.in_vain(distiller, &waiting, waiting.attempts + 1, problem))
                    }
                }
            }
            Err(fault) => self.after_fault(distiller, pace, &waiting, claim.tokens, fault).await,
        };
        self.inner.metrics.model_asked(if drafts.is_some() { "answered" } else { "in vain" }, tokens);
        let end = AskEnd {
            turn: claim.turn.clone(),
            at_ms: claim.at_ms,
            counted_tokens: claim.tokens,
            tokens,
            outcome: outcome.clone(),
        };
        self.inner.store.end_ask(end).await?;

        match (drafts, outcome) {
            (Some(drafts), _) => {
                pace.answered();
                self.learn_from_answer(waiting, &claim.turn.process, &trajectory, drafts).await
            }
            (None, AskOutcome::Again { problem, .. } | AskOutcome::GivenUp { problem }) => {
                pace.say(problem);
                Ok(())
            }
            (None, AskOutcome::Answered) => Ok(()),
        }
    }

    /// What becomes of an end after a fault, and what the request took.
    async fn after_fault(
        &self,
        distiller: &Distiller,
        pace: &mut AskPace,
        waiting: &WaitingAsk,
        counted_tokens: u64,
        fault: AskFault,
    ) -> (Option<Vec<LessonDraft>>, u64, AskOutcome) {
        let (attempts, tokens, after_ms) = match &fault {
            AskFault::Unusable(_) => (waiting.attempts, 0, None),
            AskFault::Busy { after_ms, .. } => (waiting.attempts, 0, *after_ms),
            AskFault::Failed(_) => (waiting.attempts + 1, 0, None),
            AskFault::Lost(_) => (waiting.attempts + 1, counted_tokens, None),
        };
        let pause_ms = pause_ms(distiller, pace.in_vain).max(after_ms.unwrap_or(0)).min(PAUSE_MAX_MS);
        pace.in_vain = pace.in_vain.saturating_add(1);
        pace.paused_until_ms = self.now_ms().saturating_add(pause_ms);
        // What a provider says may be words of what it was sent, and goes to the log and the store.
        let problem = self.scrub([fault.problem().to_owned()]).await;
        let problem = problem.map_or_else(|_| String::new(), |[problem]: [Scrubbed; 1]| problem.as_str().to_owned());
        (None, tokens, self.in_vain(distiller, waiting, attempts, problem))
    }

    /// What becomes of an end that was asked about in vain so often.
    fn in_vain(&self, distiller: &Distiller, waiting: &WaitingAsk, attempts: u32, problem: String) -> AskOutcome {
        let problem: String = problem.chars().take(PROBLEM_CHARS_MAX).collect();
        if attempts >= ATTEMPTS_MAX {
            return AskOutcome::GivenUp { problem };
        }
        // One that failed lets others go first.
        let pause_ms = if attempts > waiting.attempts { pause_ms(distiller, waiting.attempts) } else { 0 };
        AskOutcome::Again { problem, attempts, not_before_ms: self.now_ms().saturating_add(pause_ms) }
    }
}

impl AskPace {
    fn answered(&mut self) {
        if self.said.take().is_some() {
            tracing::info!("the model that writes lessons answers again");
        }
        self.in_vain = 0;
    }

    fn say(&mut self, problem: String) {
        if self.said.as_ref() != Some(&problem) {
            tracing::warn!(
                problem,
                "the model that memory.distill_model names wrote no lessons; nothing is lost by that"
            );
            self.said = Some(problem);
        }
    }
}

fn pause_ms(distiller: &Distiller, in_vain: u32) -> u64 {
    distiller.pause_ms.saturating_mul(1 << in_vain.min(20)).min(PAUSE_MAX_MS)
}

#[cfg(test)]
mod tests;
