//! Servers of the project that wait for approval, for people: whose they are, and what would be started or reached.

use infold_core::gateway::{EntryOrigin, ServerWay};
use infold_core::strip_hostile;
use infold_engine::Engine;
use serde_json::{Value, json};

use super::Invocation;
use crate::draw::{Style, Tone, one_line};
use crate::gateway::{ProjectServer, approve_project_server, project_servers};

/// The servers of this project that are not approved as they are written now.
pub async fn waiting(invocation: &Invocation, engine: Option<&Engine>) -> anyhow::Result<Vec<ProjectServer>> {
    let servers = project_servers(invocation, engine).await?;
    Ok(servers.into_iter().filter(|server| !server.is_approved).collect())
}

/// Approves these servers, and returns their names.
pub async fn approve(servers: &[&ProjectServer], engine: &Engine) -> anyhow::Result<Vec<String>> {
    for server in servers {
        approve_project_server(server, engine).await?;
    }
    Ok(servers.iter().map(|server| server.entry.key.as_str().to_owned()).collect())
}

/// The server in JSON.
pub fn as_json(server: &ProjectServer) -> Value {
    json!({ "server": server.entry.key.as_str(), "project": project(server), "target": target(&server.entry.way) })
}

/// The server as text: its name, its project, what it is, and what to run.
pub fn as_text(server: &ProjectServer, style: &Style) -> String {
    let name = one_line(&strip_hostile(server.entry.key.as_str()));
    let head = style.tone(Tone::Strong, &name);
    let (project, target) = (one_line(project(server)), target(&server.entry.way));
    format!("{head} is a server of the project {project}\n  {target}\nto approve it: infold approve {name}\n")
}

fn project(server: &ProjectServer) -> &str {
    match &server.entry.origin {
        EntryOrigin::Project { path, .. } => path,
        EntryOrigin::Settings | EntryOrigin::User(_) => "",
    }
}

/// What is started or reached, whole: whoever approves it has to see it. Values of variables and headers are left out.
fn target(way: &ServerWay) -> String {
    let words = match way {
        ServerWay::Child { program, arguments, .. } => {
            [program].into_iter().chain(arguments).map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" ")
        }
        ServerWay::Http { url, .. } => url.clone(),
    };
    one_line(&strip_hostile(&words))
}
