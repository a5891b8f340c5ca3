//! What a request is made of, in bytes of its body.

use infold_core::view::BlockKind;

use super::{Request, head};

/// The sizes of a request's parts, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sections {
    /// Instructions that stand apart from the conversation.
    pub system_bytes: usize,
    /// Descriptions of tools; [`Request::tools`] has them one by one.
    pub tools_bytes: usize,
    /// Instructions among the entries.
    pub instruction_bytes: usize,
    /// Words on the user's side.
    pub user_bytes: usize,
    /// The model's words.
    pub assistant_bytes: usize,
    /// The model's reasoning.
    pub reasoning_bytes: usize,
    /// Calls.
    pub call_bytes: usize,
    /// Results.
    pub result_bytes: usize,
    /// Other blocks.
    pub other_bytes: usize,
    /// Everything else: settings, and what holds the parts together.
    pub rest_bytes: usize,
}

/// The sizes of what `request` is made of.
pub(super) fn sections(request: &Request<'_>) -> Sections {
    let bytes_of = |key: &str| request.field_bytes(key).map_or(0, <[u8]>::len);
    let mut sections = Sections {
        system_bytes: bytes_of("system") + bytes_of("instructions"),
        tools_bytes: bytes_of("tools"),
        ..Sections::default()
    };
    for (index, block) in request.blocks.iter().enumerate() {
        *match &block.kind {
            BlockKind::Instruction if head::lists_tools(request, &request.entries[block.entry]) => {
                &mut sections.tools_bytes
            }
            BlockKind::Instruction => &mut sections.instruction_bytes,
            BlockKind::User { .. } | BlockKind::Attachment => &mut sections.user_bytes,
            BlockKind::Assistant => &mut sections.assistant_bytes,
            BlockKind::Reasoning => &mut sections.reasoning_bytes,
            BlockKind::Call(_) => &mut sections.call_bytes,
            BlockKind::Result(_) => &mut sections.result_bytes,
            BlockKind::Other { .. } => &mut sections.other_bytes,
        } += request.block_bytes(index).len();
    }
    let named = [
        sections.system_bytes,
        sections.tools_bytes,
        sections.instruction_bytes,
        sections.user_bytes,
        sections.assistant_bytes,
        sections.reasoning_bytes,
        sections.call_bytes,
        sections.result_bytes,
        sections.other_bytes,
    ];
    sections.rest_bytes = request.body().len().saturating_sub(named.iter().sum());
    sections
}
