//! What requests to models tell of the session that they were of.

use infold_core::record::RequestRecord;
use infold_core::view::RequestKind;

/// How full the main thread of a session was in its latest request that an answer came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fill {
    /// Tokens of the request and its answer, as the provider reported them.
    pub tokens: u64,
    /// Tokens that the model takes.
    pub window_tokens: u64,
    /// The model.
    pub model: String,
}

impl Fill {
    /// What the requests of one session tell, the newest first. `window_of` knows how much a model takes.
    pub fn of<'a>(
        mut newest_first: impl Iterator<Item = &'a RequestRecord>,
        window_of: &dyn Fn(&str) -> u64,
    ) -> Option<Self> {
        newest_first.find_map(|record| {
            let is_main = record.kind == RequestKind::Turn && record.thread.branch().is_none();
            let usage = record.used().filter(|_| is_main)?;
            let model = record.model.as_str();
            Some(Self {
                tokens: usage.prompt_tokens() + usage.output_tokens,
                window_tokens: window_of(model),
                model: model.to_owned(),
            })
        })
    }
}
