//! A running daemon with a client, and the calls that most tests make.

use anyhow::{Context, Result, ensure};
use infold_testkit::{CallAnswer, Daemon, DaemonSetup, Era, McpHttp};
use serde_json::{Map, Value, json};

use super::{Api, Database, Refused, infold};

/// A running daemon, and a client that is the same user.
pub struct Program {
    pub daemon: Daemon,
    pub mcp: McpHttp,
    pub api: Api,
}

impl Program {
    /// Starts a daemon and connects to it.
    pub async fn start(setup: DaemonSetup) -> Result<Self> {
        let daemon = setup.start().await?;
        let mcp = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
        let api = Api::new(mcp.http().clone(), daemon.base_url());
        Ok(Self { daemon, mcp, api })
    }

    /// Starts a daemon with its default settings.
    pub async fn plain() -> Result<Self> {
        Self::start(infold()).await
    }

    /// Starts the daemon again on the same data, and connects to it.
    pub async fn restart(&mut self) -> Result<()> {
        self.daemon.restart().await?;
        let http = self.mcp.http().clone();
        self.mcp = McpHttp::connect_with(http.clone(), self.daemon.base_url(), Era::Modern).await?;
        self.api = Api::new(http, self.daemon.base_url());
        Ok(())
    }

    /// A second client, with a token.
    pub async fn client_with(&self, token: &str) -> Result<(McpHttp, Api)> {
        let http = self.mcp.http().clone();
        let mut mcp = McpHttp::connect_with(http.clone(), self.daemon.base_url(), Era::Modern).await?;
        let mut value: reqwest::header::HeaderValue = format!("Bearer {token}").parse()?;
        value.set_sensitive(true);
        mcp.set_header("authorization", value);
        Ok((mcp, Api::new(http, self.daemon.base_url()).with_token(token)))
    }

    /// The database, looked at from outside.
    pub fn database(&self) -> Result<Database> {
        Database::look(self.daemon.data())
    }

    /// Calls a tool that may succeed or refuse.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<CallAnswer> {
        Ok(self.mcp.call(tool, arguments).await?)
    }

    /// Calls a tool that must succeed, and returns its answer.
    pub async fn done(&self, tool: &str, arguments: Value) -> Result<Value> {
        self.done_with(tool, arguments, Map::new()).await
    }

    /// The same, with something in `_meta`.
    pub async fn done_with(&self, tool: &str, arguments: Value, meta: Map<String, Value>) -> Result<Value> {
        let answer = self.mcp.call_with_meta(tool, arguments.clone(), meta).await?;
        body_of(tool, &arguments, &answer)
    }

    /// Calls a tool that must refuse.
    pub async fn refused(&self, tool: &str, arguments: Value) -> Result<Refused> {
        let answer = self.mcp.call(tool, arguments.clone()).await?;
        Refused::of(&answer).with_context(|| format!("{tool} {arguments}"))
    }

    /// Opens a branch under the active thread, and returns its id.
    pub async fn open(&self, session: &str, description: &str) -> Result<String> {
        let opened = self.done("branch_create", json!({"session_id": session, "description": description})).await?;
        text(&opened, "branch_id")
    }

    /// Opens a branch under `parent`, and returns its id.
    pub async fn open_under(&self, session: &str, parent: &str, description: &str) -> Result<String> {
        let arguments = json!({"session_id": session, "description": description, "parent_branch_id": parent});
        text(&self.done("branch_create", arguments).await?, "branch_id")
    }

    pub async fn fold(&self, branch: &str, message: &str) -> Result<Value> {
        self.done("branch_return", json!({"branch_id": branch, "message": message})).await
    }

    /// A branch's status, asked for in the main thread, where asking costs the branch nothing.
    pub async fn look_at(&self, branch: &str) -> Result<Value> {
        self.done_with("branch_status", json!({"branch_id": branch}), super::in_thread("main")).await
    }

    /// Hands a tool's result in through the JSON API, and returns the answer.
    pub async fn record(&self, session: &str, result: Value) -> Result<Value> {
        let answer = self.api.post(&format!("/api/v1/sessions/{session}/results"), &result).await?;
        ensure!(answer.status == 200, "handing in {result} got {answer:?}");
        Ok(answer.body)
    }
}

/// The body of an answer that must be a success. What models read as text must say the same.
pub fn body_of(tool: &str, arguments: &Value, answer: &CallAnswer) -> Result<Value> {
    ensure!(answer.is_ok(), "{tool} {arguments} was refused: {}", answer.summary());
    let body = answer.structured.clone().with_context(|| format!("{tool} answered without structure"))?;
    let said: Value = serde_json::from_str(&answer.text).with_context(|| format!("{tool} said {}", answer.text))?;
    ensure!(said == body, "{tool} says one thing as text and another as structure: {said} and {body}");
    Ok(body)
}

/// A text field that must be there.
pub fn text(body: &Value, field: &str) -> Result<String> {
    Ok(body[field].as_str().with_context(|| format!("{field} is missing in {body}"))?.to_owned())
}
