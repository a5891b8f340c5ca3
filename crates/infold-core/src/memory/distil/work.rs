//! What a branch worked with: files that it edited and read, commands that it ran and which of them failed.

use serde_json::Value;

use super::{COMMAND_CHARS_MAX, head};
use crate::Operation;
use crate::findings::FILE_FIELDS;
use crate::writes::{Means, commands_run, writing_of};

/// Files and commands that are kept.
const FILES_MAX: usize = 48;
const COMMANDS_MAX: usize = 200;
/// What is kept of an error.
const ERROR_CHARS_MAX: usize = 120;
/// Lines at the front and at the end of a result in which its exit code is.
const STATUS_LINES: usize = 5;

/// What is in a line that says what went wrong.
const ERROR_WORDS: [&str; 6] = ["denied", "error", "fail", "no such", "not found", "panick"];

/// What a branch worked with, in the order of the work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BranchWork {
    /// Files that it edited.
    pub edited: Vec<String>,
    /// Files that it read and did not edit.
    pub read: Vec<String>,
    /// Commands that it ran.
    pub commands: Vec<RunCommand>,
}

/// A command that a branch ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunCommand {
    /// The command, in one line.
    pub command: String,
    /// What it said about its failure, in a short line; `None` if it did not fail, or nothing shows it.
    pub failure: Option<String>,
}

impl BranchWork {
    /// What these calls worked with.
    pub fn of<'a>(operations: impl IntoIterator<Item = &'a Operation>) -> Self {
        let mut work = Self::default();
        for operation in operations {
            let text = operation.arguments.as_str();
            let arguments = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
            work.add(operation.tool.as_str(), &arguments, operation.result.as_str());
        }
        work.read.retain(|path| !work.edited.contains(path));
        work
    }

    fn add(&mut self, tool: &str, arguments: &Value, result: &str) {
        for command in commands_run(tool, arguments) {
            if self.commands.len() < COMMANDS_MAX {
                let command = command.split_whitespace().collect::<Vec<_>>().join(" ");
                self.commands.push(RunCommand { command, failure: failure(result) });
            }
        }
        let writes = writing_of(tool, arguments).is_some_and(|writing| writing.means == Means::Editor);
        let files = if writes { &mut self.edited } else { &mut self.read };
        for path in FILE_FIELDS.iter().filter_map(|field| arguments.get(*field)?.as_str()) {
            if files.len() < FILES_MAX && !files.iter().any(|known| known == path) {
                files.push(path.to_owned());
            }
        }
    }

    /// The last commands, each once, the newest last.
    pub(super) fn last(&self, count: usize) -> Vec<String> {
        let mut last: Vec<String> = Vec::new();
        for run in self.commands.iter().rev() {
            let command = head(&run.command, COMMAND_CHARS_MAX);
            if last.len() < count && !last.contains(&command) {
                last.push(command);
            }
        }
        last.reverse();
        last
    }

    /// The last command that failed and that a later one of the same program did not, with what it said.
    pub(super) fn mended(&self) -> Option<MendedCommand<'_>> {
        let runs = self.commands.iter().enumerate().rev();
        runs.filter_map(|(at, run)| {
            let why = run.failure.as_deref()?;
            let later = self.commands[at + 1..].iter();
            let mut worked = later.filter(|next| next.failure.is_none() && next.command != run.command);
            let worked = worked.find(|next| next.program() == run.program())?;
            Some(MendedCommand { failed: &run.command, why, worked: &worked.command })
        })
        .next()
    }
}

/// A command that failed, what it said, and the one that worked instead.
pub(super) struct MendedCommand<'a> {
    pub failed: &'a str,
    pub why: &'a str,
    pub worked: &'a str,
}

impl RunCommand {
    fn program(&self) -> &str {
        self.command.split(' ').next().unwrap_or_default()
    }
}

/// What a result says about a failure, in a short line; `None` if it shows none.
pub(in crate::memory) fn failure(result: &str) -> Option<String> {
    exit_status(result).filter(|code| *code != 0).map(|_| error_line(result))
}

/// The exit code that a result names at its front or its end; one of a failure if there are several.
pub(crate) fn exit_status(result: &str) -> Option<i32> {
    let lines: Vec<&str> = spoken_lines(result).collect();
    let ends = lines.iter().take(STATUS_LINES).chain(lines.iter().rev().take(STATUS_LINES));
    let codes: Vec<i32> = ends.filter_map(|line| exit_code(line)).collect();
    codes.iter().find(|code| **code != 0).or(codes.first()).copied()
}

/// The first line of a failed call's result that says what went wrong, shortened.
pub(crate) fn error_line(result: &str) -> String {
    let is_error = |line: &&str| {
        let lower = line.to_lowercase();
        exit_code(line).is_none() && ERROR_WORDS.iter().any(|word| lower.contains(word))
    };
    let said = spoken_lines(result).find(is_error);
    let said = said.or_else(|| spoken_lines(result).find(|line| exit_code(line).is_none()));
    said.map_or_else(|| "no output".to_owned(), |line| head(line, ERROR_CHARS_MAX))
}

fn spoken_lines(result: &str) -> impl Iterator<Item = &str> {
    result.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// The exit code in a line such as `Exit code 1` or `Process exited with code 0`.
fn exit_code(line: &str) -> Option<i32> {
    let lower = line.to_lowercase();
    let (_, behind) =
        ["exit code", "exited with code", "exit status"].iter().find_map(|words| lower.split_once(words))?;
    let number = behind.trim_start_matches([':', ' ']);
    let digits = number.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(number.len());
    number[..digits].parse().ok()
}
