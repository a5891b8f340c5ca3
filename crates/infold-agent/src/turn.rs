//! One turn of a thread, in the order of the document that this agent implements: build the instructions, measure, compact
//! if the window is full or nearly so, choose the tools, build the request, ask the model, run its tools, keep everything.
//!
//! Each layer that fails falls back to doing without it, says so once, and the turn goes on.

use infold_core::{ContextBudget, CountedParts, Thread, grouped, usage_note};

use crate::agent::CodingAgent;
use crate::ask::{ModelAsked, Outcome};
use crate::compact::Cause;
use crate::own_tools;
use crate::provider::{Prompt, StopReason, ToolDefinition, request_body};
use crate::record::{SessionRecord, SystemPrompt};
use crate::setup::ListedTools;
use crate::stop::Stop;
use crate::tools::LocalTool;
use crate::watch::AgentEvent;
use crate::{SpokenBy, ThreadEntry};

/// How many points fuller a thread has to be before its model learns it again.
const NOTE_STEP_PERCENT: u64 = 5;
/// What a model gets to read whose answer was cut off.
const CUT_OFF: &str = "[Your answer reached its length limit. Go on from where it ended.]";
/// How often it gets that in a row.
const CUT_OFFS_MAX: usize = 3;
/// How often a thread is made smaller within one turn, because its provider says that it is too long.
const SHRINKS_MAX: u32 = 2;

/// What a request is made of, beside what was said.
pub(crate) struct Front {
    pub(crate) system: String,
    pub(crate) breakpoints: Vec<usize>,
    pub(crate) tools: Vec<ToolDefinition>,
}

impl CodingAgent {
    /// Takes one turn: the model answers, and what it said is kept. Its calls are run by the next step.
    pub(crate) async fn take_turn(&self, thread: &Thread) -> Result<(), Stop> {
        for shrinks in 0..=SHRINKS_MAX {
            // 1. The instructions, with all tools behind them.
            let mut front = self.front().await;
            self.note_deferred(thread).await?;
            // 2. What each component takes.
            let mut budget = self.measure(thread, &front);
            // 3. and 4. Full, or nearly so: the thread is started anew, and a snapshot of it is kept.
            let thresholds = &self.setup.limits.thresholds;
            if thresholds.is_blocked(&budget) {
                self.compact(thread, &front, Cause::Blocked).await?;
            } else if thresholds.should_compact(&budget) {
                self.compact(thread, &front, Cause::NearlyFull).await?;
            }
            // 5. The tools that fit.
            front.tools = self.select_tools(front.tools, &budget);
            budget = self.measure(thread, &front);
            if budget.remaining_tokens() == 0 {
                return Err(Stop::Full(full(&budget)));
            }
            self.note_usage(thread, &budget).await?;
            // 6. The request, with its breakpoints.
            let body = self.request(thread, &front);
            // 7. The model's answer.
            let answered = match self.ask_model(ModelAsked::turn(thread, body)).await? {
                Outcome::Answered(answered) => answered,
                Outcome::TooLong { why } if shrinks < SHRINKS_MAX => {
                    self.compact(thread, &front, Cause::TooLong(why)).await?;
                    continue;
                }
                Outcome::TooLong { why } => return Err(Stop::Full(why)),
                Outcome::ReasoningRefused => {
                    let entries = self.with_thread(thread, |thread| thread.entries.len());
                    self.run_state().without_reasoning.insert(thread.clone(), entries);
                    continue;
                }
                Outcome::ImagesRefused { why } => {
                    self.images_refused(thread, why).await?;
                    continue;
                }
            };
            // 9. It is kept before 8., its calls, are run: a crash in between loses neither.
            let usage = answered.usage.unwrap_or_default();
            self.warn_of_ending(&answered.stop);
            self.count_answer(usage);
            let mut entries = if answered.entries.is_empty() { vec![silence()] } else { answered.entries };
            self.name_calls(&mut entries);
            let cut_off = self.cut_off_words(thread, &entries, &answered.stop);
            let mut records = vec![SessionRecord::Answered { thread: thread.clone(), entries, usage }];
            records.extend(cut_off.map(|words| SessionRecord::Said { thread: thread.clone(), entries: vec![words] }));
            self.record(records).await?;
            self.tell(AgentEvent::Answered { thread: thread.clone(), usage });
            return Ok(());
        }
        Err(Stop::Full("the provider refuses the request however short it is".to_owned()))
    }

    /// What a request is made of, beside what was said.
    pub(crate) async fn front(&self) -> Front {
        let SystemPrompt { text, breakpoints } = self.session().system.clone().unwrap_or_default();
        Front { system: text, breakpoints, tools: self.tools().await }
    }

    /// The instructions as they would be now with these skills. If they cannot be put together from their sections, they are one text
    /// without breakpoints.
    pub(crate) fn instructions(&self, skills: &[String]) -> SystemPrompt {
        let instructions = &self.setup.instructions;
        let (text, breakpoints) = built(|| instructions.build(skills)).unwrap_or_else(|| {
            self.warn_once(
                "the instructions could not be put together: they are sent without their sections".to_owned(),
            );
            (instructions.plain(skills), Vec::new())
        });
        SystemPrompt { text, breakpoints }
    }

    /// All tools: the agent's own, then those of other servers.
    async fn tools(&self) -> Vec<ToolDefinition> {
        let mut tools: Vec<ToolDefinition> = LocalTool::ALL.iter().map(|tool| own_tools::local(*tool)).collect();
        tools.extend(own_tools::definitions(&self.setup.instructions));
        tools.extend(self.others().await.tools);
        tools
    }

    /// The tools of other servers, which are listed once in a run.
    pub(crate) async fn others(&self) -> ListedTools {
        let known = self.run_state().listed.clone();
        match known {
            Some(listed) => listed,
            None => self.list_others().await,
        }
    }

    async fn list_others(&self) -> ListedTools {
        let listed = match (self.setup.others.list)().await {
            Ok(listed) => listed,
            Err(problem) => {
                self.warn_once(format!("tools of other servers are not there: {problem}"));
                ListedTools::default()
            }
        };
        for problem in &listed.problems {
            self.warn_once(problem.clone());
        }
        self.run_state().listed = Some(listed.clone());
        listed
    }

    /// Tells the model of tools that are held back: once, where the main thread begins or was started anew.
    async fn note_deferred(&self, thread: &Thread) -> Result<(), Stop> {
        let note = self.run_state().listed.as_ref().and_then(|listed| listed.note.clone());
        let Some(note) = note.filter(|_| *thread == Thread::Main) else { return Ok(()) };
        let says_it =
            |entry: &ThreadEntry| matches!(entry, ThreadEntry::User { text, by: SpokenBy::Agent, .. } if *text == note);
        if self.with_thread(thread, |thread| thread.entries.iter().any(says_it)) {
            return Ok(());
        }
        let entries = vec![ThreadEntry::user(note, SpokenBy::Agent)];
        self.record(vec![SessionRecord::Said { thread: thread.clone(), entries }]).await
    }

    /// The tools that a request lists. The gateway has held back what is too much; what is left is sent.
    fn select_tools(&self, tools: Vec<ToolDefinition>, budget: &ContextBudget) -> Vec<ToolDefinition> {
        if budget.tool_descriptions_tokens > budget.effective_window() / 2 {
            self.warn_once("descriptions of tools take more than half of the window".to_owned());
        }
        tools
    }

    /// Counts what each component takes.
    pub(crate) fn measure(&self, thread: &Thread, front: &Front) -> ContextBudget {
        let limits = &self.setup.limits;
        let counter = &self.setup.model.counter;
        let mut budget = ContextBudget::new(limits.context_budget_tokens, limits.max_output_tokens);
        let tools: Vec<u64> = front.tools.iter().map(|tool| own_tools::tokens(tool, counter)).collect();
        let items = self.entry_tokens(thread);
        budget.measure_usage(&CountedParts {
            system_prompt_tokens: counter.count(&front.system),
            skill_prompts_tokens: &[],
            tool_descriptions_tokens: &tools,
            item_tokens: &items,
        });
        self.run_state().fixed_tokens = Some(budget.fixed_tokens());
        budget
    }

    /// Tokens of a thread's entries. Each entry is counted once.
    pub(crate) fn entry_tokens(&self, thread: &Thread) -> Vec<u64> {
        let mut counted = self.run_state().counted.remove(thread).unwrap_or_default();
        let counter = &self.setup.model.counter;
        self.with_thread(thread, |state| {
            counted.truncate(state.entries.len());
            for entry in &state.entries[counted.len()..] {
                counted.push(entry.tokens(counter));
            }
        });
        self.run_state().counted.insert(thread.clone(), counted.clone());
        counted
    }

    /// Tells the model how full its window is, at the end of the conversation, once for each step. What was said stays.
    async fn note_usage(&self, thread: &Thread, budget: &ContextBudget) -> Result<(), Stop> {
        let Some(note) = usage_note(budget.used_percentage(), self.setup.limits.note_at) else { return Ok(()) };
        let percent = (budget.used_percentage() * 100.0) as u64 / NOTE_STEP_PERCENT;
        let noted = |entry: &ThreadEntry| match entry {
            ThreadEntry::User { text, by: SpokenBy::Agent, .. } => percent_noted(text),
            _ => None,
        };
        let last = self.with_thread(thread, |thread| thread.entries.iter().rev().find_map(noted));
        if last.is_some_and(|last| last / NOTE_STEP_PERCENT >= percent) {
            return Ok(());
        }
        let entries = vec![ThreadEntry::user(note, SpokenBy::Agent)];
        self.record(vec![SessionRecord::Said { thread: thread.clone(), entries }]).await
    }

    /// What is said to a model whose answer was cut off at its length; `None` if it was not, or was too often.
    fn cut_off_words(&self, thread: &Thread, answer: &[ThreadEntry], stop: &StopReason) -> Option<ThreadEntry> {
        let calls = answer.iter().any(|entry| matches!(entry, ThreadEntry::Call { .. }));
        if *stop != StopReason::MaxTokens || calls {
            return None;
        }
        let words = ThreadEntry::user(CUT_OFF, SpokenBy::Agent);
        let said = self.with_thread(thread, |thread| {
            let since = thread.entries.iter().rev().take_while(|entry| !matches!(entry, ThreadEntry::Result { .. }));
            since.filter(|entry| **entry == words).count()
        });
        (said < CUT_OFFS_MAX).then_some(words)
    }

    /// The request of a thread, in the form of its provider.
    pub(crate) fn request(&self, thread: &Thread, front: &Front) -> bytes::Bytes {
        let without = self.run_state().without_reasoning.get(thread).copied().unwrap_or(0);
        let model = &self.setup.model;
        let name = format!("{}:{thread}", self.setup.session);
        let images = self.session().images.clone();
        self.with_thread(thread, |state| {
            let is_sent =
                |(at, entry): &(usize, &ThreadEntry)| *at >= without || !matches!(entry, ThreadEntry::Reasoning { .. });
            let kept: Vec<ThreadEntry>;
            let entries = match without {
                0 => &state.entries,
                _ => {
                    kept = state.entries.iter().enumerate().filter(is_sent).map(|(_, entry)| entry.clone()).collect();
                    &kept
                }
            };
            let prompt = Prompt {
                model: &model.model,
                session: &name,
                system: &front.system,
                breakpoints: &front.breakpoints,
                tools: &front.tools,
                entries,
                images: &images,
                max_output_tokens: self.setup.limits.max_output_tokens,
                reasoning: model.effort,
            };
            request_body(model.api, &prompt)
        })
    }

    /// Says that an answer is not all that it could be.
    fn warn_of_ending(&self, stop: &StopReason) {
        match stop {
            StopReason::EndTurn | StopReason::ToolUse => {}
            StopReason::MaxTokens => self.warn_once(format!(
                "an answer was cut short at {} tokens: agent.max_output_tokens is its bound",
                grouped(self.setup.limits.max_output_tokens)
            )),
            StopReason::Refusal => self.warn_once("the model, or its provider, refused to answer".to_owned()),
            StopReason::Other(why) => self.warn_once(format!("the model stopped for another reason: {why}")),
        }
    }

    /// Gives calls a name of their own: some servers name those of every answer alike, and a result, a branch and what is
    /// counted for them belong to one call of the session.
    fn name_calls(&self, entries: &mut [ThreadEntry]) {
        let answer = self.session().records;
        let mut run = self.run_state();
        for entry in entries {
            let ThreadEntry::Call { id, .. } = entry else { continue };
            let given = id.clone();
            let mut number = 0;
            // Each pass uses up a number, so there are no more passes than calls.
            while !run.calls.insert(id.clone()) {
                number += 1;
                *id = format!("{given}_{answer}_{number}");
            }
        }
    }

    pub(crate) fn count_answer(&self, usage: infold_core::record::Usage) {
        let mut run = self.run_state();
        run.turns += 1;
        run.usage = run.usage.plus(&usage);
    }
}

/// Why nothing can be sent any more.
fn full(budget: &ContextBudget) -> String {
    format!(
        "the prompt has {} tokens, and the window takes {}: use a model with a larger window, or start a new session",
        grouped(budget.used_tokens()),
        grouped(budget.effective_window())
    )
}

/// What replaces an answer without a word.
fn silence() -> ThreadEntry {
    ThreadEntry::Assistant { text: "(no answer)".to_owned() }
}

/// What was built; `None` if that broke off.
fn built<T>(build: impl FnOnce() -> T) -> Option<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(build)).ok()
}

/// The percentage that a note said.
fn percent_noted(text: &str) -> Option<u64> {
    text.strip_prefix("[Context: ")?.split_once('%')?.0.parse().ok()
}

#[cfg(test)]
mod tests;
