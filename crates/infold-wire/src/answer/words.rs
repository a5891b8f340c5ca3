//! The end of what a model says: enough to know its last words by, however long it talks.
//!
//! What is given is never half a word. Secrets are looked for in it later, and half a secret is no longer recognised
//! as one.

/// How much of a model's words is kept, in bytes. That is many times what is shown of them, so that a secret that
/// stands in what is shown is whole in what is kept.
const WORDS_BYTES_MAX: usize = 16 << 10;

/// Words that are being said.
#[derive(Debug, Default)]
pub(super) struct AnswerWords {
    text: String,
    /// Whether there were more in front.
    is_cut: bool,
    /// Whether the last of them may go on.
    is_open: bool,
}

impl AnswerWords {
    /// More of what is being said.
    pub(super) fn push(&mut self, part: &str) {
        if part.is_empty() {
            return;
        }
        self.text.push_str(part);
        self.is_open = true;
        // Only now and then, so that a long answer is not moved about with each piece of it.
        if self.text.len() > 2 * WORDS_BYTES_MAX {
            self.is_cut = true;
            let cut = self.text.ceil_char_boundary(self.text.len() - WORDS_BYTES_MAX);
            self.text.drain(..cut);
        }
    }

    /// What was said so far is whole, and what comes is something else.
    pub(super) fn pause(&mut self) {
        self.is_open = false;
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// The words, without those that lack a part: the first, if there were more in front, and the last, if it may go
    /// on.
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
