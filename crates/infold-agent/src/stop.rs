//! Why a run ends before its main thread rests. The session is whole in every case, and can be gone on with.

use infold_engine::{EndedBranch, Error};

/// Why a run ends early.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// A bound of the run was reached.
    #[error("{0}")]
    Limit(String),
    /// Somebody ended it.
    #[error("the run was ended")]
    Cancelled,
    /// The model could not be asked, or gave no answer.
    #[error("{why}: {advice}")]
    Model {
        /// What went wrong.
        why: String,
        /// What a person can do about it.
        advice: String,
    },
    /// The provider refused the images in what a person said: the words are the person's again.
    #[error("{why}: your words are not part of the session; say them without the image, or choose another model")]
    ImagesRefused {
        /// What the provider says.
        why: String,
        /// The words.
        words: String,
    },
    /// The model's window is full, and nothing could be taken out.
    #[error("{0}")]
    Full(String),
    /// Something was refused that a person can put right.
    #[error("{0}")]
    Refused(String),
    /// A fault of infold's, or of the machine.
    #[error("{0}")]
    Fault(String),
    /// The branch whose thread it was has ended. It does not leave its thread.
    #[error("the branch is over")]
    BranchOver(Box<OverBranch>),
}

/// A branch that ended while it was worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverBranch {
    /// How, in a word.
    pub how: String,
    /// What its parent gets.
    pub result: String,
}

impl Stop {
    /// The word for it in logs and JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Limit(_) => "limit",
            Self::Model { .. } | Self::ImagesRefused { .. } => "no_answer",
            Self::Full(_) => "context_full",
            Self::Cancelled => "interrupted",
            Self::Refused(_) => "refused",
            Self::Fault(_) | Self::BranchOver(_) => "failed",
        }
    }

    pub(crate) fn of_engine(error: Error) -> Self {
        match error {
            Error::Refused(refusal) => Self::Refused(refusal.to_string()),
            Error::Failed(failure) => Self::Fault(failure.to_string()),
        }
    }

    pub(crate) fn of_ended(ended: EndedBranch) -> Self {
        Self::BranchOver(Box::new(OverBranch { how: ended.reason.as_str().to_owned(), result: ended.result }))
    }
}
