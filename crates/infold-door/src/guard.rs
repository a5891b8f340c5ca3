//! Decides who may come in. Every request is checked here, whatever its path, before any route sees it.
//!
//! Host and Origin are checked first, because a web page in the user's own browser has the user's own
//! uid. Then a token, if there is one, decides alone: a wrong one is refused even from a process that
//! would have been let in without it. Without a token, only the user's own processes on loopback are
//! let in.
//!
//! Our own credentials are taken off the request here, so that no route can log or forward them.

use std::net::SocketAddr;

use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};
use infold_core::{Owner, Principal};
use tokio::sync::OnceCell;

use crate::jwt::Verifier;
use crate::peer;
use crate::refusal::DoorRefusal;
use crate::settings::{DoorError, DoorSettings, Validator, is_below};
use crate::token::Token;
use names::AllowedNames;

mod names;

/// Paths that need no principal, because a program that monitors infold may belong to another user.
pub const PUBLIC_PATHS: [&str; 2] = ["/healthz", "/readyz"];
/// The header that carries our token or a JWT on every path, also where `Authorization` is a
/// provider's.
pub const TOKEN_HEADER: HeaderName = HeaderName::from_static("x-infold-token");

const HOW_TO_LOCAL: &str = "connect from a process of the user that runs infold, or send the token \
     from the file “token” in infold's data folder as “Authorization: Bearer …” or \
     “X-Infold-Token: …”";
const HOW_TO_JWT: &str = "send a JWT from the configured issuer as “Authorization: Bearer …” or “X-Infold-Token: …”";

/// The process at the other end of a connection.
#[derive(Debug)]
pub(crate) struct Caller {
    peer: SocketAddr,
    local: SocketAddr,
    same_user: OnceCell<bool>,
}

impl Caller {
    pub(crate) fn new(peer: SocketAddr, local: SocketAddr) -> Self {
        Self { peer, local, same_user: OnceCell::new() }
    }

    fn is_loopback(&self) -> bool {
        self.peer.ip().to_canonical().is_loopback()
    }

    /// Whether the process belongs to the user that runs infold. The kernel is asked once for each connection, and
    /// only when this is called.
    async fn is_same_user(&self) -> bool {
        let (peer, local) = (self.peer, self.local);
        let look = || async move {
            tokio::task::spawn_blocking(move || peer::is_same_user(peer, local)).await.unwrap_or(false)
        };
        *self.same_user.get_or_init(look).await
    }
}

/// Which machines can reach the address that infold listens on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Loopback,
    OtherMachines,
}

/// The rules about who may come in, made once from the settings.
pub(crate) struct Guard {
    names: AllowedNames,
    reach: Reach,
    token: Option<Token>,
    verifier: Option<Verifier>,
    validator: Validator,
    provider_paths: Vec<String>,
}

impl Guard {
    pub(crate) fn new(settings: &DoorSettings, address: SocketAddr) -> Result<Self, DoorError> {
        let loopback = address.ip().to_canonical().is_loopback();
        if !loopback && settings.jwt.is_none() {
            return Err(DoorError::OpenToStrangers { address });
        }
        Ok(Self {
            names: AllowedNames::new(settings, address.ip())?,
            reach: if loopback { Reach::Loopback } else { Reach::OtherMachines },
            token: settings.token.clone(),
            verifier: settings.jwt.as_ref().map(Verifier::new).transpose()?,
            validator: settings.validator,
            provider_paths: settings.provider_paths.clone(),
        })
    }

    /// Puts the principal of a request into its extensions, or refuses the request.
    pub(crate) async fn admit(&self, parts: &mut Parts, caller: &Caller) -> Result<(), DoorRefusal> {
        self.names.check(parts)?;
        if PUBLIC_PATHS.contains(&parts.uri.path()) {
            return Ok(());
        }

        let principal = match self.take_credential(parts)? {
            Some(credential) => self.by_credential(&credential, caller)?,
            None => self.by_user(caller).await?,
        };

        parts.extensions.insert(self.with_owner(principal));
        Ok(())
    }

    /// Takes our token or JWT off the request. On a provider's path, `Authorization` is the provider's and stays.
    fn take_credential(&self, parts: &mut Parts) -> Result<Option<String>, DoorRefusal> {
        let own = take_one(&mut parts.headers, TOKEN_HEADER)?;
        let own = own.as_ref().map(visible).transpose()?;
        if self.is_provider_path(parts.uri.path()) {
            return Ok(own);
        }

        let bearer = take_one(&mut parts.headers, AUTHORIZATION)?;
        let bearer = bearer.as_ref().map(|value| bearer_of(visible(value)?)).transpose()?;
        match (own, bearer) {
            (Some(own), Some(bearer)) if own != bearer => Err(DoorRefusal::unauthenticated(
                "token_ambiguous",
                "Authorization and X-Infold-Token carry different tokens: send one of them",
            )),
            (own, bearer) => Ok(own.or(bearer)),
        }
    }

    fn is_provider_path(&self, path: &str) -> bool {
        self.provider_paths.iter().any(|prefix| is_below(path, prefix))
    }

    fn by_credential(&self, credential: &str, caller: &Caller) -> Result<Principal, DoorRefusal> {
        let is_token = self.token.as_ref().is_some_and(|token| token.matches(credential));
        if is_token && caller.is_loopback() {
            return Ok(Principal::local());
        }
        let problem = match &self.verifier {
            Some(verifier) => match verifier.verify(credential) {
                Ok(principal) => return Ok(principal),
                Err(problem) => problem,
            },
            None => "it is not the one in infold's data folder",
        };
        let message = format!("the token is refused, {problem}: {}", self.how_to());
        Err(DoorRefusal::unauthenticated("token_invalid", message))
    }

    async fn by_user(&self, caller: &Caller) -> Result<Principal, DoorRefusal> {
        // If other machines can reach the address, a forwarder of the same user may be sending on their
        // requests, so the uid proves nothing.
        if self.reach == Reach::Loopback && caller.is_loopback() && caller.is_same_user().await {
            return Ok(Principal::local());
        }
        let message = format!("infold does not know who is asking: {}", self.how_to());
        Err(DoorRefusal::unauthenticated("unauthenticated", message))
    }

    fn how_to(&self) -> &'static str {
        match self.reach {
            Reach::Loopback => HOW_TO_LOCAL,
            Reach::OtherMachines => HOW_TO_JWT,
        }
    }

    /// The principal with the owner of its sessions, which is the local user if all callers share sessions.
    fn with_owner(&self, principal: Principal) -> Principal {
        match self.validator {
            Validator::Strict => principal,
            Validator::Permissive => Principal { owner: Owner::local(), ..principal },
        }
    }
}

/// Takes a header off the request. A header that was sent twice is refused, because it could be read in two ways.
fn take_one(headers: &mut HeaderMap, name: HeaderName) -> Result<Option<HeaderValue>, DoorRefusal> {
    if headers.get_all(&name).iter().count() > 1 {
        let message = format!("{name} is in the request more than once: send one");
        return Err(DoorRefusal::unauthenticated("token_ambiguous", message));
    }
    let Some(value) = headers.get(&name).cloned() else { return Ok(None) };
    // `HeaderMap::remove` would move the last header into the gap, and the proxy must pass headers on in
    // their order.
    let mut others = HeaderMap::with_capacity(headers.len());
    for (other, value) in headers.iter().filter(|(other, _)| **other != name) {
        others.append(other, value.clone());
    }
    *headers = others;
    Ok(Some(value))
}

fn visible(value: &HeaderValue) -> Result<String, DoorRefusal> {
    let text = value.to_str().unwrap_or_default();
    if text.is_empty() {
        let message = "the token is empty or has other than visible ASCII characters";
        return Err(DoorRefusal::unauthenticated("token_invalid", message));
    }
    Ok(text.to_owned())
}

fn bearer_of(value: String) -> Result<String, DoorRefusal> {
    let bearer = value
        .split_once(' ')
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim())
        .filter(|token| !token.is_empty());
    bearer.map(str::to_owned).ok_or_else(|| {
        let message = "Authorization is not of the form “Bearer TOKEN”, and infold takes no other";
        DoorRefusal::unauthenticated("token_invalid", message)
    })
}

#[cfg(test)]
mod tests;
