//! JSON of ended branches, at a glance and with everything that happened in them.

use schemars::JsonSchema;
use serde::Serialize;

use super::branch::{BranchDetail, BranchSummary};
use super::event::EventBody;
use crate::moment::Moment;

/// Some of the caller's ended branches, newest first. A branch that was opened again by a rollback is
/// there once for each time it ended.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ArchiveList {
    /// The branches, as each was when it ended.
    pub(crate) branches: Vec<BranchSummary>,
    /// How many branches were passed over.
    pub(crate) offset: usize,
    /// Most branches in this answer.
    pub(crate) limit: usize,
    /// Where to go on; null if there are no more.
    pub(crate) next_offset: Option<usize>,
}

/// One thing that happened in a branch.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Step")]
pub(crate) struct TrajectoryStep {
    /// When it was recorded.
    pub(crate) at: Moment,
    /// The event, with the fields of its type.
    pub(crate) event: EventBody,
}

/// An ended branch with everything that happened in it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Trajectory {
    /// The branch as it was when it ended.
    pub(crate) branch: BranchDetail,
    /// What happened in it, in order.
    pub(crate) steps: Vec<TrajectoryStep>,
}
