//! The tools of all servers, as they are at one moment: what they are called, which of them are listed, and how they are
//! found.
//!
//! A catalogue is a value: when a server's tools change, another one takes its place, and calls that have begun go on
//! with the one that they have seen.

use std::collections::HashMap;
use std::sync::Arc;

use infold_core::gateway::{
    Deferrable, DeferralMode, Definition, Lane, ListedTool, OfferedTool, RightsTarget, SchemaForm, SearchedTool,
    ServerEntry, ServerKind, ToolGroup, ToolHints, ToolIndex, ToolName, deferral_note, list_tool, name_tools,
    select_listed,
};
use infold_engine::ServerTools;
use rmcp::model::{Tool, ToolAnnotations};

use crate::answer;

/// How many names are offered to somebody who calls a tool that is not there.
const NEAREST_MAX: usize = 3;

/// A tool of a server that may be called.
#[derive(Debug)]
pub(crate) struct ServerTool {
    pub(crate) name: ToolName,
    /// The place of its server among the entries.
    pub(crate) server: usize,
    pub(crate) definition: Definition,
    pub(crate) lane: Lane,
    tokens: u64,
}

/// How the tools are listed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListingRules {
    pub(crate) mode: DeferralMode,
    /// Tokens that the definitions of servers may take.
    pub(crate) room_tokens: u64,
    pub(crate) form: SchemaForm,
}

/// The tools of all servers at one moment.
#[derive(Debug)]
pub(crate) struct Catalogue {
    targets: Vec<Arc<ServerTool>>,
    by_name: HashMap<String, usize>,
    /// Tools that must not be called now, by name, with what their callers read.
    withheld: HashMap<String, String>,
    index: ToolIndex,
    /// The tools that `tools/list` shows.
    pub(crate) listed: Vec<Tool>,
    /// How many tools are held back.
    pub(crate) deferred: usize,
}

impl Catalogue {
    /// The catalogue of these servers, in the order of the entries. A server that nothing is known of has no tools.
    pub(crate) fn of(servers: &[(&ServerEntry, Option<Arc<ServerTools>>)], rules: &ListingRules) -> Self {
        let (targets, withheld) = named(servers);
        let by_name = targets.iter().enumerate().flat_map(|(at, target)| {
            let Definition { server, tool, .. } = &target.definition;
            [(target.name.to_string(), at), (format!("{server}/{tool}"), at)]
        });
        let by_name = by_name.collect();
        let index = ToolIndex::of(targets.iter().map(|target| SearchedTool {
            name: &target.definition.tool,
            server: target.definition.server.as_str(),
            description: &target.definition.description,
            schema: &target.definition.input,
        }));
        let (listed, deferred) = listed(&targets, servers, rules);
        Self { targets, by_name, withheld, index, listed, deferred }
    }

    /// The tool that a caller names: as it is listed, or as `server/tool`.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<ServerTool>> {
        self.by_name.get(name).map(|at| &self.targets[*at])
    }

    /// The tools that fit a query best.
    pub(crate) fn search(&self, query: &str, limit: usize) -> Vec<&Arc<ServerTool>> {
        self.index.find(query, limit).into_iter().map(|hit| &self.targets[hit.tool]).collect()
    }

    /// What the caller of a tool reads that is not there, or must not be called.
    pub(crate) fn refuse(&self, name: &str) -> String {
        if let Some(why) = self.withheld.get(name) {
            return why.clone();
        }
        let nearest: Vec<&str> = self.search(name, NEAREST_MAX).iter().map(|target| target.name.as_str()).collect();
        match nearest.as_slice() {
            [] => format!("There is no tool {name:?}: find one with tool_search"),
            nearest => format!("There is no tool {name:?}. Near it are {}", nearest.join(", ")),
        }
    }

    /// The note about tools that are held back; nothing if there are none.
    pub(crate) fn note(&self) -> Option<String> {
        (self.deferred > 0).then(|| deferral_note(self.deferred))
    }

    /// How many tools may be called.
    pub(crate) fn len(&self) -> usize {
        self.targets.len()
    }
}

type Withheld = HashMap<String, String>;

/// Gives every tool its name, and leaves out what must not be called.
fn named(servers: &[(&ServerEntry, Option<Arc<ServerTools>>)]) -> (Vec<Arc<ServerTool>>, Withheld) {
    let mut withheld = Withheld::new();
    let known = servers.iter().enumerate().filter_map(|(at, (entry, tools))| Some((at, *entry, tools.as_ref()?)));
    let mut offered = Vec::new();
    for (at, entry, tools) in known {
        offered.extend(tools.usable.iter().map(|tool| (at, entry, tool)));
        for (tool, why) in &tools.withheld {
            withheld.insert(format!("{}{tool}", entry.prefix), why.clone());
            withheld.insert(format!("{}/{tool}", entry.key), why.clone());
        }
    }
    let wanted: Vec<OfferedTool<'_>> = offered
        .iter()
        .map(|(_, entry, tool)| OfferedTool { server: &entry.key, prefix: &entry.prefix, tool: &tool.definition.tool })
        .collect();
    let mut targets = Vec::new();
    for ((server, entry, tool), name) in offered.iter().zip(name_tools(&wanted)) {
        let place = format!("{}/{}", entry.key, tool.definition.tool);
        let about =
            RightsTarget { server: entry.key.as_str(), tool: &tool.definition.tool, hints: tool.definition.hints };
        match (name, entry.rights.lane(&about, entry.hints)) {
            (Ok(name), Some(lane)) => {
                let definition = tool.definition.clone();
                targets.push(Arc::new(ServerTool { name, server: *server, definition, lane, tokens: tool.tokens }));
            }
            (Ok(name), None) => {
                let why = format!("{name} may not be called: the rules of its server deny it");
                withheld.insert(name.to_string(), why.clone());
                withheld.insert(place, why);
            }
            (Err(why), _) => {
                withheld.insert(place.clone(), format!("{place} is not listed: {why}"));
            }
        }
    }
    (targets, withheld)
}

/// The tools that are listed, and how many are held back.
fn listed(
    targets: &[Arc<ServerTool>],
    servers: &[(&ServerEntry, Option<Arc<ServerTools>>)],
    rules: &ListingRules,
) -> (Vec<Tool>, usize) {
    let group = |target: &ServerTool| match servers[target.server].0.kind {
        ServerKind::Plain => ToolGroup::Server,
        ServerKind::Skill => ToolGroup::Skill,
    };
    let deferrable: Vec<Deferrable> = targets
        .iter()
        .map(|target| Deferrable { group: group(target), tokens: target.tokens, last_used: None })
        .collect();
    let selection = select_listed(&deferrable, rules.room_tokens, rules.mode);
    let listed: Vec<Tool> = selection
        .listed
        .iter()
        .filter_map(|at| list_tool(&targets[*at].definition, &targets[*at].name, rules.form).ok())
        .map(as_protocol)
        .collect();
    let deferred = targets.len() - listed.len();
    (listed, deferred)
}

/// A listed tool in the protocol's form.
fn as_protocol(listed: ListedTool) -> Tool {
    let input = answer::object(listed.input);
    let mut tool = Tool::new(listed.name.to_string(), listed.description, Arc::new(input));
    if let Some(output) = listed.output {
        tool = tool.with_raw_output_schema(Arc::new(answer::object(output)));
    }
    let annotations = annotations(listed.title.as_deref(), listed.hints);
    if let Some(title) = listed.title {
        tool = tool.with_title(title);
    }
    tool.with_annotations(annotations)
}

fn annotations(title: Option<&str>, hints: ToolHints) -> ToolAnnotations {
    let mut annotations = ToolAnnotations::default();
    annotations.title = title.map(str::to_owned);
    annotations.read_only_hint = hints.read_only;
    annotations.destructive_hint = hints.destructive;
    annotations.idempotent_hint = hints.idempotent;
    annotations.open_world_hint = hints.open_world;
    annotations
}
