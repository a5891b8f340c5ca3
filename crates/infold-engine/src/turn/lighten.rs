//! Lightens a thread because its agent asked for space (`compact_context`): older results are offloaded with the thread's
//! next request, and reasoning from before is not sent any more.
//!
//! What must hold: that an agent asked is on disk before the agent gets its answer, and is forgotten with what is done
//! about it, so that it is done once. Where there is nothing worth moving out the thread is not restarted, because that
//! costs the provider's cache.

use infold_core::record::{Part, RequestRecord, WarningKind};
use infold_core::view::{BlockKind, LastRound, OffloadGoal, RequestKind, ViewPiece};
use infold_core::{ContextState, OwnTool, Principal, Refusal, SessionId, Thread, grouped};
use infold_store::{EndedBranches, NewDecisions, RequestSelection, SessionKey, Target};

use super::Prepared;
use super::prompt::{AgentTurn, SentPrompt};
use super::relieve::{ReliefCause, block_of, can_probably_offload};
use crate::{Engine, Error, Lighten, Lightened, LighteningPlan, PromptSize, RequestQuery, SessionRef};

/// What a restart has to free at least: it makes the provider read the whole prompt again.
const FREED_TOKENS_MIN: u64 = 2_000;
/// How many recorded requests are searched for the last one of a thread.
const RECORDS_MAX: usize = 50;

/// What is known of a thread by its last request, while the next one is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ThreadLoad {
    /// Tokens of its prompt.
    tokens: u64,
    /// Tokens that offloading older results would free, roughly.
    pub(super) freed_tokens: u64,
    /// Tokens of reasoning.
    reasoning_tokens: u64,
    /// Messages of its prompt, with and without reasoning; `None` if only the record of the request is left.
    messages: Option<(u64, u64)>,
}

impl ThreadLoad {
    fn is_worth_it(&self) -> bool {
        self.freed_tokens >= FREED_TOKENS_MIN
    }

    fn before(&self) -> PromptSize {
        PromptSize { tokens: self.tokens, messages: self.messages.map(|(before, _)| before) }
    }

    fn after(&self) -> PromptSize {
        let tokens = self.tokens.saturating_sub(self.freed_tokens + self.reasoning_tokens);
        PromptSize { tokens, messages: self.messages.map(|(_, after)| after) }
    }

    /// Estimates it by what was recorded of a request.
    fn recorded(record: &RequestRecord, keep_tokens: u64) -> Self {
        let results = record.sent.results.iter().filter(|share| OwnTool::spelled(share.name.as_str()).is_none());
        let results_tokens: u64 = results.map(|share| share.tokens).sum();
        let tokens = record.usage.map_or_else(|| record.sent.total_tokens(), |usage| usage.prompt_tokens());
        Self {
            tokens,
            freed_tokens: results_tokens.saturating_sub(keep_tokens),
            reasoning_tokens: record.sent.reasoning_tokens,
            messages: None,
        }
    }
}

impl Engine {
    /// Has older results leave a thread's prompt with its next request, if that is worth it. Nothing is waited for: the
    /// figures are those of the thread's last request.
    #[tracing::instrument(skip_all)]
    pub async fn lighten(&self, who: &Principal, request: &Lighten) -> Result<Lightened, Error> {
        let place = self.place_to_lighten(who, request).await?;
        let load = self.load_of(who, &place).await?;

        let is_worth_it = |load: &ThreadLoad| load.is_worth_it() && !self.was_in_vain(who, &place, load);
        let plan = match &load {
            None => LighteningPlan::NotProxied,
            Some(load) if is_worth_it(load) => LighteningPlan::Offload { drops_reasoning: load.reasoning_tokens > 0 },
            Some(_) => LighteningPlan::Nothing,
        };
        let before = load.map(|load| load.before());
        let after = match plan {
            LighteningPlan::Offload { .. } => load.map(|load| load.after()),
            LighteningPlan::Nothing | LighteningPlan::NotProxied => before,
        };

        if let LighteningPlan::Offload { .. } = plan {
            let new = NewDecisions { to_lighten: vec![place.thread.clone()], ..NewDecisions::default() };
            self.save_decisions(who, &place.session, new).await?;
        }

        Ok(Lightened { before, after, plan, state: self.state_of(who, &place.session).await? })
    }

    /// The session and thread that are meant. A session behind the proxy may have nothing stored yet.
    async fn place_to_lighten(&self, who: &Principal, request: &Lighten) -> Result<LightenedPlace, Error> {
        let named = request.thread.as_deref().map(|thread| self.thread(thread)).transpose()?;
        let stored = match &request.session {
            SessionRef::Id(id) => {
                let key = SessionKey { owner: who.owner.clone(), id: id.clone() };
                self.find_session(Target::Session(key), EndedBranches::Nothing).await?
            }
            project @ SessionRef::Project { .. } => {
                Some(self.require_session(who, project, EndedBranches::Nothing).await?)
            }
        };
        let is_stored = stored.is_some();
        let active = stored.as_ref().map_or(Thread::Main, |session| session.active.clone());
        let session = match (stored, &request.session) {
            (Some(session), _) => session.id,
            (None, SessionRef::Id(id)) => id.clone(),
            (None, project @ SessionRef::Project { .. }) => {
                return Err(Refusal::SessionNotFound { session: project.describe() }.into());
            }
        };
        Ok(LightenedPlace { session, thread: named.unwrap_or(active), is_stored })
    }

    /// What is known of a thread's last request: from memory, else from the recorder. `None` if infold forwards none.
    async fn load_of(&self, who: &Principal, place: &LightenedPlace) -> Result<Option<ThreadLoad>, Error> {
        let LightenedPlace { session, thread, is_stored } = place;
        let held = self.inner.sessions.held(&who.owner, session);
        if let Some(load) = held.and_then(|slot| slot.figures(thread).load) {
            return Ok(Some(load));
        }
        let query =
            RequestQuery { session: Some(session.clone()), selection: RequestSelection::Newest, limit: RECORDS_MAX };
        let rows = self.requests(who, query).await?;
        let turns = || rows.iter().rev().map(|row| &row.record).filter(|record| record.kind == RequestKind::Turn);
        let last = turns().find(|record| record.thread == *thread).or_else(|| turns().next());
        if last.is_none() && !is_stored {
            return Err(Refusal::SessionNotFound { session: session.to_string() }.into());
        }
        Ok(last.map(|record| ThreadLoad::recorded(record, self.inner.settings.turn.kept_results_tokens)))
    }

    /// Whether nothing could be offloaded the last time, and no more could be offloaded now.
    fn was_in_vain(&self, who: &Principal, place: &LightenedPlace, load: &ThreadLoad) -> bool {
        let held = self.inner.sessions.held(&who.owner, &place.session);
        let in_vain = held.and_then(|slot| slot.figures(&place.thread).in_vain_tokens);
        in_vain.is_some_and(|in_vain_tokens| load.freed_tokens < in_vain_tokens + FREED_TOKENS_MIN)
    }

    async fn state_of(&self, who: &Principal, session: &SessionId) -> Result<Option<ContextState>, Error> {
        let key = SessionKey { owner: who.owner.clone(), id: session.clone() };
        let found = self.find_session(Target::Session(key), EndedBranches::Nothing).await?;
        Ok(found.map(|session| ContextState::of(&session, self.limits())))
    }

    /// Makes a prompt without the thread's older results, because its agent asked for that; or says why there is none.
    pub(super) async fn lighten_prompt(&self, prepared: &Prepared<'_>) -> Result<SentPrompt, String> {
        let Prepared { turn, prompt, slot, .. } = prepared;
        let weighed = self.weighed(turn, prompt);
        let chosen = weighed.chosen(turn, self.older_results(LastRound::Unseen));
        let is_worth_it = prompt.reads_results && chosen.freed_tokens >= FREED_TOKENS_MIN;
        let failed = |error: Error| format!("its agent asked for space, and results could not be offloaded: {error}");
        let is_done =
            is_worth_it && self.relieve(turn, prompt, &weighed, &chosen, ReliefCause::Asked).await.map_err(failed)?;
        if !is_done {
            slot.lightened_in_vain(&prompt.thread);
            self.forget_to_lighten(turn, &prompt.thread).await;
            return Err(format!(
                "its agent asked for space, and there was nothing to free; what stays is {}",
                weighed.fixed()
            ));
        }
        let again = self.make_prompt(turn).await;
        let mut again = again.map_err(|_| "it could not be planned again without its older results")?;
        let after_tokens = self.weighed(turn, &again).tokens;
        let (before, after) = (grouped(weighed.tokens), grouped(after_tokens));
        let words = format!(
            "its agent asked for space: {before} tokens became {after}, results of {} calls were offloaded",
            chosen.results.len()
        );
        again.warnings.splice(0..0, prompt.warnings.iter().cloned());
        again.warnings.push((WarningKind::Lightened, words));
        Ok(again)
    }

    /// Remembers what a request would free, in case its agent asks for space before the next one comes.
    pub(super) fn note_load(&self, prepared: &Prepared<'_>) {
        let Prepared { turn, prompt, parts, slot, .. } = prepared;
        if turn.identity.kind != RequestKind::Turn || !prompt.reads_results {
            return;
        }
        let can_offload = |piece: &ViewPiece, part: &Part| can_probably_offload(turn, prompt, piece, part);
        let weighed = self.weighed_by(turn, prompt, parts, can_offload);
        let chosen = weighed.chosen(turn, self.older_results(LastRound::Seen));
        let is_reasoning = |piece: &&ViewPiece| match block_of(piece) {
            Some(at) => matches!(turn.request.blocks()[at].kind, BlockKind::Reasoning),
            None => false,
        };
        let before = messages(turn, weighed.pieces.iter());
        let after = messages(turn, weighed.pieces.iter().filter(|piece| !is_reasoning(piece)));
        let load = ThreadLoad {
            tokens: weighed.tokens,
            freed_tokens: chosen.freed_tokens,
            reasoning_tokens: weighed.reasoning_tokens,
            messages: Some((before, after)),
        };
        slot.note_load(&prompt.thread, load);
    }

    fn older_results(&self, last_round: LastRound) -> OffloadGoal {
        OffloadGoal::Older { keep_tokens: self.inner.settings.turn.kept_results_tokens, last_round }
    }

    async fn forget_to_lighten(&self, turn: &AgentTurn<'_>, thread: &Thread) {
        let new = NewDecisions { lightened: vec![thread.clone()], ..NewDecisions::default() };
        if let Err(error) = self.save_decisions(&turn.identity.who, &turn.identity.session, new).await {
            tracing::warn!(%error, "that a thread needs no space could not be stored");
        }
    }
}

/// The thread that is to be lightened.
struct LightenedPlace {
    session: SessionId,
    thread: Thread,
    /// Whether anything of the session is stored, beside what the recorder has.
    is_stored: bool,
}

/// How many messages pieces are in. Those of one message follow each other.
fn messages<'p>(turn: &AgentTurn<'_>, pieces: impl Iterator<Item = &'p ViewPiece>) -> u64 {
    let (mut messages, mut last) = (0, None);
    for piece in pieces {
        let entry = match piece {
            ViewPiece::Say { entry, .. } => *entry,
            other => block_of(other).map(|at| turn.request.blocks()[at].entry),
        };
        if entry.is_none() || entry != last {
            messages += 1;
        }
        last = entry;
    }
    messages
}
