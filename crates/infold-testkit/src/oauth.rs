//! An MCP server that lets in only who has logged in, and its authorisation server, both on one port of this machine.
//!
//! It does what real ones do: describes itself, registers clients, checks redirect address, state, resource and PKCE, and
//! takes each code and each refresh token once. Who uses a refresh token twice loses everything that came of it. Tests set
//! how it behaves, wait for what it has seen, and hold refreshes for as long as they like.

mod grants;
mod mcp;
mod routes;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use grants::Grants;

/// How long a test waits for something that has to happen.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// What the server does when it is asked for new tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefreshRule {
    /// It gives them.
    Renew,
    /// It says that the refresh token is not good.
    Refuse,
    /// It answers with this status, which says nothing about the token.
    Fail(u16),
    /// It waits until the rule is another one.
    Hold,
}

/// How the server behaves. Tests change it at any time.
#[derive(Debug, Clone)]
pub struct OauthRules {
    /// What becomes of refreshes.
    pub refresh: RefreshRule,
    /// Seconds that access tokens last, as clients learn. The server itself looks at no clock.
    pub lifetime_s: u64,
    /// Whether the user agrees when asked.
    pub does_agree: bool,
    /// Whether clients can register themselves.
    pub does_register: bool,
    /// Whether clients get a secret when they register, which they have to send then.
    pub gives_secrets: bool,
    /// Whether calls fail with an error that repeats the token, as careless servers do.
    pub does_repeat: bool,
    /// Whether anybody is let in.
    pub is_open: bool,
    /// Where requests to the MCP server are redirected to.
    pub moved_to: Option<String>,
}

/// What the server has seen, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OauthSeen {
    /// A request without a good token.
    NotLetIn,
    /// A request of this method, with these headers.
    LetIn {
        /// The method of MCP.
        method: String,
        /// Every header of the request.
        headers: Vec<(String, String)>,
    },
    /// A client has registered.
    Registered,
    /// The user has agreed or not.
    Asked,
    /// A code was exchanged.
    Exchanged,
    /// A refresh has arrived; what becomes of it comes later.
    RefreshBegan,
    /// New tokens were given for a refresh token.
    Refreshed,
    /// A refresh token was refused.
    RefreshRefused,
    /// A token was given back.
    Revoked,
    /// A client did something wrong.
    Wrong(String),
}

/// The server. It ends when it is dropped.
#[derive(Debug)]
pub struct OauthServer {
    base_url: String,
    shared: Arc<OauthState>,
    serving: JoinHandle<()>,
}

#[derive(Debug)]
struct OauthState {
    base_url: String,
    rules: watch::Sender<OauthRules>,
    seen: watch::Sender<Vec<OauthSeen>>,
    grants: Mutex<Grants>,
}

impl OauthState {
    fn rules(&self) -> OauthRules {
        self.rules.borrow().clone()
    }

    fn note(&self, seen: OauthSeen) {
        self.seen.send_modify(|all| all.push(seen));
    }

    fn grants(&self) -> MutexGuard<'_, Grants> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What tokens are for.
    fn resource(&self) -> String {
        format!("{}/mcp", self.base_url)
    }
}

impl OauthServer {
    /// Starts the server on a free port.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen")?;
        let base_url = format!("http://{}", listener.local_addr()?);
        let rules = OauthRules {
            refresh: RefreshRule::Renew,
            lifetime_s: 3_600,
            does_agree: true,
            does_register: true,
            gives_secrets: false,
            does_repeat: false,
            is_open: false,
            moved_to: None,
        };
        let shared = Arc::new(OauthState {
            base_url: base_url.clone(),
            rules: watch::Sender::new(rules),
            seen: watch::Sender::default(),
            grants: Mutex::default(),
        });
        let router = routes::router(shared.clone());
        let serving = tokio::spawn(async move {
            // It ends with the test.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { base_url, shared, serving })
    }

    /// The address of the MCP server.
    pub fn url(&self) -> String {
        self.shared.resource()
    }

    /// Where everything is, without a path.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Changes how the server behaves.
    pub fn set(&self, change: impl FnOnce(&mut OauthRules)) {
        self.shared.rules.send_modify(change);
    }

    /// Lets no access token in any more that was given so far. Refresh tokens stay good.
    pub fn end_access_tokens(&self) {
        self.shared.grants().end_access_tokens();
    }

    /// Takes every token back.
    pub fn revoke_all(&self) {
        self.shared.grants().revoke_all();
    }

    /// Takes note of a client that was registered by hand.
    pub fn add_client(&self, id: &str, secret: Option<&str>, redirect_uri: &str) {
        self.shared.grants().add_client(id, secret, redirect_uri);
    }

    /// What was seen so far.
    pub fn seen(&self) -> Vec<OauthSeen> {
        self.shared.seen.borrow().clone()
    }

    /// How often something was seen.
    pub fn count(&self, what: &OauthSeen) -> usize {
        self.shared.seen.borrow().iter().filter(|seen| *seen == what).count()
    }

    /// Waits until something was seen this often.
    pub async fn until(&self, what: &OauthSeen, count: usize) -> Result<()> {
        let mut seen = self.shared.seen.subscribe();
        let enough = seen.wait_for(|all| all.iter().filter(|seen| *seen == what).count() >= count);
        let waited = tokio::time::timeout(WAIT_MAX, enough).await;
        waited.with_context(|| format!("{what:?} did not happen {count} times"))?.context("the server is gone")?;
        Ok(())
    }

    /// What clients did wrong.
    pub fn wrong(&self) -> Vec<String> {
        let wrong = |seen: OauthSeen| match seen {
            OauthSeen::Wrong(what) => Some(what),
            _ => None,
        };
        self.seen().into_iter().filter_map(wrong).collect()
    }

    /// Everything secret that was ever given out: tokens, codes and clients' secrets.
    pub fn secrets(&self) -> Vec<String> {
        self.shared.grants().secrets.clone()
    }
}

impl Drop for OauthServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Opens an address as a browser would, and follows where it leads. Returns the page.
pub async fn browse(address: &str) -> Result<String> {
    let client = reqwest::Client::builder().no_proxy().timeout(WAIT_MAX).build()?;
    Ok(client.get(address).send().await?.text().await?)
}
