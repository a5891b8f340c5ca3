//! Compaction: starts a thread anew from what is worth keeping of it, with a receipt and a way back.
//!
//! The core decides what stays. Here a model is asked for its words about the rest, what goes is stored under handles, the
//! new start is recorded, and a snapshot is kept for the next resume. Whatever fails of that, the mechanical summary
//! is enough, or nothing is changed.

use infold_core::compaction::{
    BreakerLimits, CompactResult, Compaction, CompactionBreaker, CompactionEnd, CompactionRules, KeepBounds,
    SummariserWords, SummaryBounds, SummaryQuestion, TargetVerdict, ThreadPiece, ThreadToCompact, compact,
    last_turn_tokens, range_to_summarise, summary_pieces,
};
use infold_core::transcript::Item;
use infold_core::{ContextBudget, Counter, Thread};
use infold_engine::SessionRef;

use crate::agent::CodingAgent;
use crate::ask::{ModelAsked, Outcome};
use crate::carried::{CarriedImages, CarryBounds};
use crate::image::KnownImages;
use crate::provider::{Effort, Prompt, request_body};
use crate::record::SessionRecord;
use crate::session::OpenCall;
use crate::setup::AgentSetup;
use crate::snapshot;
use crate::stop::Stop;
use crate::tools::ToolOutput;
use crate::turn::Front;
use crate::watch::AgentEvent;
use crate::{ResultOutcome, SpokenBy, ThreadEntry};

/// The instructions of a summariser.
const SUMMARISER: &str = "You write summaries of a coding agent's work for the same agent, which goes on from them.";
/// How a person gets back to the thread as it was.
const WAY_BACK: &str = "`infold rewind` returns to the thread as it was";
/// Tokens of a target that are left for the receipt.
const RECEIPT_TOKENS: u64 = 400;
/// How much of a thread's end stays whole.
const KEEP: KeepBounds = KeepBounds {
    recent_turns_min: 2,
    recent_turns_max: 8,
    recent_results_min: 2,
    recent_results_max: 12,
    long_messages: 200,
};
/// A compaction that comes fewer turns after another one is in vain.
const TURNS_BETWEEN_MIN: u64 = 3;

/// Why a thread is compacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It is so full that nothing can be sent before.
    Blocked,
    /// It is nearly full.
    NearlyFull,
    /// Its provider says that it does not fit.
    TooLong(String),
}

impl CodingAgent {
    /// Compacts a thread before its next request. If that is not possible, the turn goes on as long as it fits.
    pub(crate) async fn compact(&self, thread: &Thread, front: &Front, cause: Cause) -> Result<(), Stop> {
        let entries = self.with_thread(thread, |thread| thread.entries.clone());
        let Err(why) = self.compact_entries(thread, front, entries).await? else { return Ok(()) };
        let fits = !self.measure(thread, front).exceeds_budget();
        match cause {
            Cause::Blocked | Cause::NearlyFull if fits => {
                self.warn_once(why);
                Ok(())
            }
            Cause::Blocked | Cause::NearlyFull => Err(Stop::Full(why)),
            Cause::TooLong(refusal) => Err(Stop::Full(format!("{refusal}, and {why}"))),
        }
    }

    /// Compacts the main thread because a person asked for it. An error says why nothing was changed.
    pub async fn compact_now(&self) -> Result<Result<CompactResult, String>, Stop> {
        self.begin_run();
        let mut records = self.abandon_branches().await?;
        records.extend(self.close_main());
        self.record(records).await?;
        let front = self.front().await;
        let entries = self.with_thread(&Thread::Main, |thread| thread.entries.clone());
        self.run_state().breakers.values_mut().for_each(CompactionBreaker::person_spoke);
        self.compact_entries(&Thread::Main, &front, entries).await
    }

    /// Compacts a thread because its model asked for it: the answer to the call is in the new thread, with the figures.
    pub(crate) async fn compact_for_call(&self, thread: &Thread, call: &OpenCall) -> Result<(), Stop> {
        let front = self.front().await;
        let mut entries = self.with_thread(thread, |thread| thread.entries.clone());
        entries.push(result_of(call, "{}".to_owned()));
        match self.compact_entries(thread, &front, entries).await? {
            Ok(_figures) => Ok(()),
            Err(why) => self.keep(thread, call, ToolOutput::failed(why)).await,
        }
    }

    /// Compacts entries of a thread and records the new start. An error says why nothing was changed.
    async fn compact_entries(
        &self,
        thread: &Thread,
        front: &Front,
        entries: Vec<ThreadEntry>,
    ) -> Result<Result<CompactResult, String>, Stop> {
        let budget = self.measure(thread, front);
        let items = items(&entries);
        let counter = self.setup.model.counter;
        let sizes: Vec<u64> = entries.iter().map(|entry| entry.tokens(&counter)).collect();
        let turn = self.with_thread(thread, |thread| thread.turns);
        if let Err(why) = self.may_compact(thread, &budget, last_turn_tokens(&items, &sizes, counter)) {
            return Ok(Err(why));
        }
        let mut rules = self.rules(&budget);
        let images = CarriedImages::of(&entries, self.carry_bounds(&rules), &counter);
        rules.receipt_tokens += images.tokens(&counter);
        let (notes, earlier) = {
            let session = self.session();
            let earlier = session.threads.get(thread).and_then(|thread| thread.facts.clone());
            (session.notes.clone(), earlier)
        };
        let to_compact = ThreadToCompact {
            items: &items,
            item_tokens: &sizes,
            pinned: &pinned(&entries),
            branches: &[],
            notes: &notes,
            earlier: earlier.as_ref(),
        };
        let words = match range_to_summarise(&to_compact, &rules, counter) {
            Some(range) => Some(self.summarise(thread, &items[range], &budget, &rules).await?),
            None => None,
        };
        let words = match &words {
            None => SummariserWords::NotAsked,
            Some(Ok(words)) => SummariserWords::Said(words),
            Some(Err(why)) => SummariserWords::Failed(why),
        };

        let compacted = compact(&to_compact, &rules, words, counter);

        self.note_compaction(thread, turn, compacted.as_ref().map_err(ToString::to_string));
        match compacted {
            Err(refused) => Ok(Err(refused.to_string())),
            Ok(compaction) => {
                let carried = images.entry(&compaction.thread.pieces, &entries);
                let compaction = with_images(compaction, carried.as_ref(), &counter);
                let figures = compaction.result.clone();
                self.record_compaction(thread, compaction, &entries, carried).await?;
                Ok(Ok(figures))
            }
        }
    }

    /// Whether a compaction can help at all, and whether too many were in vain.
    fn may_compact(&self, thread: &Thread, budget: &ContextBudget, last_turn_tokens: u64) -> Result<(), String> {
        let limits = &self.setup.limits;
        limits.thresholds.check_floor(budget, last_turn_tokens).map_err(|floor| floor.to_string())?;
        let mut run = self.run_state();
        let breaker = run.breakers.entry(thread.clone()).or_default();
        breaker.window_is(budget.effective_window());
        breaker.check(&self.breaker_limits()).map_err(|tripped| tripped.to_string())
    }

    fn note_compaction(&self, thread: &Thread, turn: u64, outcome: Result<&Compaction, String>) {
        let limits = self.breaker_limits();
        let missed = match &outcome {
            Ok(Compaction { verdict: TargetVerdict::Reached, .. }) => None,
            Ok(Compaction { verdict: TargetVerdict::Missed(cannot), .. }) => Some(cannot.to_string()),
            Err(why) => Some(why.clone()),
        };
        let end = missed.as_deref().map_or(CompactionEnd::Reached, CompactionEnd::InVain);
        self.run_state().breakers.entry(thread.clone()).or_default().note(turn, end, &limits);
    }

    fn breaker_limits(&self) -> BreakerLimits {
        BreakerLimits { compactions_max: self.setup.limits.compactions_max, turns_between_min: TURNS_BETWEEN_MIN }
    }

    fn rules(&self, budget: &ContextBudget) -> CompactionRules {
        let limits = &self.setup.limits;
        CompactionRules {
            target_tokens: budget.conversation_target_tokens(limits.compact_target),
            receipt_tokens: RECEIPT_TOKENS,
            keep: KEEP,
            summary: SummaryBounds {
                words_chars_max: limits.words_chars_max,
                model_words_chars_max: limits.summary_chars_max,
                notes_chars_max: limits.words_chars_max / 4,
                files_max: 200,
                commands_max: 40,
                branches_max: 10,
            },
        }
    }

    /// What a compaction keeps of a thread's images: half of the bytes that a request may have, so that there is room for new
    /// ones, and a quarter of its target.
    fn carry_bounds(&self, rules: &CompactionRules) -> CarryBounds {
        CarryBounds { bytes_max: self.setup.limits.images_bytes_max / 2, tokens_max: rules.target_tokens / 4 }
    }

    /// Has the model write about a part of the thread, piece by piece, so that it fits however full the window is.
    async fn summarise(
        &self,
        thread: &Thread,
        items: &[Item],
        budget: &ContextBudget,
        rules: &CompactionRules,
    ) -> Result<Result<String, String>, Stop> {
        let model = &self.setup.model;
        let pieces = summary_pieces(items, budget.effective_window() / 2, model.counter);
        let mut so_far = String::new();
        for (at, piece) in pieces.iter().enumerate() {
            let question = SummaryQuestion {
                piece: &piece.text,
                number: at + 1,
                count: pieces.len(),
                so_far: &so_far,
                answer_chars_max: rules.summary.model_words_chars_max,
            };
            let entries = [ThreadEntry::user(question.text(), SpokenBy::Agent)];
            let prompt = Prompt {
                model: &model.model,
                session: "summary",
                system: SUMMARISER,
                breakpoints: &[],
                tools: &[],
                entries: &entries,
                images: &KnownImages::new(),
                max_output_tokens: self.setup.limits.max_output_tokens,
                reasoning: Effort::Off,
            };
            let body = request_body(model.api, &prompt);
            match self.ask_model(ModelAsked::aside(thread, body)).await {
                Ok(Outcome::Answered(answered)) => {
                    self.count_answer(answered.usage.unwrap_or_default());
                    so_far = said(&answered.entries);
                }
                Ok(Outcome::TooLong { why }) => return Ok(Err(why)),
                Ok(Outcome::ReasoningRefused | Outcome::ImagesRefused { .. }) => {
                    return Ok(Err("the provider refused the question".to_owned()));
                }
                Err(Stop::Cancelled) => return Err(Stop::Cancelled),
                Err(stop) => {
                    self.warn_once(format!("the summary is made without a model: {stop}"));
                    return Ok(Err(stop.to_string()));
                }
            }
        }
        Ok(Ok(so_far))
    }

    /// Stores what goes, records the new start, and keeps a snapshot of it.
    async fn record_compaction(
        &self,
        thread: &Thread,
        mut compaction: Compaction,
        entries: &[ThreadEntry],
        carried: Option<ThreadEntry>,
    ) -> Result<(), Stop> {
        let AgentSetup { engine, who, .. } = &self.setup;
        let texts = compaction.to_store.iter().map(|part| (part.what.clone(), part.text.clone())).collect();
        let handles = engine.store_texts(who, &self.own(thread), texts).await.map_err(Stop::of_engine)?;
        compaction.fill_handles(&handles);
        let Compaction { thread: start, facts, result, receipt, .. } = compaction;
        let words = receipt.text(WAY_BACK);
        let start = new_start(&start.pieces, entries, (&words, carried), &result);
        self.run_state().counted.remove(thread);
        self.run_state().without_reasoning.remove(thread);
        self.tell(AgentEvent::Compacted { thread: thread.clone(), result: result.clone(), receipt: words });
        let mut records = vec![SessionRecord::Compacted {
            thread: thread.clone(),
            start,
            facts: Box::new(facts),
            receipt: Box::new(receipt),
            result,
        }];
        // The thread starts anew, so what is in front of it may change as well.
        let skills = self.session().skills.clone();
        let now = self.instructions(&skills);
        let changed = *thread == Thread::Main && self.session().system.as_ref() != Some(&now);
        records.extend(changed.then_some(SessionRecord::Instructed(now)));
        self.record(records).await?;
        self.save_snapshot(thread).await;
        Ok(())
    }

    /// Keeps what the session is resumed from. Without it, the whole log is read.
    async fn save_snapshot(&self, thread: &Thread) {
        if *thread != Thread::Main || self.session().has_images() {
            return;
        }
        let messages = snapshot::messages(&self.session());
        let AgentSetup { engine, who, .. } = &self.setup;
        let session = SessionRef::Id(self.setup.session.clone());
        if let Err(error) = engine.save_snapshot(who, &session, &messages).await {
            self.warn_once(format!("no snapshot is kept, a resume reads the whole log: {error}"));
        }
    }
}

/// The entries that a thread goes on from. An open answer to `compact_context` gets its figures.
fn new_start(
    pieces: &[ThreadPiece],
    entries: &[ThreadEntry],
    (receipt, mut carried): (&str, Option<ThreadEntry>),
    figures: &CompactResult,
) -> Vec<ThreadEntry> {
    let mut start = vec![ThreadEntry::user(receipt, SpokenBy::Agent)];
    for piece in pieces {
        let entry = match piece {
            ThreadPiece::Summary { text } => ThreadEntry::user(text.clone(), SpokenBy::Agent),
            ThreadPiece::Kept { item } => entries[*item].clone(),
            ThreadPiece::Reference { item, text } => match &entries[*item] {
                ThreadEntry::Result { call, tool, outcome, .. } => ThreadEntry::Result {
                    call: call.clone(),
                    tool: tool.clone(),
                    text: text.clone(),
                    outcome: *outcome,
                },
                other => other.clone(),
            },
        };
        start.push(entry);
        // Images come right behind the summary of the words that they were sent with.
        start.extend(matches!(piece, ThreadPiece::Summary { .. }).then(|| carried.take()).flatten());
    }
    if let Some(carried) = carried {
        start.insert(1, carried);
    }
    if let Some(ThreadEntry::Result { tool, text, .. }) = start.last_mut()
        && tool == crate::own_tools::COMPACT_CONTEXT
    {
        *text = serde_json::to_string(figures).unwrap_or_default();
    }
    start
}

/// A compaction whose figures have the images that it keeps.
fn with_images(mut compaction: Compaction, carried: Option<&ThreadEntry>, counter: &Counter) -> Compaction {
    let tokens = carried.map_or(0, |entry| entry.tokens(counter));
    compaction.result.after_tokens += tokens;
    compaction.receipt.after_tokens += tokens;
    compaction
}

fn result_of(call: &OpenCall, text: String) -> ThreadEntry {
    ThreadEntry::Result { call: call.id.clone(), tool: call.tool.clone(), text, outcome: ResultOutcome::Succeeded }
}

/// What a model said in an answer.
fn said(entries: &[ThreadEntry]) -> String {
    let words = entries.iter().filter_map(|entry| match entry {
        ThreadEntry::Assistant { text } => Some(text.as_str()),
        ThreadEntry::User { .. }
        | ThreadEntry::Reasoning { .. }
        | ThreadEntry::Call { .. }
        | ThreadEntry::Result { .. } => None,
    });
    words.collect::<Vec<_>>().join("\n")
}

/// The places of what a person has pinned.
fn pinned(entries: &[ThreadEntry]) -> Vec<usize> {
    let is_pinned = |entry: &ThreadEntry| matches!(entry, ThreadEntry::User { by: SpokenBy::PersonPinned, .. });
    (0..entries.len()).filter(|at| is_pinned(&entries[*at])).collect()
}

/// Entries as items of a transcript, one for one.
pub(crate) fn items(entries: &[ThreadEntry]) -> Vec<Item> {
    let mut message = 0;
    let mut last = None;
    let item = |entry: &ThreadEntry| {
        let side = entry.is_models();
        if last.is_some_and(|last| last != side) {
            message += 1;
        }
        last = Some(side);
        Item { place: Default::default(), message, kind: entry.kind() }
    };
    entries.iter().map(item).collect()
}
