//! What a thread learns of its branches that were cut short.

use infold_core::{BranchId, Session, Thread};

use crate::Notice;

/// Notices of branches that were cut short and not yet reported to a thread.
pub(crate) fn notices(session: &Session, to: &Thread) -> Vec<Notice> {
    session.unreported_to(to).iter().filter_map(|id| notice(session, id)).collect()
}

pub(crate) fn notice(session: &Session, id: &BranchId) -> Option<Notice> {
    let branch = session.branches.get(id)?;
    let end = branch.end.as_ref()?;
    Some(Notice {
        branch_id: id.clone(),
        parent: branch.parent.clone(),
        status: branch.status,
        reason: end.reason,
        result: end.result.as_str().to_owned(),
    })
}
