//! The receipt of a compaction: what went, where it is, and how to get it back. In figures for people and programs, in a
//! few words for the model.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::chain::{Chain, Draft, ItemFate};
use super::signals::messages;
use super::{CompactionStrategy, ConversationSignals, TargetVerdict, WordsFate};
use crate::grouped;
use crate::rescue::Tally;
use crate::transcript::{Kind, Voice};

/// Handles that the text of a receipt names.
const NAMED_MAX: usize = 5;

/// The figures of a compaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactResult {
    /// The thread's size before.
    pub before_tokens: u64,
    /// Its size now, without the receipt.
    pub after_tokens: u64,
    /// Its messages before.
    pub before_msg_count: u64,
    /// Its messages now, with the summary.
    pub after_msg_count: u64,
    /// The strategies that were run, in order.
    pub strategies_run: Vec<String>,
}

impl CompactResult {
    pub(super) fn of(receipt: &CompactionReceipt) -> Self {
        Self {
            before_tokens: receipt.before_tokens,
            after_tokens: receipt.after_tokens,
            before_msg_count: receipt.before_msg_count,
            after_msg_count: receipt.after_msg_count,
            strategies_run: receipt.strategies_run.iter().map(|strategy| strategy.as_str().to_owned()).collect(),
        }
    }
}

/// What is not in the thread any more, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WhatWent {
    /// Messages of the user, whose words the summary has as far as its bounds allow.
    pub user_words: Tally,
    /// What the model said.
    pub model_words: Tally,
    /// Reasoning, which never stays.
    pub reasoning: Tally,
    /// Calls, with their turns.
    pub calls: Tally,
    /// Results, with their calls.
    pub results: Tally,
    /// Results that a reference replaces.
    pub referenced_results: Tally,
    /// Notes, earlier summaries, attachments and the like.
    pub other: Tally,
}

/// A part of the old thread that is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPart {
    /// What it is, in words.
    pub what: String,
    /// The handle that `read_result` takes.
    pub handle: String,
    /// Its size, in bytes of text.
    pub bytes: u64,
}

/// What a compaction did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompactionReceipt {
    /// The thread's size before.
    pub before_tokens: u64,
    /// Its size now, without the receipt.
    pub after_tokens: u64,
    /// The size that was to be reached, with the receipt.
    pub target_tokens: u64,
    /// Its messages before.
    pub before_msg_count: u64,
    /// Its messages now, with the summary.
    pub after_msg_count: u64,
    /// Whether the target was reached, and what cannot shrink if not.
    pub target: TargetVerdict,
    /// The strategies that were run, in order.
    pub strategies_run: Vec<CompactionStrategy>,
    /// What the thread was like.
    pub signals: ConversationSignals,
    /// What is not in the thread any more.
    pub went: WhatWent,
    /// Where it is.
    pub stored: Vec<StoredPart>,
    /// What became of the summariser's words.
    pub summary_words: WordsFate,
}

impl CompactionReceipt {
    pub(super) fn of(
        chain: &Chain<'_>,
        draft: &Draft,
        strategies_run: &[CompactionStrategy],
        target: TargetVerdict,
    ) -> Self {
        let items = chain.thread.items;
        let kept = items.iter().zip(&draft.fates).filter(|(_, fate)| **fate != ItemFate::Gone).map(|(item, _)| item);
        let (_, to_store) = draft.pieces(chain);
        let stored = to_store.into_iter().map(|part| StoredPart {
            what: part.what,
            handle: part.placeholder,
            bytes: part.text.len() as u64,
        });
        Self {
            before_tokens: chain.before_tokens(),
            after_tokens: draft.tokens,
            target_tokens: chain.rules.target_tokens,
            before_msg_count: messages(items.iter()),
            after_msg_count: messages(kept) + u64::from(draft.summary.is_some()),
            target,
            strategies_run: strategies_run.to_vec(),
            signals: chain.signals,
            went: went(chain, draft),
            stored: stored.collect(),
            summary_words: draft.summary.as_ref().map_or(WordsFate::NotAsked, |summary| summary.words.clone()),
        }
    }

    /// What the model gets to read, in a few lines. `way_back` says how the user returns to the thread as it was.
    pub fn text(&self, way_back: &str) -> String {
        let strategies: Vec<&str> = self.strategies_run.iter().map(|strategy| strategy.as_str()).collect();
        let mut text = format!(
            "[Compacted: {} tokens became {}, {} messages became {} ({}).",
            grouped(self.before_tokens),
            grouped(self.after_tokens),
            grouped(self.before_msg_count),
            grouped(self.after_msg_count),
            strategies.join(", ")
        );
        let went = self.went.named().map(|(what, tally)| {
            let (count, tokens) = (grouped(tally.count), grouped(tally.tokens));
            format!("{what} {count} ({tokens} tokens)")
        });
        let went: Vec<String> = went.collect();
        if !went.is_empty() {
            let _ = write!(text, " Gone: {}.", went.join(", "));
        }
        let named = self.stored.iter().take(NAMED_MAX);
        let named: Vec<String> = named.map(|part| format!("{} is ref_id=\"{}\"", part.what, part.handle)).collect();
        if !named.is_empty() {
            let _ = write!(text, " To read it again use the \"read_result\" tool: {}", named.join(", "));
            let more = self.stored.len().saturating_sub(NAMED_MAX);
            text.push_str(&if more > 0 { format!(", and {more} more named in place.") } else { ".".to_owned() });
        }
        if let TargetVerdict::Missed(cannot_shrink) = &self.target {
            let _ = write!(text, " {cannot_shrink}.");
        }
        if !way_back.is_empty() {
            let _ = write!(text, " {way_back}");
        }
        text.push(']');
        text
    }
}

impl WhatWent {
    fn named(&self) -> impl Iterator<Item = (&'static str, Tally)> {
        let all = [
            ("results behind references", self.referenced_results),
            ("user messages (their words are in the summary)", self.user_words),
            ("answers", self.model_words),
            ("calls", self.calls),
            ("results", self.results),
            ("reasoning", self.reasoning),
            ("other items", self.other),
        ];
        all.into_iter().filter(|(_, tally)| tally.count > 0)
    }
}

fn went(chain: &Chain<'_>, draft: &Draft) -> WhatWent {
    let mut went = WhatWent::default();
    for (at, (item, fate)) in chain.thread.items.iter().zip(&draft.fates).enumerate() {
        let tally = match (fate, &item.kind) {
            (ItemFate::Kept, _) => continue,
            (ItemFate::Referenced, _) => &mut went.referenced_results,
            (ItemFate::Gone, Kind::User { voice: Voice::Person, .. }) => &mut went.user_words,
            (ItemFate::Gone, Kind::Assistant { .. }) => &mut went.model_words,
            (ItemFate::Gone, Kind::Reasoning { .. }) => &mut went.reasoning,
            (ItemFate::Gone, Kind::Call { .. }) => &mut went.calls,
            (ItemFate::Gone, Kind::Result { .. }) => &mut went.results,
            (
                ItemFate::Gone,
                Kind::System { .. }
                | Kind::User { voice: Voice::Client, .. }
                | Kind::Compaction { .. }
                | Kind::Clearing { .. }
                | Kind::Other { .. },
            ) => &mut went.other,
        };
        tally.add(chain.sizes[at]);
    }
    went
}
