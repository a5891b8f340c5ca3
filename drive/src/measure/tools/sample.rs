//! Sets of tools with queries, as they are on disk, and what is counted on them.

use std::io::BufReader;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

/// Tools, and what should be found among them.
#[derive(Debug, Deserialize)]
pub(super) struct ToolSet {
    pub tools: Vec<SetTool>,
    pub queries: Vec<ToolQuery>,
}

/// A tool of a set.
#[derive(Debug, Deserialize)]
pub(super) struct SetTool {
    pub name: String,
    #[serde(default)]
    pub server: String,
    #[serde(default)]
    pub desc: String,
    #[serde(default)]
    pub schema: Value,
}

/// A query, with groups of tools: of each group one is enough.
#[derive(Debug, Deserialize)]
pub(super) struct ToolQuery {
    pub q: String,
    pub gold: Vec<Vec<usize>>,
}

impl ToolSet {
    /// Reads a set; `None` if it is not there.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        if !path.exists() {
            return Ok(None);
        }
        let read = serde_json::from_reader(BufReader::new(infold_wire::open(path)?));
        let mut set: Self = read.with_context(|| format!("{} is no set of tools", path.display()))?;
        for tool in &mut set.tools {
            tool.schema = as_schema(tool.schema.take());
        }
        Ok(Some(set))
    }
}

/// Some sets have the parameters where a schema should be.
fn as_schema(schema: Value) -> Value {
    let is_schema = schema.get("properties").is_some() || schema.get("type").is_some_and(Value::is_string);
    if is_schema { schema } else { json!({"type": "object", "properties": schema}) }
}

impl ToolQuery {
    /// The share of the groups that have a tool among the first ones found.
    pub fn share(&self, found: &[usize], first: usize) -> f64 {
        let first = &found[..first.min(found.len())];
        let has = |group: &&Vec<usize>| group.iter().any(|tool| first.contains(tool));
        self.gold.iter().filter(has).count() as f64 / self.gold.len().max(1) as f64
    }
}
