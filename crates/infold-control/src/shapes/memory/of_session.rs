//! JSON of what a session was given of memories, and of what was learnt from it.

use infold_engine::{ListedMemory, WhyShown};
use schemars::JsonSchema;
use serde::Serialize;

/// What a session was given of memories, and what was learnt from it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionMemories {
    /// How many memories its branches were given, counted for each branch.
    given: usize,
    /// The tokens of what they were given, by infold's own count.
    given_tokens: u64,
    /// Its branches that were given some, in the order they were opened.
    given_to: Vec<GivenBranch>,
    /// How many memories were made from it.
    learnt: usize,
    /// How many of those wait for review.
    waiting: usize,
    /// The memories that were made from it, in that order.
    learnt_memories: Vec<LearntMemory>,
}

/// A branch that was given memories.
#[derive(Debug, Serialize, JsonSchema)]
struct GivenBranch {
    /// The branch.
    branch_id: String,
    /// The tokens of what it was given.
    tokens: u64,
    /// What it was given, the first first.
    memories: Vec<GivenMemory>,
}

/// A memory that a branch was given.
#[derive(Debug, Serialize, JsonSchema)]
struct GivenMemory {
    /// Its name.
    memory_id: String,
    /// Its title now; null if it was forgotten since.
    title: Option<String>,
}

/// A memory that was made from a session.
#[derive(Debug, Serialize, JsonSchema)]
struct LearntMemory {
    /// Its name.
    memory_id: String,
    /// The lesson in a line.
    title: String,
    /// What it tells its reader: works, fails, fact or preference.
    kind: &'static str,
    /// What has become of it: live, waiting, replaced or rejected.
    state: &'static str,
    /// The branch that it was learnt in.
    branch_id: Option<String>,
}

impl From<&infold_engine::SessionMemories> for SessionMemories {
    fn from(memories: &infold_engine::SessionMemories) -> Self {
        let title = |now: &ListedMemory| now.row.memory.lesson.title.as_str().to_owned();
        let branch = |why: &WhyShown| GivenBranch {
            branch_id: why.row.branch.to_string(),
            tokens: why.row.tokens,
            memories: (why.row.memories.iter().zip(&why.memories))
                .map(|(given, now)| GivenMemory { memory_id: given.id.to_string(), title: now.as_ref().map(title) })
                .collect(),
        };
        let learnt = |learnt: &ListedMemory| {
            let memory = &learnt.row.memory;
            LearntMemory {
                memory_id: memory.id.to_string(),
                title: title(learnt),
                kind: memory.lesson.kind.as_str(),
                state: memory.state.as_str(),
                branch_id: memory.origin.branch.as_ref().map(|(branch, _)| branch.to_string()),
            }
        };
        Self {
            given: memories.given_count(),
            given_tokens: memories.given_tokens(),
            given_to: memories.given.iter().map(branch).collect(),
            learnt: memories.learnt.len(),
            waiting: memories.waiting_count(),
            learnt_memories: memories.learnt.iter().map(learnt).collect(),
        }
    }
}
