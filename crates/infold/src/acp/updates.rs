//! What the agent does, as updates of the editor's session. The same for what happens now and for what is replayed.
//!
//! What must hold: a call is announced once and gets one end; a branch is one call, whose content grows; nothing is sent
//! that the editor has not said it can show.

use std::collections::HashMap;
use std::path::PathBuf;

use agent_client_protocol::v1::schema::{
    ClientCapabilities, CompactionStatus, CompactionUpdate, ContentChunk, Notice, NoticeSeverity, SessionUpdate,
    ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use infold_agent::tools::FileTexts;
use infold_agent::watch::AgentEvent;
use infold_core::Thread;
use serde_json::Value;

use super::calls::{changed_places, diffs, fenced, kind, places, title};
use super::plan;
use super::work::BranchWork;

/// What an editor can show beside what every editor can.
#[derive(Debug, Clone, Copy, Default)]
pub struct EditorShows {
    /// Notices, which are no part of the conversation.
    pub notices: bool,
    /// Compactions.
    pub compactions: bool,
}

impl EditorShows {
    /// What an editor has said at the start.
    pub fn of(capabilities: &ClientCapabilities) -> Self {
        let session = capabilities.session.as_ref();
        Self {
            notices: session.is_some_and(|session| session.notices.is_some()),
            compactions: session.is_some_and(|session| session.compaction.is_some()),
        }
    }

    /// Something for the person to know that nobody said.
    pub fn notice(self, severity: NoticeSeverity, words: &str) -> SessionUpdate {
        match self.notices {
            true => SessionUpdate::Notice(Notice::new(severity, words)),
            false => said(&format!("\n\n[infold: {words}]\n\n")),
        }
    }
}

/// A session as the editor has been shown it.
pub struct ShownSession {
    folder: PathBuf,
    shows: EditorShows,
    calls: HashMap<String, ShownCall>,
    branches: HashMap<String, ShownBranch>,
    compactions: u64,
}

/// A call that was announced.
struct ShownCall {
    tool: String,
    arguments: Value,
    is_over: bool,
    work: BranchWork,
}

/// A branch that was opened.
struct ShownBranch {
    /// The call of the main thread that it belongs to.
    call_id: String,
    /// Whether it is below another branch, and not the call's own.
    is_below: bool,
}

/// A result, as it is shown.
struct ShownResult<'a> {
    call_id: &'a str,
    is_error: bool,
    text: &'a str,
    edited: &'a [FileTexts],
}

impl ShownSession {
    /// Nothing was shown yet.
    pub fn new(folder: PathBuf, shows: EditorShows) -> Self {
        Self { folder, shows, calls: HashMap::new(), branches: HashMap::new(), compactions: 0 }
    }

    /// What an event changes for the editor.
    pub fn take_in(&mut self, event: AgentEvent) -> Vec<SessionUpdate> {
        match event {
            AgentEvent::Started { .. } | AgentEvent::WaitingTaken => Vec::new(),
            AgentEvent::Answered { thread: Thread::Main, .. } => Vec::new(),
            AgentEvent::Answered { thread: Thread::Branch(branch), .. } => {
                self.in_branch(branch.as_str(), BranchWork::end_words, Vec::new())
            }
            AgentEvent::Text { thread: Thread::Main, text } => vec![said(&text)],
            AgentEvent::Text { thread: Thread::Branch(branch), text } => {
                if let Some(call) = self.opening_call(branch.as_str()) {
                    call.work.say(&text);
                }
                Vec::new()
            }
            AgentEvent::Call { thread, call_id, tool, arguments } => self.called(&thread, &call_id, tool, arguments),
            AgentEvent::Result { thread, call_id, tool, is_error, text, edited } => {
                let result = ShownResult { call_id: &call_id, is_error, text: &text, edited: &edited };
                self.resulted(&thread, &tool, &result)
            }
            AgentEvent::BranchOpened { branch_id, parent, call_id, .. } => {
                self.opened(branch_id, &parent, call_id);
                Vec::new()
            }
            AgentEvent::BranchFolded { branch_id, how, result } => self.folded(&branch_id, &how, &result),
            AgentEvent::Compacted { thread: Thread::Main, receipt, .. } => vec![self.compacted(&receipt)],
            AgentEvent::Compacted { thread: Thread::Branch(branch), .. } => {
                self.in_branch(branch.as_str(), |work| work.line("(compacted)".to_owned()), Vec::new())
            }
            AgentEvent::Retrying { thread: Thread::Main, message } => vec![self.notice(NoticeSeverity::Info, &message)],
            AgentEvent::Retrying { thread: Thread::Branch(branch), message } => {
                self.in_branch(branch.as_str(), |work| work.line(message), Vec::new())
            }
            AgentEvent::Warning { message } => vec![self.notice(NoticeSeverity::Warning, &message)],
        }
    }

    fn called(&mut self, thread: &Thread, call_id: &str, tool: String, arguments: Value) -> Vec<SessionUpdate> {
        let (title, places) = (title(&tool, &arguments), places(&tool, &arguments, &self.folder));
        if let Thread::Branch(branch) = thread {
            return self.in_branch(branch.as_str(), |work| work.line(title), places);
        }
        if let Some(known) = self.calls.get_mut(call_id) {
            // It broke off, and is carried out now.
            known.is_over = false;
            return vec![updated(call_id, ToolCallUpdateFields::new().status(ToolCallStatus::InProgress))];
        }
        let call = ToolCall::new(call_id.to_owned(), title)
            .name(tool.clone())
            .kind(kind(&tool))
            .status(ToolCallStatus::InProgress)
            .locations(places)
            .raw_input(arguments.clone());
        let shown = ShownCall { tool, arguments, is_over: false, work: BranchWork::default() };
        self.calls.insert(call_id.to_owned(), shown);
        vec![SessionUpdate::ToolCall(call)]
    }

    /// A person is asked about a call: from then on it is shown by itself, also if it is a branch's.
    pub fn asked(&mut self, call_id: &str, tool: &str, arguments: &Value) {
        let call = || ShownCall {
            tool: tool.to_owned(),
            arguments: arguments.clone(),
            is_over: false,
            work: BranchWork::default(),
        };
        self.calls.entry(call_id.to_owned()).or_insert_with(call);
    }

    fn resulted(&mut self, thread: &Thread, tool: &str, result: &ShownResult<'_>) -> Vec<SessionUpdate> {
        let mut updates = Vec::new();
        if let Thread::Branch(branch) = thread {
            let changes = diffs(result.edited, &self.folder);
            let failed = result.is_error.then(|| format!("{tool} failed: {}", first_line(result.text)));
            let note = |work: &mut BranchWork| {
                failed.into_iter().for_each(|line| work.line(line));
                work.changed(changes);
            };
            updates.extend(self.in_branch(branch.as_str(), note, changed_places(result.edited, &self.folder)));
        }
        let Some(call) = self.calls.get_mut(result.call_id) else { return updates };
        call.is_over = true;
        let status = if result.is_error { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
        let mut content = match call.tool.as_str() {
            "notes" => vec![ToolCallContent::from(call.arguments["text"].as_str().unwrap_or(result.text))],
            "branch_create" => vec![result.text.into()],
            _ if result.edited.is_empty() => vec![fenced(result.text).into()],
            _ => Vec::new(),
        };
        content.extend(diffs(result.edited, &self.folder));
        content.extend(call.work.content());
        let mut fields = ToolCallUpdateFields::new().status(status).content(content);
        if !result.edited.is_empty() {
            fields = fields.locations(changed_places(result.edited, &self.folder));
        }
        let plan = match (call.tool.as_str(), result.is_error) {
            ("notes", false) => call.arguments["text"].as_str().and_then(plan::of_notes),
            _ => None,
        };
        updates.push(updated(result.call_id, fields));
        updates.extend(plan.map(SessionUpdate::Plan));
        updates
    }

    /// A call of a thread opened a branch. One below another branch belongs to the same call.
    pub fn opened(&mut self, branch_id: String, parent: &Thread, call_id: String) {
        let branch = match parent {
            Thread::Main => Some(ShownBranch { call_id, is_below: false }),
            Thread::Branch(parent) => {
                let above = self.branches.get(parent.as_str());
                above.map(|above| ShownBranch { call_id: above.call_id.clone(), is_below: true })
            }
        };
        if let Some(branch) = branch {
            self.branches.insert(branch_id, branch);
        }
    }

    fn folded(&mut self, branch_id: &str, how: &str, result: &str) -> Vec<SessionUpdate> {
        let Some(ShownBranch { call_id, is_below }) = self.branches.get(branch_id) else { return Vec::new() };
        if *is_below {
            let line = format!("the branch below {how}: {}", first_line(result));
            return self.in_branch(branch_id, |work| work.line(line), Vec::new());
        }
        let (call_id, text) = (call_id.clone(), format!("{how}: {result}"));
        let shown = ShownResult { call_id: &call_id, is_error: how != "returned", text: &text, edited: &[] };
        self.resulted(&Thread::Main, "branch_create", &shown)
    }

    fn opening_call(&mut self, branch_id: &str) -> Option<&mut ShownCall> {
        self.calls.get_mut(&self.branches.get(branch_id)?.call_id)
    }

    /// Something happened in a branch: its call shows it.
    fn in_branch(
        &mut self,
        branch_id: &str,
        note: impl FnOnce(&mut BranchWork),
        places: Vec<ToolCallLocation>,
    ) -> Vec<SessionUpdate> {
        let Some(call_id) = self.branches.get(branch_id).map(|branch| branch.call_id.clone()) else {
            return Vec::new();
        };
        let Some(call) = self.calls.get_mut(&call_id) else { return Vec::new() };
        note(&mut call.work);
        let mut fields = ToolCallUpdateFields::new().content(call.work.content());
        if !places.is_empty() {
            fields = fields.locations(places);
        }
        vec![updated(&call_id, fields)]
    }

    fn compacted(&mut self, receipt: &str) -> SessionUpdate {
        self.compactions += 1;
        if !self.shows.compactions {
            return self.notice(NoticeSeverity::Info, receipt);
        }
        let id = format!("compaction-{}", self.compactions);
        let summary = vec![receipt.into()];
        SessionUpdate::CompactionUpdate(CompactionUpdate::new(id, CompactionStatus::Completed).summary(summary))
    }

    /// Something for the person to know that nobody said.
    pub fn notice(&self, severity: NoticeSeverity, words: &str) -> SessionUpdate {
        self.shows.notice(severity, words)
    }

    /// The run is over: what was under way is not any more.
    pub fn broke_off(&mut self) -> Vec<SessionUpdate> {
        let open = self.calls.iter_mut().filter(|(_, call)| !call.is_over);
        let end = |(call_id, call): (&String, &mut ShownCall)| {
            call.is_over = true;
            updated(call_id, ToolCallUpdateFields::new().status(ToolCallStatus::Failed))
        };
        open.map(end).collect()
    }
}

/// Words of the agent.
pub fn said(words: &str) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(ContentChunk::new(words.into()))
}

fn updated(call_id: &str, fields: ToolCallUpdateFields) -> SessionUpdate {
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call_id.to_owned(), fields))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
