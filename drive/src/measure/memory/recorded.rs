//! Sessions and sub-tasks of real projects, and queries with what should be found for them, as they are on disk.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result};
use infold_core::memory::{SearchedMemory, SearchedTexts, TextVector};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::search::Sought;

/// What is read of a text for its vector.
const VECTOR_BYTES: usize = 3_000;

/// A session that has ended: what was asked and said, and what was done. How it came out is not read: nobody knew it then.
#[derive(Debug, Deserialize)]
struct EndedSession {
    repo: String,
    id: String,
    end: String,
    branch: Option<String>,
    prompts: Vec<String>,
    said: Vec<String>,
    edited: Vec<String>,
    read: Vec<String>,
    commands: Vec<String>,
}

/// A sub-task of a session.
#[derive(Debug, Deserialize)]
pub(super) struct Subtask {
    pub repo: String,
    pub session: String,
    pub id: String,
    pub at: String,
    end: Option<String>,
    pub description: String,
    pub prompt: String,
    pub status: String,
    pub error: bool,
    pub result: Option<String>,
    #[serde(default)]
    pub edited: Vec<String>,
    #[serde(default)]
    pub read: Vec<String>,
    #[serde(default)]
    pub mentioned: Vec<String>,
    #[serde(default)]
    pub commands: Vec<String>,
    /// The calls that it made.
    #[serde(default)]
    pub n_tools: u64,
}

impl Subtask {
    /// When it was over, as far as is known.
    pub fn ended_at(&self) -> &str {
        self.end.as_deref().unwrap_or(&self.at)
    }
}

/// A query: what somebody asked for, and what turned out to be about the same files.
#[derive(Debug, Deserialize)]
pub(super) struct RecordedQuery {
    pub repo: String,
    pub session: String,
    pub subtask: Option<String>,
    pub query: String,
    pub branch: Option<String>,
    pub at: String,
    /// How many could be found.
    pub corpus: usize,
    pub gold: Vec<String>,
    /// How much each that should be found shares.
    pub grade: BTreeMap<String, f64>,
    /// The files that the work went on to touch.
    pub files: Vec<String>,
}

impl RecordedQuery {
    /// What it is known by.
    pub fn id(&self) -> &str {
        self.subtask.as_deref().unwrap_or(&self.session)
    }

    /// The description and the prompt. A sub-task's query begins with its description; a session has none.
    pub fn description_and_prompt(&self) -> (&str, &str) {
        match &self.subtask {
            Some(_) => self.query.split_once('\n').unwrap_or((&self.query, "")),
            None => ("", &self.query),
        }
    }
}

/// Something that could be found.
#[derive(Debug)]
pub(super) struct Findable {
    pub repo: String,
    pub id: String,
    /// The session that it is, or that it is part of.
    pub session: String,
    is_subtask: bool,
    pub ended_at: String,
    pub found_by: SearchedMemory,
    pub vector: Option<TextVector>,
}

impl Findable {
    /// When it was over, as a number that grows with time.
    pub fn ended(&self) -> u64 {
        as_number(&self.ended_at)
    }

    pub fn sought(&self) -> Sought<'_> {
        Sought { found_by: &self.found_by, ended: self.ended(), vector: self.vector.as_ref() }
    }
}

/// A time as it is written, as a number that grows with it: the digits of the year first, those of milliseconds last.
pub(super) fn as_number(time: &str) -> u64 {
    time.bytes().filter(u8::is_ascii_digit).fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))
}

/// All that is recorded.
#[derive(Debug)]
pub(super) struct RecordedWork {
    pub findable: Vec<Findable>,
    pub subtasks: Vec<Subtask>,
    pub of_sessions: Vec<RecordedQuery>,
    pub of_subtasks: Vec<RecordedQuery>,
}

impl RecordedWork {
    /// Reads what is in a folder; `None` if nothing is.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        if !folder.is_dir() {
            return Ok(None);
        }
        let sessions: Vec<EndedSession> = lines(&folder.join("sessions.jsonl.gz"))?;
        let subtasks: Vec<Subtask> = lines(&folder.join("subtasks.jsonl.gz"))?;
        let mut findable: Vec<Findable> = sessions.into_iter().map(of_session).collect();
        findable.extend(subtasks.iter().map(of_subtask));
        Ok(Some(Self {
            findable,
            subtasks,
            of_sessions: lines(&folder.join("queries.jsonl.gz"))?,
            of_subtasks: lines(&folder.join("subtask_queries.jsonl.gz"))?,
        }))
    }

    /// What could be found for a query: what had ended before, in the same repository and in other sessions. Only
    /// sub-tasks are looked for in sub-tasks.
    pub fn corpus(&self, query: &RecordedQuery) -> Vec<&Findable> {
        let has_ended = |one: &&Findable| one.repo == query.repo && one.ended_at < query.at;
        let is_other = |one: &&Findable| one.session != query.session && (query.subtask.is_some() || !one.is_subtask);
        self.findable.iter().filter(has_ended).filter(is_other).collect()
    }
}

fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let read = BufReader::new(infold_wire::open(path)?).lines();
    let parsed = read.map(|line| serde_json::from_str(&line?).with_context(|| format!("{}", path.display())));
    parsed.collect()
}

fn of_session(session: EndedSession) -> Findable {
    let EndedSession { repo, id, end, branch, prompts, said, edited, read, commands } = session;
    let (title, lesson) = (prompts.join("\n"), said.join("\n"));
    let found_by = SearchedMemory::of(&SearchedTexts {
        title: &title,
        lesson: &lesson,
        edited: &strs(&edited),
        read: &strs(&read),
        named: &[],
        commands: &strs(&commands),
        git_branch: branch.as_deref(),
    });
    let vector = TextVector::built_in(&vector_text(&title, &lesson));
    Findable { repo, session: id.clone(), id, is_subtask: false, ended_at: end, found_by, vector }
}

fn of_subtask(subtask: &Subtask) -> Findable {
    let title = format!("{}\n{}", subtask.description, subtask.prompt);
    let lesson = subtask.result.as_deref().unwrap_or_default();
    let found_by = SearchedMemory::of(&SearchedTexts {
        title: &title,
        lesson,
        edited: &strs(&subtask.edited),
        read: &strs(&subtask.read),
        named: &strs(&subtask.mentioned),
        commands: &strs(&subtask.commands),
        git_branch: None,
    });
    Findable {
        repo: subtask.repo.clone(),
        id: subtask.id.clone(),
        session: subtask.session.clone(),
        is_subtask: true,
        ended_at: subtask.ended_at().to_owned(),
        found_by,
        vector: TextVector::built_in(&vector_text(&title, lesson)),
    }
}

/// What a vector is made of: the beginning of what was asked and of what was answered.
fn vector_text(title: &str, lesson: &str) -> String {
    let head = |text: &str| text[..text.floor_char_boundary(VECTOR_BYTES)].to_owned();
    format!("{}\n{}", head(title), head(lesson))
}

pub(super) fn strs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}
