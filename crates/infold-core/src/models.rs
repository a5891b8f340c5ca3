//! Which models a name pattern is for, and how many tokens each model takes.
//!
//! Prices and windows are both looked up here, so that one pattern means the same models in both.

/// Whether a model's name fits a pattern, in which `*` stands for anything.
pub fn fits(pattern: &str, model: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| model.strip_prefix(first)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// The window of the models that a pattern is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Which models: their name, in which `*` stands for anything.
    pub model: String,
    /// Tokens that clients fill.
    pub tokens: u64,
    /// Tokens that the model takes from clients that ask for more.
    pub largest_tokens: u64,
}

/// How many tokens models take. The first pattern that fits a model counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Windows {
    /// Tokens of a model that no pattern fits.
    pub default_tokens: u64,
    /// The windows, by pattern.
    pub models: Vec<Window>,
}

impl Windows {
    fn window(&self, model: &str) -> Option<&Window> {
        self.models.iter().find(|window| fits(&window.model, model))
    }

    /// Tokens of a model's window, as its clients fill it unless they ask for more.
    pub fn of(&self, model: &str) -> u64 {
        self.window(model).map_or(self.default_tokens, |window| window.tokens)
    }

    /// The most tokens that a model takes from anybody.
    pub fn largest_of(&self, model: &str) -> u64 {
        self.window(model).map_or(self.default_tokens, |window| window.largest_tokens)
    }

    /// Tokens of the window in which a request of `answered_tokens` was answered: one that took more than
    /// `window_tokens` has shown that the window is larger.
    pub fn proven_by(&self, model: &str, window_tokens: u64, answered_tokens: u64) -> u64 {
        if answered_tokens <= window_tokens {
            return window_tokens;
        }
        self.largest_of(model).max(answered_tokens)
    }
}

#[cfg(test)]
mod tests;
