//! What a reference may cost: a small part of what it stands for, in bytes and in tokens, or it is not made.

use super::ToolResult;
use crate::Counter;
use crate::offload::reference_text;

/// A handle as long as a real one.
pub(super) const EXAMPLE_HANDLE: &str = "res_5b2438e4-96a7-43f7-b051-10a055bb0fbe";
/// Tokens are counted in so many bytes of a longer text: it has no fewer.
const COUNT_BYTES_MAX: usize = 256 << 10;
/// A reference takes less than one part in so many of what it stands for, and of what has more bytes than this
/// less than one in so many.
const SHARE: usize = 3;
const LARGE_BYTES: usize = 64 << 10;
const LARGE_SHARE: usize = 10;

/// What a result costs, to hold its reference against.
pub(super) struct Worth {
    counter: Counter,
    /// Tokens of it, or fewer.
    tokens: u64,
    share: usize,
}

impl Worth {
    pub(super) fn of(sight: &ToolResult<'_>, counter: Counter) -> Self {
        let text = &sight.text[..sight.text.floor_char_boundary(COUNT_BYTES_MAX)];
        Self { counter, tokens: counter.count(text), share: share_of(sight.text) }
    }

    /// Whether a reference with this excerpt takes a small enough part of what it stands for.
    pub(super) fn pays(&self, sight: &ToolResult<'_>, excerpt: &str) -> bool {
        let reference = reference_text(sight.tool, sight.text, EXAMPLE_HANDLE, excerpt);
        reference.len() * self.share < sight.text.len()
            && self.counter.count(&reference) * (self.share as u64) < self.tokens
    }
}

/// A reference takes less than one part in so many of this text.
pub(super) fn share_of(text: &str) -> usize {
    if text.len() > LARGE_BYTES { LARGE_SHARE } else { SHARE }
}
