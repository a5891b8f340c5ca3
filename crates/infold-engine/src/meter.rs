//! Real usage, as providers report it, into the same budgets as everything else; and an estimate where they do not.

use infold_core::record::Usage;
use infold_core::{Command, Decision, Principal, Session, SessionId, Thread};
use infold_store::Loaded;

use crate::change::{Proposal, SessionChange};
use crate::observe::exhausted_by;
use crate::open::named;
use crate::{Engine, Error, Notice, PromptParts};

/// What a model was heard to say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    /// What it said and was seen to think, or the beginning of that.
    pub said: String,
    /// How long all of that is, in bytes.
    pub said_bytes: usize,
    /// The tools that it called, each with what it was called with.
    pub calls: Vec<(String, String)>,
}

impl Engine {
    /// What a provider did not report of a request and its answer, by our own count and what was learnt of how the
    /// provider counts; none if that is nothing. Of an answer that broke off it may have reported less than came.
    pub fn estimate(&self, model: &str, parts: &PromptParts, heard: &Heard, reported: Option<&Usage>) -> Option<Usage> {
        let counter = self.counter_for(model);
        // What was not kept is taken to be like what was.
        let said_tokens = counter.count(&heard.said) * heard.said_bytes as u64 / (heard.said.len() as u64).max(1);
        let call = |(tool, arguments): &(String, String)| {
            counter.count(tool) + counter.count(arguments) + counter.per_call_tokens()
        };
        let output_tokens = said_tokens + heard.calls.iter().map(call).sum::<u64>();
        match reported {
            None => {
                let fresh_tokens = parts.sent_tokens(&counter);
                Some(Usage { fresh_tokens, output_tokens, ..Usage::default() })
            }
            Some(reported) => {
                let output_tokens = output_tokens.saturating_sub(reported.output_tokens);
                (output_tokens > 0).then(|| Usage { output_tokens, ..Usage::default() })
            }
        }
    }

    /// Counts what a model answered in a thread: the thread grows by the answer. Gives the branch that has
    /// folded because its budget is used up by that, if one has; the next request goes on in its parent.
    #[tracing::instrument(skip_all)]
    pub async fn meter(
        &self,
        who: &Principal,
        session: &SessionId,
        thread: &Thread,
        usage: &Usage,
    ) -> Result<Option<Notice>, Error> {
        let change = SessionChange::in_session(who, session, named(Some(thread)));
        let propose = |_: &Loaded| {
            let meter = Command::Meter { thread: thread.clone(), usage: *usage };
            Ok(Proposal::of(vec![meter]))
        };
        let answer = |_: &Session, decision: &Decision| Ok(exhausted_by(decision));
        self.change(&change, propose, answer).await
    }
}
