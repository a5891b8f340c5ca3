//! What an ended branch teaches, taken together without a model.
//!
//! A branch that did what it was asked teaches what its report says of use, with the files and commands that it worked
//! with. One that did not teaches what was tried and how it ended. Where a report says too little, there is no lesson: a
//! list of empty ones is worse than none.
//!
//! What must hold: every word comes from what the branch was asked, said, called or ran; nothing that a tool printed is
//! quoted but one short line of an error. The drafts are not scrubbed yet.

mod work;

use super::choose::choose;
use super::files::{has_ending, last_parts, paths_in};
use super::{FileUse, Lesson, LessonDraft, MemoryKind};
use crate::atoms::{AtomSort, each_atom};
use crate::{Branch, EndReason};
use work::MendedCommand;
pub(super) use work::failure;
pub use work::{BranchWork, RunCommand};
pub(crate) use work::{error_line, exit_status};

const TITLE_CHARS_MAX: usize = 120;
/// What is chosen of a report, of a success and of a failure: with what is added, either fits into a lesson.
const SUCCESS_CHARS_MAX: usize = 600;
const FAILURE_CHARS_MAX: usize = 500;
/// What is left of what a branch was asked, in a lesson about how that failed.
const ASKED_CHARS_MAX: usize = 200;
/// A report of a success from which less can be chosen teaches nothing.
const SUCCESS_CHARS_MIN: usize = 80;
/// A report of a failure that is shorter says nothing.
const FAILURE_CHARS_MIN: usize = 20;
/// A branch that was cut off by others after less work teaches nothing.
const CUT_OFF_OPERATIONS_MIN: u64 = 3;
/// The last commands that are kept.
const LAST_COMMANDS: usize = 3;
/// What is kept of a command.
const COMMAND_CHARS_MAX: usize = 100;

/// A branch that has ended, as far as there is something to learn from it.
#[derive(Debug, Clone, Copy)]
pub struct EndedBranch<'a> {
    /// What it was for, in a line.
    pub description: &'a str,
    /// What it was asked to do, in full.
    pub prompt: &'a str,
    /// Why it ended.
    pub reason: EndReason,
    /// What it said at its end: its message, or its last words if it was cut short.
    pub said: &'a str,
    /// The calls that it made.
    pub operations: u64,
}

impl<'a> EndedBranch<'a> {
    /// A branch as its session has it; `None` while it is open.
    pub fn of(branch: &'a Branch) -> Option<Self> {
        let end = branch.end.as_ref()?;
        let said = if end.reason.is_return() { &end.result } else { &branch.findings.last_words };
        Some(Self {
            description: branch.description.as_str(),
            prompt: branch.prompt.as_ref().map_or("", |prompt| prompt.as_str()),
            reason: end.reason,
            said: said.as_str(),
            operations: branch.operations,
        })
    }
}

/// A lesson that was taken together from a branch: not yet cleaned, not yet scrubbed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DistilledDraft {
    /// Its words.
    pub draft: LessonDraft,
    /// The files that it is about, with what was done to each; edited ones first.
    pub files: Vec<(String, FileUse)>,
    /// The commands that it is about.
    pub commands: Vec<String>,
}

/// Why a branch teaches nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoLesson {
    /// Nothing can be learnt from an end like this.
    SuchAnEnd,
    /// It was cut off before it had done much.
    TooLittleWork,
    /// Too little of what it said could be of use to somebody else.
    TooLittleSaid,
    /// It names no file, no command and no identifier, so that it is about nothing.
    NothingNamed,
}

impl NoLesson {
    /// The words for it in metrics and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SuchAnEnd => "such an end",
            Self::TooLittleWork => "too little work",
            Self::TooLittleSaid => "too little said",
            Self::NothingNamed => "nothing named",
        }
    }
}

/// What an ended branch teaches.
pub fn distil(branch: &EndedBranch<'_>, work: &BranchWork) -> Result<DistilledDraft, NoLesson> {
    match branch.reason {
        EndReason::Returned => of_success(branch, work),
        EndReason::ReportedFailure | EndReason::BudgetExhausted | EndReason::TimedOut => of_failure(branch, work),
        EndReason::RolledBack
        | EndReason::OpeningLost
        | EndReason::SessionEndTimeout
        | EndReason::ParentReturning
        | EndReason::SessionEnded => {
            if branch.operations < CUT_OFF_OPERATIONS_MIN {
                return Err(NoLesson::TooLittleWork);
            }
            of_failure(branch, work)
        }
        EndReason::Interrupted => Err(NoLesson::SuchAnEnd),
    }
}

fn of_success(branch: &EndedBranch<'_>, work: &BranchWork) -> Result<DistilledDraft, NoLesson> {
    let mut lesson = choose(branch.said, SUCCESS_CHARS_MAX);
    if lesson.chars().count() < SUCCESS_CHARS_MIN {
        return Err(NoLesson::TooLittleSaid);
    }
    let (files, commands) = (files(branch, work), last_worked(work));
    if files.is_empty() && commands.is_empty() && !names_identifier(branch.said) {
        return Err(NoLesson::NothingNamed);
    }
    if let Some(MendedCommand { failed, why, worked }) = work.mended() {
        let (failed, worked) = (head(failed, COMMAND_CHARS_MAX), head(worked, COMMAND_CHARS_MAX));
        lesson.push_str(&format!("\n`{failed}` failed ({why}), then `{worked}` worked."));
    }
    let draft = LessonDraft { title: title(branch), lesson, kind: Some(MemoryKind::Works) };
    Ok(DistilledDraft { draft, files, commands })
}

fn of_failure(branch: &EndedBranch<'_>, work: &BranchWork) -> Result<DistilledDraft, NoLesson> {
    let said = branch.said.trim();
    let chosen = choose(said, FAILURE_CHARS_MAX);
    let said = if chosen.is_empty() { head(said, FAILURE_CHARS_MAX) } else { chosen };
    let (files, commands) = (files(branch, work), work.last(LAST_COMMANDS));
    if said.chars().count() < FAILURE_CHARS_MIN && commands.is_empty() && work.edited.is_empty() {
        return Err(NoLesson::TooLittleSaid);
    }

    let mut lines = vec![match branch.reason {
        EndReason::ReportedFailure => "This was tried and did not work.".to_owned(),
        reason => format!("This was tried and not finished: {}.", reason.as_str()),
    }];
    if !branch.prompt.trim().is_empty() {
        lines.push(format!("Asked: {}", head(&one_line(branch.prompt), ASKED_CHARS_MAX)));
    }
    if !said.is_empty() {
        lines.push(format!("Said at the end: {said}"));
    }
    let tried: Vec<String> = commands.iter().map(|command| format!("`{command}`")).collect();
    if !tried.is_empty() {
        lines.push(format!("Run last: {}", tried.join(", ")));
    }
    let lesson = lines.join("\n");
    let draft = LessonDraft { title: title(branch), lesson, kind: Some(MemoryKind::Fails) };
    Ok(DistilledDraft { draft, files, commands })
}

fn title(branch: &EndedBranch<'_>) -> String {
    let description = one_line(branch.description);
    head(if description.is_empty() { branch.prompt } else { &description }, TITLE_CHARS_MAX)
}

pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn head(text: &str, chars_max: usize) -> String {
    let text = text.trim();
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let head: String = text.chars().take(chars_max - 1).collect();
    format!("{}…", head.trim_end())
}

/// The files that a branch edited, read, or only named in its report, each once.
fn files(branch: &EndedBranch<'_>, work: &BranchWork) -> Vec<(String, FileUse)> {
    let named = paths_in(branch.said).filter(|path| has_ending(last_parts(path, 1)));
    let edited = work.edited.iter().map(|path| (path.as_str(), FileUse::Edited));
    let read = work.read.iter().map(|path| (path.as_str(), FileUse::Read));
    let mut files: Vec<(String, FileUse)> = Vec::new();
    for (path, used) in edited.chain(read).chain(named.map(|path| (path, FileUse::Named))) {
        // A report often names a file by the end of the path that was read.
        let is_known =
            |(known, _): &(String, FileUse)| known == path || (used == FileUse::Named && known.ends_with(path));
        if files.len() < Lesson::FILES_MAX && !files.iter().any(is_known) {
            files.push((path.to_owned(), used));
        }
    }
    files
}

/// The last commands that did not fail.
fn last_worked(work: &BranchWork) -> Vec<String> {
    let worked = work.commands.iter().rev().filter(|run| run.failure.is_none());
    let mut last: Vec<String> = worked.take(LAST_COMMANDS).map(|run| head(&run.command, COMMAND_CHARS_MAX)).collect();
    last.reverse();
    last.dedup();
    last
}

fn names_identifier(text: &str) -> bool {
    let mut found = false;
    each_atom(text, |atom| found |= matches!(atom.sort, AtomSort::Identifier | AtomSort::Path));
    found
}

#[cfg(test)]
mod tests;
