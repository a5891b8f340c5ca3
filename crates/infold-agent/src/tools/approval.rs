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
    /// What a person has approved since, for as long as the session is open.
    pub granted: Vec<Grant>,
}

/// Something that a person approves for longer than one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grant {
    /// Changes of files.
    Edits,
    /// Commands with these first words.
    Command(CommandPrefix),
    /// A tool of another server.
    Tool(String),
}

impl std::fmt::Display for Grant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Edits => f.write_str("changes of files in this folder"),
            Self::Command(prefix) => write!(f, "commands that begin with `{}`", prefix.shown()),
            Self::Tool(tool) => write!(f, "calls of {tool}"),
        }
    }
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

    /// The words by which a person approves more commands like this one: never its first word alone if it has more, and all
    /// of them if the second is no name of what it does.
    fn like(words: &[String]) -> Self {
        let is_name = |word: &String| !word.starts_with('-');
        let count = if words.get(1).is_some_and(is_name) { 2 } else { words.len() };
        Self(words[..count].to_vec())
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
        /// What has to be granted so that calls like it are not asked about again; empty if each one is.
        lasting: Vec<Grant>,
    },
    /// It may not run.
    Refused {
        /// Why, and what to do instead.
        why: String,
    },
}

/// Decides whether a call may run.
pub fn decide(call: &LocalCall, rules: &ApprovalRules) -> Approval {
    match call {
        LocalCall::Read(_) | LocalCall::List(_) | LocalCall::Search(_) => Approval::Allowed,
        LocalCall::Write(call) => decide_change(format!("write {}", call.path), rules),
        LocalCall::Edit(call) => decide_change(format!("edit {}", call.path), rules),
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
    let grant = Grant::Tool(tool.to_owned());
    match (effect, rules.mode) {
        (OtherEffect::MayChange, ApprovalMode::Ask) if rules.granted.contains(&grant) => Approval::Allowed,
        (OtherEffect::Reads, _) | (OtherEffect::MayChange, ApprovalMode::Edits | ApprovalMode::All) => {
            Approval::Allowed
        }
        (OtherEffect::MayChange, ApprovalMode::ReadOnly) => Approval::Refused {
            why: format!("{tool} may change things, and this session may only read: say what you would change"),
        },
        (OtherEffect::MayChange, ApprovalMode::Ask) => Approval::Ask {
            what: format!("call {tool}"),
            why: "tools that may change things are asked about".to_owned(),
            lasting: vec![grant],
        },
    }
}

fn decide_change(what: String, rules: &ApprovalRules) -> Approval {
    match rules.mode {
        ApprovalMode::Ask if rules.granted.contains(&Grant::Edits) => Approval::Allowed,
        ApprovalMode::ReadOnly => {
            Approval::Refused { why: "this session may only read: say what you would change".to_owned() }
        }
        ApprovalMode::Ask => {
            let why = "changes of files are asked about".to_owned();
            Approval::Ask { what, why, lasting: vec![Grant::Edits] }
        }
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
    let ask = |why: String, lasting| Approval::Ask { what: format!("run `{command}`"), why, lasting };
    let lacking = match (rules.mode, rules.confinement) {
        (ApprovalMode::All, ShellConfinement::Full | ShellConfinement::OffByUser) => return Approval::Allowed,
        (ApprovalMode::All, ShellConfinement::Lacking) => Some("commands are not fully confined on this machine"),
        (ApprovalMode::ReadOnly | ApprovalMode::Ask | ApprovalMode::Edits, _) => None,
    };
    match read {
        ReadCommand::Unclear(why) => {
            let why = format!("it cannot be compared with what is allowed, because {why}");
            ask(lacking.map_or(why, str::to_owned), Vec::new())
        }
        ReadCommand::Parts(parts) => {
            let asked: Vec<&Vec<String>> = parts.iter().filter(|words| !is_allowed(words, rules)).collect();
            let Some(first) = asked.first() else { return Approval::Allowed };
            let why = format!("`{}` is not on the list of what is allowed", first.join(" "));
            let lasting = asked.iter().map(|words| Grant::Command(CommandPrefix::like(words))).collect();
            ask(lacking.map_or(why, str::to_owned), lasting)
        }
    }
}

/// Whether a command begins with what the user's settings allow, or a person has approved since.
fn is_allowed(words: &[String], rules: &ApprovalRules) -> bool {
    let granted = rules.granted.iter().filter_map(|grant| match grant {
        Grant::Command(prefix) => Some(prefix),
        Grant::Edits | Grant::Tool(_) => None,
    });
    rules.allow.iter().chain(granted).any(|prefix| prefix.begins(words))
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
