//! The fields of Claude Code's lines that are read; all others are skipped.

use infold_core::record::Usage;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::content::Content;
use crate::loose::{Count, Flag, List, Loose, Maybe, Str};
use crate::reader::KeptEntries;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ClaudeLine<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Str<'a>,
    #[serde(borrow)]
    pub(crate) subtype: Str<'a>,
    #[serde(borrow)]
    pub(crate) uuid: Str<'a>,
    #[serde(borrow)]
    pub(crate) parent_uuid: Str<'a>,
    #[serde(borrow)]
    pub(crate) logical_parent_uuid: Str<'a>,
    #[serde(borrow)]
    pub(crate) session_id: Str<'a>,
    #[serde(borrow)]
    pub(crate) agent_id: Str<'a>,
    pub(crate) is_sidechain: Flag,
    pub(crate) is_meta: Flag,
    pub(crate) is_compact_summary: Flag,
    pub(crate) is_api_error_message: Flag,
    #[serde(borrow)]
    pub(crate) message: Maybe<ClaudeMessage<'a>>,
    #[serde(borrow)]
    pub(crate) tool_use_result: Maybe<ToolUseResult<'a>>,
    #[serde(borrow)]
    pub(crate) data: Maybe<Progress<'a>>,
    #[serde(borrow, rename = "parentToolUseID")]
    pub(crate) parent_tool_use_id: Str<'a>,
    #[serde(borrow)]
    pub(crate) attachment: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) rendered: List<Rendered<'a>>,
    #[serde(borrow)]
    pub(crate) compact_metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) microcompact_metadata: Option<&'a RawValue>,
    pub(crate) content: Loose,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct ClaudeMessage<'a> {
    #[serde(borrow)]
    pub(crate) id: Str<'a>,
    #[serde(borrow)]
    pub(crate) model: Str<'a>,
    #[serde(borrow)]
    pub(crate) content: Content<'a>,
    pub(crate) usage: Maybe<ClaudeTokens>,
}

/// The token counts that the provider reported.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct ClaudeTokens {
    input_tokens: Count,
    cache_creation_input_tokens: Count,
    cache_read_input_tokens: Count,
    output_tokens: Count,
}

impl From<ClaudeTokens> for Usage {
    fn from(tokens: ClaudeTokens) -> Self {
        Self {
            fresh_tokens: tokens.input_tokens.or_zero(),
            cache_read_tokens: tokens.cache_read_input_tokens.or_zero(),
            cache_write_tokens: tokens.cache_creation_input_tokens.or_zero(),
            output_tokens: tokens.output_tokens.or_zero(),
        }
    }
}

/// The client's own copy of a result, which also names the subagent that made it.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ToolUseResult<'a> {
    #[serde(borrow)]
    pub(crate) agent_id: Str<'a>,
}

/// What a line says about work in progress.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Progress<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Str<'a>,
    #[serde(borrow)]
    pub(crate) message: Maybe<ClaudeStep<'a>>,
}

/// A message of a subagent, inside a line about work in progress.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct ClaudeStep<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Str<'a>,
    #[serde(borrow)]
    pub(crate) message: Maybe<ClaudeMessage<'a>>,
}

/// The words that the model saw of an attachment.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Rendered<'a> {
    #[serde(borrow)]
    pub(crate) content: Content<'a>,
}

/// What the boundary line of a compaction says about the entries that it keeps.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Compact<'a> {
    #[serde(borrow)]
    preserved_messages: Maybe<Preserved<'a>>,
    #[serde(borrow)]
    preserved_segment: Maybe<Segment<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Preserved<'a> {
    #[serde(borrow)]
    uuids: List<Str<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Segment<'a> {
    #[serde(borrow)]
    head_uuid: Str<'a>,
}

impl Compact<'_> {
    pub(crate) fn into_kept(self) -> KeptEntries {
        let named = self.preserved_messages.0.map(|kept| kept.uuids.0).unwrap_or_default();
        if !named.is_empty() {
            return KeptEntries::These(named.into_iter().map(|id| id.0.into_owned()).collect());
        }
        let head = self.preserved_segment.0.and_then(|segment| segment.head_uuid.given());
        head.map_or(KeptEntries::Nothing, KeptEntries::From)
    }
}

/// What a boundary line says about results that the client cleared.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Micro<'a> {
    #[serde(borrow)]
    pub(crate) compacted_tool_ids: List<Str<'a>>,
}
