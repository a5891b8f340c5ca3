//! What is answered if something cannot be done: the protocol's code, and infold's words with what to do about it.

use agent_client_protocol::v1::schema::StopReason;
use agent_client_protocol::{Error, ErrorCode};
use infold_agent::Stop;

use crate::failure::Refused;

/// The answer to an error. What can be put right says how; a fault is logged as well.
pub fn error_of(error: &anyhow::Error) -> Error {
    let Some(refused) = error.downcast_ref::<Refused>() else {
        tracing::error!("{error:#}");
        return Error::new(ErrorCode::INTERNAL_ERROR, format!("{error:#}"));
    };
    let code = match refused {
        refused if refused.has_code("no_key") => ErrorCode::AUTH_REQUIRED,
        refused if refused.has_code("session_not_found") => ErrorCode::RESOURCE_NOT_FOUND,
        _ => ErrorCode::INVALID_PARAMS,
    };
    let words = match refused.hint_text() {
        "" => refused.message().to_owned(),
        hint => format!("{}: {hint}", refused.message()),
    };
    Error::new(code, words)
}

/// The answer where a parameter does not fit.
pub fn wrong(words: impl Into<String>) -> Error {
    Error::new(ErrorCode::INVALID_PARAMS, words)
}

/// The answer to a prompt while another one is worked on.
pub fn under_way() -> Error {
    let words = "a prompt is under way in this session: wait for its end, or cancel it";
    Error::new(ErrorCode::INVALID_REQUEST, words)
}

/// The answer for a session that is not open.
pub fn not_open(session: &str) -> Error {
    let words = format!("session {session} is not open: session/load or session/resume opens it");
    Error::new(ErrorCode::RESOURCE_NOT_FOUND, words)
}

/// The answer to a login.
pub fn no_login() -> Error {
    wrong("there is no login: the key comes from a variable, such as ANTHROPIC_API_KEY, or from the system's keyring")
}

/// How a turn ended that a person should read something about, or the error that it ended with.
pub fn end_of(stop: &Stop) -> Result<StopReason, Error> {
    match stop {
        Stop::Cancelled => Ok(StopReason::Cancelled),
        Stop::Limit(_) => Ok(StopReason::MaxTurnRequests),
        Stop::Full(_) => Ok(StopReason::MaxTokens),
        Stop::Refused(_) | Stop::ImagesRefused { .. } => Err(wrong(stop.to_string())),
        Stop::Model { .. } | Stop::Fault(_) | Stop::BranchOver(_) => {
            Err(Error::new(ErrorCode::INTERNAL_ERROR, stop.to_string()))
        }
    }
}
