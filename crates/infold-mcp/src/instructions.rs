//! The server's instructions, which clients show their model.
//!
//! Every request of every session pays for them, so they stay under 300 tokens, which a test checks.

use crate::settings::SessionFrom;

/// The instructions must have fewer tokens than this, counted as o200k.
#[cfg(test)]
const TOKENS_MAX: usize = 300;

/// The instructions, which depend on whether the caller or the proxy knows the session.
pub(crate) fn text(session_from: SessionFrom) -> &'static str {
    match session_from {
        SessionFrom::Caller => TEXT,
        SessionFrom::Proxy => TEXT_BEHIND_THE_PROXY,
    }
}

/// The instructions for a model behind the proxy, which need not name its session.
const TEXT_BEHIND_THE_PROXY: &str = "\
infold keeps your context small: do noisy sub-tasks in a branch and bring back only what they found.

When to branch: searching or reading several files, logs or web pages; running builds and tests; \
trying out fixes. Not for one short call, and not for work whose every detail you need later.

How: branch_create {description, prompt}. The branch sees only these, so put paths, names and the question \
in them. Work on that sub-task alone, then branch_return {message}: only message stays. Without branch_return \
the branch is cut short, and only a part of its last words stays.

A good message answers the question first, then gives the evidence: paths with line numbers, exact names, \
values, commands and error texts; what was changed; what was ruled out; what is still open. No narration, no \
file dumps, no secrets. If the sub-task failed, pass failed: true and say why.

A stored long result is read in parts with read_result.";

/// The instructions for a model that names its session in every call.
const TEXT: &str = "\
infold keeps your context small: do noisy sub-tasks in a branch and bring back only what they found.

When to branch: searching or reading several files, logs or web pages; running builds and tests; \
trying out fixes. Not for one short call, and not for work whose every detail you need later.

How:
1. branch_create {session_id, description, prompt}. Use one session_id for the whole conversation. \
The branch sees only its description and prompt, so put paths, names and the question in them.
2. Work on that sub-task alone. Branches nest; parent_branch_id \"main\" opens a sibling.
3. branch_return {branch_id, message}. Only message reaches the parent; the rest is folded away. A branch out of \
budget or time is cut short instead, with a part of its last words.

A good message answers the question first, then gives the evidence: paths with line numbers, exact \
names, values, commands and error texts; what was changed; what was ruled out; what is still open. \
No narration, no file dumps, no secrets. If the sub-task failed, pass failed: true and say why.

branch_status shows usage. context_* are the same operations by project_path; context_rollback reopens a branch; context_fork starts a new session from this one. A stored long \
result is read in parts with read_result.";

#[cfg(test)]
mod tests;
