//! Keeps the end of what a model says: enough to show its last words, however long it talks.
//!
//! It never gives out half a word. Secrets are looked for in these words later, and half a secret would not be
//! recognised.

/// How much of a model's words is kept, in bytes. That is many times what is shown of them, so that a secret in the
/// part that is shown is whole in the part that is kept.
const WORDS_BYTES_MAX: usize = 16 << 10;

/// The end of a model's words while they come in.
#[derive(Debug, Default)]
pub(super) struct AnswerWords {
    text: String,
    /// Whether earlier words were dropped, so that the text may begin in the middle of a word.
    is_cut: bool,
    /// Whether the last word may not be complete yet.
    is_open: bool,
}

impl AnswerWords {
    /// Appends the next part.
    pub(super) fn push(&mut self, part: &str) {
        if part.is_empty() {
            return;
        }
        self.text.push_str(part);
        self.is_open = true;
        // Only now and then, so that the text is not moved in memory for every piece of a long answer.
        if self.text.len() > 2 * WORDS_BYTES_MAX {
            self.is_cut = true;
            let cut = self.text.ceil_char_boundary(self.text.len() - WORDS_BYTES_MAX);
            self.text.drain(..cut);
        }
    }

    /// Marks the words so far as complete, because something else comes next.
    pub(super) fn pause(&mut self) {
        self.is_open = false;
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// The kept words, without those that may lack a part: the first if earlier words were dropped, and the last if it
    /// may not be complete.
    pub(super) fn whole(&self) -> &str {
        let mut text = self.text.as_str();
        if self.is_cut {
            text = text.split_once(char::is_whitespace).map_or("", |(_, rest)| rest);
        }
        if self.is_open {
            text = text.rsplit_once(char::is_whitespace).map_or("", |(rest, _)| rest);
        }
        text.trim()
    }
}

#[cfg(test)]
mod tests;
