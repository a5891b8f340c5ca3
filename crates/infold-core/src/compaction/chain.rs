//! The chain of strategies, each judged by what it leaves.

mod draft;

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::receipt::{CompactResult, CompactionReceipt};
use super::summary::{MergeBounds, SummariserWords, SummaryBounds, SummaryFrame, mechanical_summary, merge_summary};
use super::turns::Turns;
use super::{Compaction, CompactionRules, CompactionStrategy, ConversationSignals, KeptEnd, ThreadToCompact};
use crate::transcript::{Item, Kind};
use crate::{Counter, grouped};
pub(super) use draft::{Draft, ItemFate};
use draft::{DraftSummary, OldResult};

/// How often a summary that is too large is made again, each time within half the bounds. Bounds of any size are used up
/// by then.
const HALVINGS_MAX: u32 = 24;

/// Whether a compaction reached its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum TargetVerdict {
    /// It did.
    Reached,
    /// It did not, and this is what is left.
    Missed(CannotShrink),
}

/// What is left of a thread that cannot get any smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error(
    "The thread would have to get down to {} tokens, and what cannot shrink takes {}: the last turn {}, pinned items {}, \
     the summary {}, older turns {}",
    grouped(*target_tokens),
    grouped(last_turn_tokens + pinned_tokens + summary_tokens + older_tokens),
    grouped(*last_turn_tokens),
    grouped(*pinned_tokens),
    grouped(*summary_tokens),
    grouped(*older_tokens)
)]
pub struct CannotShrink {
    /// The size that was to be reached, without the receipt.
    pub target_tokens: u64,
    /// The last turn, which always stays.
    pub last_turn_tokens: u64,
    /// Pinned items before it, which always stay.
    pub pinned_tokens: u64,
    /// The summary of the rest.
    pub summary_tokens: u64,
    /// Whatever else is left: nothing, unless a summary of it would be larger than it is.
    pub older_tokens: u64,
}

/// Why a compaction changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "compacting did not shrink the thread, so nothing was changed: {} tokens would be {}, and the receipt {}. {cannot_shrink}",
    grouped(*before_tokens),
    grouped(*after_tokens),
    grouped(*receipt_tokens)
)]
pub struct CompactionRefused {
    /// The thread's size.
    pub before_tokens: u64,
    /// The smallest size that any strategy got it to.
    pub after_tokens: u64,
    /// What the receipt would add.
    pub receipt_tokens: u64,
    /// The strategies that were tried, in order.
    pub strategies_run: Vec<CompactionStrategy>,
    /// What is left of it.
    pub cannot_shrink: CannotShrink,
}

/// Everything that the strategies look at.
pub(super) struct Chain<'a> {
    pub thread: ThreadToCompact<'a>,
    pub rules: CompactionRules,
    counter: Counter,
    turns: Turns,
    /// The size of each item.
    pub sizes: Vec<u64>,
    /// For each result that a reference would make smaller, that reference.
    old_results: Vec<Option<OldResult>>,
    /// Pinned items, with the other halves of calls and results.
    pub pinned: BTreeSet<usize>,
    pub signals: ConversationSignals,
    kept_end: KeptEnd,
}

impl<'a> Chain<'a> {
    pub fn new(thread: ThreadToCompact<'a>, rules: CompactionRules, counter: Counter) -> Self {
        let items = thread.items;
        let turns = Turns::of(items);
        let sizes = sizes(items, thread.item_tokens, counter);
        let old_results = items
            .iter()
            .zip(&sizes)
            .enumerate()
            .map(|(at, (item, size))| OldResult::of(at, item, *size, counter))
            .collect();
        let pinned = thread.pinned.iter().copied().filter(|at| *at < items.len());
        let pinned = pinned.flat_map(|at| [Some(at), turns.partner(at)]).flatten().collect();
        let signals = ConversationSignals::of(items);
        let kept_end = signals.kept_end(&rules.keep);
        Self { thread, rules, counter, turns, sizes, old_results, pinned, signals, kept_end }
    }

    pub fn range_to_summarise(&self) -> Option<Range<usize>> {
        let cut = self.summary_cut();
        (cut > 0 && !self.reaches(&self.clear_tool_results())).then_some(0..cut)
    }

    /// Runs strategy after strategy until one reaches the target. Of several that miss it, the smallest outcome counts.
    pub fn run(&self, words: SummariserWords<'_>) -> Result<Compaction, CompactionRefused> {
        let mut strategies_run = Vec::new();
        let mut smallest: Option<Draft> = None;
        for strategy in
            [CompactionStrategy::ClearToolResults, CompactionStrategy::Summarise, CompactionStrategy::Truncate]
        {
            let draft = match strategy {
                CompactionStrategy::ClearToolResults => Some(self.clear_tool_results()),
                CompactionStrategy::Summarise => self.summarise(words),
                CompactionStrategy::Truncate => Some(self.truncate(words)),
            };
            let Some(draft) = draft else { continue };
            strategies_run.push(strategy);
            let has_reached = self.reaches(&draft);
            if smallest.as_ref().is_none_or(|smallest| draft.tokens < smallest.tokens) {
                smallest = Some(draft);
            }
            if has_reached {
                break;
            }
        }
        let draft = smallest.unwrap_or_else(|| self.clear_tool_results());
        if !self.shrinks(&draft) {
            return Err(CompactionRefused {
                before_tokens: self.before_tokens(),
                after_tokens: draft.tokens,
                receipt_tokens: self.rules.receipt_tokens,
                strategies_run,
                cannot_shrink: self.cannot_shrink(&draft),
            });
        }
        Ok(self.finish(draft, &strategies_run))
    }

    /// Old results become references.
    fn clear_tool_results(&self) -> Draft {
        let fates = self.fates(0, self.kept_end.recent_results);
        self.draft(fates, None)
    }

    /// What comes before the latest turns is replaced by a summary; `None` if nothing does.
    fn summarise(&self, words: SummariserWords<'_>) -> Option<Draft> {
        let cut = self.summary_cut();
        (cut > 0).then(|| self.cut_draft(cut, self.kept_end.recent_results, words, &self.rules.summary))
    }

    /// The oldest turns go until the rest fits. When only the last turn is left, its results become references, the
    /// largest first; then the model's words go, and at last the summary is made shorter and shorter, if that helps.
    fn truncate(&self, words: SummariserWords<'_>) -> Draft {
        let bounds = self.rules.summary;
        let last = self.turns.last_start();
        let fallback = self.cut_draft(last, 0, words, &bounds);
        let summary_tokens = fallback.summary.as_ref().map_or(0, |summary| summary.tokens);
        if let Some(cut) = self.first_cut_that_fits(summary_tokens).filter(|cut| *cut < last) {
            let draft = self.cut_draft(cut, 0, words, &bounds);
            if self.reaches(&draft) {
                return draft;
            }
        }
        let draft = self.shrink_last_turn(fallback);
        if draft.tokens <= self.room_tokens() || last == 0 {
            return draft;
        }
        self.shorten_summary(&draft).unwrap_or(draft)
    }

    /// A draft with a shorter summary, if one reaches the target: the user's words are not given up in vain.
    fn shorten_summary(&self, draft: &Draft) -> Option<Draft> {
        let mut bounds = self.rules.summary;
        for _ in 0..HALVINGS_MAX {
            let shorter = self.cut_draft(self.turns.last_start(), 0, SummariserWords::NotAsked, &bounds);
            let shorter = self.shrink_last_turn(shorter);
            if shorter.tokens <= self.room_tokens() {
                return Some(shorter.with_words_lost(draft.summary.as_ref(), self.room_tokens()));
            }
            bounds = bounds.halved();
        }
        None
    }

    /// The first start of a turn from which on everything fits beside a summary of this size.
    fn first_cut_that_fits(&self, summary_tokens: u64) -> Option<usize> {
        let whole = self.draft(self.fates(0, 0), None);
        let size = |at: usize| whole.fates[at].tokens(at, self);
        let (mut before, mut pinned, mut passed) = (0, 0, 0);
        self.turns.starts_from(self.summary_cut()).find(|start| {
            for at in passed..*start {
                before += size(at);
                pinned += if self.pinned.contains(&at) { size(at) } else { 0 };
            }
            passed = *start;
            *start > 0 && whole.tokens - before + pinned + summary_tokens <= self.room_tokens()
        })
    }

    fn shrink_last_turn(&self, mut draft: Draft) -> Draft {
        let mut results: Vec<(u64, usize)> = (self.turns.last_start()..self.sizes.len())
            .filter(|at| draft.fates[*at] == ItemFate::Kept && !self.pinned.contains(at))
            .filter_map(|at| Some((self.sizes[at] - self.old_results[at].as_ref()?.tokens, at)))
            .collect();
        results.sort_by_key(|(freed, at)| (std::cmp::Reverse(*freed), *at));
        for (freed, at) in results {
            if draft.tokens <= self.room_tokens() {
                break;
            }
            draft.fates[at] = ItemFate::Referenced;
            draft.tokens -= freed;
        }
        draft
    }

    /// A draft in which everything before `cut` is in a summary.
    fn cut_draft(&self, cut: usize, results_kept: usize, words: SummariserWords<'_>, bounds: &SummaryBounds) -> Draft {
        let fates = self.fates(cut, results_kept);
        let summary = (cut > 0).then(|| self.summary(cut, &fates, words, bounds));
        self.draft(fates, summary)
    }

    fn summary(
        &self,
        cut: usize,
        fates: &[ItemFate],
        words: SummariserWords<'_>,
        bounds: &SummaryBounds,
    ) -> DraftSummary {
        let mut facts = self.thread.earlier.cloned().unwrap_or_default();
        facts.add(&self.thread.items[..cut], &self.pinned);
        let earlier_words = std::mem::take(&mut facts.model_words);
        let gone = |at: &usize| fates[*at] == ItemFate::Gone;
        let items = (0..cut).filter(gone).count();
        let replaced_tokens: u64 = (0..cut).filter(gone).map(|at| self.sizes[at]).sum();
        let handle = draft::placeholder(0);
        let (branches, notes) = (self.thread.branches, self.thread.notes);
        let frame = SummaryFrame { handle: &handle, items, pinned: cut - items, branches, notes };

        let mechanical = mechanical_summary(&facts, &frame, bounds);
        let tokens_max = replaced_tokens.saturating_sub(1);
        let merge = MergeBounds { words_chars_max: bounds.model_words_chars_max, tokens_max };
        let mut merged = merge_summary(&mechanical, words, &merge, self.counter);
        facts.model_words = match words {
            SummariserWords::Said(said) if merged.words == super::WordsFate::Used => said.trim().to_owned(),
            _ => earlier_words,
        };
        if merged.words != super::WordsFate::Used {
            merged.text = mechanical_summary(&facts, &frame, bounds);
        }
        let tokens = self.counter.count(&merged.text);
        DraftSummary { text: merged.text, words: merged.words, facts: facts.bounded(bounds), tokens }
    }

    /// What becomes of each item if all before `cut` goes and only the latest results stay.
    fn fates(&self, cut: usize, results_kept: usize) -> Vec<ItemFate> {
        let items = self.thread.items;
        let last = self.turns.last_start();
        let mut fates = vec![ItemFate::Kept; items.len()];
        let mut results = 0;
        for at in (0..items.len()).rev() {
            let is_pinned = self.pinned.contains(&at);
            let is_result = matches!(items[at].kind, Kind::Result { .. });
            results += usize::from(is_result && at < last);
            let is_bare = matches!(items[at].kind, Kind::Reasoning { .. } | Kind::Clearing { .. });
            if is_bare || self.turns.is_unpaired(at, &items[at]) || (at < cut && !is_pinned) {
                fates[at] = ItemFate::Gone;
            } else if at < last && results > results_kept && !is_pinned && self.old_results[at].is_some() {
                fates[at] = ItemFate::Referenced;
            }
        }
        fates
    }

    fn draft(&self, fates: Vec<ItemFate>, summary: Option<DraftSummary>) -> Draft {
        let kept_tokens: u64 = fates.iter().enumerate().map(|(at, fate)| fate.tokens(at, self)).sum();
        let tokens = kept_tokens + summary.as_ref().map_or(0, |summary| summary.tokens);
        Draft { fates, summary, tokens }
    }

    fn summary_cut(&self) -> usize {
        self.turns.start_of_last(self.kept_end.recent_turns)
    }

    pub fn before_tokens(&self) -> u64 {
        self.sizes.iter().sum()
    }

    pub fn room_tokens(&self) -> u64 {
        self.rules.target_tokens.saturating_sub(self.rules.receipt_tokens)
    }

    fn shrinks(&self, draft: &Draft) -> bool {
        draft.tokens + self.rules.receipt_tokens < self.before_tokens()
    }

    fn reaches(&self, draft: &Draft) -> bool {
        draft.tokens <= self.room_tokens() && self.shrinks(draft)
    }

    fn cannot_shrink(&self, draft: &Draft) -> CannotShrink {
        let last = self.turns.last_start();
        let size = |at: usize| draft.fates[at].tokens(at, self);
        let last_turn_tokens: u64 = (last..self.sizes.len()).map(size).sum();
        let pinned_tokens: u64 = (0..last).filter(|at| self.pinned.contains(at)).map(size).sum();
        let summary_tokens = draft.summary.as_ref().map_or(0, |summary| summary.tokens);
        let older_tokens = draft.tokens - last_turn_tokens - pinned_tokens - summary_tokens;
        let target_tokens = self.room_tokens();
        CannotShrink { target_tokens, last_turn_tokens, pinned_tokens, summary_tokens, older_tokens }
    }

    fn finish(&self, draft: Draft, strategies_run: &[CompactionStrategy]) -> Compaction {
        let verdict = if self.reaches(&draft) {
            TargetVerdict::Reached
        } else {
            TargetVerdict::Missed(self.cannot_shrink(&draft))
        };
        let (thread, to_store) = draft.pieces(self);
        let receipt = CompactionReceipt::of(self, &draft, strategies_run, verdict);
        let facts = match draft.summary {
            Some(summary) => summary.facts,
            None => self.thread.earlier.cloned().unwrap_or_default(),
        };
        Compaction { thread, to_store, facts, verdict, result: CompactResult::of(&receipt), receipt }
    }
}

/// The size of each item, counted where the caller gives none.
fn sizes(items: &[Item], item_tokens: &[u64], counter: Counter) -> Vec<u64> {
    let size = |(at, item)| item_tokens.get(at).copied().unwrap_or_else(|| counter.count_item(item));
    items.iter().enumerate().map(size).collect()
}

/// The last turn without its reasoning, and with references where they are smaller than the results.
pub(super) fn last_turn_least_tokens(items: &[Item], item_tokens: &[u64], counter: Counter) -> u64 {
    let last = Turns::of(items).last_start();
    let sizes = sizes(items, item_tokens, counter);
    let least = |at: usize| match items[at].kind {
        Kind::Reasoning { .. } | Kind::Clearing { .. } => 0,
        Kind::Result { .. } => OldResult::of(at, &items[at], sizes[at], counter).map_or(sizes[at], |old| old.tokens),
        Kind::System { .. }
        | Kind::User { .. }
        | Kind::Assistant { .. }
        | Kind::Call { .. }
        | Kind::Compaction { .. }
        | Kind::Other { .. } => sizes[at],
    };
    (last..items.len()).map(least).sum()
}
