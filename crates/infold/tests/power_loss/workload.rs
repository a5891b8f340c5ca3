//! What the daemon is made to do while it is traced, and which answers the trace shows.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;

use anyhow::{Context, Result, bail, ensure};
use infold_testkit::{Action, CallAnswer, DaemonSetup, Era, McpHttp, Rng, Seed, TempFolder, Trace};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// Clients at once, so that several commits share one sync.
const CLIENTS: usize = 6;

/// Calls of each client.
const CALLS: usize = 64;

/// Pages in the write-ahead log that start a checkpoint: few, so that there are many checkpoints.
const CHECKPOINT_PAGES: usize = 48;

/// What the prompts are made longer with, so that branches differ in size.
const FILLER: &str = "Look at every file below the folder and note which of them name the table. ";

/// The daemon's setting `store.synchronous`.
#[derive(Debug, Clone, Copy)]
pub enum Sync {
    /// The daemon syncs at every commit.
    Full,
    /// The daemon syncs at checkpoints only.
    Normal,
}

impl Sync {
    fn setting(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Normal => "normal",
        }
    }
}

/// Something that was done and acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// A branch was opened; its description begins with `tag`.
    Opened { branch: String, tag: String },
    /// A branch was folded; its message begins with `tag`.
    Folded { branch: String, tag: String },
    /// A branch was opened again.
    RolledBack { branch: String },
}

impl Operation {
    /// The branch that was opened, folded or rolled back to.
    pub fn branch(&self) -> &str {
        match self {
            Self::Opened { branch, .. } | Self::Folded { branch, .. } | Self::RolledBack { branch } => branch,
        }
    }

    /// The text that acknowledges the operation when the daemon sends it.
    fn marker(&self) -> String {
        match self {
            Self::Opened { branch, .. } => branch.clone(),
            Self::Folded { tag, .. } => tag.clone(),
            Self::RolledBack { branch } => format!("{ROLLED_BACK} {branch}"),
        }
    }
}

/// An acknowledged operation, and the line of the trace where the answer began to leave.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The number of the line, from 0.
    pub line: usize,
    pub operation: Operation,
}

/// A traced run of the daemon.
#[derive(Debug)]
pub struct Recording {
    /// The daemon's system calls.
    pub trace: Trace,
    /// What it acknowledged, in the order in which the answers left.
    pub answers: Vec<Answer>,
}

impl Recording {
    /// What had been acknowledged when the power failed before line `cut`.
    pub fn answered_before(&self, cut: usize) -> &[Answer] {
        &self.answers[..self.answers.partition_point(|answer| answer.line < cut)]
    }
}

/// Runs the daemon under the tracer, lets the clients work, and reads what happened.
pub async fn record(sync: Sync, seed: &Seed) -> Result<Recording> {
    let folder = TempFolder::in_memory()?;
    let data = folder.join("data");
    let output = folder.join("trace");
    let mut daemon = DaemonSetup::new(env!("CARGO_BIN_EXE_infold"))
        .wrapped_in(Trace::command(&output))
        .data(&data)
        .set("store.synchronous", sync.setting())
        .set("store.checkpoint_pages", CHECKPOINT_PAGES)
        .set("folding.max_branches_per_minute", 1_000_000)
        .set("folding.max_concurrent_per_instance", 1_000_000)
        .start()
        .await
        .context("the daemon cannot be run under strace: install it, or look at what it said")?;

    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let client = McpHttp::connect(daemon.base_url(), Era::Legacy).await?;
        let rng = seed.rng(1 + number as u64);
        clients.spawn(async move { work(&client, number, rng).await });
    }
    let mut operations = Vec::new();
    while let Some(done) = clients.join_next().await {
        operations.extend(done??);
    }
    let status = daemon.terminate().await?;
    ensure!(status.success(), "the daemon left with {status}:\n{}", daemon.stderr());

    let trace = Trace::read(BufReader::new(File::open(&output)?), &data)?;
    let answers = find_answers(&trace, operations)?;
    Ok(Recording { trace, answers })
}

/// Opens, folds and now and then rolls back; returns what was acknowledged.
async fn work(client: &McpHttp, number: usize, mut rng: Rng) -> Result<Vec<Operation>> {
    let session = format!("power-{number}");
    let mut done: Vec<Operation> = Vec::new();
    let mut open: Vec<String> = Vec::new();
    for call in 0..CALLS {
        let tag = format!("[tag-{number}-{call}]");
        let last_folded = match done.last() {
            Some(Operation::Folded { branch, .. }) => Some(branch.clone()),
            _ => None,
        };
        let operation = match (last_folded, open.pop()) {
            (Some(branch), left) if rng.chance(20) && not_yet(&done, &branch) => {
                open.extend(left);
                roll_back(client, &session, &branch).await?
            }
            (_, Some(branch)) if rng.chance(60) || open.len() >= 2 => fold(client, &branch, &tag).await?,
            (_, left) => {
                open.extend(left);
                let prompt = FILLER.repeat(1 + rng.below(20));
                open_branch(client, &session, &tag, &prompt).await?
            }
        };
        match &operation {
            Operation::Opened { branch, .. } | Operation::RolledBack { branch } => open.push(branch.clone()),
            Operation::Folded { .. } => {}
        }
        done.push(operation);
    }
    Ok(done)
}

/// Whether a branch has not been rolled back to yet: once is enough, and easy to count.
fn not_yet(done: &[Operation], branch: &str) -> bool {
    !done.contains(&Operation::RolledBack { branch: branch.to_owned() })
}

async fn open_branch(client: &McpHttp, session: &str, tag: &str, prompt: &str) -> Result<Operation> {
    let arguments = json!({"session_id": session, "description": format!("{tag} search"), "prompt": prompt});
    let answer = accepted(client.call("branch_create", arguments).await?)?;
    Ok(Operation::Opened { branch: answer.text_field("branch_id"), tag: tag.to_owned() })
}

async fn fold(client: &McpHttp, branch: &str, tag: &str) -> Result<Operation> {
    let lessons = json!([{"title": format!("What {} showed", words_of(tag)), "lesson": words_of(&tag.repeat(2))}]);
    let arguments = json!({"branch_id": branch, "message": format!("{tag} found it"), "lessons": lessons});
    accepted(client.call("branch_return", arguments).await?)?;
    Ok(Operation::Folded { branch: branch.to_owned(), tag: tag.to_owned() })
}

/// Words that are made of a tag and that no other tag gives, so that no two lessons say the same.
fn words_of(tag: &str) -> String {
    let letter = |byte: u8| ["ba", "de", "fi", "go", "lu", "ma", "ne", "ri", "so", "tu"][usize::from(byte % 10)];
    let digits: String = tag.bytes().filter(u8::is_ascii_digit).map(letter).collect();
    (0..6).map(|place| format!("{}{digits}", letter(place))).collect::<Vec<_>>().join(" ")
}

async fn roll_back(client: &McpHttp, session: &str, branch: &str) -> Result<Operation> {
    let project = format!("/projects/{session}");
    let arguments = json!({"project_path": project, "session_id": session, "branch_id": branch});
    accepted(client.call("context_rollback", arguments).await?)?;
    Ok(Operation::RolledBack { branch: branch.to_owned() })
}

fn accepted(answer: CallAnswer) -> Result<CallAnswer> {
    ensure!(answer.is_ok(), "refused: {}", answer.summary());
    ensure!(answer.structured.as_ref().is_some_and(Value::is_object), "no structure: {}", answer.summary());
    Ok(answer)
}

/// The field of an answer that reports a rollback.
const ROLLED_BACK: &str = "rolled_back_to";

/// How long a branch's id is: its prefix and a uuid.
const BRANCH_ID_CHARS: usize = 39;

/// Finds for each operation the line where its answer began to leave.
fn find_answers(trace: &Trace, operations: Vec<Operation>) -> Result<Vec<Answer>> {
    let mut first_seen: HashMap<String, usize> = HashMap::new();
    for step in &trace.steps {
        if let Action::Send { bytes } = &step.action {
            for marker in markers(&String::from_utf8_lossy(bytes)) {
                let line = first_seen.entry(marker).or_insert(step.began);
                *line = step.began.min(*line);
            }
        }
    }
    let mut answers = Vec::new();
    for operation in operations {
        let Some(line) = first_seen.get(&operation.marker()) else {
            bail!("the trace does not show the answer to {operation:?}");
        };
        answers.push(Answer { line: *line, operation });
    }
    answers.sort_by_key(|answer| answer.line);
    Ok(answers)
}

/// Every marker in a text that was sent.
fn markers(sent: &str) -> Vec<String> {
    let ids = sent.match_indices("br_").filter_map(|(at, _)| sent.get(at..at + BRANCH_ID_CHARS)).map(str::to_owned);
    let tags = sent.match_indices("[tag-").filter_map(|(at, _)| Some(sent[at..].split_once(']')?.0));
    let rollbacks = sent.match_indices(ROLLED_BACK).filter_map(|(at, _)| {
        let rest = &sent[at..];
        let id = rest.get(rest.find("br_")?..)?.get(..BRANCH_ID_CHARS)?;
        Some(format!("{ROLLED_BACK} {id}"))
    });
    ids.chain(tags.map(|tag| format!("{tag}]"))).chain(rollbacks).collect()
}
