//! Our own tools, under whatever name a client gives them.

/// What one of our tools does to the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Opens a branch.
    Open,
    /// Folds one.
    Return,
    /// Goes back to one.
    RollBack,
    /// Reads part of a kept result.
    Read,
    /// Asks about the session, or ends it.
    Ask,
}

/// Our tools. Longer names come before names that they end with.
const TOOLS: [(&str, Verb); 11] = [
    ("context_branch_status", Verb::Ask),
    ("context_list_branches", Verb::Ask),
    ("context_rollback", Verb::RollBack),
    ("context_return", Verb::Return),
    ("context_branch", Verb::Open),
    ("context_fork", Verb::Ask),
    ("branch_create", Verb::Open),
    ("branch_return", Verb::Return),
    ("branch_status", Verb::Ask),
    ("read_result", Verb::Read),
    ("session_end", Verb::Ask),
];

impl Verb {
    /// The verb of a tool, if it has the name of one of ours, with or without a client's prefix. The name
    /// proves nothing: whether a branch was opened is told by the id in the result.
    pub fn of(tool: &str) -> Option<Self> {
        TOOLS.iter().find(|(name, _)| is_named(tool, name)).map(|(_, verb)| *verb)
    }

    /// Our tools that change the tree, each with what it does.
    pub(super) fn acting() -> impl Iterator<Item = (Self, &'static str)> {
        let acts = |verb: Self| match verb {
            Self::Open | Self::Return | Self::RollBack => true,
            Self::Read | Self::Ask => false,
        };
        TOOLS.into_iter().filter(move |(_, verb)| acts(*verb)).map(|(name, verb)| (verb, name))
    }

    /// Our tools that read kept results.
    pub(super) fn reading() -> impl Iterator<Item = &'static str> {
        TOOLS.into_iter().filter(|(_, verb)| *verb == Self::Read).map(|(name, _)| name)
    }

    /// Whether a tool is the one of ours that is called `name`, with or without a client's prefix.
    pub(super) fn is_named(tool: &str, name: &str) -> bool {
        is_named(tool, name)
    }

    /// The name of the tool that folds what `opening` opened, spelled as this client spells ours.
    pub fn return_tool(opening: &str) -> String {
        let spelled = |name: &str, other: &str| opening.strip_suffix(name).map(|prefix| format!("{prefix}{other}"));
        spelled("branch_create", "branch_return")
            .or_else(|| spelled("context_branch", "context_return"))
            .unwrap_or_else(|| "branch_return".to_owned())
    }
}

fn is_named(tool: &str, name: &str) -> bool {
    tool.strip_suffix(name).is_some_and(|prefix| prefix.is_empty() || prefix.ends_with(['_', '.', '/', '-', ':']))
}
