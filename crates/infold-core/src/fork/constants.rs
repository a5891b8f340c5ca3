//! The figures of the fork, with the names that its requirement gives them.
//!
//! They are in characters, and a character is a Unicode scalar value. Only the two of the budget can
//! be set ([`ForkLimits`]); the others are what makes the `seed` profile the `seed` profile.

/// The most characters that the formatted context may have.
pub const FORK_CHAR_BUDGET: usize = 200_000;
/// A context of up to this many characters loses no message.
///
/// Between this and the budget nothing is removed either, so with the requirement's own two figures
/// it makes no difference. It does where a budget below it is set without scaling this one.
pub const FORK_CHAR_NO_REMOVAL: usize = 120_000;

/// How many of the newest tool results stay as they are: the first tier.
pub const FORK_TIER1_COUNT: usize = 5;
/// How many results before them are in the second tier. All older ones are in the third.
pub const FORK_TIER2_COUNT: usize = 10;
/// Characters that stay of a result in the second tier.
pub const FORK_TIER2_LIMIT: usize = 3_000;
/// Characters that stay of a result in the third tier.
pub const FORK_TIER3_LIMIT: usize = 500;

/// Characters that stay of the parameters of a call whose result is in the first tier.
pub const FORK_PARAMS_TIER1: usize = 500;
/// Characters that stay of the parameters of a call whose result is in the second tier.
pub const FORK_PARAMS_TIER2: usize = 200;
/// Characters that stay of the parameters of a call whose result is in the third tier.
pub const FORK_PARAMS_TIER3: usize = 100;

/// The share of the limit that the head gets, where both ends of a text stay.
pub const FORK_HEAD_RATIO: f64 = 0.8;
/// The share of the limit that the tail gets, where both ends of a text stay.
pub const FORK_TAIL_RATIO: f64 = 0.2;

/// A result with one of these in it keeps both ends. Capitals make a difference.
pub const FORK_ERROR_PATTERNS: [&str; 7] = ["error", "Error", "ERROR", "failed", "FAILED", "exception", "traceback"];

/// A result of a tool with one of these in its name keeps both ends. Capitals make no difference,
/// because Claude Code's terminal is called `Bash`.
pub const FORK_HEAD_TAIL_KEYWORDS: [&str; 3] = ["bash", "pty", "exec"];

/// How long a context may be, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForkLimits {
    /// The most characters that the context may have; [`FORK_CHAR_BUDGET`] by default.
    pub char_budget: usize,
    /// A context of up to this many characters loses no message; [`FORK_CHAR_NO_REMOVAL`] by default.
    pub char_no_removal: usize,
}

impl Default for ForkLimits {
    fn default() -> Self {
        Self { char_budget: FORK_CHAR_BUDGET, char_no_removal: FORK_CHAR_NO_REMOVAL }
    }
}

impl ForkLimits {
    /// Sets the budget, and scales the other figure with it: the requirement's proportion of the two stays.
    pub fn with_char_budget(char_budget: usize) -> Self {
        let scaled = char_budget as u128 * FORK_CHAR_NO_REMOVAL as u128 / FORK_CHAR_BUDGET as u128;
        Self { char_budget, char_no_removal: usize::try_from(scaled).unwrap_or(usize::MAX) }
    }

    /// The longest context that loses no message.
    pub(super) fn untouched_chars_max(&self) -> usize {
        self.char_budget.max(self.char_no_removal)
    }
}
