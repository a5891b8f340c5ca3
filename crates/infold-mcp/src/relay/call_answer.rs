//! What a call is answered with. A server's result says in `_meta` where it was counted; most of them are written as they
//! are, without making the protocol library's maps of that first.
//!
//! Must hold: it is written as the library writes it, whichever way the call came.

#[cfg(test)]
mod tests;
mod text;

use infold_core::{BranchId, ContextState, SessionId};
use infold_engine::{Metered, Notice};
use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, InputRequiredResult, MetaObject, RequestId, TextContent,
};
use serde_json::{Value, json};

use crate::answer::{self, ContextFigures};
use text::write_text;

/// Room for an answer at first, so that a usual one is not moved while it is written.
const ANSWER_BYTES_USUAL: usize = 2 << 10;

/// What a call is answered with.
#[derive(Debug)]
pub(crate) enum CallAnswer {
    /// A server's result.
    Relayed(RelayedAnswer),
    /// Anything else.
    Other(CallToolResponse),
}

/// A server's result, and what is said beside it.
#[derive(Debug)]
pub(crate) struct RelayedAnswer {
    pub(super) result: CallToolResult,
    /// The tokens and branches of the session that it was counted in, if the gateway has counted it.
    pub(super) state: Option<ContextState>,
    pub(super) metered: Metered,
    /// The folds that were forced since the last answer.
    pub(super) notices: Vec<Notice>,
}

/// The message with a server's result.
pub(crate) struct RelayedMessage {
    id: RequestId,
    result: RelayedAnswer,
}

/// The `_meta` of a server's result.
#[derive(serde::Serialize)]
struct RelayedMeta<'a> {
    #[serde(rename = "infold/contextState", skip_serializing_if = "Option::is_none")]
    state: Option<ContextFigures<'a>>,
    #[serde(rename = "infold/metered")]
    metered: MeteredAt<'a>,
    #[serde(rename = "infold/notices", skip_serializing_if = "Vec::is_empty")]
    notices: Vec<Value>,
}

/// Where a call was counted.
#[derive(serde::Serialize)]
#[serde(untagged)]
enum MeteredAt<'a> {
    Thread { session_id: &'a SessionId, branch_id: Option<&'a BranchId>, tokens: u64, by: &'static str },
    Nowhere { session_id: Option<&'a SessionId>, reason: &'static str },
}

impl CallAnswer {
    /// Whether the tool, or its server, has failed.
    pub(crate) fn is_error(&self) -> bool {
        match self {
            Self::Relayed(RelayedAnswer { result, .. }) | Self::Other(CallToolResponse::Complete(result)) => {
                result.is_error == Some(true)
            }
            Self::Other(_) => false,
        }
    }
}

impl From<CallToolResult> for CallAnswer {
    fn from(result: CallToolResult) -> Self {
        Self::Other(result.into())
    }
}

impl From<InputRequiredResult> for CallAnswer {
    fn from(question: InputRequiredResult) -> Self {
        Self::Other(question.into())
    }
}

impl From<CallAnswer> for CallToolResponse {
    fn from(answer: CallAnswer) -> Self {
        match answer {
            CallAnswer::Relayed(answer) => {
                let meta = MetaObject(answer::object(json!(answer.meta())));
                answer.result.with_meta(Some(meta)).into()
            }
            CallAnswer::Other(response) => response,
        }
    }
}

impl RelayedMessage {
    /// The answer to the call with this id.
    pub(crate) fn new(id: RequestId, result: RelayedAnswer) -> Self {
        Self { id, result }
    }

    /// The message as it is sent.
    pub(crate) fn written(&self) -> serde_json::Result<Vec<u8>> {
        let CallToolResult { result_type, content, structured_content, is_error, .. } = &self.result.result;
        let mut written = Vec::with_capacity(ANSWER_BYTES_USUAL);
        add(br#"{"jsonrpc":"2.0","id":"#, &self.id, &mut written)?;
        written.extend_from_slice(br#","result":{"#);
        if let Some(result_type) = result_type {
            add(br#""resultType":"#, result_type, &mut written)?;
            written.push(b',');
        }
        written.extend_from_slice(br#""content":["#);
        for (number, block) in content.iter().enumerate() {
            if number > 0 {
                written.push(b',');
            }
            write_block(block, &mut written)?;
        }
        written.push(b']');
        if let Some(structured) = structured_content {
            add(br#","structuredContent":"#, structured, &mut written)?;
        }
        if let Some(is_error) = is_error {
            add(br#","isError":"#, is_error, &mut written)?;
        }
        add(br#","_meta":"#, &self.result.meta(), &mut written)?;
        written.extend_from_slice(b"}}");
        Ok(written)
    }
}

fn write_block(block: &ContentBlock, written: &mut Vec<u8>) -> serde_json::Result<()> {
    match block {
        ContentBlock::Text(TextContent { text, meta: None, annotations: None, .. }) => {
            written.extend_from_slice(br#"{"type":"text","text":"#);
            write_text(text, written);
            written.push(b'}');
            Ok(())
        }
        other => add(b"", other, written),
    }
}

/// Writes a value, and something before it.
fn add(before: &[u8], value: &impl serde::Serialize, written: &mut Vec<u8>) -> serde_json::Result<()> {
    written.extend_from_slice(before);
    serde_json::to_writer(written, value)
}

impl RelayedAnswer {
    fn meta(&self) -> RelayedMeta<'_> {
        let metered = match &self.metered {
            Metered::In { session, thread, tokens, by } => {
                MeteredAt::Thread { session_id: session, branch_id: thread.branch(), tokens: *tokens, by }
            }
            Metered::Nowhere { reason } => MeteredAt::Nowhere { session_id: None, reason },
        };
        let state = self.state.as_ref().map(ContextFigures::of);
        RelayedMeta { state, metered, notices: self.notices.iter().map(answer::notice).collect() }
    }
}
