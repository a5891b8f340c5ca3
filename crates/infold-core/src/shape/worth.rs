//! What a reference may cost: a small part of the result that it replaces, in bytes and in tokens. If it would cost
//! more, the result is shown instead.

use super::ToolResult;
use crate::Counter;
use crate::offload::reference_text;

/// A handle as long as a real one, to measure references before the real handle is made.
pub(super) const EXAMPLE_HANDLE: &str = "res_5b2438e4-96a7-43f7-b051-10a055bb0fbe";
/// Of a longer text, tokens are counted in this much only; the whole has no fewer.
const COUNT_BYTES_MAX: usize = 256 << 10;
/// A reference takes less than a third of the result that it replaces, and less than a tenth of a result that has more
/// bytes than `LARGE_BYTES`.
const SHARE: usize = 3;
pub(super) const LARGE_BYTES: usize = 64 << 10;
const LARGE_SHARE: usize = 10;

/// What a result costs, to compare its reference with.
pub(super) struct Worth {
    counter: Counter,
    /// Tokens of the result, or fewer where it is very long.
    tokens: u64,
    share: usize,
}

impl Worth {
    pub(super) fn of(result: &ToolResult<'_>, counter: Counter) -> Self {
        let text = &result.text[..result.text.floor_char_boundary(COUNT_BYTES_MAX)];
        Self { counter, tokens: counter.count(text), share: share_of(result.text) }
    }

    /// Whether a reference with this excerpt is small enough beside the result that it replaces.
    pub(super) fn pays(&self, result: &ToolResult<'_>, excerpt: &str) -> bool {
        let reference = reference_text(result.tool, result.text, EXAMPLE_HANDLE, excerpt);
        reference.len() * self.share < result.text.len()
            && self.counter.count(&reference) * (self.share as u64) < self.tokens
    }
}

/// How many times smaller than this text a reference to it must be.
pub(super) fn share_of(text: &str) -> usize {
    if text.len() > LARGE_BYTES { LARGE_SHARE } else { SHARE }
}
