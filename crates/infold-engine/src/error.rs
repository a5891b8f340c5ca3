//! How an operation can go wrong: a refusal is the caller's to put right, a failure is infold's.

use infold_core::{Refusal, ScrubError};
use infold_store::StoreError;

/// Why an operation did not happen.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The caller can put it right, and the message says how.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The caller cannot put it right. Nothing was recorded, unless the failure says that this is unknown.
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// What went wrong on infold's side.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Failure {
    /// Scrubbing could not be completed, so nothing was let through.
    #[error("Scrubbing failed, so nothing was stored or returned: {0}")]
    Scrubbing(#[from] ScrubError),
    /// The store reported an error.
    #[error("The store could not record this: {0}")]
    Store(#[from] StoreError),
    /// Others changed the session each time that this was decided.
    #[error("The session kept changing while this was decided: try again")]
    Contended,
    /// A decision lacks what it was made for. Nothing was recorded.
    #[error("The decision does not hold what was asked for ({0}), so nothing was recorded: please report this")]
    Undecided(&'static str),
    /// Planning a request panicked, or its plan does not hold together.
    #[error("A fault in planning the request: please report this")]
    Planning,
    /// The system gave no random numbers.
    #[error("No random numbers could be had: {0}")]
    Random(String),
}

impl Failure {
    /// A short name that programs can match on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Scrubbing(_) => "scrubbing_failed",
            Self::Store(StoreError::DiskFull) => "disk_full",
            Self::Store(StoreError::Damaged { .. }) => "database_damaged",
            Self::Store(StoreError::Unreachable { .. }) => "cluster_unreachable",
            Self::Store(StoreError::Unknown { .. }) => infold_core::view::OUTCOME_UNKNOWN,
            Self::Store(_) => "store_failed",
            Self::Contended => "contended",
            Self::Undecided(_) => "undecided",
            Self::Planning => "planning_failed",
            Self::Random(_) => "random_failed",
        }
    }

    /// The HTTP status for this failure.
    pub fn http_status(&self) -> u16 {
        match self {
            Self::Store(StoreError::DiskFull) => 507,
            Self::Store(StoreError::Busy | StoreError::Unreachable { .. }) | Self::Contended => 503,
            Self::Store(StoreError::Unknown { .. }) => 504,
            Self::Scrubbing(_) | Self::Store(_) | Self::Undecided(_) | Self::Planning | Self::Random(_) => 500,
        }
    }
}

impl Error {
    /// A short name that programs can match on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::Failed(failure) => failure.code(),
        }
    }

    /// The HTTP status for this error.
    pub fn http_status(&self) -> u16 {
        match self {
            Self::Refused(refusal) => refusal.http_status(),
            Self::Failed(failure) => failure.http_status(),
        }
    }

    /// What a program may need beside the message, as a JSON object.
    pub fn data(&self) -> serde_json::Value {
        use serde_json::json;
        let Self::Refused(refusal) = self else { return json!({}) };
        match refusal {
            Refusal::Invalid { field, .. } => json!({ "field": field }),
            Refusal::SessionNotFound { session } => json!({ "session_id": session }),
            Refusal::SessionAmbiguous { prefix, matches } => json!({ "session_id": prefix, "matches": matches }),
            Refusal::SessionOver { session }
            | Refusal::SessionBusy { session }
            | Refusal::SessionExists { session }
            | Refusal::NotForked { session }
            | Refusal::NothingActive { session } => json!({ "session_id": session }),
            Refusal::BranchNotFound { branch } => json!({ "branch_id": branch }),
            Refusal::NotActive { branch, status, result } => {
                json!({ "branch_id": branch, "current_status": status, "result": result })
            }
            Refusal::BranchOver { branch, parent, status, result } => {
                json!({
                    "branch_id": branch, "parent_branch_id": parent.branch(), "status": status, "result": result,
                })
            }
            Refusal::ParentNotActive { branch, status } => json!({ "branch_id": branch, "current_status": status }),
            Refusal::TooDeep { depth, depth_max } => json!({ "depth": depth, "max_depth": depth_max }),
            Refusal::TooManyInSession { open, open_max } => {
                json!({ "open_branches": open, "max_concurrent_per_session": open_max })
            }
            Refusal::TooManyInInstance { open_max } => json!({ "max_concurrent_per_instance": open_max }),
            Refusal::TooManyOfPrincipal { open } => json!({ "open_branches": open }),
            Refusal::TooFast { per_minute_max, retry_after_ms } => {
                json!({ "max_branches_per_minute": per_minute_max, "retry_after_ms": retry_after_ms })
            }
            Refusal::BriefTooLarge { brief_tokens, budget_tokens } => {
                json!({ "brief_tokens": brief_tokens, "budget": budget_tokens })
            }
            Refusal::ContextLimit { current_tokens, limit_tokens } => json!({
                "current_tokens": current_tokens,
                "context_limit": limit_tokens,
                "suggestion": "Fold current branch before continuing",
            }),
            Refusal::ResultNotFound { ref_id } => json!({ "ref_id": ref_id }),
            Refusal::MemoryNotFound { memory } => json!({ "memory_id": memory }),
            Refusal::TooManyMemories { memories_max } => json!({ "memories_max": memories_max }),
            Refusal::ChangeNotFound { change } => json!({ "change": change }),
            Refusal::ChangeUndone { change } => json!({ "change": change }),
            Refusal::BudgetGone | Refusal::KeyReused | Refusal::Cancelled => json!({}),
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::InstanceFull { open_max } => Refusal::TooManyInInstance { open_max }.into(),
            StoreError::ShareUsed { open } => Refusal::TooManyOfPrincipal { open }.into(),
            StoreError::MemoriesFull { memories_max } => Refusal::TooManyMemories { memories_max }.into(),
            StoreError::UnknownMemory(memory) => Refusal::MemoryNotFound { memory: memory.to_string() }.into(),
            other => Failure::Store(other).into(),
        }
    }
}

impl From<ScrubError> for Error {
    fn from(error: ScrubError) -> Self {
        Failure::Scrubbing(error).into()
    }
}
