//! Measures requests that were really sent for a recorded session against what the session needed later.
//!
//! A policy is only simulated. This takes requests as another program has built them, a proxy for instance, and
//! measures them in the same way.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

use infold_core::transcript::Transcript;

use super::{PromptState, Sent, count};
use crate::seen_texts::{SeenId, SeenTexts};
use crate::thread::{EntryRole, Thread, ThreadEntry};
use crate::{Compactions, Measures, Policy};

/// One item of a request as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SentItem<'s> {
    /// A call of a tool by the model.
    Call {
        /// The name of the tool, as the client spells it.
        tool: &'s str,
        /// The arguments as they were sent, JSON or plain text.
        arguments: &'s str,
    },
    /// Anything else with words: messages, results, summaries.
    Words(&'s str),
}

/// Measures the requests of one session: [`Self::take`] for each of them in order, then [`Self::finish`].
#[derive(Debug)]
pub struct Judge<'a> {
    thread: Thread<'a>,
    texts: SeenTexts,
    prompt: PromptState,
    seen: HashMap<u64, SeenId>,
    measures: Measures,
}

impl<'a> Judge<'a> {
    /// Prepares to measure the main thread of a session. The client's own compactions are ignored.
    pub fn new(transcript: &'a Transcript) -> Self {
        let (thread, texts) = Thread::main(transcript, Compactions::Ignored);
        let prompt = PromptState::new(&thread, Policy::AsItWas);
        Self { thread, texts, prompt, seen: HashMap::new(), measures: Measures::default() }
    }

    /// How many requests the recorded session had.
    pub fn requests(&self) -> usize {
        self.thread.requests.len()
    }

    /// The estimated tokens of what every request has beside its items: system prompt and tools.
    pub fn base_tokens(&self) -> u64 {
        self.thread.base_tokens
    }

    /// Measures the next request as it was sent. Requests beyond those of the recorded session are ignored.
    pub fn take(&mut self, items: &[SentItem<'_>]) {
        let Some(request) = self.thread.requests.get(self.measures.requests as usize) else { return };
        let ids: Vec<SeenId> = items.iter().map(|item| id_of(*item, &mut self.seen, &mut self.texts)).collect();
        let sent = self.prompt.send_as(&self.texts, &ids);
        self.prompt.answer(&self.texts, request, sent.prompt_tokens, &mut self.measures);
        count(&mut self.measures, sent, request.output_tokens, self.prompt.weights);
    }

    /// The sums over all requests that were taken.
    pub fn finish(self) -> Measures {
        self.measures
    }
}

fn id_of(item: SentItem<'_>, seen: &mut HashMap<u64, SeenId>, texts: &mut SeenTexts) -> SeenId {
    let (role, tool, text) = match item {
        SentItem::Call { tool, arguments } => (EntryRole::Call, tool, arguments),
        SentItem::Words(text) => (EntryRole::Other, "", text),
    };
    let mut hasher = DefaultHasher::new();
    hasher.write(tool.as_bytes());
    hasher.write_u8(u8::from(role == EntryRole::Call));
    hasher.write(text.as_bytes());
    *seen.entry(hasher.finish()).or_insert_with(|| {
        let entry = ThreadEntry { role, tool, text, call: None, cleared: Vec::new() };
        texts.id_as(&entry, text)
    })
}

impl PromptState {
    /// Takes a request that another program built. The beginning that it shares with the request before counts as read
    /// from the cache.
    fn send_as(&mut self, texts: &SeenTexts, ids: &[SeenId]) -> Sent {
        let shared = self.sent.iter().zip(ids).take_while(|(before, now)| before == now).count();
        for gone in self.sent.split_off(shared) {
            self.hide(texts, gone);
        }
        let read_tokens = self.base_tokens + self.sent_tokens;
        for &id in &ids[shared..] {
            self.sent.push(id);
            self.show(texts, id);
        }
        let read_tokens = if self.is_first { 0 } else { read_tokens };
        self.is_first = false;
        Sent { prompt_tokens: self.base_tokens + self.sent_tokens, read_tokens }
    }
}
