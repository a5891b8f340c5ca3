//! The MCP server's side: a few tools, for those who have a good token.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::routes::as_json;
use super::{OauthSeen, OauthState};

/// Answers a request of MCP, in the newer era.
pub(super) async fn answer(State(shared): State<Arc<OauthState>>, headers: HeaderMap, body: String) -> Response {
    let rules = shared.rules();
    if let Some(elsewhere) = rules.moved_to {
        return (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, elsewhere)]).into_response();
    }
    let message: Value = serde_json::from_str(&body).unwrap_or_default();
    let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let scope = match token.and_then(|token| shared.grants().scope_of(token)) {
        Some(scope) => scope,
        None if rules.is_open => String::new(),
        None => {
            shared.note(OauthSeen::NotLetIn);
            return challenge(&shared, StatusCode::UNAUTHORIZED, "invalid_token", "read", token);
        }
    };
    let method = message["method"].as_str().unwrap_or_default().to_owned();
    let is_write = message["params"]["name"] == "write";
    if method == "tools/call" && is_write && !scope.split(' ').any(|scope| scope == "write") {
        return challenge(&shared, StatusCode::FORBIDDEN, "insufficient_scope", "read write", token);
    }
    if method == "tools/call" && rules.does_repeat {
        return (StatusCode::INTERNAL_SERVER_ERROR, format!("cannot use {token:?}")).into_response();
    }
    let text = |value: &header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    shared.note(OauthSeen::LetIn { method: method.clone(), headers });
    as_json(StatusCode::OK, &json!({ "jsonrpc": "2.0", "id": message["id"], "result": result(&method, &message) }))
}

/// What a client reads that is not let in. It repeats the token, as careless servers do.
fn challenge(shared: &OauthState, status: StatusCode, error: &str, scope: &str, token: Option<&str>) -> Response {
    let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", shared.base_url);
    let challenge = format!("Bearer error=\"{error}\", scope=\"{scope}\", resource_metadata=\"{metadata}\"");
    let body = format!("{error}: {}", token.unwrap_or("no token"));
    (status, [(header::WWW_AUTHENTICATE, challenge)], body).into_response()
}

fn result(method: &str, message: &Value) -> Value {
    match method {
        "server/discover" => json!({
            "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} },
            "serverInfo": { "name": "behind a login", "version": "1" },
        }),
        "tools/list" => {
            let input = json!({ "type": "object", "properties": {} });
            let tool = |name: &str| json!({ "name": name, "description": "A tool", "inputSchema": input });
            json!({ "tools": [tool("read"), tool("write")] })
        }
        "tools/call" => {
            let text = format!("{} is done", message["params"]["name"].as_str().unwrap_or_default());
            json!({ "content": [{ "type": "text", "text": text }] })
        }
        _ => json!({}),
    }
}
