//! What was seen to happen in a thread: calls with their results, an agent's words, a model's answers.

use super::draft::DecisionDraft;
use crate::findings::last_words;
use crate::record::Usage;
use crate::{BranchId, Event, Operation, Refusal, Scrubbed, Thread};

impl DecisionDraft<'_> {
    /// Counts a call and its result in a thread. An item that does not fit a branch's budget is not
    /// let in: the branch folds instead, so that none ever exceeds its budget.
    pub(super) fn observe(&mut self, thread: Option<&Thread>, operation: &Operation) -> Result<(), Refusal> {
        self.begin()?;
        let thread = thread.cloned().unwrap_or_else(|| self.session.active.clone());
        if let Some(id) = thread.branch().cloned() {
            let branch = self.require_open(&id)?;
            if operation.tokens > branch.budget_left_tokens() {
                self.exhaust(&id, operation.tokens, operation.blob.clone());
                return Ok(());
            }
        }
        self.push(Event::OperationSeen { thread: thread.clone(), operation: Box::new(operation.clone()) });
        self.check_budget(&thread);
        Ok(())
    }

    /// Counts a call whose result was shown already. If meanwhile others have used up the budget, the branch folds.
    pub(super) fn observe_shown(&mut self, thread: &Thread, operation: &Operation) -> Result<(), Refusal> {
        if self.is_over(thread) { Ok(()) } else { self.observe(Some(thread), operation) }
    }

    /// Whether nothing can be counted in a thread any more.
    fn is_over(&self, thread: &Thread) -> bool {
        let has_ended = thread.branch().is_some_and(|id| self.require_open(id).is_err());
        has_ended || self.session.ended_at_ms.is_some()
    }

    /// Remembers an agent's last words. An empty answer leaves those from before.
    pub(super) fn note_words(&mut self, id: &BranchId, said: &Scrubbed) {
        let words = last_words(said);
        let is_news = self.require_open(id).is_ok_and(|branch| branch.findings.last_words != words);
        if is_news && !words.is_empty() && self.session.ended_at_ms.is_none() {
            self.push(Event::Said { branch: id.clone(), words });
        }
    }

    /// Counts an answer in its thread. An answer cannot be withheld any more, unlike a result: if it was too much, the
    /// branch folds, and what was over its budget is counted apart.
    pub(super) fn meter(&mut self, thread: &Thread, usage: &Usage) -> Result<(), Refusal> {
        if self.is_over(thread) {
            return Ok(());
        }
        self.begin()?;
        self.push(Event::Answered {
            thread: thread.clone(),
            prompt_tokens: usage.prompt_tokens(),
            cache_read_tokens: usage.cache_read_tokens,
            output_tokens: usage.output_tokens,
        });
        self.check_budget(thread);
        Ok(())
    }
}
