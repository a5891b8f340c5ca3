//! Counting what a tool that only reads is about to answer: reading, too, fills a branch.

use infold_core::SessionId;
use infold_engine::{CallKind, Notice, Observed, SessionRef, Verdict};
use rmcp::model::JsonObject;
use serde_json::Value;

use crate::answer::ToolAnswer;
use crate::call::ToolCall;
use crate::refused::ToolRefused;

/// What became of an answer when it was counted.
pub(super) enum Counted {
    /// It is to be shown.
    Shown(ToolAnswer),
    /// It did not fit: the branch has folded, and everything looks different now.
    Folded {
        /// The branch, for its parent.
        notice: Notice,
        /// The rest of what counting it led to.
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

/// The answer to a question about the session itself whose first answer made a branch fold: `body` is
/// how things stand since. It is not counted again; it goes to the parent together with the result,
/// which is.
pub(super) fn after_fold(body: JsonObject, notice: Notice, observed: Observed) -> ToolAnswer {
    let mut notices = observed.notices;
    notices.push(notice);
    ToolAnswer::new(body, observed.state).with_notices(&notices)
}
