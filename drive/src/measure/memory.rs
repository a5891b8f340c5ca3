//! How well memories are found and what is learnt without a model, on recorded sessions of real projects.
//!
//! The core's own functions do the work (`MemoryQuery`, `rank`, `Relevance`, `distil`, `place`); only the store is replaced,
//! by plain BM25 over the words that it would search.

mod claims;
mod later;
mod lessons;
mod plain;
mod recorded;
mod retrieval;
mod search;
mod tables;

use std::path::Path;

use anyhow::Result;

use super::ClaimedTables;
use claims::{HIT, NDCG};
use lessons::Learnt;
use recorded::RecordedWork;

/// Measures memories; `None` where there are no recordings for it.
pub(super) fn run(data: &Path) -> Result<Option<ClaimedTables>> {
    let Some(recorded) = RecordedWork::read(&data.join("memory"))? else { return Ok(None) };
    let (mut text, mut missed) = (String::new(), Vec::new());
    let sets = [
        ("sessions", &recorded.of_sessions, [NDCG].as_slice()),
        ("sub-tasks", &recorded.of_subtasks, [NDCG, HIT].as_slice()),
    ];
    for (name, queries, figures) in sets {
        let found = retrieval::run(&recorded, queries);
        let (whole, repos) = tables::parts(name, &found);
        text.push_str(&tables::retrieval(whole.iter().chain(&repos)));
        missed.extend(claims::of_retrieval(&whole[0], &repos, figures));
    }

    let learnt = Learnt::of(&recorded.subtasks);
    let tasks = later::run(&recorded, &learnt.kept);
    let parts = tables::later_parts(&tasks);
    text.push_str(&tables::learnt(&learnt));
    text.push_str(&tables::later(&parts));
    text.push_str(&tables::shown(&parts));
    missed.extend(claims::of_lessons(&learnt.succeeded, &parts[0]));
    Ok(Some(ClaimedTables { mark: "memory", tables: text, missed }))
}
