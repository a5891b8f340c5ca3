//! A lesson: what was learnt, in a title and a few sentences, with the files and commands that it is about.
//!
//! Invariant: the texts of a [`Lesson`] are scrubbed, hold no character that a reader could not see, and keep to the
//! bounds here.

use serde::{Deserialize, Serialize};

use crate::{Field, Refusal, Scrubbed, strip_hostile};

/// `title` of a lesson.
const TITLE: Field = Field { name: "title", chars_max: 120 };
/// `lesson` of a lesson.
const LESSON: Field = Field { name: "lesson", chars_max: 1_200 };

/// What a lesson tells its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryKind {
    /// A way that works.
    Works,
    /// A way that does not work.
    Fails,
    /// Something that is so.
    Fact,
    /// Something that somebody wants so.
    Preference,
}

impl MemoryKind {
    /// All kinds, in the order in which they are listed.
    pub const ALL: [Self; 4] = [Self::Works, Self::Fails, Self::Fact, Self::Preference];

    /// The word for it, in tools, tables and the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Fails => "fails",
            Self::Fact => "fact",
            Self::Preference => "preference",
        }
    }

    /// Reads the word for a kind.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// What a branch did with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileUse {
    /// It changed the file.
    Edited,
    /// It read the file.
    Read,
    /// It spoke of the file.
    Named,
}

/// A file that a lesson is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LessonFile {
    /// Its path, as the branch spelled it.
    pub path: Scrubbed,
    /// What the branch did with it.
    #[serde(rename = "use")]
    pub used: FileUse,
}

/// What was learnt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lesson {
    /// The lesson in a line.
    pub title: Scrubbed,
    /// The lesson in a few sentences.
    pub lesson: Scrubbed,
    /// What it tells its reader.
    pub kind: MemoryKind,
    /// Files that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<LessonFile>,
    /// Commands that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Scrubbed>,
}

impl Lesson {
    /// Most files that one lesson keeps.
    pub const FILES_MAX: usize = 24;
    /// Most commands that one lesson keeps.
    pub const COMMANDS_MAX: usize = 8;

    /// All of its words: title, then lesson.
    pub fn text(&self) -> Scrubbed {
        Scrubbed::join(&[&self.title, &self.lesson], "\n")
    }
}

/// A lesson as somebody wrote it: not yet cleaned, not yet scrubbed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LessonDraft {
    /// The lesson in a line.
    pub title: String,
    /// The lesson in a few sentences.
    pub lesson: String,
    /// What it tells its reader; `None` if nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryKind>,
}

impl LessonDraft {
    /// Most characters of a title.
    pub const TITLE_CHARS_MAX: usize = TITLE.chars_max;
    /// Most characters of a lesson.
    pub const LESSON_CHARS_MAX: usize = LESSON.chars_max;

    /// Takes out what a reader could not see, and refuses what is then empty or too long. Scrubbing comes next.
    pub fn clean(&self) -> Result<Self, Refusal> {
        let title = TITLE.clean(&strip_hostile(&self.title))?;
        let lesson = LESSON.clean(&strip_hostile(&self.lesson))?;
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Self { title, lesson: lesson.trim().to_owned(), kind: self.kind })
    }

    /// Refuses a lesson of which scrubbing has left nothing but placeholders.
    pub fn check_scrubbed(title: &Scrubbed, lesson: &Scrubbed) -> Result<(), Refusal> {
        for (field, text) in [(TITLE, title), (LESSON, lesson)] {
            if !has_words_beside_placeholders(text.as_str()) {
                return Err(field.refuse("holds nothing but secrets: write the lesson without them".to_owned()));
            }
        }
        Ok(())
    }
}

fn has_words_beside_placeholders(text: &str) -> bool {
    let mut rest = text.to_owned();
    for placeholder in crate::placeholders(text) {
        rest = rest.replace(placeholder, " ");
    }
    rest.chars().any(char::is_alphanumeric)
}
