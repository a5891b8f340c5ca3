//! What happened in a conversation, one item each, and how an item is shown: folded to a few lines, or whole.
//!
//! What must hold: an item is shown from what it holds, so that it can be shown anew at any width.

use std::time::Duration;

use infold_agent::record::SessionRecord;
use infold_agent::session::NumberedRecord;
use infold_agent::tools::FileTexts;
use infold_agent::{ResultOutcome, SpokenBy, ThreadEntry};
use infold_chat::diff::{DiffLayout, ShownDiff, diff};
use infold_chat::highlight::Highlighter;
use infold_chat::markdown::{MarkdownStream, render};
use infold_chat::tones::{Palette, Tone};
use infold_chat::wrap::{Breaks, Indent, fitted, wrapped};
use infold_chat::{visible, visible_in_line};
use infold_core::compaction::CompactResult;
use infold_core::{BranchId, Thread};
use ratatui::text::{Line, Span};
use serde_json::Value;

use crate::draw::{duration, thousands};

/// Lines of a failed call that are shown folded.
const FAILED_LINES: usize = 4;
/// Lines of a change that are shown folded.
const DIFF_LINES: usize = 16;
/// Lines of a result that are shown unfolded.
const WHOLE_LINES_MAX: usize = 2_000;
/// Lines around a change.
const DIFF_CONTEXT: usize = 2;

/// One thing that happened.
#[derive(Debug, Clone)]
pub enum ChatItem {
    /// A person said something.
    Person(String),
    /// The model said something.
    Model(String),
    /// A call of a tool, with its result.
    Call(FinishedCall),
    /// A branch is over.
    Branch {
        /// What it was for.
        description: String,
        /// How it ended.
        how: String,
        /// What its parent got.
        result: String,
    },
    /// The main thread was started anew.
    Compacted(Box<CompactResult>, String),
    /// Something that the program says.
    Note(NoteKind, String),
}

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteKind {
    /// Something that was asked for.
    Answer,
    /// Something to look at.
    Warning,
    /// Something did not work.
    Problem,
}

/// A call of a tool, with its result.
#[derive(Debug, Clone)]
pub struct FinishedCall {
    /// The tool.
    pub tool: String,
    /// What it was called with.
    pub arguments: Value,
    /// What the model was shown.
    pub text: String,
    /// Whether it failed.
    pub is_error: bool,
    /// Files that it changed.
    pub edited: Vec<FileTexts>,
    /// How long it took, if that is known.
    pub took: Option<Duration>,
}

/// How much of an item is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownAs {
    /// The first lines.
    Folded,
    /// All of it.
    Unfolded,
}

/// The width and the look of what is shown.
#[derive(Debug, Clone)]
pub struct ChatLook {
    /// Columns.
    pub width: usize,
    /// How tones look.
    pub palette: Palette,
    /// What tones code.
    pub highlighter: Highlighter,
}

impl ChatLook {
    /// The same with fewer columns.
    pub fn narrower(&self, columns: usize) -> Self {
        Self { width: self.width.saturating_sub(columns).max(1), ..self.clone() }
    }

    /// The model's words, of which nothing has come yet.
    pub fn stream(&self) -> MarkdownStream {
        MarkdownStream::new(self.width, self.palette, self.highlighter.clone())
    }

    /// Words in a tone, wrapped.
    pub fn words(&self, tone: Tone, text: &str, indent: &str) -> Vec<Line<'static>> {
        let indent = Indent { first: vec![Span::raw(indent.to_owned())], rest: vec![Span::raw(indent.to_owned())] };
        let line = |line: &str| {
            let line = line.replace('\t', "    ");
            wrapped(&[self.palette.span(tone, line)], self.width, &indent, Breaks::BetweenWords)
        };
        visible(text).lines().flat_map(line).collect()
    }

    /// Spans on one line, cut to fit.
    pub fn fitted(&self, spans: &[(Tone, String)]) -> Line<'static> {
        let spans: Vec<Span<'static>> =
            spans.iter().map(|(tone, text)| self.palette.span(*tone, visible_in_line(text).into_owned())).collect();
        fitted(&spans, self.width)
    }
}

impl ChatItem {
    /// The lines of the item, with a blank one in front where it needs one.
    pub fn lines(&self, shape: &ChatLook, folding: ShownAs) -> Vec<Line<'static>> {
        match self {
            Self::Person(text) => person(text, shape),
            Self::Model(text) => spaced(render(text, shape.width, shape.palette, &shape.highlighter)),
            Self::Call(call) => call.lines(shape, folding),
            Self::Branch { description, how, result } => branch(description, how, result, shape, folding),
            Self::Compacted(result, receipt) => compacted(result, receipt, shape, folding),
            Self::Note(kind, text) => spaced(shape.words(kind.tone(), text, "")),
        }
    }
}

impl NoteKind {
    fn tone(self) -> Tone {
        match self {
            Self::Answer => Tone::Plain,
            Self::Warning => Tone::Warn,
            Self::Problem => Tone::Bad,
        }
    }
}

fn spaced(mut lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
    lines.insert(0, Line::default());
    lines
}

fn person(text: &str, shape: &ChatLook) -> Vec<Line<'static>> {
    let mark = Indent::hanging(shape.palette.span(Tone::Person, "> "));
    let below = Indent { first: mark.rest.clone(), rest: mark.rest.clone() };
    let mut lines = vec![Line::default()];
    for (at, line) in visible(text).lines().enumerate() {
        let indent = if at == 0 { &mark } else { &below };
        let line = line.replace('\t', "    ");
        lines.extend(wrapped(&[shape.palette.span(Tone::Person, line)], shape.width, indent, Breaks::BetweenWords));
    }
    lines
}

impl FinishedCall {
    fn lines(&self, shape: &ChatLook, folding: ShownAs) -> Vec<Line<'static>> {
        let (mark, tone) = if self.is_error { ("✗ ", Tone::Bad) } else { ("✓ ", Tone::Good) };
        let took = self.took.filter(|took| took.as_millis() >= 1_000);
        let took = took.map(|took| format!("  {}", duration(took.as_millis() as u64))).unwrap_or_default();
        let mut lines = vec![shape.fitted(&[
            (tone, format!("  {mark}")),
            (Tone::Strong, self.tool.clone()),
            (Tone::Plain, format!(" {}", what(&self.tool, &self.arguments))),
            (Tone::Faint, took),
        ])];
        let inner = shape.narrower(4);
        for file in self.edited.iter().chain(self.planned().as_ref()) {
            let lines_max = if folding == ShownAs::Folded { DIFF_LINES } else { WHOLE_LINES_MAX };
            lines.extend(indented(file_diff(file, &inner, lines_max).lines));
        }
        match folding {
            ShownAs::Folded if self.is_error => {
                let shown: Vec<&str> = self.text.lines().take(FAILED_LINES).collect();
                lines.extend(shape.words(Tone::Faint, &shown.join("\n"), "    "));
            }
            ShownAs::Folded => {}
            ShownAs::Unfolded => {
                let shown: Vec<&str> = self.text.lines().take(WHOLE_LINES_MAX).collect();
                lines.extend(shape.words(Tone::Faint, &shown.join("\n"), "    "));
            }
        }
        lines
    }

    /// The change of a call that is only known from the log: what its arguments say.
    fn planned(&self) -> Option<FileTexts> {
        let text = |name: &str| self.arguments[name].as_str().map(str::to_owned);
        match self.tool.as_str() {
            "edit" if self.edited.is_empty() && !self.is_error => {
                Some(FileTexts { path: text("path")?, before: text("old"), after: text("new")? })
            }
            _ => None,
        }
    }
}

/// The difference that a change makes.
pub fn file_diff(file: &FileTexts, shape: &ChatLook, lines_max: usize) -> ShownDiff {
    let before = file.before.as_deref().unwrap_or_default();
    let (width, palette) = (shape.width, shape.palette);
    diff(before, &file.after, &DiffLayout { width, palette, context_lines: DIFF_CONTEXT, lines_max })
}

fn indented(lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
    lines
        .into_iter()
        .map(|mut line| {
            line.spans.insert(0, Span::raw("    "));
            line
        })
        .collect()
}

fn branch(description: &str, how: &str, result: &str, shape: &ChatLook, folding: ShownAs) -> Vec<Line<'static>> {
    let (mark, tone) = if how == "returned" { ("  ⑂ ", Tone::Good) } else { ("  ⑂ ", Tone::Bad) };
    let mut lines = vec![shape.fitted(&[
        (tone, mark.to_owned()),
        (Tone::Strong, "branch ".to_owned()),
        (Tone::Plain, description.to_owned()),
        (Tone::Faint, format!(": {how}")),
    ])];
    let shown: Vec<&str> = match folding {
        ShownAs::Folded => result.lines().take(FAILED_LINES).collect(),
        ShownAs::Unfolded => result.lines().take(WHOLE_LINES_MAX).collect(),
    };
    lines.extend(shape.words(Tone::Faint, &shown.join("\n"), "    "));
    lines
}

fn compacted(result: &CompactResult, receipt: &str, shape: &ChatLook, folding: ShownAs) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default()];
    lines.extend(shape.words(Tone::Accent, &compact_words(result), "  "));
    if folding == ShownAs::Unfolded {
        lines.extend(shape.words(Tone::Faint, receipt, "    "));
    }
    lines
}

/// What a compaction did, with the figures that its result has.
pub fn compact_words(result: &CompactResult) -> String {
    format!(
        "compacted: {} tokens became {}, {} messages became {} ({})",
        thousands(result.before_tokens),
        thousands(result.after_tokens),
        thousands(result.before_msg_count),
        thousands(result.after_msg_count),
        result.strategies_run.join(", ")
    )
}

/// What a call is about, in a few words.
pub fn what(tool: &str, arguments: &Value) -> String {
    let text = |name: &str| arguments[name].as_str().map(str::to_owned);
    let named = match tool {
        "read" | "write" | "edit" | "list" => text("path"),
        "search" => text("pattern"),
        "shell" => text("command"),
        "branch_create" => text("description"),
        "branch_return" => text("message"),
        "notes" => text("text"),
        "skill" => text("name"),
        "read_result" => text("ref_id").or_else(|| text("pattern")),
        _ => None,
    };
    named.unwrap_or_else(|| match arguments {
        Value::Object(fields) if fields.is_empty() => String::new(),
        other => other.to_string(),
    })
}

/// A branch of the main thread, in a log.
struct OpenedBranch {
    call: String,
    id: BranchId,
    how: String,
}

/// The items of a session's main thread, from the records that are part of it.
pub fn of_log(live: &[NumberedRecord]) -> Vec<ChatItem> {
    let mut items = Vec::new();
    let mut calls: Vec<(String, String, Value)> = Vec::new();
    let mut branches: Vec<OpenedBranch> = Vec::new();
    for (_, record) in live {
        match record {
            SessionRecord::Said { thread: Thread::Main, entries }
            | SessionRecord::Answered { thread: Thread::Main, entries, .. } => {
                for entry in entries {
                    match entry {
                        ThreadEntry::User { text, by: SpokenBy::Person | SpokenBy::PersonPinned, .. } => {
                            items.push(ChatItem::Person(text.clone()))
                        }
                        ThreadEntry::Assistant { text } => items.push(ChatItem::Model(text.clone())),
                        ThreadEntry::Call { id, tool, arguments } => {
                            calls.push((id.clone(), tool.clone(), arguments.clone()));
                        }
                        ThreadEntry::Result { .. } => items.extend(finished(entry, &calls)),
                        ThreadEntry::User { .. } | ThreadEntry::Reasoning { .. } => {}
                    }
                }
            }
            SessionRecord::Interrupted { thread: Thread::Main, said } => items.push(ChatItem::Model(said.clone())),
            SessionRecord::Result { thread: Thread::Main, entry, .. } => {
                let of_branch = |call: &String| branches.iter().find(|branch| branch.call == *call);
                match entry {
                    ThreadEntry::Result { call, text, .. } if of_branch(call).is_some() => {
                        let opening = calls.iter().find(|(id, ..)| id == call);
                        items.push(ChatItem::Branch {
                            description: opening.map(|(_, tool, said)| what(tool, said)).unwrap_or_default(),
                            how: of_branch(call).map(|branch| branch.how.clone()).unwrap_or_default(),
                            result: text.split_once('\n').map_or(text.as_str(), |(_, rest)| rest).to_owned(),
                        });
                    }
                    _ => items.extend(finished(entry, &calls)),
                }
            }
            SessionRecord::TakenBack { thread: Thread::Main, .. } => {
                // It was the last that was said with an image, and nobody had answered.
                let is_it = |item: &ChatItem| matches!(item, ChatItem::Person(text) if text.contains("[image "));
                items.iter().rposition(is_it).map(|at| items.remove(at));
            }
            SessionRecord::Opened { thread: Thread::Main, call, branch, .. } => {
                branches.push(OpenedBranch { call: call.clone(), id: branch.clone(), how: String::new() });
            }
            SessionRecord::Folded { branch, how } => {
                let folded = branches.iter_mut().filter(|opened| opened.id == *branch);
                folded.for_each(|opened| opened.how.clone_from(how));
            }
            SessionRecord::Compacted { thread: Thread::Main, result, receipt, .. } => {
                items.push(ChatItem::Compacted(Box::new(result.clone()), receipt.text("")));
            }
            _ => {}
        }
    }
    items
}

fn finished(entry: &ThreadEntry, calls: &[(String, String, Value)]) -> Option<ChatItem> {
    let ThreadEntry::Result { call, tool, text, outcome } = entry else { return None };
    let arguments = calls.iter().rev().find(|(id, ..)| id == call).map(|(_, _, arguments)| arguments.clone());
    Some(ChatItem::Call(FinishedCall {
        tool: tool.clone(),
        arguments: arguments.unwrap_or_default(),
        text: text.clone(),
        is_error: *outcome == ResultOutcome::Failed,
        edited: Vec::new(),
        took: None,
    }))
}
