//! Deferral: which tools of servers are listed, and which are held back because their definitions would take too much
//! of the window. infold's own tools always stay, and are not counted: what they cost is the same for everybody.
//!
//! In the mode `call` either all tools of servers are listed or none is, so that the list stays as it is through a
//! session; a model's cache depends on that.

#[cfg(test)]
mod tests;

/// What happens when the tools do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeferralMode {
    /// All tools of servers are held back, and called through one tool of infold's.
    Call,
    /// As many as fit are listed; what is searched for is listed from then on.
    Promote,
}

/// When tools are deferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeferralRules {
    /// What happens when they do not fit.
    pub mode: DeferralMode,
    /// How much of the effective window definitions may take, in percent.
    pub percent: u64,
    /// Tokens that definitions may take, however large the window is.
    pub tokens_max: u64,
}

impl DeferralRules {
    /// Tokens that the definitions of servers may take in a window of which `output_tokens` are reserved for answers.
    pub fn room_tokens(&self, window_tokens: u64, output_tokens: u64) -> u64 {
        let effective = u128::from(window_tokens.saturating_sub(output_tokens));
        let share = effective * u128::from(self.percent) / 100;
        self.tokens_max.min(u64::try_from(share).unwrap_or(u64::MAX))
    }
}

/// What kind of tool it is. Server tools are deferred first, then those of skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolGroup {
    /// infold's own.
    Own,
    /// Of a skill.
    Skill,
    /// Of a server.
    Server,
}

/// A tool that may be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deferrable {
    /// What kind it is.
    pub group: ToolGroup,
    /// What its definition takes.
    pub tokens: u64,
    /// When it was last called or found; a larger number is later.
    pub last_used: Option<u64>,
}

/// Which tools are listed, as places in what was given, in that order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Tools that are listed.
    pub listed: Vec<usize>,
    /// Tools that are held back.
    pub deferred: Vec<usize>,
}

/// Decides which tools are listed in a room of this many tokens.
pub fn select_listed(tools: &[Deferrable], room_tokens: u64, mode: DeferralMode) -> Selection {
    let foreign = || tools.iter().enumerate().filter(|(_, tool)| tool.group != ToolGroup::Own);
    let total = foreign().fold(0_u64, |total, (_, tool)| total.saturating_add(tool.tokens));
    let kept: Vec<usize> = match mode {
        _ if total <= room_tokens => foreign().map(|(at, _)| at).collect(),
        DeferralMode::Call => Vec::new(),
        DeferralMode::Promote => fill(foreign(), room_tokens),
    };
    let mut is_listed: Vec<bool> = tools.iter().map(|tool| tool.group == ToolGroup::Own).collect();
    kept.into_iter().for_each(|at| is_listed[at] = true);
    let (listed, deferred) = (0..tools.len()).partition(|at| is_listed[*at]);
    Selection { listed, deferred }
}

/// The tools that stay: skills before servers, the most recently used first, until one does not fit. One that is larger
/// than the whole room is passed over, or it would keep all others out.
fn fill<'a>(tools: impl Iterator<Item = (usize, &'a Deferrable)>, room_tokens: u64) -> Vec<usize> {
    let mut tools: Vec<(usize, &Deferrable)> = tools.filter(|(_, tool)| tool.tokens <= room_tokens).collect();
    tools.sort_by_key(|(at, tool)| (tool.group, std::cmp::Reverse(tool.last_used), *at));
    let mut left = room_tokens;
    let fitting = tools.into_iter().map_while(|(at, tool)| {
        left = left.checked_sub(tool.tokens)?;
        Some(at)
    });
    fitting.collect()
}

impl Selection {
    /// What a model reads about the tools that are held back; nothing if there are none.
    pub fn note(&self) -> Option<String> {
        (!self.deferred.is_empty()).then(|| deferral_note(self.deferred.len()))
    }
}

/// The note about this many deferred tools.
pub fn deferral_note(deferred: usize) -> String {
    format!("[{deferred} tools deferred to save context. Use tool_search to find them.]")
}
