//! What could be typed: commands behind `/`, files behind `@`, sessions behind `/sessions`.

use std::path::Path;

use crate::agent::COMMANDS;

/// Files that are looked at.
const FILES_MAX: usize = 20_000;
/// Words that are offered.
const OFFERED_MAX: usize = 8;

/// Words that could take the place of the one that is being typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The words, each with a remark.
    pub offered: Vec<(String, String)>,
    /// The one that is marked, from 0.
    pub marked: usize,
}

/// What completions are made of.
#[derive(Debug, Clone, Default)]
pub struct KnownWords {
    /// The files of the folder, from it on.
    pub files: Vec<String>,
    /// Sessions: as much of the id as has to be typed, and the first words.
    pub sessions: Vec<(String, String)>,
}

impl Completion {
    /// What could be meant by the word before the cursor. `line` is everything before that word.
    pub fn of(line: &str, word: &str, known: &KnownWords) -> Option<Self> {
        let offered: Vec<(String, String)> = if line.trim().is_empty() && word.starts_with('/') {
            let begins = |(name, ..): &&(&str, &str, &str)| name.starts_with(word) && *name != word;
            COMMANDS.iter().filter(begins).map(|(name, _, does)| ((*name).to_owned(), (*does).to_owned())).collect()
        } else if let Some(path) = word.strip_prefix('@') {
            best_files(path, &known.files).into_iter().map(|file| (format!("@{file}"), String::new())).collect()
        } else if line.trim() == "/sessions" {
            let begins = |(id, _): &&(String, String)| id.starts_with(word) && id != word;
            known.sessions.iter().filter(begins).cloned().collect()
        } else {
            Vec::new()
        };
        let offered: Vec<(String, String)> = offered.into_iter().take(OFFERED_MAX).collect();
        (!offered.is_empty()).then_some(Self { offered, marked: 0 })
    }

    /// Marks the next word.
    pub fn mark_next(&mut self) {
        self.marked = (self.marked + 1) % self.offered.len();
    }

    /// Marks the word before.
    pub fn mark_previous(&mut self) {
        self.marked = (self.marked + self.offered.len() - 1) % self.offered.len();
    }

    /// The word that is marked.
    pub fn chosen(&self) -> &str {
        self.offered.get(self.marked).map_or("", |(word, _)| word)
    }
}

/// Files whose path has the letters in order; those with the name in one piece come first, and shorter ones.
fn best_files<'f>(typed: &str, files: &'f [String]) -> Vec<&'f str> {
    let typed = typed.to_lowercase();
    let rank = |file: &&'f String| {
        let lower = file.to_lowercase();
        let name_at = lower.rfind('/').map_or(0, |at| at + 1);
        let rank = if lower[name_at..].starts_with(&typed) {
            0
        } else if lower.contains(&typed) {
            1
        } else if has_in_order(&lower, &typed) {
            2
        } else {
            return None;
        };
        Some((rank, file.len(), file.as_str()))
    };
    let mut found: Vec<(u8, usize, &str)> = files.iter().filter_map(|file| rank(&file)).collect();
    found.retain(|(_, _, file)| *file != typed);
    found.sort_unstable();
    found.into_iter().take(OFFERED_MAX).map(|(_, _, file)| file).collect()
}

fn has_in_order(text: &str, letters: &str) -> bool {
    let mut rest = text.chars();
    letters.chars().all(|letter| rest.any(|other| other == letter))
}

/// The files of a folder, without those that git ignores.
pub fn files_of(folder: &Path) -> Vec<String> {
    let walk = ignore::WalkBuilder::new(folder).build().flatten();
    let files = walk.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let shown = files.filter_map(|entry| Some(entry.path().strip_prefix(folder).ok()?.to_str()?.to_owned()));
    shown.take(FILES_MAX).collect()
}

#[cfg(test)]
mod tests;
