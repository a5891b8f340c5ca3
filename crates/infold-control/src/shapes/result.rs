//! JSON of recorded results, of parts of offloaded ones, and of scrubbed text.

use infold_engine::ResultPart;
use schemars::JsonSchema;
use serde::Serialize;

use super::context::{ContextState, Notice};

/// What became of a recorded result.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ResultRecorded {
    /// What to show in its place: the scrubbed result, or a reference to it. Null if its branch has
    /// folded instead.
    shown: Option<String>,
    /// The handle under which the whole result can be read; null if it was not offloaded.
    ref_id: Option<String>,
    /// Tokens that were counted in the result's thread.
    tokens: u64,
    /// How many secrets were removed from it.
    secrets_scrubbed: u32,
    /// The branch that folded because of it, and what its parent gets; null if none did.
    folded: Option<Notice>,
    /// The session's context after this request.
    context_state: ContextState,
}

impl From<infold_engine::ResultRecorded> for ResultRecorded {
    fn from(recorded: infold_engine::ResultRecorded) -> Self {
        Self {
            shown: recorded.shown,
            ref_id: recorded.ref_id.map(|id| id.to_string()),
            tokens: recorded.tokens,
            secrets_scrubbed: recorded.secrets_scrubbed,
            folded: recorded.folded.as_ref().map(Notice::from),
            context_state: (&recorded.state).into(),
        }
    }
}

/// Part of an offloaded result.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ResultRead {
    /// The session it belongs to.
    session_id: String,
    /// The result's handle: `res_` and a uuid.
    ref_id: String,
    /// The tool that gave it.
    tool_name: String,
    /// How many bytes the whole result has.
    total_bytes: usize,
    /// How many lines the whole result has.
    total_lines: usize,
    /// The text of the part. Lines carry their numbers if lines or a pattern were asked for.
    content: String,
    /// Where it begins: a byte, or a line if lines or a pattern were asked for.
    offset: usize,
    /// Where to go on; null if there is no more.
    next_offset: Option<usize>,
    /// If a pattern matches no line: that in words, and what to try; else null.
    no_match: Option<String>,
}

impl From<ResultPart> for ResultRead {
    fn from(part: ResultPart) -> Self {
        Self {
            session_id: part.session_id.to_string(),
            ref_id: part.ref_id.to_string(),
            tool_name: part.tool_name,
            total_bytes: part.total_bytes,
            total_lines: part.total_lines,
            content: part.content,
            offset: part.offset,
            next_offset: part.next_offset,
            no_match: part.no_match,
        }
    }
}

/// A text without its secrets.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ScrubbedText {
    /// The text, with a placeholder for each secret.
    pub(crate) text: String,
    /// How many secrets were removed.
    pub(crate) secrets_scrubbed: u32,
}
