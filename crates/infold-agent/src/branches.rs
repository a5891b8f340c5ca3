//! Branches: each is a thread of its own with its own requests, so that several work at once, and none of them sees
//! anything of the others.
//!
//! What must hold: a branch ends once; the call that opened it gets one result, whatever becomes of the branch; a session
//! that broke off goes on in the branches that were open.

use std::time::Duration;

use infold_core::{BranchId, Field, Isolation, ReturnOutcome, SessionId, Start, Thread, grouped};
use infold_engine::{BranchRef, FoldBranch, MemoryWish, OpenBranch, Opened, SessionRef, Teaching};

use crate::agent::CodingAgent;
use crate::calls::missing;
use crate::record::SessionRecord;
use crate::session::OpenCall;
use crate::stop::{OverBranch, Stop};
use crate::tools::ToolOutput;
use crate::watch::AgentEvent;
use crate::{ResultOutcome, SpokenBy, ThreadEntry};

/// How often a branch is looked at while its model is at work: its time may be over.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// What is kept of a branch that a person speaks over.
const ABANDONED: &str = "interrupted: the person went on with something else";

impl CodingAgent {
    /// Opens the branch of a call, works in it until it is over, and gives the call its result. If the call opened its
    /// branch before the session broke off, that one goes on.
    pub(crate) async fn run_branch(&self, thread: &Thread, call: &OpenCall) -> Result<(), Stop> {
        let known = self.session().opened_by(thread, &call.id).cloned();
        let branch = match known {
            Some(branch) => branch,
            None => match self.open_branch(thread, call).await? {
                Ok(branch) => branch,
                Err(refusal) => return self.keep(thread, call, ToolOutput::failed(refusal)).await,
            },
        };
        let over = self.work_in_branch(&branch).await?;
        self.fold_into(thread, call, &branch, over).await
    }

    /// Opens a branch; a refusal is for the model to read.
    async fn open_branch(&self, thread: &Thread, call: &OpenCall) -> Result<Result<BranchId, String>, Stop> {
        let arguments = &call.arguments;
        let Some(description) = arguments["description"].as_str() else { return Ok(Err(missing("description").text)) };
        let isolation = match arguments["isolation"].as_str() {
            Some("inherit") => Some(Isolation::Inherit),
            Some("isolated") => Some(Isolation::Isolated),
            Some(_) | None => None,
        };
        let prompt = arguments["prompt"].as_str().map(str::to_owned);
        let open = OpenBranch {
            session: SessionRef::Id(self.setup.session.clone()),
            parent: Some(thread.to_string()),
            description: description.to_owned(),
            description_field: Field::BRANCH_DESCRIPTION,
            prompt: prompt.clone(),
            budget_tokens: arguments["budget"].as_u64(),
            timeout_s: arguments["timeout_seconds"].as_u64(),
            isolation,
            memories: MemoryWish::Fitting,
            folder: Some(self.setup.workplace.fence.folder().to_owned()),
            start: Start::AtOnce,
            // The same call opens one branch, however often the session breaks off in between; another one if the session
            // has gone back to the call.
            idempotency_key: Some(opening_key(&self.setup.session, self.session().rewinds, thread, &call.id)),
        };
        let opened = match self.setup.engine.open_branch(&self.setup.who, open).await {
            Ok(opened) => opened,
            Err(infold_engine::Error::Refused(refusal)) => return Ok(Err(refusal.to_string())),
            Err(error) => return Err(Stop::of_engine(error)),
        };
        let start = self.branch_start(thread, &opened, description, prompt.as_deref());
        let (branch, call_id) = (opened.branch_id.clone(), call.id.clone());
        self.record(vec![SessionRecord::Opened { thread: thread.clone(), call: call_id.clone(), branch, start }])
            .await?;
        self.tell(AgentEvent::BranchOpened {
            branch_id: opened.branch_id.to_string(),
            parent: thread.clone(),
            call_id,
            description: description.to_owned(),
            budget_tokens: opened.budget_tokens,
        });
        Ok(Ok(opened.branch_id))
    }

    /// What a branch's thread begins with: its brief, and its parent's conversation if it inherits that.
    fn branch_start(
        &self,
        thread: &Thread,
        opened: &Opened,
        description: &str,
        prompt: Option<&str>,
    ) -> Vec<ThreadEntry> {
        let mut start = match opened.isolation {
            Isolation::Isolated => Vec::new(),
            Isolation::Inherit => self.with_thread(thread, |parent| up_to_last_answer(&parent.entries)),
        };
        let mut brief = format!(
            "[branch {}]\nYou are working on one sub-task. Its parent gets what you return, and nothing else.\n\n\
             Task: {description}\n",
            opened.branch_id
        );
        if let Some(prompt) = prompt {
            brief.push_str(&format!("\n{prompt}\n"));
        }
        if let Some(memories) = &opened.injected_context {
            brief.push_str(&format!("\n{memories}\n"));
        }
        brief.push_str(&format!(
            "\nBudget: {} tokens. When you are done, call branch_return with what you found, the evidence for it and what \
             is still open.",
            grouped(opened.budget_tokens)
        ));
        start.push(ThreadEntry::user(brief, SpokenBy::Agent));
        start
    }

    /// Works in a branch until it is over. One whose model says its last word without returning returns that.
    async fn work_in_branch(&self, branch: &BranchId) -> Result<OverBranch, Stop> {
        let thread = Thread::Branch(branch.clone());
        match Box::pin(self.work(&thread)).await {
            Err(Stop::BranchOver(over)) => Ok(*over),
            Err(stop) => Err(stop),
            Ok(()) => {
                let words = self.with_thread(&thread, |thread| thread.last_words());
                self.fold(branch, &words, ReturnOutcome::Completed).await
            }
        }
    }

    /// Ends the branch that a return is called in.
    pub(crate) async fn return_branch(&self, thread: &Thread, call: &OpenCall) -> Result<(), Stop> {
        let Thread::Branch(branch) = thread else {
            let words = "this is the main thread, not a branch: say what you found to the person";
            return self.keep(thread, call, ToolOutput::failed(words)).await;
        };
        let Some(message) = call.arguments["message"].as_str().filter(|message| !message.trim().is_empty()) else {
            return self.keep(thread, call, missing("message")).await;
        };
        let outcome = match call.arguments["failed"].as_bool() {
            Some(true) => ReturnOutcome::Failed,
            Some(false) | None => ReturnOutcome::Completed,
        };
        let over = self.fold(branch, message, outcome).await?;
        Err(Stop::BranchOver(Box::new(over)))
    }

    /// Folds a branch in the store. If it has ended meanwhile, what its parent got then counts.
    async fn fold(&self, branch: &BranchId, message: &str, outcome: ReturnOutcome) -> Result<OverBranch, Stop> {
        let message = if message.trim().is_empty() { "(the branch said nothing)" } else { message };
        let fold = FoldBranch {
            branch: BranchRef::Id { branch: branch.to_string(), session: None },
            message: shortened(message),
            outcome,
            teaching: Teaching::NOTHING,
            idempotency_key: Some(format!("{branch}:return")),
        };
        match self.setup.engine.fold_branch(&self.setup.who, fold).await {
            Ok(folded) => {
                let how = match outcome {
                    ReturnOutcome::Completed => "returned",
                    ReturnOutcome::Failed => "failed",
                };
                Ok(OverBranch { how: how.to_owned(), result: folded.message })
            }
            Err(infold_engine::Error::Refused(infold_core::Refusal::NotActive { status, result, .. })) => {
                Ok(OverBranch { how: status.as_str().to_owned(), result: result.unwrap_or_default() })
            }
            Err(error) => Err(Stop::of_engine(error)),
        }
    }

    /// Waits until the branch of a thread has ended without its own doing: its time is over, or somebody else has folded
    /// it. The main thread never does.
    pub(crate) async fn branch_ended(&self, thread: &Thread) -> OverBranch {
        let Thread::Branch(branch) = thread else { return std::future::pending().await };
        let of = BranchRef::Id { branch: branch.to_string(), session: None };
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            // Whatever is wrong with the database is said by the next request.
            let Ok(Some(view)) = self.setup.engine.branch(&self.setup.who, &of, None).await else { continue };
            if let Some(end) = view.branch.end {
                return OverBranch { how: end.reason.as_str().to_owned(), result: end.result.as_str().to_owned() };
            }
        }
    }

    /// Ends the branches that the main thread waits for, because a person speaks over them.
    pub(crate) async fn abandon_branches(&self) -> Result<Vec<SessionRecord>, Stop> {
        let waiting: Vec<BranchId> = {
            let session = self.session();
            let open = session.threads.get(&Thread::Main).map(|main| main.open_calls()).unwrap_or_default();
            open.iter().filter_map(|call| session.opened_by(&Thread::Main, &call.id).cloned()).collect()
        };
        let mut records = Vec::new();
        for branch in waiting {
            let over = self.fold(&branch, ABANDONED, ReturnOutcome::Failed).await?;
            records.push(SessionRecord::Folded { branch, how: over.how });
        }
        Ok(records)
    }

    /// Gives the call that opened a branch its result.
    async fn fold_into(
        &self,
        thread: &Thread,
        call: &OpenCall,
        branch: &BranchId,
        over: OverBranch,
    ) -> Result<(), Stop> {
        self.tell(AgentEvent::BranchFolded {
            branch_id: branch.to_string(),
            how: over.how.clone(),
            result: over.result.clone(),
        });
        let is_failure = over.how != "returned";
        let outcome = if is_failure { ResultOutcome::Failed } else { ResultOutcome::Succeeded };
        let text = format!("[branch {branch}: {}]\n{}", over.how, over.result);
        let entry = ThreadEntry::Result { call: call.id.clone(), tool: call.tool.clone(), text, outcome };
        self.record(vec![
            SessionRecord::Folded { branch: branch.clone(), how: over.how },
            SessionRecord::Result { thread: thread.clone(), entry, changes: Vec::new(), command: None },
        ])
        .await
    }
}

/// The key of a call that opens a branch. Providers' ids may be longer than a key, so it is a digest.
fn opening_key(session: &SessionId, rewinds: u64, thread: &Thread, call: &str) -> String {
    blake3::hash(format!("{session}:{rewinds}:{thread}:{call}").as_bytes()).to_hex().to_string()
}

/// A conversation up to the answer that is being carried out: its calls have no results yet.
fn up_to_last_answer(entries: &[ThreadEntry]) -> Vec<ThreadEntry> {
    let is_users = |entry: &ThreadEntry| matches!(entry, ThreadEntry::User { .. } | ThreadEntry::Result { .. });
    let end = entries.iter().rposition(is_users).map_or(0, |at| at + 1);
    entries[..end].to_vec()
}

/// A message within the bound of what a branch may return, cut between two characters.
fn shortened(message: &str) -> String {
    let chars_max = Field::MESSAGE.chars_max;
    match message.char_indices().nth(chars_max) {
        None => message.to_owned(),
        Some((end, _)) => message[..end].to_owned(),
    }
}
