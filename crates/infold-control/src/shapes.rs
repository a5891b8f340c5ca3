//! What goes out, as JSON: shapes of this crate's own, so that what is stored can change without the
//! API changing. Fields have the names of the documents that the tools follow, where those have one.
//!
//! What comes in stands beside the handler that reads it.

pub(crate) mod archive;
pub(crate) mod branch;
pub(crate) mod context;
pub(crate) mod event;
pub(crate) mod fork;
pub(crate) mod request;
pub(crate) mod result;
pub(crate) mod session;

use infold_core::{BranchId, Thread};

/// A thread by the branch it belongs to; the main thread has none.
pub(crate) fn branch_of(thread: &Thread) -> Option<String> {
    thread.branch().map(BranchId::to_string)
}

/// Ids as text.
pub(crate) fn texts(ids: &[BranchId]) -> Vec<String> {
    ids.iter().map(BranchId::to_string).collect()
}
