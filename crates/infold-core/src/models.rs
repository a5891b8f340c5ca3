//! Models by their names: which pattern of the settings a name fits, and how many tokens a model takes.

/// Whether a model's name fits a pattern in which `*` stands for anything.
pub fn fits_model(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// A model's window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelWindow {
    /// The model's name, in which `*` stands for anything.
    pub model: String,
    /// Tokens of it that clients fill.
    pub tokens: u64,
    /// Tokens that it takes from those that ask for more.
    pub largest_tokens: u64,
}

/// The windows of all models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelWindows {
    /// Tokens that a model takes which the list does not name.
    pub default_tokens: u64,
    /// Models by their names. The first that fits counts.
    pub models: Vec<ModelWindow>,
}

impl ModelWindows {
    fn find(&self, model: &str) -> Option<&ModelWindow> {
        self.models.iter().find(|window| fits_model(&window.model, model))
    }

    /// Tokens of a model's window, as its clients fill it unless they ask for more.
    pub fn tokens_of(&self, model: &str) -> u64 {
        self.find(model).map_or(self.default_tokens, |window| window.tokens)
    }

    /// The most tokens that a model takes from anybody.
    pub fn largest_tokens_of(&self, model: &str) -> u64 {
        self.find(model).map_or(self.default_tokens, |window| window.largest_tokens)
    }

    /// Tokens of the window that was in force where a request of so many tokens was answered: one that took more than
    /// the window holds has shown that it is larger.
    pub fn proven_tokens(&self, model: &str, window_tokens: u64, answered_tokens: u64) -> u64 {
        if answered_tokens <= window_tokens {
            return window_tokens;
        }
        self.largest_tokens_of(model).max(answered_tokens)
    }
}

#[cfg(test)]
mod tests;
