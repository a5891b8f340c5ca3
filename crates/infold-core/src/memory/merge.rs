//! Says what becomes of a new lesson beside what is kept already: it may be new, the same again, the opposite, or
//! something that the agent was shown.
//!
//! Memories that agents were shown come back in their words; kept again, they would grow with every session. Of two memories that say the same one is enough. Of two that contradict each other the newer counts, unless
//! it is trusted less.
//!
//! What must hold: the answer depends on the texts alone and on the order in which the neighbours are given.

mod texts;

use std::collections::BTreeSet;

use super::files::last_parts;
use super::{Lesson, LessonFile, Memory, MemoryKind, Trust};
pub use texts::Shingles;
pub(super) use texts::negations_in;
use texts::{TextWords, jaccard};

/// Neighbours that a lesson is compared with.
pub const NEIGHBOURS_MAX: usize = 50;
/// The share of a lesson's shingles that makes it one that its agent was shown.
const KNOWN_SHARE: f64 = 0.6;
/// From here on two texts say the same.
const SAME_JACCARD: f64 = 0.6;
/// From here on two texts that are about the same file or command say the same.
const SAME_COSINE: f64 = 0.9;
/// From here on two texts are about the same, if only values in them differ.
const BUT_FOR_VALUES_JACCARD: f64 = 0.7;
/// From here on two lessons of opposite kinds are about the same.
const OPPOSED_JACCARD: f64 = 0.4;
/// Parts of a path that tell two files apart.
const PATH_PARTS: usize = 3;

/// The texts of a lesson.
#[derive(Debug, Clone, Copy)]
pub struct ComparedTexts<'a> {
    /// The lesson in a line.
    pub title: &'a str,
    /// The lesson in a few sentences.
    pub lesson: &'a str,
    /// What it tells its reader.
    pub kind: MemoryKind,
    /// How far it is trusted.
    pub trust: Trust,
    /// Files that it is about.
    pub files: &'a [&'a str],
    /// Commands that it is about.
    pub commands: &'a [&'a str],
}

/// A lesson as it is compared with others.
#[derive(Debug, Clone)]
pub struct ComparedLesson {
    words: TextWords,
    kind: MemoryKind,
    trust: Trust,
    /// The files, commands and identifiers that it is about.
    subjects: BTreeSet<String>,
    text: String,
}

impl ComparedLesson {
    /// A lesson with these texts, files and commands.
    pub fn new(texts: ComparedTexts<'_>) -> Self {
        let ComparedTexts { title, lesson, kind, trust, files, commands } = texts;
        let text = format!("{title}\n{lesson}");
        let words = TextWords::of(&text);
        let mut subjects: BTreeSet<String> = files.iter().map(|path| last_parts(path, PATH_PARTS).to_owned()).collect();
        subjects.extend(commands.iter().map(|command| (*command).to_owned()));
        subjects.extend(words.identifiers.iter().cloned());
        Self { words, kind, trust, subjects, text }
    }

    /// A lesson that is about to be kept.
    pub fn of(lesson: &Lesson, trust: Trust) -> Self {
        let files: Vec<&str> = lesson.files.iter().map(|file| file.path.as_str()).collect();
        let commands: Vec<&str> = lesson.commands.iter().map(|command| command.as_str()).collect();
        let (title, kind) = (lesson.title.as_str(), lesson.kind);
        Self::new(ComparedTexts {
            title,
            lesson: lesson.lesson.as_str(),
            kind,
            trust,
            files: &files,
            commands: &commands,
        })
    }

    /// A lesson that is kept.
    pub fn of_memory(memory: &Memory) -> Self {
        Self::of(&memory.lesson, memory.trust)
    }

    fn shares_subject(&self, other: &Self) -> bool {
        !self.subjects.is_disjoint(&other.subjects)
    }

    fn is_opposed(&self, other: &Self) -> bool {
        use MemoryKind::{Fact, Fails, Preference, Works};
        match (self.kind, other.kind) {
            (Works, Fails) | (Fails, Works) => true,
            (Works | Fact | Preference, Works | Fact | Preference) | (Fails, Fails | Fact | Preference) => false,
            (Fact | Preference, Fails) => false,
        }
    }
}

/// A memory that a new lesson is compared with.
#[derive(Debug, Clone)]
pub struct NearMemory {
    /// Its lesson.
    pub lesson: ComparedLesson,
    /// The cosine of its vector and the new lesson's, where both are there.
    pub meaning: Option<f64>,
}

/// What becomes of a lesson. A number is the position of a neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placing {
    /// It is kept as a new memory.
    New,
    /// It says what this neighbour says.
    Same(usize),
    /// It takes the place of this neighbour, which says otherwise.
    Replaces(usize),
    /// It says otherwise than this neighbour, which is trusted more: a person has to look at it.
    Waits(usize),
    /// The agent only repeats what it was shown.
    AlreadyKnown,
}

/// What becomes of a new lesson beside its neighbours, which are given in the order of their names. `shown` is what the
/// memories say that its branch was shown.
pub fn place(new: &ComparedLesson, near: &[NearMemory], shown: &Shingles) -> Placing {
    if shown.share_of(&new.text) >= KNOWN_SHARE {
        return Placing::AlreadyKnown;
    }
    let near = &near[..near.len().min(NEIGHBOURS_MAX)];
    if let Some((position, old)) = near.iter().enumerate().find(|(_, old)| contradicts(new, &old.lesson)) {
        // The order of trust begins with the most trusted.
        let is_trusted = new.trust <= old.lesson.trust;
        return if is_trusted { Placing::Replaces(position) } else { Placing::Waits(position) };
    }
    near.iter().position(|old| is_same(new, old)).map_or(Placing::New, Placing::Same)
}

fn is_same(new: &ComparedLesson, old: &NearMemory) -> bool {
    let is_near = old.meaning.is_some_and(|cosine| cosine >= SAME_COSINE) && new.shares_subject(&old.lesson);
    is_near || jaccard(&new.words.all, &old.lesson.words.all) >= SAME_JACCARD
}

/// Whether two lessons are about the same and say otherwise: one works and the other fails, or they name the same things
/// and differ in numbers or a negation only. Lessons that name different things are about different things.
fn contradicts(new: &ComparedLesson, old: &ComparedLesson) -> bool {
    if new.is_opposed(old) {
        return new.shares_subject(old) && jaccard(&new.words.all, &old.words.all) >= OPPOSED_JACCARD;
    }
    let (new, old) = (&new.words, &old.words);
    let is_negated = new.negations % 2 != old.negations % 2;
    let has_own_values = |one: &TextWords, other: &TextWords| one.values.difference(&other.values).next().is_some();
    let differs = is_negated || (has_own_values(new, old) && has_own_values(old, new));
    let names_same = new.identifiers == old.identifiers;
    differs && names_same && !new.plain.is_empty() && jaccard(&new.plain, &old.plain) >= BUT_FOR_VALUES_JACCARD
}

/// One lesson of two that say the same: the words of the one that is trusted more, or else is longer; the files and
/// commands of both.
pub fn united(older: (&Lesson, Trust), newer: (&Lesson, Trust)) -> Lesson {
    let length = |lesson: &Lesson| lesson.lesson.len_chars();
    let newer_wins = newer.1 < older.1 || (newer.1 == older.1 && length(newer.0) > length(older.0));
    let (kept, other) = if newer_wins { (newer.0, older.0) } else { (older.0, newer.0) };
    let mut lesson = kept.clone();
    for file in &other.files {
        let is_known = |known: &LessonFile| known.path == file.path;
        if lesson.files.len() < Lesson::FILES_MAX && !lesson.files.iter().any(is_known) {
            lesson.files.push(file.clone());
        }
    }
    for command in &other.commands {
        if lesson.commands.len() < Lesson::COMMANDS_MAX && !lesson.commands.contains(command) {
            lesson.commands.push(command.clone());
        }
    }
    lesson
}

#[cfg(test)]
mod tests;
