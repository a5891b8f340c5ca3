//! The forms in which an entry can be sent, and the text of each.

use std::borrow::Cow;

use infold_core::fork::{Method, Tier, truncate};
use infold_core::transcript::CLEARED;

use crate::thread::{EntryRole, ThreadEntry};

#[cfg(test)]
mod tests;

/// How an entry is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PromptForm {
    /// The entry's own text.
    Whole,
    /// A fixed text that says that the result was cleared.
    Cleared,
    /// A reference with the size of the result and its first characters.
    Preview { preview_chars: usize },
    /// The result cut as a fork cuts results of this age.
    Aged(Tier),
}

/// The text that is sent for an entry in a form; `None` if it is the entry's own text.
pub(crate) fn sent<'e>(entry: &'e ThreadEntry<'_>, form: PromptForm) -> Option<Cow<'e, str>> {
    let sent = match (form, entry.role) {
        (PromptForm::Cleared, EntryRole::Result) => Cow::Borrowed(CLEARED),
        (PromptForm::Preview { preview_chars }, EntryRole::Result) => Cow::Owned(preview(entry, preview_chars)),
        (PromptForm::Aged(tier), EntryRole::Result) if !entry.text.contains(CLEARED) => Cow::Owned(aged(entry, tier)?),
        (PromptForm::Whole | PromptForm::Cleared | PromptForm::Preview { .. } | PromptForm::Aged(_), _) => return None,
    };
    (sent != entry.text).then_some(sent)
}

/// The reference that replaces an offloaded result, with a made-up handle of the usual length.
fn preview(entry: &ThreadEntry<'_>, preview_chars: usize) -> String {
    format!(
        "[Tool result stored — {} bytes from \"{}\".\nFirst {preview_chars} chars: {}...]\n\
         Use the \"read_result\" tool with ref_id=\"res_0123456789abcdef0123456789abcdef\" to read specific portions.",
        entry.text.len(),
        entry.tool,
        head(entry.text, preview_chars).trim_end(),
    )
}

fn head(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

/// The result cut as a fork cuts results of this age; `None` if it is short enough.
fn aged(entry: &ThreadEntry<'_>, tier: Tier) -> Option<String> {
    truncate(entry.text, tier.result_limit()?, Method::for_result(entry.tool, entry.text))
}
