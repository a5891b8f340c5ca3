//! Families of models that count alike, and the figures fitted for each.

use std::fmt;
use std::str::FromStr;

/// A family of models whose token counts differ from the vocabulary's by the same factor.
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
        if !["claude", "opus", "sonnet", "haiku"].iter().any(|name| model.contains(name)) {
            return Self::Gpt;
        }
        match claude_version(&model) {
            Some(version) if version < CLAUDE_NEW_SINCE => Self::Claude,
            Some(_) | None => Self::ClaudeNew,
        }
    }

    /// The family's name, as settings spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gpt => "gpt",
            Self::Claude => "claude",
            Self::ClaudeNew => "claude-new",
        }
    }

    /// Tokens of this family for each hundred of the vocabulary.
    pub(super) fn factor_percent(self) -> u64 {
        match self {
            Self::Gpt => 100,
            Self::Claude => 110,
            Self::ClaudeNew => 152,
        }
    }

    /// Tokens that each tool call costs beside its text.
    pub(super) fn per_call_tokens(self) -> u64 {
        match self {
            Self::Gpt => 24,
            Self::Claude => 84,
            Self::ClaudeNew => 60,
        }
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
