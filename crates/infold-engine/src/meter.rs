//! Counts usage that providers report in the same budgets as everything else, and estimates what they do not report.

use infold_core::record::Usage;
use infold_core::{Command, Decision, Principal, Session, SessionId, Thread};
use infold_store::Loaded;

use crate::change::{Proposal, SessionChange};
use crate::observe::exhausted_by;
use crate::open::ended_branches_for;
use crate::{Engine, Error, Notice, PromptParts};

/// What a model was seen to answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spoken {
    /// What it said, and reasoning that was readable; only the beginning if that is long.
    pub text: String,
    /// How long all of that is, in bytes.
    pub text_bytes: usize,
    /// The tools that it called, each with its arguments.
    pub calls: Vec<(String, String)>,
}

impl Engine {
    /// Estimates what a provider did not report of a request and its answer, by infold's own count and what was learnt
    /// about how the provider counts. `None` if nothing is missing. Of an answer that broke off, the provider may have
    /// reported less than it sent.
    pub fn estimate(&self, model: &str, parts: &PromptParts, said: &Spoken, reported: Option<&Usage>) -> Option<Usage> {
        let counter = self.counter_for(model);
        // The rest of a long text is assumed to be like its beginning.
        let said_tokens = counter.count(&said.text) * said.text_bytes as u64 / (said.text.len() as u64).max(1);
        let calls = said.calls.iter().map(|(tool, arguments)| counter.count(tool) + counter.count_call(arguments));
        let output_tokens = said_tokens + calls.sum::<u64>();
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

    /// Counts a model's answer in its thread, which grows by it. Returns a notice of the branch that folded because its
    /// budget was used up by that, if one did; the next request goes on in its parent.
    #[tracing::instrument(skip_all)]
    pub async fn meter(
        &self,
        who: &Principal,
        session: &SessionId,
        thread: &Thread,
        usage: &Usage,
    ) -> Result<Option<Notice>, Error> {
        let change = SessionChange::in_session(who, session, ended_branches_for(Some(thread)));
        let propose = |_: &Loaded| {
            let meter = Command::Meter { thread: thread.clone(), usage: *usage };
            Ok(Proposal::of(vec![meter]))
        };
        let answer = |_: &Session, decision: &Decision| Ok(exhausted_by(decision));
        self.change(&change, propose, answer).await
    }
}
