//! Plays recorded sub-tasks as branches of the session that started them: what the provider is sent, against what
//! the client sends, which is the same work in one thread.
//!
//! Where the recording starts another agent, the client here opens a branch, does that agent's work in its own
//! transcript, and returns what the agent returned.

use std::collections::{HashMap, HashSet};

use anyhow::{Context, Result};
use infold_core::transcript::{CallOutcome, HeldContent, Item, Kind, Subtask, Transcript};
use infold_core::{Counter, Family};
use infold_replay::{AnswerStarts, Judge, SentItem};
use infold_testkit::McpHttp;
use serde_json::{Value, json};

use super::client::{Conversation, PlayedApi, is_of_the_model, requests};
use super::received::{Reader, Received};
use super::session::PlayWay;

#[cfg(test)]
mod tests;

const DESCRIPTION_CHARS_MAX: usize = 200;
const PROMPT_CHARS_MAX: usize = 8_000;
pub(crate) const MESSAGE_CHARS_MAX: usize = 40_000;
/// Prices of a token, in units of an input token: read from the cache, written to it, and output.
const READ: f64 = 0.1;
const WRITE: f64 = 1.25;
const OUTPUT: f64 = 5.0;

/// What folding did, summed over sessions.
#[derive(Debug, Default)]
pub struct Folded {
    pub sessions: usize,
    pub branches: usize,
    pub requests: usize,
    pub invalid_reasoning: usize,
    /// The bill, in tokens at the price of input: the same work in one thread; in branches; and in branches, if the
    /// parent's cache were always gone when a branch returns.
    pub inline: f64,
    pub folded: f64,
    pub folded_cold: f64,
    /// The largest request of each session, in tokens: in one thread, and with branches.
    pub peak_inline: u64,
    pub peak_folded: u64,
}

impl Folded {
    pub fn add(&mut self, other: &Self) {
        self.sessions += other.sessions;
        self.branches += other.branches;
        self.requests += other.requests;
        self.invalid_reasoning += other.invalid_reasoning;
        self.inline += other.inline;
        self.folded += other.folded;
        self.folded_cold += other.folded_cold;
        self.peak_inline += other.peak_inline;
        self.peak_folded += other.peak_folded;
    }
}

/// A session that is being played.
struct MeasuredFolding<'a> {
    way: &'a PlayWay<'a>,
    mcp: &'a McpHttp,
    conversation: Conversation,
    client: Reader,
    provider: Reader,
    inline: Bill,
    folded: Bill,
    cold: Bill,
    out: Folded,
}

/// Plays a session with its sub-tasks as branches; `None` if it has no sub-tasks.
pub async fn play(name: &str, transcript: &Transcript, way: &PlayWay<'_>, mcp: &McpHttp) -> Result<Option<Folded>> {
    let subtasks: HashMap<&str, &Subtask> = transcript
        .subtasks
        .iter()
        .filter(|subtask| !work(subtask).is_empty())
        .map(|subtask| (&*subtask.call, subtask))
        .collect();
    let is_there = |item: &Item| matches!(&item.kind, Kind::Result { id, .. } if subtasks.contains_key(id.as_str()));
    if PlayedApi::of(transcript) != PlayedApi::Messages || !transcript.items.iter().any(is_there) {
        return Ok(None);
    }
    let calls = requests(transcript);
    let model = calls.first().map_or("", |call| call.model.as_str());
    let counter = Counter::new(Family::of_model(model));
    let base_tokens = Judge::new(transcript).base_tokens();
    let bill = |cache| Bill::new(counter, base_tokens, cache);
    let mut folding = MeasuredFolding {
        way,
        mcp,
        conversation: Conversation::new(PlayedApi::Messages, &format!("folded-{name}"), model),
        client: Reader::new(PlayedApi::Messages),
        provider: Reader::new(PlayedApi::Messages),
        inline: bill(Cache::Last),
        folded: bill(Cache::All),
        cold: bill(Cache::Last),
        out: Folded { sessions: 1, ..Folded::default() },
    };
    let mut at = 0;
    for call in calls {
        let end = call.first_item.min(transcript.items.len()).max(at);
        let items: Vec<&Item> = transcript.items[at..end].iter().collect();
        at = end;
        folding.go_on(&items, &subtasks, counter).await?;
        folding.send(call.usage.output_tokens).await?;
    }
    Ok(Some(folding.finish()))
}

impl MeasuredFolding<'_> {
    /// Adds what lies between two requests of the main thread, and the work of the sub-tasks in it.
    async fn go_on(&mut self, items: &[&Item], subtasks: &HashMap<&str, &Subtask>, counter: Counter) -> Result<()> {
        let answered: HashSet<&str> = items.iter().filter_map(|item| result_id(item)).collect();
        let mut opened: Vec<(String, &Subtask, String)> = Vec::new();
        let mut changed: Vec<Item> = Vec::new();
        for item in items {
            match &item.kind {
                Kind::Call { id, input, .. }
                    if answered.contains(id.as_str()) && subtasks.contains_key(id.as_str()) =>
                {
                    let (call, branch, answer) = self.open(id, input).await?;
                    let message = items.iter().find(|item| result_id(item) == Some(id)).map_or("", |item| item.text());
                    changed.push(Item { kind: call, ..(*item).clone() });
                    changed.push(result(item, id, &answer));
                    opened.push((branch, subtasks[id.as_str()], head(message, MESSAGE_CHARS_MAX).to_owned()));
                }
                Kind::Result { id, .. }
                    if subtasks.contains_key(id.as_str())
                        && opened.iter().any(|(_, subtask, _)| subtask.call == *id) => {}
                _ => changed.push((*item).clone()),
            }
        }
        self.conversation.add(&changed.iter().collect::<Vec<&Item>>());
        for (branch, subtask, message) in opened {
            self.work(&branch, subtask, &message, counter).await?;
        }
        Ok(())
    }

    /// Opens a branch in place of a call that started an agent.
    async fn open(&mut self, id: &str, input: &str) -> Result<(Kind, String, String)> {
        let arguments = opening(&self.conversation.session, input);
        let answer = self.mcp.call("branch_create", arguments.clone()).await?;
        let branch = answer.structured.as_ref().and_then(|body| body["branch_id"].as_str());
        let branch = branch.with_context(|| format!("no branch was opened: {}", answer.text))?.to_owned();
        self.out.branches += 1;
        let tool = "mcp__infold__branch_create".to_owned();
        Ok((Kind::Call { id: id.to_owned(), tool, input: arguments.to_string() }, branch, answer.text))
    }

    /// Does the work of a sub-task in its branch, and folds the branch.
    async fn work(&mut self, branch: &str, subtask: &Subtask, message: &str, counter: Counter) -> Result<()> {
        for answer in answers(without_last_words(work(subtask))) {
            let answer: Vec<&Item> = answer.iter().filter(|item| is_work(&item.kind)).collect();
            self.send(answer.iter().map(|item| counter.count_item(item)).sum()).await?;
            self.conversation.add(&answer);
        }
        let arguments = json!({"branch_id": branch, "message": if message.is_empty() { "done" } else { message }});
        self.send(counter.count(message)).await?;
        let answer = self.mcp.call("branch_return", arguments.clone()).await?;
        let id = format!("return_{branch}");
        let call =
            Kind::Call { id: id.clone(), tool: "mcp__infold__branch_return".to_owned(), input: arguments.to_string() };
        let call = Item { place: Default::default(), message: 0, kind: call };
        let result = result(&call, &id, &answer.text);
        self.conversation.add(&[&call, &result]);
        self.cold.forget();
        Ok(())
    }

    async fn send(&mut self, output_tokens: u64) -> Result<()> {
        let body = self.conversation.body();
        let got = self.way.send(&self.conversation, body.clone()).await?;
        self.inline.take(&self.client.read(&body)?, output_tokens);
        let received = self.provider.read(&got)?;
        self.folded.take(&received, output_tokens);
        self.cold.take(&received, output_tokens);
        self.out.invalid_reasoning += received.invalid_reasoning;
        self.out.requests += 1;
        Ok(())
    }

    fn finish(self) -> Folded {
        Folded {
            inline: self.inline.sum,
            folded: self.folded.sum,
            folded_cold: self.cold.sum,
            peak_inline: self.inline.peak_tokens,
            peak_folded: self.folded.peak_tokens,
            ..self.out
        }
    }
}

/// The arguments that open a branch in place of a call that started an agent with `input`.
pub(crate) fn opening(session: &str, input: &str) -> Value {
    let input: Value = serde_json::from_str(input).unwrap_or_default();
    let text =
        |key: &str, other: &str| input[key].as_str().filter(|text| !text.trim().is_empty()).unwrap_or(other).to_owned();
    json!({
        "session_id": session,
        "description": head(&text("description", "a sub-task"), DESCRIPTION_CHARS_MAX),
        "prompt": head(&text("prompt", "do it"), PROMPT_CHARS_MAX),
        "parent_branch_id": "main",
    })
}

/// Which earlier requests the provider still has in its cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cache {
    /// Only the request before.
    Last,
    /// All requests of the session.
    All,
}

/// Adds up what requests cost, given what the provider still has of earlier ones.
#[derive(Debug)]
struct Bill {
    counter: Counter,
    base_tokens: u64,
    cache: Cache,
    tokens: HashMap<u64, u64>,
    before: Vec<Vec<u64>>,
    sum: f64,
    peak_tokens: u64,
}

impl Bill {
    fn new(counter: Counter, base_tokens: u64, cache: Cache) -> Self {
        let (tokens, before) = (HashMap::new(), Vec::new());
        Self { counter, base_tokens, cache, tokens, before, sum: 0.0, peak_tokens: 0 }
    }

    fn take(&mut self, received: &Received, output_tokens: u64) {
        let counter = self.counter;
        let mut ends = vec![self.base_tokens];
        let mut all_tokens = self.base_tokens;
        for (key, entry) in received.keys.iter().zip(&received.entries) {
            let tokens = self.tokens.entry(*key).or_insert_with(|| {
                let count = |item: SentItem<'_>| match item {
                    SentItem::Call { tool, arguments } => counter.count(tool) + counter.count(arguments),
                    SentItem::Words(text) => counter.count(text),
                };
                entry.items().map(count).sum()
            });
            all_tokens += *tokens;
            ends.push(all_tokens);
        }
        let shared =
            |before: &Vec<u64>| before.iter().zip(&received.keys).take_while(|(one, other)| one == other).count();
        let read_tokens = self.before.iter().map(shared).max().map_or(0, |shared| ends[shared]);
        self.sum +=
            READ * read_tokens as f64 + WRITE * (all_tokens - read_tokens) as f64 + OUTPUT * output_tokens as f64;
        self.peak_tokens = self.peak_tokens.max(all_tokens);
        if self.cache == Cache::Last {
            self.before.clear();
        }
        self.before.push(received.keys.clone());
    }

    /// Empties the provider's cache.
    fn forget(&mut self) {
        self.before.clear();
    }
}

/// What a sub-task did after it had got its instructions.
pub(crate) fn work(subtask: &Subtask) -> &[Item] {
    let first = subtask.items.iter().position(|item| is_of_the_model(&item.kind));
    first.map_or(&[], |first| &subtask.items[first..])
}

/// All items but what the agent said last, which is what it returned.
pub(crate) fn without_last_words(mut items: &[Item]) -> &[Item] {
    while let [rest @ .., Item { kind: Kind::Assistant { .. } | Kind::Reasoning { .. }, .. }] = items {
        items = rest;
    }
    items
}

/// Splits items into answers of the model, each with what came after it, so that calls and their results stay together.
pub(crate) fn answers(items: &[Item]) -> Vec<&[Item]> {
    let mut answer = AnswerStarts::default();
    let mut begins: Vec<usize> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        if answer.begins_with(item) {
            begins.push(at);
        }
    }
    let ends = begins.iter().copied().skip(1).chain([items.len()]);
    begins.iter().zip(ends).map(|(begin, end)| &items[*begin..end]).collect()
}

/// Whether an item of a sub-task is its work. Words on the user's side are left out: infold would take them for the
/// user's own.
pub(crate) fn is_work(kind: &Kind) -> bool {
    is_of_the_model(kind) || matches!(kind, Kind::Result { .. })
}

pub(crate) fn result_id(item: &Item) -> Option<&str> {
    match &item.kind {
        Kind::Result { id, .. } => Some(id),
        _ => None,
    }
}

pub(crate) fn result(beside: &Item, id: &str, text: &str) -> Item {
    let (tool, text) = (String::new(), text.to_owned());
    let kind =
        Kind::Result { id: id.to_owned(), tool, text, outcome: CallOutcome::Succeeded, held: HeldContent::Whole };
    Item { kind, ..beside.clone() }
}

pub(crate) fn head(text: &str, chars_max: usize) -> &str {
    text.char_indices().nth(chars_max).map_or(text, |(at, _)| &text[..at])
}
