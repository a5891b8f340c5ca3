//! The gateway's own tools: one finds tools of servers, two call them.

/// A tool of the gateway's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatewayTool {
    /// Finds tools that are not listed.
    Search,
    /// Calls a tool that may change things.
    Call,
    /// Calls a tool that only reads.
    CallRead,
}

impl GatewayTool {
    /// Every tool, in the order in which they are listed.
    pub const ALL: [Self; 3] = [Self::Search, Self::Call, Self::CallRead];

    /// Its name in infold's own list of tools.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Search => "tool_search",
            Self::Call => "tool_call",
            Self::CallRead => "tool_call_read",
        }
    }

    /// The tool of exactly this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }
}
