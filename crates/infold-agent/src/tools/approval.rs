//! Approvals: whether a call may run, has to be asked about, or is refused.
//!
//! [`decide`] is a function of values. What must hold: what is denied is denied in every mode; a project can only narrow
//! what the user allows; a command that cannot be read with certainty is never taken for one that is allowed.

mod parts;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::LocalCall;
use parts::{ReadCommand, loose_words};

/// What may run without being asked about, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// Nothing but reading.
    ReadOnly,
    /// Reading, and commands that the user has allowed.
    Ask,
    /// Changes of files as well.
    Edits,
    /// Everything that the sandbox lets happen.
    All,
}

/// How commands are confined, as far as approvals depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellConfinement {
    /// The sandbox is in force.
    Full,
    /// The user has turned it off.
    OffByUser,
    /// It is not, or not fully, to be had.
    Lacking,
}

/// What the user allows and denies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRules {
    /// The mode.
    pub mode: ApprovalMode,
    /// Commands that may run, by their first words.
    pub allow: Vec<CommandPrefix>,
    /// Commands that may not, by their first words. They may not even if they are allowed as well.
    pub deny: Vec<CommandPrefix>,
    /// How commands are confined.
    pub confinement: ShellConfinement,
}

/// The first words of commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPrefix(Vec<String>);

impl CommandPrefix {
    /// A prefix as the user writes it: words with spaces between them; `None` if there is none.
    pub fn new(words: &str) -> Option<Self> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        (!words.is_empty()).then_some(Self(words))
    }

    fn begins(&self, words: &[String]) -> bool {
        words.starts_with(&self.0)
    }

    fn is_within(&self, words: &[String]) -> bool {
        words.windows(self.0.len()).any(|window| window == self.0.as_slice())
    }

    fn shown(&self) -> String {
        self.0.join(" ")
    }
}

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// It may run.
    Allowed,
    /// A person decides.
    Ask {
        /// What would be done.
        what: String,
        /// Why it is not simply done.
        why: String,
    },
    /// It may not run.
    Refused {
        /// Why, and what to do instead.
        why: String,
    },
}

impl Approval {
    /// The same where nobody can be asked: what would be asked about is refused.
    #[must_use]
    pub fn with_nobody_to_ask(self) -> Self {
        match self {
            Self::Ask { what, why } => Self::Refused {
                why: format!(
                    "{what}: {why}, and nobody is there to be asked. Do without it, or say what you would need"
                ),
            },
            Self::Allowed | Self::Refused { .. } => self,
        }
    }
}

/// Decides whether a call may run.
pub fn decide(call: &LocalCall, rules: &ApprovalRules) -> Approval {
    match call {
        LocalCall::Read(_) | LocalCall::List(_) | LocalCall::Search(_) => Approval::Allowed,
        LocalCall::Write(call) => decide_change(format!("write {}", call.path), rules.mode),
        LocalCall::Edit(call) => decide_change(format!("edit {}", call.path), rules.mode),
        LocalCall::Shell(call) => decide_command(&call.command, rules),
    }
}

/// What a tool of another server may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherEffect {
    /// It only reads, as far as its server is believed.
    Reads,
    /// It may change things.
    MayChange,
}

/// Decides whether a tool of another server may be called. What its arguments may be is the gateway's to say.
pub fn decide_other(tool: &str, effect: OtherEffect, rules: &ApprovalRules) -> Approval {
    match (effect, rules.mode) {
        (OtherEffect::Reads, _) | (OtherEffect::MayChange, ApprovalMode::Edits | ApprovalMode::All) => {
            Approval::Allowed
        }
        (OtherEffect::MayChange, ApprovalMode::ReadOnly) => Approval::Refused {
            why: format!("{tool} may change things, and this session may only read: say what you would change"),
        },
        (OtherEffect::MayChange, ApprovalMode::Ask) => Approval::Ask {
            what: format!("call {tool}"),
            why: "tools that may change things are asked about".to_owned(),
        },
    }
}

fn decide_change(what: String, mode: ApprovalMode) -> Approval {
    match mode {
        ApprovalMode::ReadOnly => {
            Approval::Refused { why: "this session may only read: say what you would change".to_owned() }
        }
        ApprovalMode::Ask => Approval::Ask { what, why: "changes of files are asked about".to_owned() },
        ApprovalMode::Edits | ApprovalMode::All => Approval::Allowed,
    }
}

fn decide_command(command: &str, rules: &ApprovalRules) -> Approval {
    if rules.mode == ApprovalMode::ReadOnly {
        return Approval::Refused { why: "this session may only read: use `read`, `list` and `search`".to_owned() };
    }
    let read = ReadCommand::of(command);
    if let Some(denied) = rules.deny.iter().find(|prefix| is_denied(prefix, command, &read)) {
        return Approval::Refused { why: format!("the user denies `{}`: do without it", denied.shown()) };
    }
    let ask = |why: &str| Approval::Ask { what: format!("run `{command}`"), why: why.to_owned() };
    if rules.mode == ApprovalMode::All {
        return match rules.confinement {
            ShellConfinement::Full | ShellConfinement::OffByUser => Approval::Allowed,
            ShellConfinement::Lacking => ask("commands are not fully confined on this machine"),
        };
    }
    match read {
        ReadCommand::Unclear(why) => ask(&format!("it cannot be compared with what is allowed, because {why}")),
        ReadCommand::Parts(parts) => {
            let is_allowed = |words: &&Vec<String>| rules.allow.iter().any(|prefix| prefix.begins(words));
            match parts.iter().find(|words| !is_allowed(words)) {
                None => Approval::Allowed,
                Some(words) => ask(&format!("`{}` is not on the list of what is allowed", words.join(" "))),
            }
        }
    }
}

/// Whether a command, or one inside of it, begins with what is denied. Where it cannot be read, the words alone are enough.
fn is_denied(prefix: &CommandPrefix, command: &str, read: &ReadCommand) -> bool {
    match read {
        ReadCommand::Unclear(_) => prefix.is_within(&loose_words(command)),
        ReadCommand::Parts(parts) => parts.iter().any(|words| {
            // Programs that run other programs take their command somewhere behind: `env`, `xargs`, `sh -c`.
            let inner = parts::runs_others(words).then(|| loose_words(&words.join(" ")));
            prefix.begins(words)
                || prefix.begins(&parts::by_bare_name(words))
                || inner.is_some_and(|all| prefix.is_within(&all))
        }),
    }
}
