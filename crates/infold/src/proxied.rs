//! What requests to models tell of the session that they were of.

use infold_core::ModelWindows;
use infold_core::record::{RequestRecord, Usage};
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
    /// What the requests of one session tell, the newest first. The window is the one that the client asked for, else
    /// the model's usual; an answer to more than that has shown that it is larger.
    pub fn of<'a>(newest_first: impl Iterator<Item = &'a RequestRecord>, windows: &ModelWindows) -> Option<Self> {
        let records: Vec<&RequestRecord> = newest_first.collect();
        let is_main = |record: &RequestRecord| record.kind == RequestKind::Turn && record.thread.branch().is_none();
        let (record, usage) =
            records.iter().filter(|record| is_main(record)).find_map(|record| Some((record, record.used()?)))?;
        let model = record.model.as_str();
        let of_model = records.iter().filter(|other| other.model == record.model);
        let answered_tokens = of_model.filter_map(|record| record.usage.as_ref().map(held_tokens)).max().unwrap_or(0);
        let asked_tokens = record.window_tokens.unwrap_or_else(|| windows.tokens_of(model));
        Some(Self {
            tokens: held_tokens(&usage),
            window_tokens: windows.proven_tokens(model, asked_tokens, answered_tokens),
            model: model.to_owned(),
        })
    }
}

/// Tokens that a request and its answer take of a window.
fn held_tokens(usage: &Usage) -> u64 {
    usage.prompt_tokens() + usage.output_tokens
}
