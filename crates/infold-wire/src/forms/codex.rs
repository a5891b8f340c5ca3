//! Parses Codex's rollouts: lines of `{timestamp, type, payload}`.
//!
//! A `response_item` is what the model saw. Events repeat it for people and are skipped, except those that report
//! tokens or take turns back. Older rollouts have no envelope: their lines are the items themselves.

use std::collections::VecDeque;

use infold_core::record::Usage;
use infold_core::transcript::{Item, ItemPosition, Kind, Voice};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Unit;
use super::openai_item::{ItemSource, OpenAiItem};
use crate::loose::{Count, Maybe, Str};
use crate::numbers::{CalledTools, EntryGroup, Numbers, items};
use crate::reader::{Entry, ReportedUsage, Undo};

/// What the parser remembers from line to line.
#[derive(Default)]
pub(crate) struct Codex {
    tools: CalledTools,
    numbers: Numbers,
    model: String,
    /// The first message of the answer whose tokens have not been reported yet.
    answer: Option<u64>,
    /// The total of the last token report. The client repeats reports, and a repeated one has the same total.
    total: Option<CodexTokens>,
    said: PersonsWords,
}

/// How many bytes of the person's words are remembered; the client repeats far less after a compaction.
const SAID_BYTES_MAX: usize = 1 << 20;
/// The beginning of a summary among the items that a compaction lists.
const SUMMARY_OPENING: &str = "Another language model started to solve this problem";

/// The person's latest words, which the client repeats after a compaction that lists nothing.
#[derive(Default)]
struct PersonsWords {
    items: VecDeque<Item>,
    bytes: usize,
}

impl PersonsWords {
    fn take_note(&mut self, items: &[Item]) {
        for item in items.iter().filter(|item| matches!(item.kind, Kind::User { voice: Voice::Person, .. })) {
            self.bytes += item.text().len();
            self.items.push_back(item.clone());
        }
        while self.bytes > SAID_BYTES_MAX {
            let Some(oldest) = self.items.pop_front() else { break };
            self.bytes -= oldest.text().len();
        }
    }

    /// Forgets the words that began the latest turns, which the person took back.
    fn take_back(&mut self, turns: usize) {
        for _ in 0..turns.min(self.items.len()) {
            let latest = self.items.pop_back();
            self.bytes -= latest.map_or(0, |item| item.text().len());
        }
    }

    /// Copies of all remembered words, numbered as part of the compaction's message.
    fn repeated(&self, message: u64) -> Vec<Item> {
        self.items.iter().map(|item| Item { message, ..item.clone() }).collect()
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CodexLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow)]
    payload: Maybe<OpenAiItem<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Info {
    total_token_usage: Maybe<CodexTokens>,
    last_token_usage: Maybe<CodexTokens>,
}

/// Token counts as the provider reports them: the input count includes the cached tokens.
#[derive(Default, Deserialize)]
#[serde(default)]
struct CodexTokens {
    input_tokens: Count,
    cached_input_tokens: Count,
    cache_write_input_tokens: Count,
    output_tokens: Count,
}

impl Codex {
    pub(crate) fn parse(&mut self, unit: &Unit<'_>) -> Result<Entry, serde_json::Error> {
        let line: CodexLine<'_> = serde_json::from_str(unit.text)?;
        let mut entry = Entry::default();
        let Maybe(Some(payload)) = line.payload else {
            let item: OpenAiItem<'_> = serde_json::from_str(unit.text)?;
            if !item.kind.as_str().is_empty() && item.kind.as_str() != "state" {
                self.item(item, unit, "", &mut entry);
            }
            return Ok(entry);
        };
        match line.kind.as_str() {
            "response_item" => self.item(payload, unit, "/payload", &mut entry),
            "compacted" => self.compacted(payload, unit, &mut entry)?,
            "event_msg" if payload.kind.as_str() == "token_count" => self.tokens(&payload, &mut entry),
            "event_msg" if payload.kind.as_str() == "thread_rolled_back" => {
                let turns = usize::try_from(payload.num_turns.or_zero()).unwrap_or(usize::MAX);
                self.said.take_back(turns);
                entry.undoes = Undo::Turns(turns);
            }
            "turn_context" => {
                entry.model = payload.model.given();
                self.model = entry.model.clone().unwrap_or(std::mem::take(&mut self.model));
            }
            "session_meta" => entry.session = payload.session_id.given().or_else(|| payload.id.given()),
            _ => {}
        }
        Ok(entry)
    }

    fn item(&mut self, item: OpenAiItem<'_>, unit: &Unit<'_>, pointer: &str, entry: &mut Entry) {
        entry.id = item.id.given();
        let is_answer = item.is_answer();
        let kinds = item.kinds(ItemSource { text: unit.text, pointer, number: unit.number });
        if kinds.is_empty() {
            return;
        }
        let message = self.numbers.number(EntryGroup::Alone);
        if is_answer {
            self.answer.get_or_insert(message);
        }
        let is_said = |(_, kind): &(u32, Kind)| matches!(kind, Kind::User { voice: Voice::Person, .. });
        entry.is_prompt = kinds.iter().any(is_said);
        entry.items = items(unit.number, message, kinds, &mut self.tools);
        self.said.take_note(&entry.items);
    }

    /// Parses a compaction, which replaces everything before it by the items that it lists. Where it lists nothing, the
    /// client puts the person's words before the summary.
    fn compacted(
        &mut self,
        payload: OpenAiItem<'_>,
        unit: &Unit<'_>,
        entry: &mut Entry,
    ) -> Result<(), serde_json::Error> {
        // All items are read before the parser's state changes: after an error it must be as it was.
        let mut listed: Vec<(&str, OpenAiItem<'_>)> = Vec::with_capacity(payload.replacement_history.0.len());
        for json in payload.replacement_history.0 {
            listed.push((json.get(), serde_json::from_str(json.get())?));
        }
        let mut summary = payload.message.0.filter(|text| !text.is_empty());
        let is_list = !listed.is_empty();
        let message = self.numbers.number(EntryGroup::Alone);
        let mut kept = Vec::new();
        for (part, (text, item)) in (0..).zip(listed) {
            // The provider's own summary is encrypted, so nothing in it can be read.
            if matches!(item.kind.as_str(), "compaction" | "compaction_summary" | "context_compaction") {
                continue;
            }
            let kinds = item.kinds(ItemSource { text, pointer: "", number: unit.number });
            for (_, mut kind) in kinds {
                self.tools.pass(&mut kind);
                if let (None, Kind::User { text, .. }) = (&summary, &kind)
                    && text.starts_with(SUMMARY_OPENING)
                {
                    summary = Some(text.clone());
                }
                let is_summary = matches!(&kind, Kind::User { text, .. } if Some(text) == summary.as_ref());
                if !is_summary {
                    kept.push(Item { place: ItemPosition { entry: unit.number, part }, message, kind });
                }
            }
        }
        if is_list {
            self.said = PersonsWords::default();
            self.said.take_note(&kept);
        } else {
            kept = self.said.repeated(message);
        }
        self.answer = None;
        let place = ItemPosition { entry: unit.number, part: 0 };
        entry.items.push(Item { place, message, kind: Kind::Compaction { summary, kept } });
        Ok(())
    }

    fn tokens(&mut self, payload: &OpenAiItem<'_>, entry: &mut Entry) {
        let info = payload.info.map(RawValue::get).and_then(|json| serde_json::from_str::<Info>(json).ok());
        let Some(Info { total_token_usage: Maybe(Some(total)), last_token_usage: Maybe(Some(last)) }) = info else {
            return;
        };
        let is_repeated = self.total.as_ref().is_some_and(|known| known.same(&total));
        self.total = Some(total);
        if is_repeated {
            return;
        }
        if let Some(message) = self.answer.take() {
            entry.usage.push(ReportedUsage { message, model: self.model.clone(), usage: last.usage() });
        }
    }
}

impl CodexTokens {
    fn same(&self, other: &Self) -> bool {
        (self.input_tokens.0, self.output_tokens.0) == (other.input_tokens.0, other.output_tokens.0)
    }

    fn usage(&self) -> Usage {
        let cache_read_tokens = self.cached_input_tokens.or_zero();
        let cache_write_tokens = self.cache_write_input_tokens.or_zero();
        Usage {
            fresh_tokens: self.input_tokens.or_zero().saturating_sub(cache_read_tokens + cache_write_tokens),
            cache_read_tokens,
            cache_write_tokens,
            output_tokens: self.output_tokens.or_zero(),
        }
    }
}

#[cfg(test)]
mod tests;
