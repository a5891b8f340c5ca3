//! The JSON that the API sends. The types are this crate's own, so that the stored types can change without
//! changing the API. Where a document that the tools follow has a name for a field, the field has that name.
//!
//! Types of what the API receives are in the file of the handler that reads them.

pub(crate) mod archive;
pub(crate) mod branch;
pub(crate) mod context;
pub(crate) mod event;
pub(crate) mod fork;
pub(crate) mod lesson;
pub(crate) mod memory;
pub(crate) mod request;
pub(crate) mod result;
pub(crate) mod server;
pub(crate) mod session;

use infold_core::{BranchId, Thread};

/// The id of a thread's branch; `None` for the main thread.
pub(crate) fn branch_of(thread: &Thread) -> Option<String> {
    thread.branch().map(BranchId::to_string)
}

/// Branch ids as the API writes them.
pub(crate) fn texts(ids: &[BranchId]) -> Vec<String> {
    ids.iter().map(BranchId::to_string).collect()
}
