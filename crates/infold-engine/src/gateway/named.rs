//! The tools of several servers under the names that callers use: which may be called, and what a caller reads of those
//! that may not. Names depend on all tools and on the order of the servers, so they are given in one place.

use std::collections::HashMap;
use std::sync::Arc;

use infold_core::gateway::{
    Definition, Lane, OfferedTool, RightsTarget, SearchedTool, ServerEntry, ToolIndex, ToolName, Unnamed, Withholding,
    name_tools,
};

use super::overview::{ConfiguredServer, ServerUse};
use super::pins::{PinnedDefinition, ServerTools};
use crate::{Engine, Error};

/// A tool of a server that may be called.
#[derive(Debug)]
pub struct ServerTool {
    /// The name that callers use.
    pub name: ToolName,
    /// The place of its server among the entries.
    pub server: usize,
    /// The tool as it was pinned.
    pub definition: Definition,
    /// Which of the gateway's tools calls it.
    pub lane: Lane,
    /// How many tokens the tool takes in a request that lists it.
    pub tokens: u64,
}

/// The tools of several servers.
#[derive(Debug, Default)]
pub struct NamedTools {
    /// Those that may be called, in the order of their servers.
    pub callable: Vec<Arc<ServerTool>>,
    /// What callers read of those that may not, by all names that a caller may use.
    pub refused: HashMap<String, String>,
}

/// A tool that gets a name.
struct Naming<'a> {
    server: usize,
    entry: &'a ServerEntry,
    tool: Result<&'a PinnedDefinition, (&'a str, Withholding)>,
}

impl Naming<'_> {
    fn tool(&self) -> &str {
        match self.tool {
            Ok(usable) => &usable.definition.tool,
            Err((withheld, _)) => withheld,
        }
    }
}

impl NamedTools {
    /// Gives the tools of these servers their names. A server that nothing is known of has no tools. Tools that are
    /// withheld have names too, so that no other tool gets them meanwhile.
    pub fn of(servers: &[(&ServerEntry, Option<Arc<ServerTools>>)]) -> Self {
        let mut naming: Vec<Naming<'_>> = Vec::new();
        for (server, (entry, tools)) in servers.iter().enumerate() {
            let Some(tools) = tools else { continue };
            let usable = tools.usable.iter().map(Ok);
            let withheld = tools.withheld.iter().map(|withheld| Err((withheld.tool.as_str(), withheld.why)));
            naming.extend(usable.chain(withheld).map(|tool| Naming { server, entry, tool }));
        }
        let wanted = naming.iter().map(|tool| OfferedTool {
            server: &tool.entry.key,
            prefix: &tool.entry.prefix,
            tool: tool.tool(),
        });
        let names = name_tools(&wanted.collect::<Vec<_>>());
        let mut named = Self::default();
        naming.iter().zip(names).for_each(|(tool, name)| named.add(tool, name));
        named
    }

    fn add(&mut self, tool: &Naming<'_>, name: Result<ToolName, Unnamed>) {
        let place = format!("{}/{}", tool.entry.key, tool.tool());
        let name = match name {
            Ok(name) => name,
            Err(why) => {
                let refused = format!("{place} is not listed: {why}");
                self.refused.insert(place, refused);
                return;
            }
        };
        let refused = match tool.tool {
            Err((withheld, why)) => why.refuse(&name, &tool.entry.key, withheld),
            Ok(PinnedDefinition { definition, tokens, .. }) => {
                let about =
                    RightsTarget { server: tool.entry.key.as_str(), tool: &definition.tool, hints: definition.hints };
                match tool.entry.rights.lane(&about, tool.entry.hints) {
                    Some(lane) => {
                        let (server, definition) = (tool.server, definition.clone());
                        let callable = ServerTool { name, server, definition, lane, tokens: *tokens };
                        self.callable.push(Arc::new(callable));
                        return;
                    }
                    None => format!("{name} may not be called: the rules of its server deny it"),
                }
            }
        };
        self.refused.insert(name.to_string(), refused.clone());
        self.refused.insert(place, refused);
    }

    /// An index of the tools that may be called.
    pub fn index(&self) -> ToolIndex {
        ToolIndex::of(self.callable.iter().map(|tool| SearchedTool {
            name: &tool.definition.tool,
            server: tool.definition.server.as_str(),
            description: &tool.definition.description,
            schema: &tool.definition.input,
        }))
    }

    /// The tools that fit a query best, or without a query the first ones, and at most `limit` of them.
    pub fn find(&self, query: Option<&str>, limit: usize) -> Vec<&ServerTool> {
        match query {
            Some(query) => {
                let hits = self.index().find(query, limit);
                hits.into_iter().map(|hit| self.callable[hit.tool].as_ref()).collect()
            }
            None => self.callable.iter().take(limit).map(Arc::as_ref).collect(),
        }
    }
}

impl Engine {
    /// The tools of these servers as they are stored, under the names that callers use; no server is asked. Servers that
    /// are switched off are left out.
    pub async fn named_tools(&self, configured: &[ConfiguredServer]) -> Result<NamedTools, Error> {
        let mut servers = Vec::new();
        for server in configured.iter().filter(|server| server.use_now != ServerUse::Off) {
            servers.push((&server.entry, Some(Arc::new(self.pinned_tools(&server.entry.pin_key()).await?))));
        }
        Ok(NamedTools::of(&servers))
    }
}
