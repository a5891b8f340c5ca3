//! The index of memories' words. It gets stems as they are, and puts the code of their owner and project before each.
//!
//! What is shown has other codes than what waits, was replaced or was rejected, so a search for what is shown counts
//! nothing else. The index holds nothing that is not in `memories`, and can be made anew from there.

use std::collections::BTreeMap;

use infold_core::Owner;
use infold_core::memory::{Memory, MemoryScope, MemoryState};
use rusqlite::{ErrorCode, OptionalExtension, Transaction, params};
use serde::{Deserialize, Serialize};

use super::row;
use crate::codec::to_json;
use crate::{Store, StoreError};

/// The length of a code, in hexadecimal digits.
const CODE_CHARS: usize = 8;

/// Makes the index, as the ninth migration did.
const CREATE: &str = "
    CREATE VIRTUAL TABLE memory_words USING fts5 (
        title, lesson, edited, read, commands, git, tokenize = 'ascii'
    );
    INSERT INTO memory_words (memory_words, rank) VALUES ('secure-delete', 1);";

/// Makes what a damaged index lacks, so that SQLite can delete it.
const PATCH: &str = "
    CREATE TABLE IF NOT EXISTS memory_words_config (k PRIMARY KEY, v) WITHOUT ROWID;
    INSERT OR IGNORE INTO memory_words_config VALUES ('version', 4);
    CREATE TABLE IF NOT EXISTS memory_words_data (id INTEGER PRIMARY KEY, block BLOB);";

/// The stems of a memory, by where they occur. Each field has its stems with blanks between them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldWords {
    /// In its title.
    pub title: String,
    /// In its lesson.
    pub lesson: String,
    /// In the names of files that were edited.
    pub edited: String,
    /// In the names of files that were read or named.
    pub read: String,
    /// In its commands.
    pub commands: String,
    /// In the name of the git branch.
    pub git: String,
}

impl FieldWords {
    fn fields(&self) -> [&str; 6] {
        [&self.title, &self.lesson, &self.edited, &self.read, &self.commands, &self.git]
    }
}

/// Whether the words are of memories that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeOf {
    Shown,
    Others,
}

/// The code before the words of an owner's memories of a project, or of everywhere.
pub(super) fn code(owner: &Owner, scope: &MemoryScope, of: CodeOf) -> String {
    let of = match of {
        CodeOf::Shown => "shown",
        CodeOf::Others => "others",
    };
    let place = row::project_of(scope).map_or_else(|| "everywhere".to_owned(), |project| format!("project {project}"));
    blake3::hash(format!("{}\n{place}\n{of}", owner.as_str()).as_bytes()).to_hex()[..CODE_CHARS].to_owned()
}

/// Whether a word can be in the index: the index would take others apart.
pub(super) fn is_word(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|letter| !letter.is_ascii() || letter.is_ascii_alphanumeric())
}

/// Writes the words of a memory, in place of those that it had.
pub(super) fn write(
    transaction: &Transaction<'_>,
    rowid: i64,
    memory: &Memory,
    words: &FieldWords,
) -> Result<(), StoreError> {
    let of = if memory.state == MemoryState::Live { CodeOf::Shown } else { CodeOf::Others };
    let code = code(&memory.origin.owner, &memory.scope, of);
    let field = |words: &str| {
        let words = words.split_whitespace().filter(|word| is_word(word));
        words.map(|word| format!("{code}{}", word.to_ascii_lowercase())).collect::<Vec<_>>().join(" ")
    };
    let [title, lesson, edited, read, commands, git] = words.fields().map(field);
    remove(transaction, rowid)?;
    transaction
        .prepare_cached(
            "INSERT INTO memory_words (rowid, title, lesson, edited, read, commands, git)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )
        .and_then(|mut insert| insert.execute(params![rowid, title, lesson, edited, read, commands, git]))
        .map_err(index_error)?;
    Ok(())
}

/// Reads the words of a memory back, without their codes.
pub(super) fn read(transaction: &Transaction<'_>, rowid: i64) -> Result<FieldWords, StoreError> {
    let found = transaction
        .prepare_cached("SELECT title, lesson, edited, read, commands, git FROM memory_words WHERE rowid = ?1")
        .and_then(|mut select| {
            select
                .query_row([rowid], |row| {
                    let field = |index: usize| -> rusqlite::Result<_> { Ok(uncoded(row.get_ref(index)?.as_str()?)) };
                    Ok(FieldWords {
                        title: field(0)?,
                        lesson: field(1)?,
                        edited: field(2)?,
                        read: field(3)?,
                        commands: field(4)?,
                        git: field(5)?,
                    })
                })
                .optional()
        })
        .map_err(index_error)?;
    found.ok_or(StoreError::NoMemoryIndex { problem: "words of a memory are missing".to_owned() })
}

pub(super) fn remove(transaction: &Transaction<'_>, rowid: i64) -> Result<(), StoreError> {
    transaction
        .prepare_cached("DELETE FROM memory_words WHERE rowid = ?1")
        .and_then(|mut delete| delete.execute([rowid]))
        .map_err(index_error)?;
    Ok(())
}

/// A word of a search that memories under one code have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KnownWord {
    pub word: String,
    /// The word with its code, as it is in the index. It has letters and digits only.
    pub term: String,
    /// In how many memories it occurs.
    pub memories: u64,
}

/// Looks words up under each of the codes. They are asked for together: each question by itself would have SQLite
/// prepare a statement of the index anew.
pub(super) fn known(
    transaction: &Transaction<'_>,
    codes: &[String],
    words: &[String],
) -> Result<Vec<KnownWord>, StoreError> {
    let words = words.iter().filter(|word| is_word(word));
    let coded =
        words.flat_map(|word| codes.iter().map(move |code| (format!("{code}{}", word.to_ascii_lowercase()), word)));
    let words_of: BTreeMap<String, &String> = coded.collect();
    let terms = to_json("words", &words_of.keys().collect::<Vec<_>>())?;
    let found = transaction
        .prepare_cached("SELECT term, doc FROM memory_vocabulary WHERE term IN (SELECT value FROM json_each(?1))")
        .and_then(|mut select| {
            select.query_map([terms], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<Vec<(String, u64)>, _>>()
        })
        .map_err(index_error)?;
    let known = found
        .into_iter()
        .filter_map(|(term, memories)| Some(KnownWord { word: (*words_of.get(&term)?).clone(), term, memories }));
    Ok(known.collect())
}

/// A problem with the index is one of its own: nothing else is damaged, and it can be made anew.
pub(super) fn index_error(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::DiskFull) => error.into(),
        _ => StoreError::NoMemoryIndex { problem: error.to_string() },
    }
}

fn uncoded(field: &str) -> String {
    field.split(' ').filter_map(|word| word.get(CODE_CHARS..)).collect::<Vec<_>>().join(" ")
}

impl Store {
    /// Makes the index anew from the memories. `words` takes a memory apart. Returns how many memories there are.
    pub async fn rebuild_memory_words(
        &self,
        words: impl Fn(&Memory) -> FieldWords + Send + 'static,
    ) -> Result<u64, StoreError> {
        self.inner
            .writer
            .run(move |transaction| {
                drop_index(transaction)?;
                transaction.execute_batch(CREATE)?;
                let sql = format!("SELECT {} FROM memories ORDER BY rowid", row::COLUMNS);
                let mut statement = transaction.prepare(&sql)?;
                let mut rows = statement.query([])?;
                let mut count = 0;
                while let Some(found) = rows.next()? {
                    let found = row::stored(found)?;
                    write(transaction, found.rowid, &found.memory, &words(&found.memory))?;
                    count += 1;
                }
                Ok(count)
            })
            .await
    }

    /// Checks that the index can be read and has as many rows as there are memories.
    pub async fn check_memory_words(&self) -> Result<(), StoreError> {
        self.read(|transaction| {
            let count = |sql: &str| transaction.query_row(sql, [], |row| row.get::<_, u64>(0));
            let memories = count("SELECT count(*) FROM memories")?;
            let indexed = count("SELECT count(*) FROM memory_words").map_err(index_error)?;
            count("SELECT count(*) FROM memory_vocabulary WHERE term = 'x'").map_err(index_error)?;
            if memories == indexed {
                return Ok(());
            }
            Err(StoreError::NoMemoryIndex { problem: format!("it has {indexed} of {memories} memories") })
        })
        .await
    }
}

/// Deletes the index. If SQLite cannot read it even for that, what it lacks is made first.
fn drop_index(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    let delete = "DROP TABLE IF EXISTS memory_words";
    if transaction.execute_batch(delete).is_err() {
        transaction.execute_batch(PATCH)?;
        transaction.execute_batch(delete)?;
    }
    Ok(())
}
