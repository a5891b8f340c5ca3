//! Taking memories along: a file of one JSON object a line, written and read. What is read comes from outside, and is
//! shown only after somebody has accepted it or a branch has confirmed it.

use infold_core::memory::{
    FileUse, Lesson, LessonDraft, LessonFile, LessonSource, Memory, MemoryId, MemoryKind, MemoryScope, ProjectKey,
    Trust,
};
use infold_core::{Field, Principal, Refusal, Scrubbed, strip_hostile};
use infold_store::{KeptMemory, MemoryFilter, NewMemories, StateFilter};
use serde::{Deserialize, Serialize};

use super::made::MemoryParts;
use crate::{Engine, Error};

/// The media type of a file of one JSON object a line.
pub const EXPORT_TYPE: &str = "application/x-ndjson";
/// How many lines an import can have.
const LINES_MAX: usize = 10_000;
/// How many bytes it can have.
const BYTES_MAX: usize = 16 << 20;
/// How many lines are scrubbed at once.
const SCRUBBED_AT_ONCE: usize = 100;
/// How many memories are read at once.
const READ_AT_ONCE: usize = 1_000;
/// A path or a command of a lesson.
const DETAIL: Field = Field { name: "import", chars_max: 1_000 };
const NAME: Field = Field { name: "name", chars_max: 100 };

/// A memory in a file.
#[derive(Debug, Serialize, Deserialize)]
struct TransferLine {
    title: String,
    lesson: String,
    #[serde(default)]
    kind: Option<MemoryKind>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<TransferFile>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    commands: Vec<String>,
    /// These are for readers, and are not read back.
    #[serde(default, skip_deserializing, skip_serializing_if = "Option::is_none")]
    about: Option<TransferAbout>,
}

#[derive(Debug, Serialize, Deserialize)]
struct TransferFile {
    path: String,
    #[serde(rename = "use")]
    used: FileUse,
}

/// Where a memory in a file comes from.
#[derive(Debug, Serialize)]
struct TransferAbout {
    memory_id: MemoryId,
    project: Option<ProjectKey>,
    source: LessonSource,
    confidence: f64,
    made_at_ms: u64,
}

/// A request to read memories from a file.
#[derive(Debug, Clone)]
pub struct ImportMemories {
    /// The file: one JSON object a line.
    pub lines: Vec<u8>,
    /// What the import is called; all of it can be forgotten by that name.
    pub name: String,
    /// The project that they count in, as a path or a key; `None` means everywhere.
    pub project: Option<String>,
    /// Whether they are kept.
    pub mode: ImportMode,
}

/// Whether an import is kept, or only checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportMode {
    /// Only check all lines.
    DryRun,
    /// Keep them.
    Keep,
}

/// How an import went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoriesImported {
    /// How many lines were read.
    pub lines: usize,
    /// How many of them are new memories; those that were there stay as they are.
    pub made: u64,
    /// The number by which all of it can be undone; `None` if nothing was kept.
    pub change: Option<i64>,
}

impl Engine {
    /// Writes the caller's memories that are in use, one JSON object a line, in the order in which they were made.
    pub async fn export_memories(&self, who: &Principal, project: Option<&str>) -> Result<String, Error> {
        let project = match project {
            Some(project) => Some(self.project_by_name(who, project).await?),
            None => None,
        };
        let mut filter = MemoryFilter {
            owner: who.owner.clone(),
            project,
            kind: None,
            state: StateFilter::Live,
            session: None,
            branch: None,
            offset: 0,
            limit: READ_AT_ONCE,
        };
        let mut text = String::new();
        loop {
            let rows = self.inner.store.memories(filter.clone()).await?;
            for row in &rows {
                text.push_str(&serde_json::to_string(&self.line(&row.memory)).unwrap_or_default());
                text.push('\n');
            }
            if rows.len() < READ_AT_ONCE {
                return Ok(text);
            }
            filter.offset += READ_AT_ONCE;
        }
    }

    fn line(&self, memory: &Memory) -> TransferLine {
        let lesson = &memory.lesson;
        let file = |file: &LessonFile| TransferFile { path: file.path.as_str().to_owned(), used: file.used };
        TransferLine {
            title: lesson.title.as_str().to_owned(),
            lesson: lesson.lesson.as_str().to_owned(),
            kind: Some(lesson.kind),
            files: lesson.files.iter().map(file).collect(),
            commands: lesson.commands.iter().map(|command| command.as_str().to_owned()).collect(),
            about: Some(TransferAbout {
                memory_id: memory.id.clone(),
                project: match &memory.scope {
                    MemoryScope::Project(project) => Some(project.clone()),
                    MemoryScope::Everywhere => None,
                },
                source: memory.origin.source,
                confidence: (self.confidence(memory) * 100.0).round() / 100.0,
                made_at_ms: memory.made_at_ms,
            }),
        }
    }

    /// Reads memories from a file, all or none: one bad line refuses the file, and is named.
    pub async fn import_memories(&self, who: &Principal, request: ImportMemories) -> Result<MemoriesImported, Error> {
        let drafts = read_lines(&request.lines)?;
        let name = NAME.clean(&strip_hostile(&request.name))?;
        let [label] = self.scrub([format!("import:{}", name.trim())]).await?;
        let scope = match &request.project {
            Some(project) => MemoryScope::Project(self.project_by_name(who, project).await?),
            None => MemoryScope::Everywhere,
        };
        let mut memories = Vec::with_capacity(drafts.len());
        for (chunk, first) in drafts.chunks(SCRUBBED_AT_ONCE).zip((1..).step_by(SCRUBBED_AT_ONCE)) {
            for (lesson, number) in self.scrubbed_lessons(chunk).await?.into_iter().zip(first..) {
                LessonDraft::check_scrubbed(&lesson.title, &lesson.lesson)
                    .map_err(|refusal| at_line(number, &refusal))?;
                memories.push(self.imported(who, lesson, &scope, &label));
            }
        }

        let lines = memories.len();
        if request.mode == ImportMode::DryRun {
            return Ok(MemoriesImported { lines, made: 0, change: None });
        }
        let new = NewMemories {
            owner: who.owner.clone(),
            what: "imported",
            memories,
            memories_max: self.inner.settings.memory.memories_max,
            at_ms: self.now_ms(),
        };
        let added = self.inner.store.add_memories(new).await?;
        Ok(MemoriesImported { lines, made: added.made, change: Some(added.change) })
    }

    async fn scrubbed_lessons(&self, drafts: &[TransferLine]) -> Result<Vec<Lesson>, Error> {
        let texts = drafts.iter().flat_map(|draft| {
            let files = draft.files.iter().map(|file| &file.path);
            [&draft.title, &draft.lesson].into_iter().chain(files).chain(&draft.commands).cloned()
        });
        let mut scrubbed = self.scrub_list(texts.collect()).await?.into_iter();
        let mut next = || scrubbed.next().unwrap_or_default();
        Ok(drafts
            .iter()
            .map(|draft| Lesson {
                title: next(),
                lesson: next(),
                kind: draft.kind.unwrap_or(MemoryKind::Fact),
                files: draft.files.iter().map(|file| LessonFile { path: next(), used: file.used }).collect(),
                commands: draft.commands.iter().map(|_| next()).collect(),
            })
            .collect())
    }

    /// A memory that was imported. Its name comes from its words, so that a second import of them changes nothing.
    fn imported(&self, who: &Principal, lesson: Lesson, scope: &MemoryScope, label: &Scrubbed) -> KeptMemory {
        let key = blake3::derive_key("infold 2026 names of imported memories", self.inner.store.secret());
        let print = format!("{}\n{scope:?}\n{}", who.owner.as_str(), lesson.text().as_str());
        let hash = blake3::keyed_hash(&key, print.as_bytes());
        let mut bytes = [0; 10];
        bytes.copy_from_slice(&hash.as_bytes()[..10]);
        self.new_memory(MemoryParts {
            id: MemoryId::mint(bytes),
            owner: who.owner.clone(),
            scope: scope.clone(),
            lesson,
            source: LessonSource::Imported,
            trust: Trust::Outside,
            label: Some(label.clone()),
            git_branch: None,
            replaces: None,
        })
    }
}

/// Reads and cleans all lines, or names the first that is bad.
fn read_lines(bytes: &[u8]) -> Result<Vec<TransferLine>, Refusal> {
    if bytes.len() > BYTES_MAX {
        return Err(DETAIL.refuse(format!("has {} bytes, at most {BYTES_MAX} are allowed: split it", bytes.len())));
    }
    let lines = bytes.split(|byte| *byte == b'\n').zip(1_usize..);
    let mut found = Vec::new();
    for (line, number) in lines.filter(|(line, _)| !line.trim_ascii().is_empty()) {
        if found.len() == LINES_MAX {
            return Err(DETAIL.refuse(format!("has more than {LINES_MAX} memories: split it")));
        }
        found.push(read_line(line).map_err(|problem| DETAIL.refuse(format!("is wrong at line {number}: {problem}")))?);
    }
    match found.is_empty() {
        true => Err(DETAIL.refuse("has no memories: each line must be a JSON object with title and lesson".to_owned())),
        false => Ok(found),
    }
}

fn read_line(line: &[u8]) -> Result<TransferLine, String> {
    let text = std::str::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned())?;
    let line: TransferLine = serde_json::from_str(text).map_err(|error| without_place(&error))?;
    let draft = LessonDraft { title: line.title, lesson: line.lesson, kind: line.kind };
    let LessonDraft { title, lesson, kind } = draft.clean().map_err(|refusal| refusal.to_string())?;
    if line.files.len() > Lesson::FILES_MAX || line.commands.len() > Lesson::COMMANDS_MAX {
        let (files, commands) = (Lesson::FILES_MAX, Lesson::COMMANDS_MAX);
        return Err(format!("it has more than {files} files or {commands} commands"));
    }
    let clean = |text: &str, what: &str| {
        let cleaned =
            DETAIL.clean(&strip_hostile(text)).map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
        cleaned.map_err(|_| format!("a {what} is empty or longer than {} characters", DETAIL.chars_max))
    };
    let files = line.files.iter().map(|file| Ok(TransferFile { path: clean(&file.path, "path")?, used: file.used }));
    let commands = line.commands.iter().map(|command| clean(command, "command"));
    Ok(TransferLine {
        title,
        lesson,
        kind,
        files: files.collect::<Result<_, String>>()?,
        commands: commands.collect::<Result<_, String>>()?,
        about: None,
    })
}

/// What a parser says, without the line, which it would always call the first.
fn without_place(error: &serde_json::Error) -> String {
    let said = error.to_string();
    said.split(" at line ").next().unwrap_or_default().to_owned()
}

fn at_line(number: usize, refusal: &Refusal) -> Refusal {
    DETAIL.refuse(format!("is wrong at memory {number}: {refusal}"))
}
