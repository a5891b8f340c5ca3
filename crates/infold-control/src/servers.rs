//! Handlers for other MCP servers and their tools, as settings and the store know them. No server is asked.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::control::Control;
use crate::error::{ApiError, shown};
use crate::extract::{Caller, Name, Query};
use crate::page::Page;
use crate::shapes::server::{ServerDetail, ServerList, ToolList};

/// Lists the servers.
pub(crate) async fn list(State(control): State<Control>, Caller(who): Caller) -> Result<Json<ServerList>, ApiError> {
    let servers = control.engine.servers(&who, &control.settings.servers).await?;
    Ok(Json(ServerList { servers: servers.iter().map(Into::into).collect() }))
}

/// Shows one server.
pub(crate) async fn show(
    State(control): State<Control>,
    Caller(who): Caller,
    Name(name): Name,
) -> Result<Json<ServerDetail>, ApiError> {
    let servers = control.engine.servers(&who, &control.settings.servers).await?;
    let Some(server) = servers.iter().find(|server| server.figures.server.as_str() == name) else {
        let message = format!("server {:?} not found: GET /api/v1/servers lists those there are", shown(&name));
        let absent = ApiError::new(StatusCode::NOT_FOUND, "server_not_found", message);
        return Err(absent.with("server", shown(&name)));
    };
    let tools = control.engine.known_tools(&server.figures.server).await?;
    Ok(Json(ServerDetail::new(server, &tools.withheld)))
}

/// Query parameters of the list of tools.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolsQuery {
    /// What the tool does, or its name; all tools if it is not given.
    query: Option<String>,
    /// At most how many tools; 50 if it is not given, and never more than 500.
    limit: Option<u32>,
}

/// Finds tools of servers that may be called.
pub(crate) async fn tools(
    State(control): State<Control>,
    Caller(_): Caller,
    Query(query): Query<ToolsQuery>,
) -> Result<Json<ToolList>, ApiError> {
    let page = Page::new(None, query.limit)?;
    let tools = control.engine.named_tools(&control.settings.servers).await?;
    Ok(Json(ToolList::new(&tools, query.query.as_deref(), page.limit)))
}
