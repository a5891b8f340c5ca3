//! Finds the tools that a query names: a query that is a name wins over whatever its words would find.
//!
//! A name is a tool's own, or with its server's before it, as clients and people write it. Inside a longer query only
//! names of several words count: `search` is a wish there, `web_search` is a name.

use std::collections::HashMap;

use crate::words::{WordExtent, words};

/// What clients put before the names of all servers.
const CLIENT_PREFIX: &str = "mcp__";
/// A longer name is not found in one piece.
const NAME_BYTES_MAX: usize = 256;

/// Tools by their names.
#[derive(Debug, Default)]
pub(super) struct ExactNames {
    tools: HashMap<String, Vec<NamedTool>>,
}

/// A tool that has a name.
#[derive(Debug, Clone, Copy)]
struct NamedTool {
    tool: usize,
    /// Whether the name says that it is one, so that it is found inside other words.
    is_telling: bool,
}

impl ExactNames {
    /// Adds the names of a tool.
    pub fn add(&mut self, tool: usize, server: &str, name: &str) {
        if name.is_empty() || server.len() + name.len() > NAME_BYTES_MAX {
            return;
        }
        let parts = words(name).iter().filter(|word| word.extent == WordExtent::Part).count();
        self.add_one(name, NamedTool { tool, is_telling: parts > 1 });
        if !server.is_empty() {
            self.add_one(&format!("{server}__{name}"), NamedTool { tool, is_telling: true });
            self.add_one(&format!("{server}/{name}"), NamedTool { tool, is_telling: true });
        }
    }

    fn add_one(&mut self, name: &str, tool: NamedTool) {
        self.tools.entry(spelling(name)).or_default().push(tool);
    }

    /// The tools that a query names, each at least once.
    pub fn named_in(&self, query: &str) -> Vec<usize> {
        let whole = self.named(query).iter().map(|named| named.tool);
        let pieces = query.split(|c: char| c.is_whitespace() || ",;:()\"'`".contains(c));
        let inside = pieces.flat_map(|piece| self.named(piece)).filter(|named| named.is_telling);
        whole.chain(inside.map(|named| named.tool)).collect()
    }

    fn named(&self, text: &str) -> &[NamedTool] {
        if text.len() > 2 * NAME_BYTES_MAX {
            return &[];
        }
        let spelling = spelling(text);
        let found = self.tools.get(&spelling).or_else(|| self.tools.get(spelling.strip_prefix(CLIENT_PREFIX)?));
        found.map_or(&[], Vec::as_slice)
    }
}

/// A name as it is compared: without capitals, and without the signs that a sentence puts around it.
fn spelling(name: &str) -> String {
    let bare = name.trim_matches(|c: char| !c.is_alphanumeric());
    if bare.is_empty() { name.trim().to_owned() } else { bare.to_lowercase() }
}
