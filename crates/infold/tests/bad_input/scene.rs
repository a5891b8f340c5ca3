//! What there is before anything goes wrong: a session with an open branch and an offloaded result, another session
//! of the same owner, and one of somebody else's.

use anyhow::{Context, Result, bail};
use infold_testkit::McpHttp;
use serde_json::{Map, Value, json};

use crate::support::{Api, Issuer, Program, lines_about, roomy};

/// A daemon with its owner's client, and somebody else who has things on it.
pub struct World {
    pub program: Program,
    pub theirs: Things,
    _issuer: Issuer,
}

/// Ids of what somebody has in one session.
#[derive(Debug, Clone)]
pub struct Things {
    pub project: String,
    pub session: String,
    pub branch: String,
    pub ref_id: String,
    pub memory: String,
}

impl World {
    /// Starts a daemon, on which somebody else has things already.
    pub async fn new() -> Result<Self> {
        let issuer = Issuer::new()?;
        let setup = issuer.believed_by(roomy()).set("folding.max_concurrent_per_instance", 1_000);
        let program = Program::start(setup).await?;
        let (mcp, api) = program.client_with(&issuer.token("somebody else")?).await?;
        let theirs = Things::make(&mcp, &api, "/projects/theirs").await?;
        Ok(Self { program, theirs, _issuer: issuer })
    }

    /// Makes things of the caller's own in a new session, and returns their ids.
    pub async fn things(&self, project: &str) -> Result<Things> {
        Things::make(&self.program.mcp, &self.program.api, project).await
    }

    /// Everything that is stored.
    pub fn stored(&self) -> Result<std::collections::BTreeMap<String, Vec<String>>> {
        self.program.database()?.contents()
    }
}

impl Things {
    async fn make(mcp: &McpHttp, api: &Api, project: &str) -> Result<Self> {
        let arguments = json!({"project_path": project, "description": "Work", "prompt": "Work."});
        let opened = mcp.call("context_branch", arguments).await?;
        let session = opened.text_field("session_id");
        let result = json!({"tool_name": "cat", "content": lines_about("a file", 5_000)});
        let kept = api.post(&format!("/api/v1/sessions/{session}/results"), &result).await?.with_status(200)?;
        let lesson = json!({"title": format!("About {project}"), "lesson": "Plain words", "project": project});
        let added = api.post("/api/v1/memories", &lesson).await?.with_status(201)?;
        Ok(Self {
            project: project.to_owned(),
            session,
            branch: opened.text_field("branch_id"),
            ref_id: kept["ref_id"].as_str().context("a long result is kept")?.to_owned(),
            memory: added["memory_id"].as_str().context("a memory has a name")?.to_owned(),
        })
    }

    /// A good value for an argument. A new argument needs a line here, and a test that fails says so.
    pub fn good(&self, argument: &str) -> Result<Value> {
        Ok(match argument {
            "session_id" => json!(self.session),
            "project_path" => json!(self.project),
            "branch_id" | "parent_branch_id" => json!(self.branch),
            "ref_id" => json!(self.ref_id),
            "description" | "prompt" | "message" | "text" | "content" | "tool_name" => json!("Plain words"),
            "idempotency_key" => json!(format!("key of {}", self.session)),
            "budget" => json!(1_000),
            "timeout_seconds" => json!(100),
            "offset" | "context" => json!(0),
            "limit" | "start_line" | "end_line" => json!(1),
            "pattern" => json!("all was well"),
            "failed" | "restore_state" => json!(false),
            "messages" | "transcript" => json!([{"role": "user", "content": "Plain words"}]),
            "format" => json!("anthropic"),
            "profile" => json!("recall"),
            "isolation" => json!("inherit"),
            "title" | "lesson" | "query" | "name" => json!("Plain words"),
            "lines" => json!("{\"title\": \"Plain\", \"lesson\": \"words\"}"),
            "memory_id" | "replaces" => json!(self.memory),
            "helpful" | "accept" | "silent" | "inject_memories" | "extract_memory" => json!(true),
            "lessons" => json!([{"title": "Plain words", "lesson": "Plain words"}]),
            "memories_used" => json!([self.memory]),
            "kind" => json!("works"),
            "scope" => json!(format!("session:{}", self.session)),
            "new_session_id" => json!(format!("fork-of-{}", self.session)),
            other => bail!("there is a new argument, {other}: say in bad_input/scene.rs what a good value of it is"),
        })
    }

    /// The fewest arguments with which a tool works.
    pub fn enough(&self, schema: &Value) -> Result<Map<String, Value>> {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let mut names: Vec<&str> = required.iter().filter_map(Value::as_str).collect();
        // Where a schema requires no argument, one of several is needed, and a session always suffices; where something
        // is searched for, with what that is.
        if names.is_empty() {
            names.push("session_id");
            names.extend(schema["properties"].get("pattern").map(|_| "pattern"));
        }
        names.into_iter().map(|name| Ok((name.to_owned(), self.good(name)?))).collect()
    }
}
