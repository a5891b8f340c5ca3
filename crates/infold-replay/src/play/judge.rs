//! What a model was really sent of a recorded session, held against what the session went on to need.
//!
//! A policy is played on paper; this takes the requests as somebody else put them together, a proxy for
//! instance, and measures them in the same way.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

use infold_core::transcript::Transcript;

use super::{Sent, Stage, count};
use crate::sights::{SightId, Sights};
use crate::thread::{EntryRole, Thread, ThreadEntry};
use crate::{Compactions, Measures, Policy};

/// One item of a request as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SentItem<'s> {
    /// A call.
    Call {
        /// The tool.
        tool: &'s str,
        /// What it was called with.
        arguments: &'s str,
    },
    /// Anything else that has words.
    Words(&'s str),
}

/// Measures the requests of one session, one after another.
#[derive(Debug)]
pub struct Judge<'a> {
    thread: Thread<'a>,
    sights: Sights,
    stage: Stage,
    seen: HashMap<u64, SightId>,
    measures: Measures,
}

impl<'a> Judge<'a> {
    /// For the main thread of a session whose client never compacts.
    pub fn new(transcript: &'a Transcript) -> Self {
        let (thread, sights) = Thread::main(transcript, Compactions::Ignored);
        let stage = Stage::new(&thread, Policy::AsItWas);
        Self { thread, sights, stage, seen: HashMap::new(), measures: Measures::default() }
    }

    /// How many requests the session had.
    pub fn requests(&self) -> usize {
        self.thread.requests.len()
    }

    /// The tokens of what every request holds beside its items: system prompt and tools.
    pub fn base_tokens(&self) -> u64 {
        self.thread.base_tokens
    }

    /// Takes the next request, as it was sent. More than the session had are not counted.
    pub fn take(&mut self, items: &[SentItem<'_>]) {
        let Some(request) = self.thread.requests.get(self.measures.requests as usize) else { return };
        let ids: Vec<SightId> = items.iter().map(|item| id_of(*item, &mut self.seen, &mut self.sights)).collect();
        let sent = self.stage.send_as(&self.sights, &ids);
        self.stage.answer(&self.sights, request, sent.prompt_tokens, &mut self.measures);
        count(&mut self.measures, sent, request.output_tokens, self.stage.weights);
    }

    /// What all requests came to.
    pub fn finish(self) -> Measures {
        self.measures
    }
}

fn id_of(item: SentItem<'_>, seen: &mut HashMap<u64, SightId>, sights: &mut Sights) -> SightId {
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
        sights.id_as(&entry, text)
    })
}

impl Stage {
    /// A request that was put together elsewhere: what it shares with the one before is read.
    fn send_as(&mut self, sights: &Sights, ids: &[SightId]) -> Sent {
        let shared = self.sent.iter().zip(ids).take_while(|(before, now)| before == now).count();
        for gone in self.sent.split_off(shared) {
            self.hide(sights, gone);
        }
        let read_tokens = self.base_tokens + self.sent_tokens;
        for &id in &ids[shared..] {
            self.sent.push(id);
            self.show(sights, id);
        }
        let read_tokens = if self.is_first { 0 } else { read_tokens };
        self.is_first = false;
        Sent { prompt_tokens: self.base_tokens + self.sent_tokens, read_tokens }
    }
}
