//! Refusals and failures of tool calls, in the shape that the document of the tool's family demands.
//!
//! This is the one place where the engine's errors are turned into the protocol's.

use std::fmt::Write;

use infold_core::{ContextState, Refusal, Status};
use infold_engine::{Error, Failure, Notice, Observed};
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, ErrorData};
use serde_json::{Value, json};

use crate::answer;

/// The error code of a call that is refused because the context is full and its limit is a hard one.
const CONTEXT_LIMIT_EXCEEDED: ErrorCode = ErrorCode(-32001);
/// The error code of a call that the state of the session or branch does not allow.
const INVALID_BRANCH_STATE: ErrorCode = ErrorCode(-32003);

/// Why a call was refused or failed, before it is turned into a result or an error.
#[derive(Debug)]
pub(crate) struct ToolRefused(Box<Details>);

#[derive(Debug)]
struct Details {
    code: &'static str,
    status: u16,
    message: String,
    data: Value,
    rpc: ErrorCode,
    state: Option<ContextState>,
}

impl From<Error> for ToolRefused {
    fn from(error: Error) -> Self {
        Self(Box::new(Details {
            code: error.code(),
            status: error.http_status(),
            message: error.to_string(),
            data: error.data(),
            rpc: rpc_code(&error),
            state: None,
        }))
    }
}

impl From<Refusal> for ToolRefused {
    fn from(refusal: Refusal) -> Self {
        Error::Refused(refusal).into()
    }
}

impl ToolRefused {
    /// The refusal for an answer that does not fit its branch's budget. The branch has folded instead; `notice`
    /// holds what its parent gets.
    pub(crate) fn withheld(notice: &Notice, observed: Observed) -> Self {
        let mut data = answer::notice(notice);
        if !observed.notices.is_empty() {
            data["notices"] = observed.notices.iter().map(answer::notice).collect();
        }
        Self(Box::new(Details {
            code: "branch_folded",
            status: 409,
            message: format!(
                "This answer does not fit what is left of branch {}'s budget, so the branch has folded. \
                 Go on in {} with its result",
                notice.branch_id, notice.parent
            ),
            data,
            rpc: INVALID_BRANCH_STATE,
            state: Some(observed.state),
        }))
    }

    /// The context of the call's session, if it is known.
    pub(crate) fn state(&self) -> Option<&ContextState> {
        self.0.state.as_ref()
    }

    /// Adds the context of the call's session.
    pub(crate) fn in_context(&mut self, state: ContextState) {
        self.0.state = Some(state);
    }

    /// Adds the id of the open branch if the call named a wrong branch or none, so that a model that has lost the id
    /// can go on. Does nothing unless the context was added before.
    pub(crate) fn name_open_branch(&mut self) {
        let details = &mut *self.0;
        let is_about_a_branch = matches!(details.code, "branch_not_found" | "branch_not_active")
            || (details.code == "invalid_input" && details.message.starts_with("branch_id "));
        let Some(state) = details.state.as_ref().filter(|_| is_about_a_branch) else { return };
        match &state.active_branch_id {
            Some(open) => {
                let _ = write!(details.message, ". The open branch is {open}");
                details.data["open_branch_id"] = json!(open);
            }
            None => details.message.push_str(". No branch is open"),
        }
    }

    /// Whether infold failed, in contrast to a refusal that the caller can put right.
    pub(crate) fn is_failure(&self) -> bool {
        self.0.rpc == ErrorCode::INTERNAL_ERROR
    }

    /// The error's code, a word that programs can match on.
    pub(crate) fn code(&self) -> &'static str {
        self.0.code
    }

    /// The same refusal in the words of the `context_*` document, which calls a completed branch folded and names
    /// the session beside the branch.
    pub(crate) fn in_context_words(mut self) -> Self {
        let details = &mut *self.0;
        let Value::Object(data) = &mut details.data else {
            return self;
        };
        if data.get("current_status").and_then(Value::as_str) == Some(Status::Completed.as_str()) {
            data.insert("current_status".to_owned(), json!("folded"));
        }
        if let Some(state) = &details.state
            && !data.contains_key("session_id")
        {
            data.insert("session_id".to_owned(), json!(state.session_id));
        }
        self
    }

    /// The refusal as a tool result, so that the model reads it. It has no structured content, because that would
    /// have to have the form of a success.
    pub(crate) fn into_result(self) -> CallToolResult {
        let Details { code, status, message, data, state, .. } = *self.0;
        let body = json!({ "code": code, "status": status, "message": message, "data": data });
        CallToolResult::error(vec![ContentBlock::text(body.to_string())]).with_meta(state.as_ref().map(answer::meta))
    }

    /// The refusal as a JSON-RPC error, with the codes of the `context_*` document.
    pub(crate) fn into_rpc_error(self) -> ErrorData {
        let Details { code, status, message, mut data, rpc, .. } = *self.0;
        if let Value::Object(data) = &mut data {
            data.insert("code".to_owned(), json!(code));
            data.insert("status".to_owned(), json!(status));
        }
        ErrorData::new(rpc, message, Some(data))
    }
}

fn rpc_code(error: &Error) -> ErrorCode {
    match error {
        Error::Refused(refusal) => refusal_code(refusal),
        Error::Failed(
            Failure::Scrubbing(_)
            | Failure::Store(_)
            | Failure::Contended
            | Failure::Undecided(_)
            | Failure::Planning
            | Failure::Random(_),
        ) => ErrorCode::INTERNAL_ERROR,
    }
}

fn refusal_code(refusal: &Refusal) -> ErrorCode {
    match refusal {
        Refusal::Invalid { .. }
        | Refusal::SessionNotFound { .. }
        | Refusal::SessionAmbiguous { .. }
        | Refusal::BranchNotFound { .. }
        | Refusal::ResultNotFound { .. }
        | Refusal::MemoryNotFound { .. }
        | Refusal::ChangeNotFound { .. }
        | Refusal::ChangeUndone { .. }
        | Refusal::TooManyMemories { .. }
        | Refusal::BriefTooLarge { .. }
        | Refusal::SessionExists { .. }
        | Refusal::SessionBusy { .. }
        | Refusal::NotForked { .. }
        | Refusal::KeyReused => ErrorCode::INVALID_PARAMS,
        Refusal::ContextLimit { .. } => CONTEXT_LIMIT_EXCEEDED,
        Refusal::SessionOver { .. }
        | Refusal::NothingActive { .. }
        | Refusal::NotActive { .. }
        | Refusal::BranchOver { .. }
        | Refusal::ParentNotActive { .. }
        | Refusal::TooDeep { .. }
        | Refusal::TooManyInSession { .. }
        | Refusal::TooManyInInstance { .. }
        | Refusal::TooManyOfPrincipal { .. }
        | Refusal::TooFast { .. }
        | Refusal::BudgetGone
        | Refusal::Cancelled => INVALID_BRANCH_STATE,
    }
}

#[cfg(test)]
mod tests;
