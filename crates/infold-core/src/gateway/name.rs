//! The names under which tools of servers are listed.
//!
//! Providers take letters, digits, `_` and `-`, and clients put a prefix of their own in front, so a name is cleaned
//! and bounded. No two tools have one name, and none has or looks like one of infold's own. Tools are named in the
//! order of their servers, so a server that comes later never changes what an earlier one's tools are called.

use std::collections::HashSet;
use std::fmt;

use super::entry::ServerKey;
use super::tool::GatewayTool;
use crate::OwnTool;

#[cfg(test)]
mod tests;

/// Characters of a listed name: with `mcp__servers__` in front it has 64, which is what every provider takes.
const NAME_CHARS_MAX: usize = 50;

/// Characters of the part that makes a name different from others.
const SUFFIX_CHARS: usize = 8;

/// Names that are tried for one tool.
const ATTEMPTS_MAX: u32 = 8;

/// The name under which a tool is listed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolName(String);

impl ToolName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A tool that wants a name.
#[derive(Debug, Clone, Copy)]
pub struct OfferedTool<'a> {
    /// Its server.
    pub server: &'a ServerKey,
    /// What its server's tools begin with.
    pub prefix: &'a str,
    /// What its server calls it.
    pub tool: &'a str,
}

/// Why a tool is not listed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unnamed {
    /// It has no name.
    #[error("it has no name")]
    Empty,
    /// Its name would be one of infold's own.
    #[error("it has the name of infold's own tool {name}: give its server another prefix")]
    Own {
        /// The name.
        name: String,
    },
    /// Its server lists it twice, or every name for it is taken.
    #[error("its server has another tool of this name")]
    Taken,
}

/// A name for each tool, in the order given, or why there is none. Servers count in the order of their first tools.
pub fn name_tools(offered: &[OfferedTool<'_>]) -> Vec<Result<ToolName, Unnamed>> {
    let mut servers: Vec<&ServerKey> = Vec::new();
    let mut ranked: Vec<(usize, usize)> = Vec::with_capacity(offered.len());
    for (at, tool) in offered.iter().enumerate() {
        let rank = servers.iter().position(|server| *server == tool.server).unwrap_or_else(|| {
            servers.push(tool.server);
            servers.len() - 1
        });
        ranked.push((rank, at));
    }
    // Within a server the order of its list must not matter: a name that needs no cleaning comes first.
    ranked.sort_by_key(|(rank, at)| {
        let tool = &offered[*at];
        (*rank, clean(tool.tool) != tool.tool, tool.tool, *at)
    });

    let mut named = vec![Err(Unnamed::Taken); offered.len()];
    let mut taken = HashSet::new();
    let mut seen = HashSet::new();
    for (_, at) in ranked {
        let tool = &offered[at];
        if seen.insert((tool.server, tool.tool)) {
            named[at] = name(tool, &mut taken);
        }
    }
    named
}

fn name(tool: &OfferedTool<'_>, taken: &mut HashSet<String>) -> Result<ToolName, Unnamed> {
    if tool.tool.trim().is_empty() {
        return Err(Unnamed::Empty);
    }
    let whole = clean(&format!("{}{}", tool.prefix, tool.tool));
    if is_own(&whole) {
        return Err(Unnamed::Own { name: whole });
    }
    let plain = Some(whole.clone()).filter(|whole| whole.len() <= NAME_CHARS_MAX);
    let marked = (0..ATTEMPTS_MAX).map(|attempt| mark(&whole, tool, attempt));
    let mut names = plain.into_iter().chain(marked).filter(|name| !looks_own(name));
    let name = names.find(|name| !taken.contains(name)).ok_or(Unnamed::Taken)?;
    taken.insert(name.clone());
    Ok(ToolName(name))
}

/// A name with every character that providers do not take replaced.
fn clean(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// A name that is short enough, with a part that is this tool's alone.
fn mark(whole: &str, tool: &OfferedTool<'_>, attempt: u32) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(tool.server.as_str().as_bytes()).update(b"/").update(tool.tool.as_bytes());
    if attempt > 0 {
        hasher.update(&attempt.to_le_bytes());
    }
    let hash = hasher.finalize().to_hex();
    let front = &whole[..whole.len().min(NAME_CHARS_MAX - SUFFIX_CHARS - 1)];
    format!("{front}_{}", &hash[..SUFFIX_CHARS])
}

fn is_own(name: &str) -> bool {
    OwnTool::named(name).is_some() || GatewayTool::named(name).is_some()
}

/// Whether a client's prefix and one of infold's names would read like this name: then a call of it would be taken for
/// infold's own.
fn looks_own(name: &str) -> bool {
    let ends_like = |own: GatewayTool| name.strip_suffix(own.name()).is_some_and(|prefix| prefix.ends_with(['_', '-']));
    OwnTool::spelled(name).is_some() || GatewayTool::ALL.into_iter().any(ends_like)
}
