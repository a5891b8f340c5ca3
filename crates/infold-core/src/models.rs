//! Models by their names: which pattern of the settings a name fits, and how many tokens a model takes. The table of
//! windows comes from settings; none is built in here.

/// Whether a model's name fits a pattern in which `*` matches anything.
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

/// How many tokens the models of one name pattern take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelWindow {
    /// The model's name, in which `*` matches anything.
    pub model: String,
    /// Tokens that clients fill unless they ask for more.
    pub tokens: u64,
    /// Tokens that the model takes when a client asks for its largest window.
    pub largest_tokens: u64,
}

/// The windows of all models, as settings list them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelWindows {
    /// Window of a model that the list does not name.
    pub default_tokens: u64,
    /// One entry for each pattern. The first that fits a model's name counts.
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

    /// A session's window, corrected by the largest request in it that was answered. A provider that answered more than
    /// `window_tokens` has shown that the window is larger: the model's largest, or at least what was answered.
    pub fn proven_tokens(&self, model: &str, window_tokens: u64, answered_tokens: u64) -> u64 {
        if answered_tokens <= window_tokens {
            return window_tokens;
        }
        self.largest_tokens_of(model).max(answered_tokens)
    }
}

#[cfg(test)]
mod tests;
