//! A login from its beginning to its tokens: the server is asked where one logs in, infold introduces itself, the user
//! agrees in a browser, and the code that comes back is exchanged. Finding out, registering and the exchange are the
//! protocol library's; what is kept of it is decided here.

use std::fmt;
use std::time::Duration;

use infold_core::gateway::LoginHints;
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationMetadata, OAuthClientConfig};
use serde_json::Value;

use super::keeping::{KeptLogin, LoginPlace, LoginStore, StoreWish};
use super::renewal::is_safe;
use super::returned::{LoginReturn, shown};
use super::stored::{LoginClient, SecretWay, StoredLogin};
use super::{LoginError, now_ms};
use crate::gateway::http::is_local;

/// How long one request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// The name by which people find infold in an account's list of programs.
const CLIENT_NAME: &str = "infold";

/// What a login begins with.
#[derive(Debug, Clone)]
pub struct LoginRequest<'a> {
    /// The server's address.
    pub url: &'a str,
    /// What the user has written down about it.
    pub hints: &'a LoginHints,
    /// Where the browser comes back to.
    pub redirect_uri: &'a str,
    /// The header with which the server asked for a login, if it did.
    pub challenge: Option<&'a str>,
    /// Where the login is to be kept.
    pub store: &'a LoginStore,
}

/// A login that waits for the user.
pub struct LoginFlow {
    manager: AuthorizationManager,
    address: String,
    state: String,
    /// The login without its tokens.
    login: StoredLogin,
    kept: KeptLogin,
}

impl fmt::Debug for LoginFlow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LoginFlow").finish_non_exhaustive()
    }
}

impl LoginFlow {
    /// Finds out where to log in, and makes the address that the user has to open.
    pub async fn begin(request: LoginRequest<'_>) -> Result<Self, LoginError> {
        let url = Url::parse(request.url).map_err(|error| LoginError::NotOffered(error.to_string()))?;
        check("the server's address", &url)?;
        let kept = request.store.of(&url);
        let before = kept.read().await.ok().flatten();
        let mut manager = manager(&url).await.map_err(not_offered)?;
        let metadata = find(&manager, &url, &request).await?;
        manager.set_metadata(metadata.clone());
        let wanted = before.map(|login| [login.scopes, login.wanted_scopes].concat()).unwrap_or_default();
        let scopes = scopes(&manager, &metadata, request.hints, wanted).await;
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();

        let client = introduce(&mut manager, &request, &scopes).await?;
        let address = manager.get_authorization_url(&scopes).await.map_err(not_offered)?;
        let field = |name: &str| {
            let url = Url::parse(&address).ok()?;
            url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
        };
        let state = field("state").ok_or_else(|| LoginError::NotOffered("its address has no state".to_owned()))?;
        let login = StoredLogin {
            access_token: String::new(),
            refresh_token: None,
            received_at_ms: 0,
            expires_at_ms: None,
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            client: LoginClient { secret_way: secret_way(&metadata), ..client },
            revocation_endpoint: revocation(&metadata),
            resource: field("resource").unwrap_or_else(|| url.to_string()),
            token_endpoint: metadata.token_endpoint,
            is_refused: false,
            wanted_scopes: Vec::new(),
        };
        Ok(Self { manager, address, state, login, kept })
    }

    /// The address that the user has to open.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Reads what the browser came back with.
    pub fn read(&self, returned: &str) -> LoginReturn {
        LoginReturn::read(returned, &self.state)
    }

    /// Exchanges the code, and keeps the login. Returns where it is.
    pub async fn finish(self, code: &str, issuer: Option<&str>, wish: StoreWish) -> Result<LoginPlace, LoginError> {
        let exchange = self.manager.exchange_code_for_token_with_issuer(code, &self.state, issuer).await;
        let answer = exchange.map_err(|error| LoginError::NotGiven(plain(&error)))?;
        let answer = serde_json::to_value(&answer).unwrap_or_default();
        let login = self.login.with_tokens(&answer, now_ms());
        let login = login.ok_or_else(|| LoginError::NotGiven("its answer has none".to_owned()))?;

        let _lock = self.kept.lock().await?;
        self.kept.keep(&login, wish).await
    }
}

async fn manager(url: &Url) -> Result<AuthorizationManager, AuthError> {
    // People have servers of their company on private addresses, and the one that they log in to beside them.
    let mut manager = AuthorizationManager::new_allowing_private_addresses(url.clone()).await?;
    if is_local(url) {
        // A proxy cannot reach what this machine serves to itself.
        let client = Client::builder().no_proxy().redirect(Policy::none()).timeout(REQUEST_TIMEOUT).build()?;
        manager.with_client(client)?;
    }
    Ok(manager)
}

/// What the authorisation server says about itself, with addresses that may be used.
async fn find(
    manager: &AuthorizationManager,
    url: &Url,
    request: &LoginRequest<'_>,
) -> Result<AuthorizationMetadata, LoginError> {
    let metadata = match &request.hints.metadata_url {
        Some(address) => fetch(address, url).await?,
        None => {
            let found = manager.resolve_metadata_from_challenge(request.challenge).await.map_err(not_offered)?;
            if !found.source.is_discovered() {
                return Err(LoginError::NotOffered("nothing is where such servers describe their login".to_owned()));
            }
            found.metadata
        }
    };
    let endpoints = [
        ("the address to log in at", Some(&metadata.authorization_endpoint)),
        ("the address for tokens", Some(&metadata.token_endpoint)),
        ("the address for clients", metadata.registration_endpoint.as_ref()),
    ];
    for (what, endpoint) in endpoints {
        let Some(endpoint) = endpoint else { continue };
        let endpoint = Url::parse(endpoint).map_err(|_| LoginError::NotOffered(format!("{what} is no address")))?;
        check(what, &endpoint)?;
    }
    Ok(metadata)
}

/// Reads the description that the user has named.
async fn fetch(address: &str, url: &Url) -> Result<AuthorizationMetadata, LoginError> {
    let odd = |why: &str| LoginError::NotOffered(format!("oauth.metadata_url: {why}"));
    let address = Url::parse(address).map_err(|_| odd("it is no address"))?;
    check("oauth.metadata_url", &address)?;
    let client = super::renewal::client(url).map_err(|_| odd("it cannot be asked"))?;
    let response = client.get(address).send().await.map_err(|_| odd("it cannot be reached"))?;
    if !response.status().is_success() {
        return Err(odd(&format!("it answered with HTTP {}", response.status().as_u16())));
    }
    response.json().await.map_err(|_| odd("it does not describe an authorisation server"))
}

fn check(what: &'static str, url: &Url) -> Result<(), LoginError> {
    if is_safe(url) {
        return Ok(());
    }
    let host = url.host_str().unwrap_or_default();
    Err(LoginError::Unsafe { what, address: shown(&format!("{}://{host}", url.scheme())) })
}

/// The rights to ask for: those that the user names, else those that the server wants, and what it wanted since.
async fn scopes(
    manager: &AuthorizationManager,
    metadata: &AuthorizationMetadata,
    hints: &LoginHints,
    wanted: Vec<String>,
) -> Vec<String> {
    let mut scopes = match hints.scopes.is_empty() {
        true => manager.select_initial_scopes(&[]).await,
        false => hints.scopes.clone(),
    };
    for scope in wanted {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    // Some servers give a refresh token only to those who ask for it.
    let offline = "offline_access".to_owned();
    let is_offered = metadata.scopes_supported.as_ref().is_some_and(|offered| offered.contains(&offline));
    if is_offered && !scopes.is_empty() && !scopes.contains(&offline) {
        scopes.push(offline);
    }
    scopes
}

/// Introduces infold: as the client that the user has registered, or as a new one.
async fn introduce(
    manager: &mut AuthorizationManager,
    request: &LoginRequest<'_>,
    scopes: &[&str],
) -> Result<LoginClient, LoginError> {
    let not_registered = |error: AuthError| LoginError::NotRegistered(plain(&error));
    let Some(id) = &request.hints.client_id else {
        let registered = manager.register_client(CLIENT_NAME, request.redirect_uri, scopes).await;
        let OAuthClientConfig { client_id, client_secret, .. } = registered.map_err(not_registered)?;
        return Ok(LoginClient { id: client_id, secret: client_secret, secret_way: SecretWay::Header });
    };
    let mut config = OAuthClientConfig::new(id, request.redirect_uri);
    config.client_secret.clone_from(&request.hints.client_secret);
    manager.configure_client(config).map_err(not_registered)?;
    // The user's own secret stays in the settings.
    Ok(LoginClient { id: id.clone(), secret: None, secret_way: SecretWay::Header })
}

/// How the authorisation server wants a client's secret, as the library sends it.
fn secret_way(metadata: &AuthorizationMetadata) -> SecretWay {
    let ways = metadata.additional_fields.get("token_endpoint_auth_methods_supported").and_then(Value::as_array);
    let has = |way: &str| ways.is_some_and(|ways| ways.iter().any(|known| known == way));
    if has("client_secret_post") && !has("client_secret_basic") { SecretWay::Body } else { SecretWay::Header }
}

fn revocation(metadata: &AuthorizationMetadata) -> Option<String> {
    let address = metadata.additional_fields.get("revocation_endpoint")?.as_str()?;
    Url::parse(address).ok().filter(is_safe).map(|_| address.to_owned())
}

fn not_offered(error: AuthError) -> LoginError {
    match error {
        AuthError::PkceUnsupported => LoginError::NotOffered("it cannot do PKCE with S256".to_owned()),
        error => LoginError::NotOffered(plain(&error)),
    }
}

/// Words of the library, which may have words of the server in them. What it could not read may be a token.
fn plain(error: &AuthError) -> String {
    match error {
        AuthError::TokenExchangeFailed(why) if !why.starts_with("Server returned error response") => {
            "its answer cannot be read".to_owned()
        }
        error => shown(&error.to_string()),
    }
}
