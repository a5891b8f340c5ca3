//! A small client of the JSON API.

use anyhow::{Context, Result, ensure};
use reqwest::header::HeaderMap;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::Value;

use super::Refused;

/// A client of the JSON API.
#[derive(Clone)]
pub struct Api {
    http: Client,
    base_url: String,
    token: Option<String>,
}

/// An answer of the JSON API, read whole.
#[derive(Debug)]
pub struct ApiAnswer {
    pub status: u16,
    pub headers: HeaderMap,
    /// The body, as it came.
    pub text: String,
    /// The body as JSON; null if it is none.
    pub body: Value,
}

impl Api {
    /// A client that shows no token.
    pub fn new(http: Client, base_url: &str) -> Self {
        Self { http, base_url: base_url.to_owned(), token: None }
    }

    /// The same client with a bearer token.
    pub fn with_token(self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self }
    }

    /// A request, to be filled in.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base_url));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    pub async fn get(&self, path: &str) -> Result<ApiAnswer> {
        ApiAnswer::read(self.request(Method::GET, path)).await
    }

    pub async fn delete(&self, path: &str) -> Result<ApiAnswer> {
        ApiAnswer::read(self.request(Method::DELETE, path)).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<ApiAnswer> {
        ApiAnswer::read(self.request(Method::POST, path).json(body)).await
    }
}

impl ApiAnswer {
    /// Sends a request and reads what comes back.
    pub async fn read(request: RequestBuilder) -> Result<Self> {
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await?;
        let body = serde_json::from_str(&text).unwrap_or_default();
        Ok(Self { status, headers, text, body })
    }

    /// The body of an answer that must have this status.
    pub fn with_status(self, status: u16) -> Result<Value> {
        ensure!(self.status == status, "got {} instead of {status}: {}", self.status, self.text);
        Ok(self.body)
    }

    /// The error of an answer that must be one, and whose body must say the status that it has.
    pub fn refused(&self) -> Result<Refused> {
        ensure!(self.status >= 400, "it was not refused: {} {}", self.status, self.text);
        let refused = Refused::read(None, &self.body["error"]).with_context(|| self.text.clone())?;
        ensure!(refused.status == u64::from(self.status), "status {} with the body {}", self.status, self.text);
        Ok(refused)
    }

    /// A header, if it is there.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}
