//! The third stage: the context fits the character budget.
//!
//! Up to [`super::FORK_CHAR_NO_REMOVAL`], and between that and the budget, nothing is taken away. Over
//! the budget the oldest messages go, one after another, until the rest fits. What the requirement
//! leaves open is decided here:
//!
//! - A call and its result go together, wherever the two are.
//! - The summary of a compaction is the oldest message there is, and the one whose loss would cost
//!   most. It stays, and the budget is for it and for what follows; it may take up half of it.
//! - A text that would not fit by itself is shortened to both its ends before anything is removed.
//!   It then takes up half of what there is, so that what came before it has room too.
//! - A message that does not fit with what belongs to it, though each of its items would, loses its
//!   oldest items instead of going whole.
//!
//! So the newest item is always there. (Not so under a budget of a few hundred characters, where the
//! headings alone may be too long.)

use super::constants::ForkLimits;
use super::format::room_for;
use super::truncate::{Method, truncated_chars};
use crate::transcript::{HeldContent, Kind};

/// More characters than a call, its heading and the heading of its result have together.
const CALL_CHARS_MAX: usize = 1_000;

/// The room for the items after the summary.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Characters that all these items may have together.
    pub chars: usize,
    /// A longer item is shortened.
    item_chars_max: usize,
    /// Characters that stay of the text of an item that is shortened.
    pub shortened_chars: usize,
}

impl Room {
    /// The room that a summary of this length leaves.
    pub fn beside(summary_chars: usize, limits: &ForkLimits) -> Self {
        let chars = room_for(limits.char_budget).saturating_sub(summary_chars);
        // A result must fit together with its call.
        let item_chars_max = chars - CALL_CHARS_MAX.min(chars / 4);
        Self { chars, item_chars_max, shortened_chars: chars / 2 }
    }

    /// Whether the text of an item has to be shortened, and can be.
    pub fn shortens(&self, kind: &Kind, frame_chars: usize, text_chars: usize) -> bool {
        let has_text = match kind {
            Kind::User { .. } | Kind::Assistant { .. } | Kind::Result { held: HeldContent::Whole, .. } => true,
            Kind::Result { held: HeldContent::Cleared, .. }
            | Kind::System { .. }
            | Kind::Reasoning { .. }
            | Kind::Call { .. }
            | Kind::Compaction { .. }
            | Kind::Clearing { .. }
            | Kind::Other { .. } => false,
        };
        has_text
            && frame_chars + text_chars > self.item_chars_max
            && truncated_chars(text_chars, self.shortened_chars, Method::HeadTail) < text_chars
    }

    /// Characters of an item as it is shown, shortened if it has to be.
    pub fn shown_chars(&self, kind: &Kind, frame_chars: usize, text_chars: usize) -> usize {
        if self.shortens(kind, frame_chars, text_chars) {
            frame_chars + truncated_chars(text_chars, self.shortened_chars, Method::HeadTail)
        } else {
            frame_chars + text_chars
        }
    }
}

/// Characters that stay of a summary when the context does not fit as it is.
pub(super) fn summary_chars_max(limits: &ForkLimits) -> usize {
    limits.char_budget / 2
}
