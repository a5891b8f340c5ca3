//! The tools of all servers, as they are at one moment: what they are called, which of them are listed, and how they are
//! found.
//!
//! A catalogue is a value: when a server's tools change, another one takes its place, and calls that have begun go on
//! with the one that they have seen.

use std::collections::HashMap;
use std::sync::Arc;

use infold_core::gateway::{
    Deferrable, DeferralMode, Definition, HintTrust, ListedTool, SchemaForm, ServerEntry, ServerKind, ToolGroup,
    ToolHints, ToolIndex, deferral_note, list_tool, select_listed,
};
use infold_engine::{NamedTools, ServerTool, ServerTools};
use rmcp::model::{Tool, ToolAnnotations};

use crate::answer;

/// How many names are offered to somebody who calls a tool that is not there.
const NEAREST_MAX: usize = 3;

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
    tools: NamedTools,
    by_name: HashMap<String, usize>,
    index: ToolIndex,
    /// The tools that `tools/list` shows.
    pub(crate) listed: Vec<Tool>,
    /// How many tools are held back.
    pub(crate) deferred: usize,
}

impl Catalogue {
    /// The catalogue of these servers, in the order of the entries. A server that nothing is known of has no tools.
    /// Where not all fit into the list, `used` says which were used last.
    pub(crate) fn of(
        servers: &[(&ServerEntry, Option<Arc<ServerTools>>)],
        rules: &ListingRules,
        used: &HashMap<String, u64>,
    ) -> Self {
        let tools = NamedTools::of(servers);
        let by_name = tools.callable.iter().enumerate().flat_map(|(at, target)| {
            let Definition { server, tool, .. } = &target.definition;
            [(target.name.to_string(), at), (format!("{server}/{tool}"), at)]
        });
        let by_name = by_name.collect();
        let index = tools.index();
        let (listed, deferred) = listed(&tools.callable, servers, rules, used);
        Self { tools, by_name, index, listed, deferred }
    }

    /// The tool that a caller names: as it is listed, or as `server/tool`.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<ServerTool>> {
        self.by_name.get(name).map(|at| &self.tools.callable[*at])
    }

    /// The tools that fit a query best.
    pub(crate) fn search(&self, query: &str, limit: usize) -> Vec<&Arc<ServerTool>> {
        self.index.find(query, limit).into_iter().map(|hit| &self.tools.callable[hit.tool]).collect()
    }

    /// What the caller of a tool reads that is not there, or must not be called.
    pub(crate) fn refuse(&self, name: &str) -> String {
        if let Some(why) = self.tools.refused.get(name) {
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
        self.tools.callable.len()
    }
}

/// The tools that are listed, and how many are held back.
fn listed(
    targets: &[Arc<ServerTool>],
    servers: &[(&ServerEntry, Option<Arc<ServerTools>>)],
    rules: &ListingRules,
    used: &HashMap<String, u64>,
) -> (Vec<Tool>, usize) {
    let group = |target: &ServerTool| match servers[target.server].0.kind {
        ServerKind::Plain => ToolGroup::Server,
        ServerKind::Skill => ToolGroup::Skill,
    };
    let deferrable: Vec<Deferrable> = targets
        .iter()
        .map(|target| Deferrable {
            group: group(target),
            tokens: target.tokens,
            last_used: used.get(target.name.as_str()).copied(),
        })
        .collect();
    let selection = select_listed(&deferrable, rules.room_tokens, rules.mode);
    let listed: Vec<Tool> = selection
        .listed
        .iter()
        .filter_map(|at| {
            let target = &targets[*at];
            let listed = list_tool(&target.definition, &target.name, rules.form).ok()?;
            Some(as_protocol(listed, servers[target.server].0.hints))
        })
        .collect();
    let deferred = targets.len() - listed.len();
    (listed, deferred)
}

/// A listed tool in the protocol's form. Clients let tools run because of their hints, so those that do not count are left
/// out.
fn as_protocol(listed: ListedTool, trust: HintTrust) -> Tool {
    let input = answer::object(listed.input);
    let mut tool = Tool::new(listed.name.to_string(), listed.description, Arc::new(input));
    if let Some(output) = listed.output {
        tool = tool.with_raw_output_schema(Arc::new(answer::object(output)));
    }
    let hints = match trust {
        HintTrust::Trusted => listed.hints,
        HintTrust::Ignored => ToolHints::default(),
    };
    let annotations = annotations(listed.title.as_deref(), hints);
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
