//! Approvals: a question of the agent's as a request to the editor, and its answer.

use std::path::Path;

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SessionId, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use infold_agent::setup::{ApprovalQuestion, ApprovalReply};

use super::calls::{changed_places, diffs, kind, places};

const ONCE: &str = "once";
const SESSION: &str = "session";
const REFUSED: &str = "refused";

/// What the editor asks the person.
pub fn request(session: SessionId, question: &ApprovalQuestion, folder: &Path) -> RequestPermissionRequest {
    let edited = question.edited.as_slice();
    let mut content = vec![question.why.as_str().into()];
    content.extend(diffs(edited, folder));
    let places = match edited {
        [] => places(&question.tool, &question.arguments, folder),
        edited => changed_places(edited, folder),
    };
    let fields = ToolCallUpdateFields::new()
        .title(question.what.clone())
        .name(question.tool.clone())
        .kind(kind(&question.tool))
        .status(ToolCallStatus::Pending)
        .content(content)
        .locations(places)
        .raw_input(question.arguments.clone());
    let call = ToolCallUpdate::new(question.call_id.clone(), fields);
    RequestPermissionRequest::new(session, call, options(question))
}

/// The options. The one that reaches further says how far, and is not there if it cannot be had.
fn options(question: &ApprovalQuestion) -> Vec<PermissionOption> {
    let mut options = vec![PermissionOption::new(ONCE, "Allow once", PermissionOptionKind::AllowOnce)];
    if !question.lasting.is_empty() {
        let grants = question.lasting.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let name = format!("Allow until the session is closed: {grants}");
        options.push(PermissionOption::new(SESSION, name, PermissionOptionKind::AllowAlways));
    }
    options.push(PermissionOption::new(REFUSED, "Reject", PermissionOptionKind::RejectOnce));
    options
}

/// What the person answered; `None` if the turn was cancelled instead. What is not understood allows nothing.
pub fn reply(response: &RequestPermissionResponse) -> Option<ApprovalReply> {
    let RequestPermissionOutcome::Selected(selected) = &response.outcome else { return None };
    Some(match &*selected.option_id.0 {
        ONCE => ApprovalReply::Once,
        SESSION => ApprovalReply::Session,
        _ => ApprovalReply::Refused { words: None },
    })
}
