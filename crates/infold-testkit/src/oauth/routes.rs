//! The authorisation server's side: its description, clients, the user's consent, and tokens.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use reqwest::Url;
use serde_json::{Value, json};

use super::grants::{Code, Tokens};
use super::{OauthSeen, OauthState, RefreshRule, mcp};

/// All routes.
pub(super) fn router(shared: Arc<OauthState>) -> Router {
    Router::new()
        .route("/mcp", post(mcp::answer))
        .route("/.well-known/oauth-protected-resource/mcp", get(resource))
        .route("/.well-known/oauth-authorization-server", get(description))
        .route("/hidden/description", get(description))
        .route("/register", post(register))
        .route("/authorize", get(authorize))
        .route("/token", post(token))
        .route("/revoke", post(revoke))
        .with_state(shared)
}

async fn resource(State(shared): State<Arc<OauthState>>) -> Response {
    if shared.rules().is_open {
        return StatusCode::NOT_FOUND.into_response();
    }
    let servers = [&shared.base_url];
    let about = json!({
        "resource": shared.resource(), "authorization_servers": servers, "scopes_supported": ["read"],
    });
    as_json(StatusCode::OK, &about)
}

async fn description(State(shared): State<Arc<OauthState>>) -> Response {
    if shared.rules().is_open {
        return StatusCode::NOT_FOUND.into_response();
    }
    let at = |path: &str| format!("{}/{path}", shared.base_url);
    let mut about = json!({
        "issuer": shared.base_url,
        "authorization_endpoint": at("authorize"),
        "token_endpoint": at("token"),
        "revocation_endpoint": at("revoke"),
        "scopes_supported": ["read", "write"],
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
        "authorization_response_iss_parameter_supported": true,
    });
    if shared.rules().does_register {
        about["registration_endpoint"] = json!(at("register"));
    }
    as_json(StatusCode::OK, &about)
}

async fn register(State(shared): State<Arc<OauthState>>, body: String) -> Response {
    let asked: Value = serde_json::from_str(&body).unwrap_or_default();
    let uris: Vec<&str> = asked["redirect_uris"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let [uri] = uris.as_slice() else { return wrong(&shared, "a client needs one redirect_uri") };
    if !uri.starts_with("http://127.0.0.1:") {
        return wrong(&shared, "the redirect_uri is not on this machine");
    }
    let mut grants = shared.grants();
    let id = format!("client-{}", grants.clients.len());
    let secret = shared.rules().gives_secrets.then(|| grants.fresh("secret"));
    grants.add_client(&id, secret.as_deref(), uri);
    drop(grants);
    shared.note(OauthSeen::Registered);
    let mut answer = json!({ "client_id": id, "redirect_uris": [uri], "client_name": asked["client_name"] });
    if let Some(secret) = secret {
        answer["client_secret"] = json!(secret);
    }
    as_json(StatusCode::CREATED, &answer)
}

async fn authorize(State(shared): State<Arc<OauthState>>, uri: Uri) -> Response {
    let asked = fields(uri.query().unwrap_or_default());
    let field = |name: &str| asked.get(name).map(String::as_str).unwrap_or_default();
    let mut grants = shared.grants();
    let known = grants.clients.get(field("client_id")).map(|client| client.redirect_uri.clone());
    let problem = match known {
        None => Some("the client is not known"),
        Some(uri) if uri != field("redirect_uri") => Some("the redirect_uri is not the client's"),
        Some(_) if field("response_type") != "code" => Some("the response_type is not code"),
        Some(_) if field("code_challenge_method") != "S256" => Some("the challenge is not S256"),
        Some(_) if field("code_challenge").len() != 43 => Some("there is no challenge"),
        Some(_) if field("state").len() < 8 => Some("there is no state"),
        Some(_) if field("resource") != shared.resource() => Some("the resource is another one"),
        Some(_) => None,
    };
    let Ok(mut back) = Url::parse(field("redirect_uri")) else { return wrong(&shared, "odd redirect_uri") };
    if let Some(problem) = problem {
        drop(grants);
        return wrong(&shared, problem);
    }
    back.query_pairs_mut().append_pair("state", field("state")).append_pair("iss", &shared.base_url);
    if shared.rules().does_agree {
        let (client, challenge) = (field("client_id").to_owned(), field("code_challenge").to_owned());
        let code = grants.give_code(Code { client, challenge, scope: field("scope").to_owned() });
        back.query_pairs_mut().append_pair("code", &code);
    } else {
        let why = "The user\u{1b}[31m said no";
        back.query_pairs_mut().append_pair("error", "access_denied").append_pair("error_description", why);
    }
    drop(grants);
    shared.note(OauthSeen::Asked);
    (StatusCode::FOUND, [(header::LOCATION, back.to_string())]).into_response()
}

async fn token(State(shared): State<Arc<OauthState>>, headers: HeaderMap, body: String) -> Response {
    let asked = fields(&body);
    let field = |name: &str| asked.get(name).map(String::as_str).unwrap_or_default();
    let Some(client) = client_of(&shared, &headers, &asked) else {
        return refused(&shared, StatusCode::UNAUTHORIZED, "invalid_client");
    };
    if field("resource") != shared.resource() {
        return wrong(&shared, "the resource of a token is another one");
    }
    match field("grant_type") {
        "authorization_code" => {
            let tokens = shared.grants().take_code(field("code"), &client, field("code_verifier"));
            let Some(tokens) = tokens else { return refused(&shared, StatusCode::BAD_REQUEST, "invalid_grant") };
            shared.note(OauthSeen::Exchanged);
            given(&shared, &tokens)
        }
        "refresh_token" => refresh(&shared, field("refresh_token"), &client).await,
        _ => wrong(&shared, "the grant is not known"),
    }
}

async fn refresh(shared: &Arc<OauthState>, token: &str, client: &str) -> Response {
    shared.note(OauthSeen::RefreshBegan);
    let mut rules = shared.rules.subscribe();
    let rule = match rules.wait_for(|rules| rules.refresh != RefreshRule::Hold).await {
        Ok(rules) => rules.refresh,
        Err(_) => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    };
    let tokens = match rule {
        RefreshRule::Fail(status) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
            return (status, "try again later").into_response();
        }
        RefreshRule::Refuse => None,
        RefreshRule::Renew | RefreshRule::Hold => shared.grants().take_refresh(token, client),
    };
    let Some(tokens) = tokens else {
        shared.note(OauthSeen::RefreshRefused);
        return refused(shared, StatusCode::BAD_REQUEST, "invalid_grant");
    };
    shared.note(OauthSeen::Refreshed);
    given(shared, &tokens)
}

async fn revoke(State(shared): State<Arc<OauthState>>, body: String) -> Response {
    let asked = fields(&body);
    let was_good = asked.get("token").is_some_and(|token| shared.grants().revoke(token));
    if was_good {
        shared.note(OauthSeen::Revoked);
    }
    StatusCode::OK.into_response()
}

/// The client that a request comes from; `None` if it cannot show that.
fn client_of(shared: &OauthState, headers: &HeaderMap, asked: &HashMap<String, String>) -> Option<String> {
    let grants = shared.grants();
    let basic = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let Some(basic) = basic else {
        let id = asked.get("client_id")?;
        return grants.clients.get(id).filter(|client| client.secret.is_none()).map(|_| id.clone());
    };
    let pair = basic.strip_prefix("Basic ").and_then(decoded)?;
    let (id, secret) = pair.split_once(':')?;
    // Both are written as in a form before they are put together.
    let mut shown = fields(&format!("id={id}&secret={secret}"));
    let (id, secret) = (shown.remove("id")?, shown.remove("secret"));
    grants.clients.get(&id).filter(|client| client.secret.is_some() && client.secret == secret).map(|_| id.clone())
}

/// A text in base64.
fn decoded(text: &str) -> Option<String> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits: Option<Vec<usize>> = text.trim_end_matches('=').chars().map(|digit| DIGITS.find(digit)).collect();
    let bits: String = digits?.iter().map(|digit| format!("{digit:06b}")).collect();
    let byte = |at: usize| u8::from_str_radix(bits.get(8 * at..8 * at + 8)?, 2).ok();
    String::from_utf8((0..bits.len() / 8).map_while(byte).collect()).ok()
}

fn given(shared: &OauthState, tokens: &Tokens) -> Response {
    let answer = json!({
        "access_token": tokens.access, "refresh_token": tokens.refresh, "token_type": "Bearer",
        "expires_in": shared.rules().lifetime_s, "scope": tokens.scope,
    });
    as_json(StatusCode::OK, &answer)
}

fn refused(shared: &OauthState, status: StatusCode, error: &str) -> Response {
    let answer = json!({ "error": error, "error_description": format!("no tokens from {}", shared.base_url) });
    as_json(status, &answer)
}

fn wrong(shared: &OauthState, what: &str) -> Response {
    shared.note(OauthSeen::Wrong(what.to_owned()));
    as_json(StatusCode::BAD_REQUEST, &json!({ "error": "invalid_request", "error_description": what }))
}

fn fields(query: &str) -> HashMap<String, String> {
    let url = Url::parse(&format!("http://form/?{query}"));
    url.map(|url| url.query_pairs().into_owned().collect()).unwrap_or_default()
}

pub(super) fn as_json(status: StatusCode, body: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
