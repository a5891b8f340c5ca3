//! The context budget of a thread: what each component of a prompt takes, when to compact, and when nothing helps.
//!
//! The window that counts is what is left once the answer has its room. A thread is compacted when it gets near the end
//! of it, and blocked a little later. Both come early enough for a summary to fit, however small the window is.
//!
//! What must hold: a thread is never blocked before it would be compacted; a compaction that could not get below the
//! point at which it starts is refused, with the figures of what cannot shrink. Counting is the caller's work, and so
//! are all shares and reserves.

use serde::{Deserialize, Serialize};

use crate::grouped;

#[cfg(test)]
mod tests;

/// Tokens of a model's window, and what a prompt takes of them, by component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ContextBudget {
    /// Tokens that the model takes, with its answer.
    pub total_tokens: u64,
    /// Tokens that are reserved for the answer.
    pub max_output_tokens: u64,
    /// The base prompt with the project's rules and memories.
    pub system_prompt_tokens: u64,
    /// What active skills add to the prompt.
    pub skill_prompts_tokens: u64,
    /// The descriptions of all tools that are sent.
    pub tool_descriptions_tokens: u64,
    /// What was said in the thread, with calls and results.
    pub conversation_tokens: u64,
}

/// The sizes of a prompt's parts, as they were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CountedParts<'a> {
    /// The base prompt with the project's rules and memories.
    pub system_prompt_tokens: u64,
    /// One for each active skill.
    pub skill_prompts_tokens: &'a [u64],
    /// One for each tool that is sent.
    pub tool_descriptions_tokens: &'a [u64],
    /// One for each item of the thread.
    pub item_tokens: &'a [u64],
}

impl ContextBudget {
    /// A budget in which nothing is used yet.
    pub fn new(total_tokens: u64, max_output_tokens: u64) -> Self {
        Self { total_tokens, max_output_tokens, ..Self::default() }
    }

    /// Fills in what each component uses now. What was measured before is forgotten.
    pub fn measure_usage(&mut self, parts: &CountedParts<'_>) {
        self.system_prompt_tokens = parts.system_prompt_tokens;
        self.skill_prompts_tokens = sum(parts.skill_prompts_tokens);
        self.tool_descriptions_tokens = sum(parts.tool_descriptions_tokens);
        self.conversation_tokens = sum(parts.item_tokens);
    }

    /// What a prompt may have: the window without the room for the answer.
    pub fn effective_window(&self) -> u64 {
        self.total_tokens.saturating_sub(self.max_output_tokens)
    }

    /// The sum of all components.
    pub fn used_tokens(&self) -> u64 {
        self.fixed_tokens().saturating_add(self.conversation_tokens)
    }

    /// What a prompt may still grow by; 0 if it is over the window already.
    pub fn remaining_tokens(&self) -> u64 {
        self.effective_window().saturating_sub(self.used_tokens())
    }

    /// The used tokens as a share of the effective window: 0.83 is 83 %, above 1 is over it.
    pub fn used_percentage(&self) -> f64 {
        self.used_tokens() as f64 / self.effective_window().max(1) as f64
    }

    /// Whether the prompt does not fit the window any more.
    pub fn exceeds_budget(&self) -> bool {
        self.used_tokens() > self.effective_window()
    }

    /// What no compaction changes: system prompt, skills and tools.
    pub fn fixed_tokens(&self) -> u64 {
        self.system_prompt_tokens
            .saturating_add(self.skill_prompts_tokens)
            .saturating_add(self.tool_descriptions_tokens)
    }

    /// What the thread may have for the whole prompt to be this share of the effective window.
    pub fn conversation_target_tokens(&self, target_share: f64) -> u64 {
        share_of(self.effective_window(), target_share).saturating_sub(self.fixed_tokens())
    }
}

/// When a thread is compacted, and when it has to be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CompactionThresholds {
    /// The share of the effective window at which a thread is compacted.
    pub compact_trigger: f64,
    /// The share at which nothing is sent any more before the thread was compacted.
    pub hard_block: f64,
    /// Tokens that a summary needs beside the thread that it is made of.
    pub summary_reserve_tokens: u64,
}

impl CompactionThresholds {
    /// The size of a prompt from which on its thread is compacted: the share, or earlier if a summary would not fit.
    pub fn compact_at_tokens(&self, budget: &ContextBudget) -> u64 {
        let window = budget.effective_window();
        share_of(window, self.compact_trigger).min(window.saturating_sub(self.summary_reserve_tokens))
    }

    /// The size of a prompt from which on its thread is blocked: the share, or earlier if half of a summary's reserve
    /// would not be left. Half is enough for the mechanical summary, which is all that a blocked thread needs, and
    /// leaves the other half to the turn during which the first threshold was passed.
    pub fn block_at_tokens(&self, budget: &ContextBudget) -> u64 {
        let window = budget.effective_window();
        let block_at = share_of(window, self.hard_block).min(window.saturating_sub(self.summary_reserve_tokens / 2));
        block_at.max(self.compact_at_tokens(budget))
    }

    /// Whether it is time to compact.
    pub fn should_compact(&self, budget: &ContextBudget) -> bool {
        budget.used_tokens() >= self.compact_at_tokens(budget)
    }

    /// Whether a compaction has to come before the next request.
    pub fn is_blocked(&self, budget: &ContextBudget) -> bool {
        budget.used_tokens() >= self.block_at_tokens(budget)
    }

    /// The least that a prompt can be shrunk to: all that is fixed, and the last turn.
    pub fn floor_tokens(&self, budget: &ContextBudget, last_turn_tokens: u64) -> u64 {
        budget.fixed_tokens().saturating_add(last_turn_tokens)
    }

    /// Refuses a compaction that could not help: the floor is where the next compaction would start already.
    pub fn check_floor(&self, budget: &ContextBudget, last_turn_tokens: u64) -> Result<(), FloorTooHigh> {
        let compact_at_tokens = self.compact_at_tokens(budget);
        if self.floor_tokens(budget, last_turn_tokens) < compact_at_tokens {
            return Ok(());
        }
        Err(FloorTooHigh {
            compact_at_tokens,
            system_prompt_tokens: budget.system_prompt_tokens,
            skill_prompts_tokens: budget.skill_prompts_tokens,
            tool_descriptions_tokens: budget.tool_descriptions_tokens,
            last_turn_tokens,
        })
    }
}

/// Why no compaction can help: what cannot shrink takes the window by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error(
    "compacting cannot help: it would have to get below {} tokens, and what cannot shrink takes {}: the system prompt {}, \
     skills {}, tool descriptions {}, the last turn {}. The largest is {}: make it smaller, or take a model with a larger \
     window",
    grouped(*compact_at_tokens),
    grouped(self.floor_tokens()),
    grouped(*system_prompt_tokens),
    grouped(*skill_prompts_tokens),
    grouped(*tool_descriptions_tokens),
    grouped(*last_turn_tokens),
    self.largest()
)]
pub struct FloorTooHigh {
    /// The size from which on a thread is compacted.
    pub compact_at_tokens: u64,
    /// The base prompt with the project's rules and memories.
    pub system_prompt_tokens: u64,
    /// What active skills add.
    pub skill_prompts_tokens: u64,
    /// The descriptions of tools.
    pub tool_descriptions_tokens: u64,
    /// The last turn, which is always kept.
    pub last_turn_tokens: u64,
}

impl FloorTooHigh {
    /// The sum of what cannot shrink.
    pub fn floor_tokens(&self) -> u64 {
        self.named().iter().fold(0, |sum, (_, tokens)| sum.saturating_add(*tokens))
    }

    /// What takes most of it, in words.
    pub fn largest(&self) -> &'static str {
        self.named().into_iter().max_by_key(|(_, tokens)| *tokens).map_or("", |(name, _)| name)
    }

    fn named(&self) -> [(&'static str, u64); 4] {
        [
            ("the last turn", self.last_turn_tokens),
            ("skills", self.skill_prompts_tokens),
            ("tool descriptions", self.tool_descriptions_tokens),
            ("the system prompt", self.system_prompt_tokens),
        ]
    }
}

/// What is said to a model whose window fills up; `None` up to the bound. Both are shares of the effective window. The
/// note belongs at the end of the conversation, because it changes every turn.
pub fn usage_note(used_percentage: f64, note_bound: f64) -> Option<String> {
    (used_percentage > note_bound).then(|| {
        let percent = (used_percentage * 100.0 + ROUNDING).floor();
        format!(
            "[Context: {percent}% used. You can call compact_context to free space before continuing with large \
             operations.]"
        )
    })
}

/// Keeps a share such as 0.29 from becoming 28 % because it has no exact form.
const ROUNDING: f64 = 1e-9;

fn share_of(tokens: u64, share: f64) -> u64 {
    (tokens as f64 * share + ROUNDING) as u64
}

fn sum(tokens: &[u64]) -> u64 {
    tokens.iter().fold(0, |sum, tokens| sum.saturating_add(*tokens))
}
