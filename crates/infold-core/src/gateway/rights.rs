//! What tools of servers may do without the user being asked: the rules of the client that an entry was taken from,
//! in that client's own order of precedence, and which of infold's two calling tools a target belongs to.
//!
//! Where several sources have rules, the strictest one counts. Reading the clients' files is the program's work.

mod claude;
mod glob;

#[cfg(test)]
mod tests;

use serde_json::Value;

use super::definition::ToolHints;
use super::entry::HintTrust;
use super::name::ToolName;
use super::tool::GatewayTool;
use glob::{Joker, fits_glob};

/// What a rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RightsAction {
    /// Calls go through.
    Allow,
    /// The user is asked.
    Ask,
    /// Calls are refused, and the tool is not shown.
    Deny,
}

/// What all rules together say, from the mildest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RightsVerdict {
    /// No rule says anything.
    Unsaid,
    /// Calls go through.
    Allow,
    /// The user is asked.
    Ask,
    /// Calls are refused, and the tool is not shown.
    Deny,
}

impl From<RightsAction> for RightsVerdict {
    fn from(action: RightsAction) -> Self {
        match action {
            RightsAction::Allow => Self::Allow,
            RightsAction::Ask => Self::Ask,
            RightsAction::Deny => Self::Deny,
        }
    }
}

/// A rule, as its source writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RightsRule {
    /// What it is about, in its source's form.
    pub pattern: String,
    /// What it says.
    pub action: RightsAction,
}

/// When Codex asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ApprovalMode {
    /// For tools that may take something away, or that change the world outside.
    #[default]
    Auto,
    /// Always.
    Prompt,
    /// For every tool that does not only read.
    Writes,
    /// Never.
    Approve,
}

/// Rules of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RightsSource {
    /// Settings of infold: patterns of tools' own names, with `*`. Deny comes before ask, ask before allow.
    Settings {
        /// The only tools that may be used, if there is such a list.
        only: Option<Vec<String>>,
        /// The rules.
        rules: Vec<RightsRule>,
    },
    /// Claude Code: `mcp__server`, `mcp__server__tool`, and patterns. Deny comes before ask, ask before allow.
    Claude {
        /// The rules, of which those about other tools say nothing.
        rules: Vec<RightsRule>,
    },
    /// Codex: lists of names, and a mode for each tool that decides by what the tool says that it does.
    Codex {
        /// The only tools that may be used, if there is such a list.
        enabled: Option<Vec<String>>,
        /// Tools that must not be used.
        disabled: Vec<String>,
        /// The mode of tools that have none of their own.
        mode: ApprovalMode,
        /// Tools with a mode of their own.
        modes: Vec<(String, ApprovalMode)>,
    },
    /// OpenCode: patterns of `server_tool`; the last one that fits counts. What `tools` switches off or on comes first,
    /// as deny or allow.
    Opencode {
        /// The rules, in the order of the file.
        rules: Vec<RightsRule>,
    },
}

/// A tool that somebody wants to call.
#[derive(Debug, Clone, Copy)]
pub struct RightsTarget<'a> {
    /// Its server's name, as the client that the rules are from has it.
    pub server: &'a str,
    /// What its server calls it.
    pub tool: &'a str,
    /// What its server says that it does.
    pub hints: ToolHints,
}

/// What tools of one server may do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rights {
    /// Where the rules come from.
    pub sources: Vec<RightsSource>,
}

/// Which of infold's two calling tools a target belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// `tool_call_read`: it only reads, and nobody has to be asked.
    Read,
    /// `tool_call`: every other one.
    Change,
}

impl Lane {
    /// The tool that calls targets of this lane.
    pub fn tool(self) -> GatewayTool {
        match self {
            Self::Read => GatewayTool::CallRead,
            Self::Change => GatewayTool::Call,
        }
    }

    /// What a caller reads who called a target of this lane with the other tool.
    pub fn refuse_other(self, name: &ToolName) -> String {
        let does = match self {
            Self::Read => "only reads",
            Self::Change => "changes things",
        };
        format!("{name} {does}: call it with {}", self.tool().name())
    }
}

impl Rights {
    /// What the rules say about a target, whatever it is called with.
    pub fn verdict(&self, target: &RightsTarget<'_>) -> RightsVerdict {
        let verdicts = self.sources.iter().map(|source| source.verdict(target));
        verdicts.max().unwrap_or(RightsVerdict::Unsaid)
    }

    /// What the rules say about one call of a target: some are about arguments.
    pub fn verdict_of_call(&self, target: &RightsTarget<'_>, arguments: &Value) -> RightsVerdict {
        let is_denied = self.sources.iter().any(|source| match source {
            RightsSource::Claude { rules } => claude::denies_call(rules, target, arguments),
            RightsSource::Settings { .. } | RightsSource::Codex { .. } | RightsSource::Opencode { .. } => false,
        });
        if is_denied { RightsVerdict::Deny } else { self.verdict(target) }
    }

    /// Which calling tool a target belongs to; `None` if it must not be called. What has to be asked about is never in
    /// the lane that clients let through.
    pub fn lane(&self, target: &RightsTarget<'_>, trust: HintTrust) -> Option<Lane> {
        let only_reads = trust == HintTrust::Trusted
            && target.hints.read_only == Some(true)
            && target.hints.destructive != Some(true);
        match self.verdict(target) {
            RightsVerdict::Deny => None,
            RightsVerdict::Ask => Some(Lane::Change),
            RightsVerdict::Allow | RightsVerdict::Unsaid if only_reads => Some(Lane::Read),
            RightsVerdict::Allow | RightsVerdict::Unsaid => Some(Lane::Change),
        }
    }
}

impl RightsSource {
    fn verdict(&self, target: &RightsTarget<'_>) -> RightsVerdict {
        match self {
            Self::Settings { only, rules } => {
                let fits = |pattern: &String| fits_glob(pattern, target.tool, Joker::Any);
                if only.as_ref().is_some_and(|only| !only.iter().any(fits)) {
                    return RightsVerdict::Deny;
                }
                strictest(rules.iter().filter(|rule| fits(&rule.pattern)).map(|rule| rule.action))
            }
            Self::Claude { rules } => claude::verdict(rules, target),
            Self::Codex { enabled, disabled, mode, modes } => {
                let names = |list: &[String]| list.iter().any(|name| name == target.tool);
                if names(disabled) || enabled.as_ref().is_some_and(|enabled| !names(enabled)) {
                    return RightsVerdict::Deny;
                }
                let own = modes.iter().find(|(tool, _)| tool == target.tool).map(|(_, mode)| *mode);
                own.unwrap_or(*mode).verdict(&target.hints)
            }
            Self::Opencode { rules } => {
                let name = format!("{}_{}", clean(target.server), clean(target.tool));
                let last = rules.iter().rev().find(|rule| fits_opencode(&rule.pattern, &name));
                last.map_or(RightsVerdict::Unsaid, |rule| rule.action.into())
            }
        }
    }
}

impl ApprovalMode {
    /// Whether Codex asks about a tool that says this of itself. What a tool does not say counts against it.
    fn verdict(self, hints: &ToolHints) -> RightsVerdict {
        let only_reads = hints.read_only == Some(true);
        let asks = match self {
            Self::Auto if hints.destructive == Some(true) => true,
            Self::Auto if only_reads => false,
            Self::Auto => hints.destructive.unwrap_or(true) || hints.open_world.unwrap_or(true),
            Self::Prompt => true,
            Self::Writes => !only_reads,
            Self::Approve => false,
        };
        if asks { RightsVerdict::Ask } else { RightsVerdict::Allow }
    }
}

/// Deny before ask, ask before allow.
fn strictest(actions: impl Iterator<Item = RightsAction>) -> RightsVerdict {
    actions.map(RightsVerdict::from).max().unwrap_or(RightsVerdict::Unsaid)
}

/// A name as clients spell it for models.
fn clean(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// OpenCode's own way to compare: `*` and `?`, and a pattern that ends in a space and `*` fits without them too.
fn fits_opencode(pattern: &str, name: &str) -> bool {
    let fits = |pattern: &str| fits_glob(pattern, name, Joker::AnyOrOne);
    fits(pattern) || pattern.strip_suffix(" *").is_some_and(fits)
}
