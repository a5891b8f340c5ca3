//! Facts: what a summary says whatever a model writes. The user's words, files, and commands with how they went.
//!
//! Facts are taken from the items themselves and handed on from one compaction to the next, so that the second summary
//! still has what the first one knew. Whoever stores a summary stores its facts beside it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SummaryBounds;
use super::signals::has_failed;
use super::turns::Turns;
use crate::findings::FILE_FIELDS;
use crate::memory::{error_line, exit_status, head, one_line};
use crate::transcript::{CallOutcome, Item, Kind, Voice};
use crate::writes::{Means, commands_run, writing_of};

/// What is kept of a command and of a path.
pub(super) const COMMAND_CHARS_MAX: usize = 200;
pub(super) const PATH_CHARS_MAX: usize = 300;
/// What a summary puts around a message of the user, at most.
pub(super) const WORDS_FRAME_CHARS: usize = 60;
/// Tools whose path is a folder to look through, by the last part of their names.
const LOOKERS: [&str; 8] = ["list", "ls", "list_dir", "glob", "search", "grep", "find", "search_files"];
/// What is in front of a file's path in a patch of Codex's form.
const PATCHED: [&str; 4] = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];

/// What was said and done in a part of a thread, without a model's help.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SummaryFacts {
    /// The user's messages, in order.
    pub words: Vec<PersonWords>,
    /// Messages of the user that there was no room for at all.
    pub words_left_out: u64,
    /// Files that were changed, the latest last.
    pub files_changed: Vec<String>,
    /// Files that were read and not changed, the latest last.
    pub files_read: Vec<String>,
    /// Files that there was no room for.
    pub files_left_out: u64,
    /// Commands, each once, the latest last.
    pub commands: Vec<CommandRun>,
    /// Commands that there was no room for.
    pub commands_left_out: u64,
    /// What a model wrote about it, in the last summary that has such words.
    pub model_words: String,
}

/// A message of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonWords {
    /// The words as they were written, from the first on.
    pub text: String,
    /// Characters of it that there was no room for.
    pub cut_chars: u64,
}

/// A command and how it went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRun {
    /// The command, in one line.
    pub command: String,
    /// Its exit code, if the result names one.
    pub exit_code: Option<i32>,
    /// The first line that says what went wrong; `None` if nothing did.
    pub error: Option<String>,
}

impl SummaryFacts {
    /// Adds what these items say, all of one thread, but for words in `kept`, which stay in the thread as they are.
    /// Nothing is left out yet.
    pub fn add(&mut self, items: &[Item], kept: &BTreeSet<usize>) {
        let turns = Turns::of(items);
        for (at, item) in items.iter().enumerate() {
            match &item.kind {
                Kind::User { text, voice: Voice::Person } if !kept.contains(&at) && !text.trim().is_empty() => {
                    self.words.push(PersonWords { text: text.clone(), cut_chars: 0 });
                }
                Kind::Call { tool, input, .. } => {
                    let result = turns.partner(at).map(|result| &items[result].kind);
                    let arguments = serde_json::from_str(input).unwrap_or_else(|_| Value::String(input.clone()));
                    self.add_call(tool, &arguments, result);
                }
                Kind::System { .. }
                | Kind::User { .. }
                | Kind::Assistant { .. }
                | Kind::Reasoning { .. }
                | Kind::Result { .. }
                | Kind::Compaction { .. }
                | Kind::Clearing { .. }
                | Kind::Other { .. } => {}
            }
        }
    }

    fn add_call(&mut self, tool: &str, arguments: &Value, result: Option<&Kind>) {
        let (text, outcome) = match result {
            Some(Kind::Result { text, outcome, .. }) => (text.as_str(), *outcome),
            _ => ("", CallOutcome::Unsaid),
        };
        let has_failed = has_failed(text, outcome);
        for command in commands_run(tool, arguments) {
            let command = head(&one_line(&command), COMMAND_CHARS_MAX);
            self.commands.retain(|run| run.command != command);
            let error = has_failed.then(|| error_line(text));
            self.commands.push(CommandRun { command, exit_code: exit_status(text), error });
        }
        if has_failed {
            return;
        }
        let writes = writing_of(tool, arguments).is_some_and(|writing| writing.means == Means::Editor);
        if writes {
            let patched = patched_files(arguments);
            for path in files_named(arguments).into_iter().chain(patched) {
                self.files_read.retain(|known| *known != path);
                push_latest(&mut self.files_changed, path);
            }
        } else if !looks_through(tool) {
            for path in files_named(arguments) {
                if !self.files_changed.contains(&path) {
                    push_latest(&mut self.files_read, path);
                }
            }
        }
    }

    /// The same within bounds: of the user's words the first message and the latest, of the rest the latest.
    pub(super) fn bounded(&self, bounds: &SummaryBounds) -> Self {
        let (words, words_lost) = words_within(&self.words, bounds.words_chars_max);
        let (files_changed, changed_lost) = latest(&self.files_changed, bounds.files_max);
        let (files_read, read_lost) = latest(&self.files_read, bounds.files_max - files_changed.len());
        let (commands, commands_lost) = latest(&self.commands, bounds.commands_max);
        Self {
            words,
            words_left_out: self.words_left_out + words_lost,
            files_changed,
            files_read,
            files_left_out: self.files_left_out + changed_lost + read_lost,
            commands,
            commands_left_out: self.commands_left_out + commands_lost,
            model_words: head_chars(&self.model_words, bounds.model_words_chars_max).to_owned(),
        }
    }
}

/// The user's messages within a number of characters, and how many were lost. The first says what all of it is for, so
/// it gets up to half of the room; then the latest come first. One that does not fit is cut, and those before it go.
fn words_within(words: &[PersonWords], chars_max: usize) -> (Vec<PersonWords>, u64) {
    let Some((first, later)) = words.split_first() else { return (Vec::new(), 0) };
    let later_chars: usize = later.iter().map(PersonWords::shown_chars).sum();
    let first = first.within(chars_max.saturating_sub(later_chars).max(chars_max / 2));
    let mut left = chars_max - first.as_ref().map_or(0, PersonWords::shown_chars);
    let mut kept: Vec<PersonWords> = Vec::new();
    for words in later.iter().rev() {
        let Some(words) = words.within(left) else { break };
        left -= words.shown_chars();
        kept.push(words);
    }
    kept.extend(first);
    kept.reverse();
    let lost = words.len() - kept.len();
    (kept, lost as u64)
}

impl PersonWords {
    /// The room that it takes in a summary.
    pub(super) fn shown_chars(&self) -> usize {
        self.text.chars().count() + WORDS_FRAME_CHARS
    }

    /// Its first characters, in that much room; `None` if nothing of it would be left.
    fn within(&self, chars_max: usize) -> Option<Self> {
        let text = head_chars(&self.text, chars_max.saturating_sub(WORDS_FRAME_CHARS));
        let cut_chars = self.text[text.len()..].chars().count() as u64;
        (!text.is_empty()).then(|| Self { text: text.to_owned(), cut_chars: self.cut_chars + cut_chars })
    }
}

pub(super) fn head_chars(text: &str, chars_max: usize) -> &str {
    text.char_indices().nth(chars_max).map_or(text, |(at, _)| &text[..at])
}

/// The latest of a list, and how many were lost.
fn latest<T: Clone>(list: &[T], count_max: usize) -> (Vec<T>, u64) {
    let lost = list.len().saturating_sub(count_max);
    (list[lost..].to_vec(), lost as u64)
}

fn push_latest(files: &mut Vec<String>, path: String) {
    files.retain(|known| *known != path);
    files.push(path);
}

fn files_named(arguments: &Value) -> Vec<String> {
    FILE_FIELDS.iter().filter_map(|field| arguments.get(*field)?.as_str()).filter_map(path_of).collect()
}

/// The files that a patch names, in any text of the arguments.
fn patched_files(arguments: &Value) -> Vec<String> {
    match arguments {
        Value::String(text) => text
            .lines()
            .filter_map(|line| PATCHED.iter().find_map(|lead| line.strip_prefix(lead)))
            .filter_map(path_of)
            .collect(),
        Value::Array(values) => values.iter().flat_map(patched_files).collect(),
        Value::Object(fields) => fields.values().flat_map(patched_files).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// A path in one line; `None` if there is none, or if it is too long to be one.
fn path_of(path: &str) -> Option<String> {
    let path = one_line(path);
    (!path.is_empty() && path.chars().count() <= PATH_CHARS_MAX).then_some(path)
}

fn looks_through(tool: &str) -> bool {
    let name = tool.to_ascii_lowercase();
    let last = name.rsplit("__").next().unwrap_or_default();
    LOOKERS.contains(&last)
}
