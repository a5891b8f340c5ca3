//! Candidates for a search: the memories that have its rarest words. Their order is only good enough to choose them; the
//! core ranks.

use std::collections::BTreeMap;

use infold_core::Owner;
use infold_core::memory::{Memory, MemoryScope, ProjectKey};
use rusqlite::{Transaction, params};

use super::row::{self, StoredMemory, stored};
use super::vectors::{self, MemoryVector};
use super::words::{self, CodeOf, FieldWords, KnownWord};
use super::{marks, places};
use crate::{Store, StoreError};

/// Which memories a search looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchReach {
    /// Those that may be shown to a branch.
    Shown,
    /// Also those that wait, were replaced or were rejected.
    All,
}

/// What to look for.
#[derive(Debug, Clone)]
pub struct MemorySearch {
    /// Whose memories.
    pub owner: Owner,
    /// Names of the project that is worked in. Memories that count everywhere are always looked at.
    pub projects: Vec<ProjectKey>,
    /// Stems, the most telling first.
    pub words: Vec<String>,
    /// How many of them are searched for: those that the fewest memories have.
    pub words_max: usize,
    /// How many memories to return at most.
    pub limit: usize,
    /// Which memories to look at.
    pub reach: SearchReach,
    /// The model whose vectors are wanted.
    pub model: String,
}

/// A memory that has words of the search.
#[derive(Debug, Clone)]
pub struct MemoryCandidate {
    /// The memory.
    pub memory: Memory,
    /// Its stems.
    pub words: FieldWords,
    /// How many openings it was given to.
    pub shown: u64,
    /// How many branches relied on it.
    pub used: u64,
    /// Whether lines that it is about were seen to be other ones.
    pub is_changed: bool,
    /// Whether the work on its git branch was seen to be in the trunk.
    pub is_merged: bool,
    /// What its text means, if the model has said so.
    pub vector: Option<MemoryVector>,
}

/// What a search found.
#[derive(Debug, Clone, Default)]
pub struct FoundMemories {
    /// The candidates, those first that the index likes best.
    pub candidates: Vec<MemoryCandidate>,
    /// In how many memories each of the search's words occurs. Words of no memory are not in it.
    pub frequencies: BTreeMap<String, u64>,
    /// How many memories were looked at.
    pub memories: u64,
}

impl Store {
    /// Finds candidates for a search. A missing or damaged index is [`StoreError::NoMemoryIndex`].
    pub async fn find_memories(&self, search: MemorySearch) -> Result<FoundMemories, StoreError> {
        self.read(move |transaction| find(transaction, &search)).await
    }
}

fn find(transaction: &Transaction<'_>, search: &MemorySearch) -> Result<FoundMemories, StoreError> {
    let scopes = scopes(transaction, search)?;
    let of: &[CodeOf] = match search.reach {
        SearchReach::Shown => &[CodeOf::Shown],
        SearchReach::All => &[CodeOf::Shown, CodeOf::Others],
    };
    let codes: Vec<String> =
        scopes.iter().flat_map(|scope| of.iter().map(|of| words::code(&search.owner, scope, *of))).collect();
    let known = words::known(transaction, &codes, &search.words)?;
    let mut frequencies = BTreeMap::new();
    for KnownWord { word, memories, .. } in &known {
        *frequencies.entry(word.clone()).or_insert(0) += memories;
    }
    let memories = scopes.iter().map(|scope| count(transaction, search, scope)).sum::<Result<u64, StoreError>>()?;
    let rarest = rarest(&search.words, &frequencies, search.words_max);
    let terms = known.iter().filter(|known| rarest.contains(&known.word.as_str())).map(|known| known.term.as_str());
    let rowids = matches(transaction, terms, search.limit)?;
    // The codes keep owners apart already. A fault there must not show anybody's memories to another.
    let sql = format!("SELECT {} FROM memories WHERE rowid = ?1 AND owner = ?2", row::COLUMNS);
    let mut statement = transaction.prepare_cached(&sql)?;
    let mut candidates = Vec::with_capacity(rowids.len());
    for rowid in rowids {
        let mut rows = statement.query(params![rowid, search.owner.as_str()])?;
        if let Some(row) = rows.next()? {
            candidates.push(candidate(transaction, search, stored(row)?)?);
        }
    }
    Ok(FoundMemories { candidates, frequencies, memories })
}

/// Where the search looks: in the project under its own key, and everywhere.
fn scopes(transaction: &Transaction<'_>, search: &MemorySearch) -> Result<Vec<MemoryScope>, StoreError> {
    let mut scopes = vec![MemoryScope::Everywhere];
    for project in &search.projects {
        let scope = MemoryScope::Project(places::project_named(transaction, &search.owner, project)?);
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    Ok(scopes)
}

fn count(transaction: &Transaction<'_>, search: &MemorySearch, scope: &MemoryScope) -> Result<u64, StoreError> {
    let state = match search.reach {
        SearchReach::Shown => "live",
        SearchReach::All => "",
    };
    Ok(transaction
        .prepare_cached("SELECT count(*) FROM memories WHERE owner = ?1 AND project IS ?2 AND (?3 = '' OR state = ?3)")?
        .query_row(params![search.owner.as_str(), row::project_of(scope), state], |row| row.get(0))?)
}

/// The words that the fewest memories have, but at least one. Of equally rare ones, those that come first.
fn rarest<'a>(words: &'a [String], frequencies: &BTreeMap<String, u64>, words_max: usize) -> Vec<&'a str> {
    let mut known: Vec<(u64, usize)> = words
        .iter()
        .enumerate()
        .filter(|(place, word)| !words[..*place].contains(*word))
        .filter_map(|(place, word)| frequencies.get(word).map(|count| (*count, place)))
        .collect();
    known.sort_unstable();
    known.into_iter().take(words_max).map(|(_, place)| words[place].as_str()).collect()
}

fn matches<'a>(
    transaction: &Transaction<'_>,
    terms: impl Iterator<Item = &'a str>,
    limit: usize,
) -> Result<Vec<i64>, StoreError> {
    let terms: Vec<String> = terms.map(|term| format!("\"{term}\"")).collect();
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    transaction
        .prepare_cached("SELECT rowid FROM memory_words WHERE memory_words MATCH ?1 ORDER BY rank, rowid LIMIT ?2")
        .and_then(|mut statement| {
            statement.query_map(params![terms.join(" OR "), limit], |row| row.get(0))?.collect::<Result<Vec<i64>, _>>()
        })
        .map_err(words::index_error)
}

fn candidate(
    transaction: &Transaction<'_>,
    search: &MemorySearch,
    found: StoredMemory,
) -> Result<MemoryCandidate, StoreError> {
    let id = &found.memory.id;
    Ok(MemoryCandidate {
        words: words::read(transaction, found.rowid)?,
        shown: found.shown,
        used: found.used,
        is_changed: marks::is_changed(transaction, id)?,
        is_merged: found.merged_at_ms.is_some(),
        vector: vectors::read(transaction, id, &search.model)?,
        memory: found.memory,
    })
}
