//! Families of models that count alike, and the figures fitted for each.

use std::fmt;
use std::str::FromStr;

use super::TextSize;

/// A family of models that count tokens alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// OpenAI's models, and the nearest guess for anybody else's.
    Gpt,
    /// Claude up to 4.6.
    Claude,
    /// Claude since 4.7, which cuts the same text into smaller tokens.
    ClaudeNew,
}

/// The error for a name in settings that is no family's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown token family {name:?}: use gpt, claude or claude-new")]
pub struct UnknownFamily {
    name: String,
}

/// What is in the names of Claude models, and of OpenAI's.
const CLAUDE_NAMES: [&str; 4] = ["claude", "opus", "sonnet", "haiku"];
const GPT_NAMES: [&str; 2] = ["gpt", "codex"];
/// The first Claude version of [`Family::ClaudeNew`].
const CLAUDE_NEW_SINCE: (u32, u32) = (4, 7);

impl Family {
    /// All three, for going through them.
    pub const ALL: [Self; 3] = [Self::Gpt, Self::Claude, Self::ClaudeNew];

    /// The family of a model, by the name that a request gives it, in any provider's spelling.
    ///
    /// A Claude without a version is taken for the newest: it counts the most, and a budget that is
    /// spent a little early is better than one that is overrun.
    pub fn of_model(model: &str) -> Self {
        let model = model.to_ascii_lowercase();
        if !CLAUDE_NAMES.iter().any(|name| model.contains(name)) {
            return Self::Gpt;
        }
        match claude_version(&model) {
            Some(version) if version < CLAUDE_NEW_SINCE => Self::Claude,
            Some(_) | None => Self::ClaudeNew,
        }
    }

    /// Whether counts were compared with what this model's provider reports for models of its name.
    pub fn is_known_model(model: &str) -> bool {
        let model = model.to_ascii_lowercase();
        CLAUDE_NAMES.iter().chain(&GPT_NAMES).any(|name| model.contains(name))
    }

    /// The family's name, as settings spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gpt => "gpt",
            Self::Claude => "claude",
            Self::ClaudeNew => "claude-new",
        }
    }

    /// What each thing in a text weighs for models of this family.
    pub(super) fn weights(self) -> Weights {
        match self {
            Self::Gpt => GPT,
            Self::Claude => CLAUDE,
            Self::ClaudeNew => CLAUDE_NEW,
        }
    }

    /// By how much counts of this family are off from the provider's, in tenths of a percent: the median over recorded
    /// pieces of sessions whose project was left out of the fit.
    pub fn error_per_mille(self) -> u64 {
        match self {
            Self::Gpt => 3,
            Self::Claude => 43,
            Self::ClaudeNew => 39,
        }
    }
}

/// What each thing in a text weighs, in thousandths of a token.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weights {
    written: i64,
    read: i64,
    word: i64,
    letter: i64,
    mark: i64,
    call: i64,
    argument: i64,
    message: i64,
}

// What `cargo xtask measure --only counting` fits to all recorded pieces.
const GPT: Weights =
    Weights { written: 1_000, read: 0, word: 0, letter: 0, mark: 0, call: 25_800, argument: 0, message: 7_300 };
const CLAUDE: Weights =
    Weights { written: 0, read: 897, word: -405, letter: 112, mark: 406, call: 60_700, argument: 12_200, message: 0 };
const CLAUDE_NEW: Weights =
    Weights { written: 0, read: 1_168, word: -611, letter: 211, mark: 400, call: 37_300, argument: 16_800, message: 0 };

impl Weights {
    /// Thousandths of a token in texts of this size.
    pub(super) fn thousandths(&self, size: &TextSize) -> u64 {
        let weighed = [
            (self.written, size.written_tokens),
            (self.read, size.read_tokens),
            (self.word, size.words),
            (self.letter, size.letters),
            (self.mark, size.marks),
            (self.call, size.calls),
            (self.argument, size.arguments),
            (self.message, size.messages),
        ];
        let sum: i64 = weighed.iter().map(|(weight, number)| weight * i64::from(*number)).sum();
        u64::try_from(sum).unwrap_or_default()
    }
}

/// Major and minor version in a Claude model's name. The first number is the major one; the number
/// after it is the minor one, unless it is long enough to be a date.
fn claude_version(model: &str) -> Option<(u32, u32)> {
    const DIGITS_MAX: usize = 2;
    let number = |part: &str| part.parse::<u32>().ok().filter(|_| part.len() <= DIGITS_MAX);

    let mut parts = model.split(|c: char| !c.is_ascii_alphanumeric());
    let major = parts.find_map(number)?;
    let minor = parts.next().and_then(number).unwrap_or(0);
    Some((major, minor))
}

impl FromStr for Family {
    type Err = UnknownFamily;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|family| family.as_str() == name)
            .ok_or_else(|| UnknownFamily { name: name.chars().take(40).collect() })
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
