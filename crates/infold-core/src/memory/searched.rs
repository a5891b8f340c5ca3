//! What a memory is found by: its words, field by field, and its files.
//!
//! The words are stems with blanks between them, the form in which the store keeps them for searching. Making them
//! takes much longer than reading them back, so it is done once, when a memory is kept.

use super::{FileUse, Lesson};
use crate::words::words;

/// What is read of each field.
const FIELD_BYTES_MAX: usize = 32_768;

/// The texts of a memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct SearchedTexts<'a> {
    /// What it is about, in a line.
    pub title: &'a str,
    /// What was learnt.
    pub lesson: &'a str,
    /// Files that were edited.
    pub edited: &'a [&'a str],
    /// Files that were read.
    pub read: &'a [&'a str],
    /// Files that are only named.
    pub named: &'a [&'a str],
    /// Commands that were run.
    pub commands: &'a [&'a str],
    /// The git branch that the work was on.
    pub git_branch: Option<&'a str>,
}

/// What a memory is found by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchedMemory {
    /// The stems of its title.
    pub title: String,
    /// The stems of what was learnt.
    pub lesson: String,
    /// The stems of the paths of files that were edited.
    pub edited: String,
    /// The stems of the paths of files that were read.
    pub read: String,
    /// The stems of commands.
    pub commands: String,
    /// The stems of the git branch's name.
    pub git: String,
    /// The paths of files that were edited.
    pub edited_files: Vec<String>,
    /// The paths of files that were read, or that the lesson only names.
    pub other_files: Vec<String>,
    /// The git branch.
    pub git_branch: Option<String>,
}

impl SearchedMemory {
    /// What a memory with these texts is found by.
    pub fn of(texts: &SearchedTexts<'_>) -> Self {
        let owned = |path: &&str| (*path).to_owned();
        Self {
            title: stems(texts.title),
            lesson: stems(texts.lesson),
            edited: stems(&texts.edited.join(" ")),
            read: stems(&texts.read.join(" ")),
            commands: stems(&texts.commands.join("\n")),
            git: stems(texts.git_branch.unwrap_or_default()),
            edited_files: texts.edited.iter().map(owned).collect(),
            other_files: texts.read.iter().chain(texts.named).map(owned).collect(),
            git_branch: texts.git_branch.map(str::to_owned),
        }
    }
}

impl SearchedMemory {
    /// What a memory of this lesson is found by.
    pub fn of_lesson(lesson: &Lesson, git_branch: Option<&str>) -> Self {
        let files = |used: FileUse| -> Vec<&str> {
            let files = lesson.files.iter().filter(|file| file.used == used);
            files.map(|file| file.path.as_str()).collect()
        };
        let commands: Vec<&str> = lesson.commands.iter().map(|command| command.as_str()).collect();
        Self::of(&SearchedTexts {
            title: lesson.title.as_str(),
            lesson: lesson.lesson.as_str(),
            edited: &files(FileUse::Edited),
            read: &files(FileUse::Read),
            named: &files(FileUse::Named),
            commands: &commands,
            git_branch,
        })
    }
}

/// The stems of a text, with blanks between them.
fn stems(text: &str) -> String {
    let mut stems = String::new();
    for word in words(head(text)) {
        if !stems.is_empty() {
            stems.push(' ');
        }
        stems.push_str(&word.text);
    }
    stems
}

fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(FIELD_BYTES_MAX)]
}
