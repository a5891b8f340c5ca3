//! What the texts of memories mean, by a model: one vector of each of at most two models, the built-in one and the user's.

use infold_core::Scrubbed;
use infold_core::memory::{Lesson, MemoryId};
use rusqlite::{OptionalExtension, Transaction, params};

use super::row;
use crate::codec::{Payload, from_json};
use crate::{Store, StoreError};

/// What a memory's text means, by a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryVector {
    /// The model: vectors of different models are not compared.
    pub model: String,
    /// Its vector, as the model's reader knows it; empty if the text means nothing to the model.
    pub bytes: Vec<u8>,
}

/// A memory whose vector was made.
#[derive(Debug, Clone)]
pub struct EmbeddedMemory {
    /// The memory.
    pub id: MemoryId,
    /// The text that the vector is of.
    pub text: Scrubbed,
    /// The vector; empty if the text means nothing to the model.
    pub bytes: Vec<u8>,
}

impl Store {
    /// Lists memories that have no vector of a model, with their texts.
    pub async fn unembedded_memories(
        &self,
        model: String,
        limit: usize,
    ) -> Result<Vec<(MemoryId, Scrubbed)>, StoreError> {
        self.read(move |transaction| unembedded(transaction, &model, limit)).await
    }

    /// Writes vectors of a model. Those of models other than this and `beside` go; a memory that has another text by now is
    /// left out.
    pub async fn embed_memories(
        &self,
        model: String,
        beside: String,
        embedded: Vec<EmbeddedMemory>,
    ) -> Result<(), StoreError> {
        self.inner.writer.run(move |transaction| embed(transaction, &model, &beside, &embedded)).await
    }
}

fn unembedded(
    transaction: &Transaction<'_>,
    model: &str,
    limit: usize,
) -> Result<Vec<(MemoryId, Scrubbed)>, StoreError> {
    // Most of the time all have one, and counting them is quicker than looking at each.
    let sql = "SELECT (SELECT count(*) FROM memories) = (SELECT count(*) FROM memory_vectors WHERE model = ?1)";
    if transaction.prepare_cached(sql)?.query_row([model], |row| row.get(0))? {
        return Ok(Vec::new());
    }
    let mut statement = transaction.prepare_cached(
        "SELECT id, content FROM memories WHERE NOT EXISTS
             (SELECT 1 FROM memory_vectors WHERE memory = memories.id AND model = ?1) ORDER BY rowid DESC LIMIT ?2",
    )?;
    let mut rows = statement.query(params![model, limit])?;
    let mut found = Vec::new();
    while let Some(memory) = rows.next()? {
        let content: Payload = memory.get(1)?;
        let lesson: Lesson = from_json("lesson", &content.0)?;
        found.push((row::id_of(memory.get(0)?)?, lesson.text()));
    }
    Ok(found)
}

fn embed(
    transaction: &Transaction<'_>,
    model: &str,
    beside: &str,
    embedded: &[EmbeddedMemory],
) -> Result<(), StoreError> {
    for EmbeddedMemory { id, text, bytes } in embedded {
        let content: Option<Payload> = transaction
            .prepare_cached("SELECT content FROM memories WHERE id = ?1")?
            .query_row([id.as_str()], |row| row.get(0))
            .optional()?;
        let Some(content) = content else { continue };
        if from_json::<Lesson>("lesson", &content.0)?.text() != *text {
            continue;
        }
        transaction
            .prepare_cached("DELETE FROM memory_vectors WHERE memory = ?1 AND model NOT IN (?2, ?3)")?
            .execute([id.as_str(), model, beside])?;
        insert(transaction, id, model, bytes)?;
    }
    Ok(())
}

/// Takes away all vectors of a memory, because its text is another one, and writes the one that is known.
pub(super) fn replace(
    transaction: &Transaction<'_>,
    id: &MemoryId,
    vector: Option<&MemoryVector>,
) -> Result<(), StoreError> {
    transaction.prepare_cached("DELETE FROM memory_vectors WHERE memory = ?1")?.execute([id.as_str()])?;
    match vector {
        Some(vector) => insert(transaction, id, &vector.model, &vector.bytes),
        None => Ok(()),
    }
}

pub(super) fn read(
    transaction: &Transaction<'_>,
    id: &MemoryId,
    model: &str,
) -> Result<Option<MemoryVector>, StoreError> {
    Ok(transaction
        .prepare_cached("SELECT model, vector FROM memory_vectors WHERE memory = ?1 AND model = ?2")?
        .query_row([id.as_str(), model], |row| Ok(MemoryVector { model: row.get(0)?, bytes: row.get(1)? }))
        .optional()?)
}

fn insert(transaction: &Transaction<'_>, id: &MemoryId, model: &str, bytes: &[u8]) -> Result<(), StoreError> {
    transaction
        .prepare_cached("INSERT OR REPLACE INTO memory_vectors (memory, model, vector) VALUES (?1, ?2, ?3)")?
        .execute(params![id.as_str(), model, bytes])?;
    Ok(())
}
