//! The tokens of one server, as its connection uses them: the newest that are kept, renewed once for all who wait.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::header::HeaderValue;
use reqwest::{Client, Url};

use super::keeping::{KeptLogin, LoginStamp};
use super::renewal::{self, NoRenewal};
use super::stored::{StoredLogin, TokenAge};
use super::{HttpLogin, LoginError, now_ms};

/// An access token, as a request carries it.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::gateway) struct Bearer(String);

impl Bearer {
    /// The value of the header; `None` if a header cannot carry the token.
    pub(in crate::gateway) fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// The tokens of one server.
pub(in crate::gateway) struct ServerTokens {
    kept: KeptLogin,
    client: Client,
    client_secret: Option<String>,
    held: Mutex<Option<HeldLogin>>,
    /// Held while they are renewed, so that this happens once for many requests of this process.
    renewing: tokio::sync::Mutex<()>,
}

/// A login that was read, and which one it was.
#[derive(Clone)]
struct HeldLogin {
    stamp: Option<LoginStamp>,
    login: Arc<StoredLogin>,
}

impl fmt::Debug for ServerTokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ServerTokens").finish_non_exhaustive()
    }
}

impl ServerTokens {
    /// The tokens for the server at `url`.
    pub(in crate::gateway) fn new(url: &Url, login: &HttpLogin) -> reqwest::Result<Self> {
        Ok(Self {
            kept: login.store.of(url),
            client: renewal::client(url)?,
            client_secret: login.client_secret.clone(),
            held: Mutex::default(),
            renewing: tokio::sync::Mutex::default(),
        })
    }

    /// The token for the next request, if nothing has to be read or renewed for it: `Some(None)` if there is no login.
    pub(in crate::gateway) fn at_hand(&self) -> Option<Option<Bearer>> {
        let Some(stamp) = self.kept.stamp() else { return Some(None) };
        let held = self.held().clone().filter(|held| held.stamp.as_ref() == Some(&stamp))?;
        (held.login.age(now_ms()) == TokenAge::Fresh).then(|| Some(bearer(&held.login)))
    }

    /// Whether there was a login when it was last looked for.
    pub(in crate::gateway) fn is_logged_in(&self) -> bool {
        self.held().is_some()
    }

    /// The token for the next request; `None` if there is no login. One that is about to end is renewed first.
    pub(in crate::gateway) async fn bearer(self: Arc<Self>) -> Result<Option<Bearer>, LoginError> {
        let Some(login) = self.current().await? else { return Ok(None) };
        let age = login.age(now_ms());
        if age == TokenAge::Fresh || login.usable_refresh_token().is_none() {
            return Ok(Some(bearer(&login)));
        }
        match self.renewed(Some(bearer(&login))).await {
            Err(error) if age == TokenAge::Due => {
                tracing::debug!(%error, "a token that is about to end is used once more");
                Ok(Some(bearer(&login)))
            }
            outcome => outcome,
        }
    }

    /// Another token than the one that was refused or is about to end: the one that is kept by now, or a new one. `None` if
    /// only the user can get one.
    ///
    /// Whoever calls this must let it end: a refresh token that was sent and whose answer is lost is lost as well.
    pub(in crate::gateway) async fn renewed(
        self: Arc<Self>,
        used: Option<Bearer>,
    ) -> Result<Option<Bearer>, LoginError> {
        let _one_at_a_time = self.renewing.lock().await;
        if self.kept.stamp().is_none() {
            return Ok(None);
        }
        let _lock = self.kept.lock().await?;
        let Some(stored) = self.read().await? else { return Ok(None) };
        if used.as_ref() != Some(&bearer(&stored)) && stored.age(now_ms()) == TokenAge::Fresh {
            return Ok(Some(bearer(&stored)));
        }
        if stored.usable_refresh_token().is_none() {
            return Ok(None);
        }

        match renewal::renew(&self.client, &stored, self.client_secret.as_deref()).await {
            Ok(login) => Ok(Some(self.take(login).await)),
            Err(NoRenewal::Refused) => {
                self.kept.change(&stored, |login| login.is_refused = true).await?;
                // Somebody may have put a newer one there meanwhile.
                let now = self.read().await?.filter(|now| now.access_token != stored.access_token);
                Ok(now.as_deref().map(bearer))
            }
            Err(NoRenewal::Failed(why)) => Err(LoginError::NotRenewed(why)),
        }
    }

    /// Notes rights that the server wants, for the next login.
    pub(in crate::gateway) async fn want_scopes(self: Arc<Self>, scopes: Vec<String>) -> Result<(), LoginError> {
        let Some(login) = self.current().await? else { return Ok(()) };
        if scopes.iter().all(|scope| login.wanted_scopes.contains(scope)) {
            return Ok(());
        }
        let _lock = self.kept.lock().await?;
        let add = |login: &mut StoredLogin| {
            let new = scopes.into_iter().filter(|scope| !login.wanted_scopes.contains(scope)).collect::<Vec<_>>();
            login.wanted_scopes.extend(new);
        };
        self.kept.change(&login, add).await
    }

    /// Words of the server without the tokens that it was sent.
    pub(in crate::gateway) fn hide(&self, words: &str) -> String {
        match &*self.held() {
            Some(held) => held.login.hide(words),
            None => words.to_owned(),
        }
    }

    /// The login that is kept now. It is read only if it is another one than before.
    async fn current(&self) -> Result<Option<Arc<StoredLogin>>, LoginError> {
        let Some(stamp) = self.kept.stamp() else {
            *self.held() = None;
            return Ok(None);
        };
        let held = self.held().clone();
        match held.filter(|held| held.stamp.as_ref() == Some(&stamp)) {
            Some(held) => Ok(Some(held.login)),
            None => self.read().await,
        }
    }

    async fn read(&self) -> Result<Option<Arc<StoredLogin>>, LoginError> {
        // If it changes while it is read, the stamp is too old, and it is read once more.
        let stamp = self.kept.stamp();
        let login = self.kept.read().await?.map(Arc::new);
        *self.held() = login.clone().map(|login| HeldLogin { stamp, login });
        Ok(login)
    }

    /// Keeps a login that was renewed. The lock is held.
    async fn take(&self, login: StoredLogin) -> Bearer {
        if let Err(error) = self.kept.replace(&login).await {
            // This process can still use it, until it ends.
            tracing::error!(%error, "a login was renewed and could not be kept");
        }
        let (stamp, login) = (self.kept.stamp(), Arc::new(login));
        let token = bearer(&login);
        *self.held() = Some(HeldLogin { stamp, login });
        token
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Option<HeldLogin>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn bearer(login: &StoredLogin) -> Bearer {
    Bearer(login.access_token.clone())
}
