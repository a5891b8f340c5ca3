//! Counts the answers of tools that only read, because reading fills a branch's budget too. An answer that does
//! not fit is not shown.

use infold_core::SessionId;
use infold_engine::{CallKind, Notice, Observed, SessionRef, Verdict};
use rmcp::model::JsonObject;
use serde_json::Value;

use crate::answer::ToolAnswer;
use crate::call::ToolCall;
use crate::refused::ToolRefused;

/// What became of an answer when it was counted.
pub(super) enum Counted {
    /// The answer fits and is shown.
    Shown(ToolAnswer),
    /// The answer did not fit, so the branch has folded, and the answer is out of date.
    Folded {
        /// What the branch's parent gets.
        notice: Notice,
        /// The session's context after the fold, and other notices.
        observed: Observed,
    },
}

/// Counts `body` as the answer to `call` in the session `id`.
pub(super) async fn count(
    call: &ToolCall,
    id: &SessionId,
    kind: CallKind,
    body: JsonObject,
) -> Result<Counted, ToolRefused> {
    let text = Value::Object(body.clone()).to_string();
    let observed = call.observe(SessionRef::Id(id.clone()), kind, text).await?;
    match observed.verdict.clone() {
        Verdict::Show => Ok(Counted::Shown(ToolAnswer::new(body, observed.state).with_notices(&observed.notices))),
        Verdict::Withheld(notice) => Ok(Counted::Folded { notice, observed }),
    }
}

/// The answer to a question about the session itself, if counting its first answer made a branch fold. `body` is
/// the answer after the fold. It is not counted again: it goes to the parent together with the branch's result,
/// which is counted.
pub(super) fn after_fold(body: JsonObject, notice: Notice, observed: Observed) -> ToolAnswer {
    let mut notices = observed.notices;
    notices.push(notice);
    ToolAnswer::new(body, observed.state).with_notices(&notices)
}
