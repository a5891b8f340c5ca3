//! A recorded session as a list of moves that a client makes, and a client that makes them.
//!
//! The moves follow from the recording alone, so that both programs get the same ones. What only a program can say,
//! which is the id of a branch and the answer of a tool, is put in when a move is made.

use std::collections::{HashMap, HashSet};

use anyhow::{Context, Result};
use infold_core::transcript::{Item, Kind, Subtask, Transcript};
use infold_testkit::{CallAnswer, Era, McpHttp};
use serde_json::{Value, json};

use super::requests::RequestStage;
use crate::measure::proxied::client::{Conversation, PlayedApi, requests};
use crate::measure::proxied::folding::{
    MESSAGE_CHARS_MAX, answers, head, is_work, opening, result, result_id, without_last_words, work,
};

/// How many requests of a session are sent at most, so that a long one does not take all the time.
const REQUESTS_MAX: usize = 120;
/// Results that are read back at the end of a session.
const READ_BACK_MAX: usize = 20;
const PAGE_BYTES: usize = 4_096;
const HANDLE_BYTES: usize = "res_".len() + 36;

/// One move of a client.
#[derive(Debug)]
pub enum Move {
    /// The client adds what came since the last request.
    Add(Vec<MovePart>),
    /// A request with all that was added so far is sent.
    Send,
    /// The branch that this call opened is folded with this message.
    Return { call: String, message: String },
    /// Every result that the last request showed as a reference is read back.
    ReadBack,
}

/// One part of what came since the last request.
#[derive(Debug)]
pub enum MovePart {
    /// An item as it was recorded.
    Item(Item),
    /// A branch is opened in place of a call that started another agent.
    Open { item: Item, call: String, arguments: Value },
}

/// The moves of a session in one thread.
pub fn in_one_thread(transcript: &Transcript) -> Vec<Move> {
    let mut moves = Vec::new();
    let mut at = 0;
    for call in requests(transcript).into_iter().take(REQUESTS_MAX) {
        let end = call.first_item.min(transcript.items.len()).max(at);
        moves.push(Move::Add(transcript.items[at..end].iter().cloned().map(MovePart::Item).collect()));
        moves.push(Move::Send);
        at = end;
    }
    moves.push(Move::ReadBack);
    moves
}

/// The moves of a session whose sub-tasks are branches; empty if it has no sub-tasks.
pub fn in_branches(session: &str, transcript: &Transcript) -> Vec<Move> {
    let worked = transcript.subtasks.iter().filter(|subtask| !work(subtask).is_empty());
    let subtasks: HashMap<&str, &Subtask> = worked.map(|subtask| (&*subtask.call, subtask)).collect();
    let is_there = |item: &Item| result_id(item).is_some_and(|id| subtasks.contains_key(id));
    if PlayedApi::of(transcript) != PlayedApi::Messages || !transcript.items.iter().any(is_there) {
        return Vec::new();
    }
    let mut moves = Vec::new();
    let mut at = 0;
    for call in requests(transcript).into_iter().take(REQUESTS_MAX) {
        let end = call.first_item.min(transcript.items.len()).max(at);
        moves.extend(going_on(session, &transcript.items[at..end], &subtasks));
        moves.push(Move::Send);
        at = end;
    }
    moves.push(Move::ReadBack);
    moves
}

/// What lies between two requests of the main thread, and the work of the sub-tasks in it.
fn going_on(session: &str, items: &[Item], subtasks: &HashMap<&str, &Subtask>) -> Vec<Move> {
    let answered: HashSet<&str> = items.iter().filter_map(result_id).collect();
    let mut opened: Vec<&str> = Vec::new();
    let mut parts = Vec::new();
    for item in items {
        match &item.kind {
            Kind::Call { id, input, .. } if answered.contains(id.as_str()) && subtasks.contains_key(id.as_str()) => {
                let arguments = opening(session, input);
                parts.push(MovePart::Open { item: item.clone(), call: id.clone(), arguments });
                opened.push(id);
            }
            Kind::Result { id, .. } if opened.contains(&id.as_str()) => {}
            _ => parts.push(MovePart::Item(item.clone())),
        }
    }
    let mut moves = vec![Move::Add(parts)];
    for call in opened {
        let message = items.iter().find(|item| result_id(item) == Some(call)).map_or("", Item::text);
        let message = if message.is_empty() { "done" } else { head(message, MESSAGE_CHARS_MAX) };
        for answer in answers(without_last_words(work(subtasks[call]))) {
            moves.push(Move::Send);
            let work = answer.iter().filter(|item| is_work(&item.kind)).cloned();
            moves.push(Move::Add(work.map(MovePart::Item).collect()));
        }
        moves.push(Move::Send);
        moves.push(Move::Return { call: call.to_owned(), message: message.to_owned() });
    }
    moves
}

/// A client of one of the programs, in the middle of a session.
pub struct MovingClient<'a> {
    stage: &'a RequestStage,
    mcp: McpHttp,
    conversation: Conversation,
    branches: HashMap<String, String>,
    /// Handles in the last request that the provider got, in their order.
    handles: Vec<String>,
}

impl<'a> MovingClient<'a> {
    pub async fn start(stage: &'a RequestStage, session: &str, transcript: &Transcript) -> Result<Self> {
        let model = requests(transcript).first().map_or("", |call| call.model.as_str());
        let conversation = Conversation::new(PlayedApi::of(transcript), session, model);
        let mcp = McpHttp::connect_with(stage.http.clone(), stage.running.daemon.base_url(), Era::Modern).await?;
        Ok(Self { stage, mcp, conversation, branches: HashMap::new(), handles: Vec::new() })
    }

    /// Makes a move, and returns what the program answered and forwarded; `None` if the move did not involve it.
    pub async fn play(&mut self, step: &Move) -> Result<Option<Vec<u8>>> {
        match step {
            Move::Add(parts) => self.add(parts).await,
            Move::Send => self.send().await.map(Some),
            Move::Return { call, message } => self.fold(call, message).await.map(Some),
            Move::ReadBack => self.read_back().await.map(Some),
        }
    }

    async fn add(&mut self, parts: &[MovePart]) -> Result<Option<Vec<u8>>> {
        let mut items: Vec<Item> = Vec::new();
        let mut answered = Vec::new();
        for part in parts {
            match part {
                MovePart::Item(item) => items.push(item.clone()),
                MovePart::Open { item, call, arguments } => {
                    let answer = self.mcp.call("branch_create", arguments.clone()).await?;
                    let branch = answer.structured.as_ref().and_then(|body| body["branch_id"].as_str());
                    let branch = branch.with_context(|| format!("no branch was opened: {}", answer.text))?;
                    self.branches.insert(call.clone(), branch.to_owned());
                    items.push(calling(item, call, "mcp__infold__branch_create", arguments));
                    items.push(result(item, call, &answer.text));
                    answered.extend(answer_bytes(&answer));
                }
            }
        }
        self.conversation.add(&items.iter().collect::<Vec<&Item>>());
        Ok((!answered.is_empty()).then_some(answered))
    }

    async fn send(&mut self) -> Result<Vec<u8>> {
        let api = self.conversation.api;
        let url = format!("{}{}", self.stage.running.daemon.base_url(), api.path());
        let body = self.conversation.body();
        let request = self
            .stage
            .http
            .post(url)
            .header("content-type", "application/json")
            .header("x-api-key", "sk-compared")
            .header("authorization", "Bearer sk-compared")
            .header("anthropic-version", "2023-06-01")
            .header(api.session_header(), &self.conversation.session)
            .body(body);
        let made = self.stage.send(request).await?;
        self.handles = handles(&made);
        Ok(made)
    }

    async fn fold(&mut self, call: &str, message: &str) -> Result<Vec<u8>> {
        let branch = self.branches.get(call).context("a branch returns that was never opened")?;
        let arguments = json!({"branch_id": branch, "message": message});
        let answer = self.mcp.call("branch_return", arguments.clone()).await?;
        let id = format!("return_{call}");
        let beside = Item { place: Default::default(), message: 0, kind: Kind::Assistant { text: String::new() } };
        let call = calling(&beside, &id, "mcp__infold__branch_return", &arguments);
        let result = result(&beside, &id, &answer.text);
        self.conversation.add(&[&call, &result]);
        Ok(answer_bytes(&answer))
    }

    async fn read_back(&mut self) -> Result<Vec<u8>> {
        let mut read = Vec::new();
        for handle in self.handles.iter().take(READ_BACK_MAX) {
            let arguments = json!({"ref_id": handle, "offset": 0, "limit": PAGE_BYTES});
            read.extend(answer_bytes(&self.mcp.call("read_result", arguments).await?));
        }
        Ok(read)
    }
}

fn calling(beside: &Item, id: &str, tool: &str, arguments: &Value) -> Item {
    let kind = Kind::Call { id: id.to_owned(), tool: tool.to_owned(), input: arguments.to_string() };
    Item { kind, ..beside.clone() }
}

fn answer_bytes(answer: &CallAnswer) -> Vec<u8> {
    format!("{}\n{}\n", answer.text, answer.result).into_bytes()
}

/// The handles of blobs in a text, each once.
pub fn handles(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let mut found: Vec<String> = Vec::new();
    for (at, _) in text.match_indices("res_") {
        let Some(handle) = text.get(at..at + HANDLE_BYTES) else { continue };
        let is_handle = handle[4..].bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if is_handle && !found.iter().any(|known| known == handle) {
            found.push(handle.to_owned());
        }
    }
    found
}
