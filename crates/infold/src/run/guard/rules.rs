//! The user's rules for tools of servers, in a file for `infold hook`. A tool that is called through `tool_call` has another name
//! for the agent than the one that the user's rules are about; the hook answers by the rules for the tool that is meant.
//!
//! A rule is a pattern of tools' names and holds no secret. The file is named after its content, so that several runs with the
//! same rules share it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{SHA256, digest};
use infold_core::gateway::{
    GatewayTool, Rights, RightsAction, RightsRule, RightsSource, RightsTarget, RightsVerdict, SourceClient, ToolHints,
};
use serde_json::{Value, json};

use crate::gateway::TakenServers;
use crate::run::SERVER;
use crate::whole_file::{self, IfThere};

/// How many bytes of the digest are in the file's name.
const NAME_BYTES: usize = 8;
/// The mode of Claude Code in which nothing may be changed, whatever is allowed.
const PLAN: &str = "plan";

/// The fields of the file, and what a rule in each says.
const FIELDS: [(&str, RightsAction); 3] =
    [("allow", RightsAction::Allow), ("ask", RightsAction::Ask), ("deny", RightsAction::Deny)];

/// Writes the rules into the data folder, and returns the file; `None` if there are none.
pub fn write_rules(data: &Path, servers: &TakenServers) -> anyhow::Result<Option<PathBuf>> {
    let patterns = |action| servers.patterns(action).collect::<Vec<_>>();
    let lists: serde_json::Map<_, _> =
        FIELDS.iter().map(|(field, action)| ((*field).to_owned(), json!(patterns(*action)))).collect();
    if lists.values().all(|list| list.as_array().is_none_or(Vec::is_empty)) {
        return Ok(None);
    }
    let text = Value::Object(lists).to_string();
    let mut name = "rules-".to_owned();
    for byte in &digest(&SHA256, text.as_bytes()).as_ref()[..NAME_BYTES] {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    let file = data.join(format!("{name}.json"));
    whole_file::write(&file, IfThere::Replace, |writer| Ok(writer.write_all(text.as_bytes())?))?;
    Ok(Some(file))
}

/// What Claude Code is answered about a call, by the rules in a file: one of its words and the reason; `None` if it decides by
/// itself. A file that cannot be read says nothing, so that Claude Code asks as it does without it.
pub fn decision(file: &Path, question: &Value) -> Option<(&'static str, String)> {
    let call = SourceClient::Claude.spell(SERVER, GatewayTool::Call.name());
    if question["tool_name"] != call {
        return None;
    }
    let rules: Value = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    // A target may be named by its server, too.
    let name = question["tool_input"]["name"].as_str()?.replacen('/', "__", 1);
    match verdict(&rules, &name) {
        RightsVerdict::Unsaid => None,
        RightsVerdict::Allow if question["permission_mode"] == PLAN => None,
        RightsVerdict::Allow => Some(("allow", format!("your rules allow {name}"))),
        RightsVerdict::Ask => Some(("ask", format!("your rules ask about {name}"))),
        RightsVerdict::Deny => Some(("deny", format!("the user's rules deny {name}"))),
    }
}

fn verdict(rules: &Value, name: &str) -> RightsVerdict {
    let of = |(field, action): (&str, RightsAction)| {
        let patterns = rules[field].as_array().into_iter().flatten().filter_map(Value::as_str);
        patterns.map(|pattern| RightsRule { pattern: pattern.to_owned(), action }).collect::<Vec<_>>()
    };
    let rules = FIELDS.into_iter().flat_map(of).collect();
    let rights = Rights { sources: vec![RightsSource::Settings { only: None, rules }] };
    rights.verdict(&RightsTarget { server: "", tool: name, hints: ToolHints::default() })
}
