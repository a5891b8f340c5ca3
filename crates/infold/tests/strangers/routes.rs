//! The paths of every route that exists, and of some that do not.

use anyhow::{Context, Result, ensure};
use reqwest::Method;

use crate::support::Program;

/// Paths that need no principal: what monitors infold need not be its user.
pub const HEALTH: [&str; 2] = ["/healthz", "/readyz"];

/// Paths that the OpenAPI description does not name.
const OTHERS: [&str; 11] = [
    "/",
    "/mcp",
    "/mcp/servers",
    "/mcp/tools/list",
    "/mcp/",
    "/api",
    "/api/v1",
    "/api/v2/sessions",
    "/favicon.ico",
    "/not/there",
    "/healthz/",
];

/// Paths that are forwarded to providers. There the header `Authorization` is for the provider, so tests that need it
/// for themselves leave these out.
pub const PROVIDERS: [&str; 5] = [
    "/anthropic/v1/messages",
    "/anthropic/v1/messages/count_tokens",
    "/openai/v1/responses",
    "/openai/v1/chat/completions",
    "/openai/v1/models",
];

/// Every method, the unusual ones too.
pub fn methods() -> Vec<Method> {
    let own = Method::from_bytes(b"FROB").unwrap_or(Method::TRACE);
    vec![
        Method::GET,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::HEAD,
        Method::OPTIONS,
        Method::TRACE,
        own,
    ]
}

/// The paths of every route, with made-up names in them, and of some that do not exist.
pub async fn paths(program: &Program) -> Result<Vec<String>> {
    let description = program.api.get("/api/v1/openapi.json").await?.with_status(200)?;
    let described = description["paths"].as_object().context("the description has paths")?;
    let mut paths: Vec<String> = described
        .keys()
        .map(|path| {
            path.replace("{session}", "some-session")
                .replace("{branch}", "br_01234567-89ab-8def-8123-456789abcdef")
                .replace("{ref_id}", "res_01234567-89ab-4def-8123-456789abcdef")
                .replace("{server}", "some-server")
                .replace("{request}", "1")
                .replace("{memory}", "mem_0123456789")
        })
        .collect();
    ensure!(paths.len() >= 14, "the description names only {paths:?}");
    ensure!(HEALTH.iter().all(|health| paths.iter().any(|path| path == health)), "{paths:?}");
    ensure!(!paths.iter().any(|path| path.contains('{')), "a name that nobody filled in: {paths:?}");
    paths.extend(OTHERS.map(str::to_owned));
    Ok(paths)
}
