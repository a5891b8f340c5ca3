//! The exchange of a refresh token for new tokens, and giving tokens back. Only the authorisation server gets them, and no
//! redirect is followed.

use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use serde_json::Value;

use super::now_ms;
use super::stored::{SecretWay, StoredLogin};
use crate::gateway::http::is_local;

/// How long an exchange may take. Others wait for it.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long giving tokens back may take.
const REVOKE_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest answer.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Errors that will be the same the next time: only a new login helps.
const FINAL_ERRORS: [&str; 4] = ["invalid_grant", "invalid_client", "unauthorized_client", "unsupported_grant_type"];

/// Why there are no new tokens.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoRenewal {
    /// The refresh token is good for nothing any more.
    Refused,
    /// Something else went wrong, and may work later.
    Failed(String),
}

/// A client for the authorisation server of the server at this address.
pub(super) fn client(url: &Url) -> reqwest::Result<Client> {
    let builder = Client::builder().redirect(Policy::none()).timeout(EXCHANGE_TIMEOUT);
    // A proxy cannot reach what this machine serves to itself.
    if is_local(url) { builder.no_proxy().build() } else { builder.build() }
}

/// Exchanges the login's refresh token. `secret` is the one of a client that was registered by hand.
pub(super) async fn renew(
    client: &Client,
    login: &StoredLogin,
    secret: Option<&str>,
) -> Result<StoredLogin, NoRenewal> {
    let refresh_token = login.usable_refresh_token().ok_or(NoRenewal::Refused)?;
    let fields =
        [("grant_type", "refresh_token"), ("refresh_token", refresh_token), ("resource", login.resource.as_str())];
    let request = form(client, &login.token_endpoint, &fields, (login, secret)).ok_or_else(odd_endpoint)?;
    let response = request.send().await.map_err(|error| NoRenewal::Failed(cause(&error.without_url())))?;
    let status = response.status();
    let answer = read(response).await?;
    if status.is_success() {
        let without = || NoRenewal::Failed("the authorisation server's answer has no token".to_owned());
        return answer.and_then(|answer| login.with_tokens(&answer, now_ms())).ok_or_else(without);
    }
    let error = answer.as_ref().and_then(|answer| answer.get("error")?.as_str());
    match error {
        Some(error) if status.is_client_error() && FINAL_ERRORS.contains(&error) => Err(NoRenewal::Refused),
        _ => Err(NoRenewal::Failed(format!("the authorisation server answered with HTTP {}", status.as_u16()))),
    }
}

/// Tells the authorisation server that the tokens are not needed any more. Returns whether it took note.
pub(super) async fn revoke(url: &Url, login: &StoredLogin) -> bool {
    let Some((endpoint, client)) = login.revocation_endpoint.as_deref().zip(client(url).ok()) else { return false };
    let mut all = true;
    let tokens = [("refresh_token", login.refresh_token.as_deref()), ("access_token", Some(&*login.access_token))];
    for (hint, token) in tokens {
        let Some(token) = token else { continue };
        let fields = [("token", token), ("token_type_hint", hint)];
        let Some(request) = form(&client, endpoint, &fields, (login, None)) else { return false };
        let answer = request.timeout(REVOKE_TIMEOUT).send().await;
        all &= answer.is_ok_and(|answer| answer.status() == StatusCode::OK);
    }
    all
}

/// A form for the authorisation server that says who sends it.
fn form(
    client: &Client,
    endpoint: &str,
    fields: &[(&str, &str)],
    (login, secret): (&StoredLogin, Option<&str>),
) -> Option<RequestBuilder> {
    let endpoint = Url::parse(endpoint).ok().filter(is_safe)?;
    let id = login.client.id.as_str();
    let secret = secret.or(login.client.secret.as_deref());
    let mut fields = fields.to_vec();
    let mut request = client.post(endpoint);
    match (secret, login.client.secret_way) {
        (Some(secret), SecretWay::Header) => request = request.basic_auth(encoded(id), Some(encoded(secret))),
        (Some(secret), SecretWay::Body) => fields.extend([("client_id", id), ("client_secret", secret)]),
        (None, _) => fields.push(("client_id", id)),
    }
    let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").header(ACCEPT, "application/json");
    Some(request.body(query(&fields)))
}

/// Whether a secret may be sent to an address: nobody on the way can read it.
pub(super) fn is_safe(url: &Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && is_local(url))
}

/// Fields in the form that forms and queries have.
fn query(fields: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (name, value) in fields {
        let between = if text.is_empty() { "" } else { "&" };
        text.push_str(&format!("{between}{}={}", encoded(name), encoded(value)));
    }
    text
}

/// A text with everything but letters, digits and a few signs as `%XX`.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(byte)),
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}

async fn read(mut response: Response) -> Result<Option<Value>, NoRenewal> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(|error| NoRenewal::Failed(cause(&error.without_url())))? {
        if body.len() + bytes.len() > ANSWER_BYTES_MAX {
            return Err(NoRenewal::Failed("the authorisation server's answer is too long".to_owned()));
        }
        body.extend_from_slice(&bytes);
    }
    Ok(serde_json::from_slice(&body).ok())
}

fn odd_endpoint() -> NoRenewal {
    NoRenewal::Failed("the address of the authorisation server cannot be used".to_owned())
}

/// The innermost cause of an error, which says the most, without the address.
fn cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "the authorisation server did not answer in time".to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    format!("the authorisation server cannot be reached ({cause})")
}
