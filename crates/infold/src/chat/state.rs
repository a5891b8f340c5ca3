//! What a chat shows: everything that happened, what happens now, what is being typed, and what somebody is asked.
//!
//! What must hold: nothing is decided here; events go in, and lines for the scrollback come out, each once. Words that were
//! typed are somewhere on the screen until they are said.

use std::collections::VecDeque;
use std::time::Instant;

use infold_agent::setup::ApprovalReply;
use infold_agent::watch::AgentEvent;
use infold_agent::{Stop, ThreadEntry};
use infold_chat::editor::Editor;
use infold_chat::markdown::MarkdownStream;
use infold_core::Thread;
use ratatui::text::Line;
use serde_json::Value;

use super::completion::Completion;
use super::items::{ChatItem, FinishedCall, Folding, NoteKind, Shape, compact_words};
use crate::agent::{PendingQuestion, SessionFigures};

/// What a chat shows.
pub struct ChatState {
    /// Everything that happened in the session that is talked in.
    pub items: Vec<ChatItem>,
    /// Lines that have to go to the scrollback with the next frame.
    finished: Vec<Line<'static>>,
    /// The model's words that still come in.
    pub stream: Option<WordsComing>,
    /// Calls that are under way.
    pub calls: Vec<RunningCall>,
    /// Branches at work.
    pub branches: Vec<RunningBranch>,
    /// Words that wait for the model's next request.
    pub waiting: Vec<String>,
    /// Questions, the one that is asked now first.
    pub questions: VecDeque<AskedQuestion>,
    /// What is being typed.
    pub editor: Editor,
    /// What could be typed instead.
    pub completion: Option<Completion>,
    /// The figures of the session.
    pub figures: SessionFigures,
    /// Since when the agent has been at work; `None` while it rests.
    pub working_since: Option<Instant>,
    /// Whether the run that is under way was interrupted.
    pub is_interrupted: bool,
    /// One line of advice above the input.
    pub hint: Option<String>,
    /// What the session is called on the screen.
    pub about: SessionAbout,
    /// The width and the look.
    pub shape: Shape,
}

/// What the last line says of the session.
#[derive(Debug, Clone, Default)]
pub struct SessionAbout {
    /// As much of its id as has to be typed in a command.
    pub short_id: String,
    /// The model.
    pub model: String,
    /// What may be done without asking.
    pub approval: String,
    /// The folder, short.
    pub folder: String,
}

/// Words of the model that still come in.
pub struct WordsComing {
    text: String,
    lines: MarkdownStream,
}

/// A call that is under way.
pub struct RunningCall {
    thread: Thread,
    id: String,
    /// The tool.
    pub tool: String,
    /// What it is called with.
    pub arguments: Value,
    /// Since when.
    pub since: Instant,
}

/// A branch at work.
pub struct RunningBranch {
    /// Its id.
    pub id: String,
    /// What it is for.
    pub description: String,
    /// Tokens that it may use.
    pub budget_tokens: u64,
    /// What it is at.
    pub doing: String,
    /// Calls that it has made.
    pub calls: usize,
    /// Since when.
    pub since: Instant,
}

/// A question on the screen.
pub struct AskedQuestion {
    /// What is asked, and where the reply goes.
    pub pending: PendingQuestion,
    /// The reply that the person has marked, from 0. None is marked by itself, so that an Enter that was meant for something
    /// else approves nothing.
    pub marked: Option<usize>,
}

impl AskedQuestion {
    /// The replies that can be chosen: once, for the session where that is possible, and no.
    pub fn replies(&self) -> Vec<(ApprovalReply, String)> {
        let mut replies = vec![(ApprovalReply::Once, "yes, this time".to_owned())];
        let lasting = &self.pending.question.lasting;
        if !lasting.is_empty() {
            let reach: Vec<String> = lasting.iter().map(ToString::to_string).collect();
            replies.push((
                ApprovalReply::Session,
                format!("yes, and until this chat ends: {}", reach.join(", ")),
            ));
        }
        replies.push((ApprovalReply::Refused { words: None }, "no".to_owned()));
        replies
    }
}

impl ChatState {
    /// An empty chat.
    pub fn new(editor: Editor, shape: Shape) -> Self {
        Self {
            items: Vec::new(),
            finished: Vec::new(),
            stream: None,
            calls: Vec::new(),
            branches: Vec::new(),
            waiting: Vec::new(),
            questions: VecDeque::new(),
            editor,
            completion: None,
            figures: SessionFigures::default(),
            working_since: None,
            is_interrupted: false,
            hint: None,
            about: SessionAbout::default(),
            shape,
        }
    }

    /// Adds an item, and its lines to the scrollback.
    pub fn add(&mut self, item: ChatItem) {
        self.finished.extend(item.lines(&self.shape, Folding::Folded));
        self.items.push(item);
    }

    /// Adds what the program says.
    pub fn note(&mut self, kind: NoteKind, text: impl Into<String>) {
        self.end_words();
        self.add(ChatItem::Note(kind, text.into()));
    }

    /// The lines that go to the scrollback now.
    pub fn take_finished(&mut self) -> Vec<Line<'static>> {
        std::mem::take(&mut self.finished)
    }

    /// The last lines of everything that happened, as many as asked for, at the present width. Words that still come in are
    /// not among them: they are begun anew.
    pub fn tail(&mut self, rows: usize) -> Vec<Line<'static>> {
        let mut tail: Vec<Line<'static>> = Vec::new();
        if let Some(coming) = &mut self.stream {
            let mut lines = self.shape.stream();
            tail.push(Line::default());
            tail.extend(lines.push(&coming.text));
            coming.lines = lines;
        }
        for item in self.items.iter().rev() {
            if tail.len() >= rows {
                break;
            }
            let mut lines = item.lines(&self.shape, Folding::Folded);
            lines.append(&mut tail);
            tail = lines;
        }
        self.finished.clear();
        tail.split_off(tail.len().saturating_sub(rows))
    }

    /// Takes in what the agent did.
    pub fn agent_did(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Text { thread: Thread::Main, text } => self.words(&text),
            AgentEvent::Text { .. } | AgentEvent::Started { .. } => {}
            AgentEvent::Call { thread, call_id, tool, arguments } => self.called(thread, call_id, tool, arguments),
            AgentEvent::Result { thread, call_id, tool, is_error, text, edited } => {
                let at = self.calls.iter().position(|call| call.thread == thread && call.id == call_id);
                let running = at.map(|at| self.calls.remove(at));
                if thread == Thread::Main {
                    let took = running.as_ref().map(|call| call.since.elapsed());
                    let arguments = running.map(|call| call.arguments).unwrap_or_default();
                    self.end_words();
                    self.add(ChatItem::Call(FinishedCall { tool, arguments, text, is_error, edited, took }));
                }
            }
            AgentEvent::Answered { thread, .. } => {
                if thread == Thread::Main {
                    self.end_words();
                }
            }
            AgentEvent::Retrying { thread, message } => {
                if thread == Thread::Main {
                    self.end_words();
                }
                self.note(NoteKind::Warning, message);
            }
            AgentEvent::WaitingTaken => {
                self.end_words();
                for words in std::mem::take(&mut self.waiting) {
                    self.add(ChatItem::Person(words));
                }
            }
            AgentEvent::BranchOpened { branch_id, description, budget_tokens, .. } => self.branches.push(RunningBranch {
                id: branch_id,
                description,
                budget_tokens,
                doing: String::new(),
                calls: 0,
                since: Instant::now(),
            }),
            AgentEvent::BranchFolded { branch_id, how, result } => {
                let at = self.branches.iter().position(|branch| branch.id == branch_id);
                let description = at.map(|at| self.branches.remove(at).description).unwrap_or_default();
                self.calls.retain(|call| call.thread.branch().is_none_or(|branch| branch.as_str() != branch_id));
                self.end_words();
                self.add(ChatItem::Branch { description, how, result });
            }
            AgentEvent::Compacted { thread, result, receipt } => {
                self.calls.retain(|call| call.thread != thread);
                self.end_words();
                match thread {
                    Thread::Main => self.add(ChatItem::Compacted(Box::new(result), receipt)),
                    Thread::Branch(branch) => {
                        self.note(NoteKind::Answer, format!("branch {branch} {}", compact_words(&result)));
                    }
                }
            }
            AgentEvent::Warning { message } => self.note(NoteKind::Warning, message),
        }
    }

    fn words(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.stream.is_none() {
            self.finished.push(Line::default());
        }
        let shape = &self.shape;
        let coming = self.stream.get_or_insert_with(|| WordsComing { text: String::new(), lines: shape.stream() });
        coming.text.push_str(text);
        self.finished.extend(coming.lines.push(text));
    }

    /// The model's words are over, or something comes between them.
    fn end_words(&mut self) {
        if let Some(coming) = self.stream.take() {
            self.finished.extend(coming.lines.finish());
            self.items.push(ChatItem::Model(coming.text));
        }
    }

    fn called(&mut self, thread: Thread, id: String, tool: String, arguments: Value) {
        if let Some(branch) = thread.branch() {
            let doing = format!("{tool} {}", super::items::what(&tool, &arguments));
            if let Some(running) = self.branches.iter_mut().find(|running| running.id == branch.as_str()) {
                running.doing = doing;
                running.calls += 1;
            }
        }
        self.calls.push(RunningCall { thread, id, tool, arguments, since: Instant::now() });
    }

    /// A run is over.
    pub fn ended(&mut self, ended: &Result<(), Stop>) {
        self.end_words();
        self.calls.clear();
        self.branches.clear();
        self.questions.clear();
        self.working_since = None;
        self.is_interrupted = false;
        match ended {
            Ok(()) => {}
            Err(Stop::Cancelled) => self.note(NoteKind::Warning, "interrupted: say how to go on"),
            Err(stop) => self.note(NoteKind::Problem, format!("{stop}")),
        }
    }

    /// Somebody has to decide.
    pub fn asked(&mut self, pending: PendingQuestion) {
        self.questions.push_back(AskedQuestion { pending, marked: None });
    }

    /// Gives the question that is asked now its reply.
    pub fn reply(&mut self, reply: ApprovalReply) {
        let Some(asked) = self.questions.pop_front() else { return };
        let what = asked.pending.question.what.clone();
        let words = match &reply {
            ApprovalReply::Once => None,
            ApprovalReply::Session => {
                let reach: Vec<String> = asked.pending.question.lasting.iter().map(ToString::to_string).collect();
                Some(format!("approved until this chat ends: {}", reach.join(", ")))
            }
            ApprovalReply::Refused { words: None } => Some(format!("refused: {what}")),
            ApprovalReply::Refused { words: Some(words) } => Some(format!("refused: {what}\n> {words}")),
        };
        // The run may be over by now.
        drop(asked.pending.reply.send(reply));
        if let Some(words) = words {
            self.note(NoteKind::Answer, words);
        }
    }

    /// The calls of the main thread that are under way.
    pub fn main_calls(&self) -> impl Iterator<Item = &RunningCall> {
        self.calls.iter().filter(|call| call.thread == Thread::Main && call.tool != "branch_create")
    }

    /// The unfinished words of the model.
    pub fn coming(&self) -> Vec<Line<'static>> {
        self.stream.as_ref().map(|coming| coming.lines.tail()).unwrap_or_default()
    }

    /// Everything of another session takes the place of what is shown. What was printed stays in the scrollback.
    pub fn show_session(&mut self, items: Vec<ChatItem>, waiting: &[ThreadEntry]) {
        self.items = items;
        self.stream = None;
        self.calls.clear();
        self.branches.clear();
        self.waiting = waiting.iter().filter_map(words_of).collect();
        self.figures = SessionFigures::default();
    }

    /// Prints the last items of the session that is talked in.
    pub fn print_last(&mut self, count: usize) {
        let skipped = self.items.len().saturating_sub(count);
        if skipped > 0 {
            let line = format!("… {skipped} earlier entries: Ctrl-O shows them");
            self.finished.push(self.shape.fitted(&[(infold_chat::tones::Tone::Faint, line)]));
        }
        for item in &self.items[skipped..] {
            self.finished.extend(item.lines(&self.shape, Folding::Folded));
        }
    }
}

/// The words of an entry of a person's.
pub fn words_of(entry: &ThreadEntry) -> Option<String> {
    match entry {
        ThreadEntry::User { text, .. } => Some(text.clone()),
        ThreadEntry::Assistant { .. }
        | ThreadEntry::Reasoning { .. }
        | ThreadEntry::Call { .. }
        | ThreadEntry::Result { .. } => None,
    }
}
