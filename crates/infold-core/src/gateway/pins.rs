//! Definitions are pinned: a tool is used as it was when the user first had it, and one that its server changed is
//! withheld until the user approves it. Storing pins is the store's work.

use std::collections::BTreeMap;

use super::definition::DefinitionHash;
use super::entry::ServerKey;
use super::name::ToolName;

#[cfg(test)]
mod tests;

/// How a tool that a server offers compares with what is pinned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PinState {
    /// It is what it was.
    Pinned,
    /// It was never seen.
    New,
    /// It is not what it was.
    Changed {
        /// The definition that waits for approval.
        waiting: DefinitionHash,
    },
    /// It was there, and is not any more.
    Gone,
}

/// What to do with a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinStep {
    /// Use it.
    Keep,
    /// Pin it as it is, and use it.
    Pin,
    /// Do not use it before the user approves it.
    Withhold,
    /// Do not use it, and keep its pin: if it comes back as something else, it has changed.
    Leave,
}

/// What becomes of new tools of a server that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewTools {
    /// They are pinned and used.
    Pin,
    /// They wait for approval.
    Withhold,
}

/// A tool with what is decided about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedTool {
    /// What its server calls it.
    pub tool: String,
    /// How it compares.
    pub state: PinState,
    /// What to do.
    pub step: PinStep,
}

/// Compares what a server offers with what is pinned of it, in order of names. Without any pins the server is new, and
/// all that it offers is pinned: the user has just added it.
pub fn decide_pins(
    pinned: &BTreeMap<String, DefinitionHash>,
    offered: &BTreeMap<String, DefinitionHash>,
    new_tools: NewTools,
) -> Vec<PinnedTool> {
    let step_of_new = match new_tools {
        _ if pinned.is_empty() => PinStep::Pin,
        NewTools::Pin => PinStep::Pin,
        NewTools::Withhold => PinStep::Withhold,
    };
    let gone = pinned.keys().filter(|tool| !offered.contains_key(*tool));
    let gone = gone.map(|tool| (tool, PinState::Gone, PinStep::Leave));
    let there = offered.iter().map(|(tool, hash)| match pinned.get(tool) {
        Some(pin) if pin == hash => (tool, PinState::Pinned, PinStep::Keep),
        Some(_) => (tool, PinState::Changed { waiting: hash.clone() }, PinStep::Withhold),
        None => (tool, PinState::New, step_of_new),
    });
    let mut decided: Vec<PinnedTool> =
        there.chain(gone).map(|(tool, state, step)| PinnedTool { tool: tool.clone(), state, step }).collect();
    decided.sort_by(|one, other| one.tool.cmp(&other.tool));
    decided
}

/// Why a tool is withheld.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withholding {
    /// Its server changed it since it was approved.
    Changed,
    /// It is new, and new tools wait for approval.
    New,
    /// What is stored of it cannot be read.
    Unreadable,
    /// It cannot be stored.
    Unstorable,
}

impl Withholding {
    /// Whether the user's approval makes the tool usable.
    pub fn waits_for_approval(self) -> bool {
        match self {
            Self::Changed | Self::New => true,
            Self::Unreadable | Self::Unstorable => false,
        }
    }

    /// Why, in words that follow the tool's name.
    pub fn words(self) -> &'static str {
        match self {
            Self::Changed => "was changed by its server since it was approved",
            Self::New => "is new, and was not approved yet",
            Self::Unreadable => "cannot be read back from the store",
            Self::Unstorable => {
                "cannot be stored: its name has something in it that looks like a secret, or it is too long"
            }
        }
    }

    /// What a caller of the tool reads.
    pub fn refuse(self, name: &ToolName, server: &ServerKey, tool: &str) -> String {
        let words = self.words();
        match self.waits_for_approval() {
            true => format!("{name} {words}: ask the user to run `infold approve {server}/{tool}`"),
            false => format!("{name} {words}"),
        }
    }
}
