//! Lets requests in where the server wants to know who asks: each carries the token of the server's login. One that is
//! refused is sent once more, if there is a newer token by then.

use std::sync::Arc;

use reqwest::StatusCode;
use reqwest::header::{AUTHORIZATION, HeaderMap, WWW_AUTHENTICATE};

use super::helper::MadeHeaders;
use super::reading::shown;
use super::{HttpLeg, Outgoing, ServerResponse, unreachable};
use crate::gateway::error::{LinkError, RpcError};
use crate::gateway::login::{Bearer, LoginError, ServerTokens};

impl HttpLeg {
    /// Sends a request, with the headers that the server's command makes, if there is one.
    pub(super) async fn send(&self, request: Outgoing) -> Result<ServerResponse, LinkError> {
        match (&self.made, &self.tokens) {
            (Some(made), _) => Box::pin(self.send_with(made, request)).await,
            (None, Some(tokens)) => Box::pin(self.send_logged_in(tokens, request)).await,
            (None, None) => self.send_as_it_is(&request).await,
        }
    }

    /// Sends a request, with the token of the login.
    async fn send_logged_in(&self, tokens: &Arc<ServerTokens>, request: Outgoing) -> Result<ServerResponse, LinkError> {
        let bearer = match tokens.at_hand() {
            Some(bearer) => bearer,
            None => self.finished(Box::pin(tokens.clone().bearer())).await?,
        };
        let response = match &bearer {
            Some(bearer) => self.send_as_it_is(&request.by(bearer)).await?,
            None => self.send_as_it_is(&request).await?,
        };
        self.note_scopes(tokens, &response).await;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }

        match self.finished(Box::pin(tokens.clone().renewed(bearer))).await? {
            Some(bearer) => self.send_as_it_is(&request.by(&bearer)).await,
            None => Ok(response),
        }
    }

    /// Sends a request with headers that a command makes; one that is refused is sent once more, if it makes others then.
    async fn send_with(&self, made: &MadeHeaders, request: Outgoing) -> Result<ServerResponse, LinkError> {
        let headers = made.headers().await?;
        let response = self.send_as_it_is(&request.with(&headers)).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        match made.renewed(&headers).await? {
            Some(headers) => self.send_as_it_is(&request.with(&headers)).await,
            None => Ok(response),
        }
    }

    async fn send_as_it_is(&self, request: &Outgoing) -> Result<ServerResponse, LinkError> {
        let Some(nearby) = &self.nearby else { return Box::pin(self.send_far(request)).await };
        let response = nearby.send(request).await?;
        // A server that sends the request elsewhere has done nothing with it. Following it is the client's.
        if response.status().is_redirection() {
            return Box::pin(self.send_far(request)).await;
        }
        Ok(ServerResponse::Near(Box::new(response)))
    }

    async fn send_far(&self, request: &Outgoing) -> Result<ServerResponse, LinkError> {
        let mut far = self.client.request(request.method.clone(), self.url.clone()).headers(request.headers.clone());
        if !request.body.is_empty() {
            far = far.body(request.body.clone());
        }
        let sent = far.send().await;
        sent.map(ServerResponse::Far).map_err(|error| unreachable(&error.without_url()))
    }

    /// Lets work on the login end, even if nobody waits for the request any more: half of an exchange is a lost login.
    async fn finished<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, LoginError>> + Send + 'static,
    ) -> Result<T, LinkError> {
        let outcome = self.parts.tasks.spawn(work).await;
        outcome.map_err(|_| LinkError::Closed)?.map_err(|error| LinkError::Login(error.to_string()))
    }

    /// If the login does not go far enough, the next one is to ask for what was missing.
    async fn note_scopes(&self, tokens: &Arc<ServerTokens>, response: &ServerResponse) {
        let challenges = response.headers().get_all(WWW_AUTHENTICATE);
        let missing = challenges.iter().filter_map(|challenge| missing_scopes(challenge.to_str().ok()?));
        let missing: Vec<String> = missing.flatten().collect();
        if response.status() == StatusCode::FORBIDDEN && !missing.is_empty() {
            // The login goes on as it is if this cannot be kept.
            let _ = self.finished(Box::pin(tokens.clone().want_scopes(missing))).await;
        }
    }

    /// What a status says about who may come in; `None` if it says nothing about that.
    pub(super) fn not_let_in(&self, status: StatusCode, challenge: Option<String>) -> Option<LinkError> {
        if self.made.is_some() && matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            let why = "the server refuses the headers that the command in headers_helper makes: run it in a shell to see them";
            return Some(LinkError::Login(why.to_owned()));
        }
        let has_login = self.tokens.as_ref().is_some_and(|tokens| tokens.is_logged_in());
        match status {
            StatusCode::UNAUTHORIZED => {}
            StatusCode::FORBIDDEN if !has_login => {}
            // Another login would not help, unless it has more rights.
            StatusCode::FORBIDDEN => {
                let missing = challenge.as_deref().and_then(missing_scopes)?;
                return Some(LinkError::RightsMissing(shown(missing.join(" ").as_bytes())));
            }
            _ => return None,
        }
        Some(LinkError::NeedsLogin { status: status.as_u16(), challenge })
    }

    /// An error without the tokens and made headers that the server was sent: servers repeat what they do not like.
    pub(super) fn without_secrets(&self, error: LinkError) -> LinkError {
        match error {
            LinkError::Http { status, body } => LinkError::Http { status, body: self.hide(body) },
            LinkError::NotMcp(what) => LinkError::NotMcp(self.hide(what)),
            LinkError::NeedsLogin { status, challenge } => {
                LinkError::NeedsLogin { status, challenge: challenge.map(|challenge| self.hide(challenge)) }
            }
            LinkError::Rpc(error) => LinkError::Rpc(RpcError { message: self.hide(error.message), ..error }),
            other => other,
        }
    }

    fn hide(&self, words: String) -> String {
        match (&self.tokens, &self.made) {
            (Some(tokens), _) => tokens.hide(&words),
            (None, Some(made)) => made.hide(&words),
            (None, None) => words,
        }
    }
}

impl Outgoing {
    /// The same, with the token of a login.
    fn by(&self, bearer: &Bearer) -> Self {
        let mut request = self.clone();
        bearer.header().map(|header| request.headers.append(AUTHORIZATION, header));
        request
    }

    /// The same, with these headers in place of others of their names.
    fn with(&self, made: &HeaderMap) -> Self {
        let mut request = self.clone();
        for name in made.keys() {
            request.headers.remove(name);
        }
        made.iter().for_each(|(name, value)| _ = request.headers.append(name, value.clone()));
        request
    }
}

/// The rights that a challenge says are missing; `None` if it is about something else.
fn missing_scopes(challenge: &str) -> Option<Vec<String>> {
    let field = |name: &str| {
        let (_, rest) = challenge.split_once(&format!("{name}="))?;
        match rest.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next(),
            None => rest.split([',', ' ']).next(),
        }
    };
    let is_missing = field("error") == Some("insufficient_scope");
    let scopes = field("scope").filter(|_| is_missing)?;
    Some(scopes.split_whitespace().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests;
