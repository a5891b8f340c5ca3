//! The way out of a network that lets nobody through but its own proxy: a tunnel through that (`CONNECT`), in which
//! the upstream is spoken to as ever. The proxy of the network sees the upstream's name and nothing else.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::{BoxError, Service};

/// What is never behind the proxy of a network.
const THIS_MACHINE: &str = "localhost,127.0.0.0/8,::1";
/// An address that no list leaves out.
const ELSEWHERE: &str = "https://upstream.invalid/";

/// Which upstreams are reached through the network's own proxy. Only those with `https` are; plain ones are on this
/// machine or near it.
#[derive(Debug, Clone)]
pub struct Tunnels(Option<Arc<Matcher>>);

/// The proxy that was named cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not a proxy that infold can use: write it as http://host:port")]
pub struct NoTunnel;

impl Tunnels {
    /// Every upstream is reached directly.
    pub fn none() -> Self {
        Self(None)
    }

    /// Upstreams are reached through `proxy` (`http://name:password@host:port`), but for those that `except` lists as
    /// the variable NO_PROXY does.
    pub fn through(proxy: &str, except: &str) -> Result<Self, NoTunnel> {
        let intercept = Matcher::builder().https(proxy).build().intercept(&Uri::from_static(ELSEWHERE));
        if intercept.and_then(|intercept| intercept.uri().scheme().cloned()) != Some(http::uri::Scheme::HTTP) {
            return Err(NoTunnel);
        }
        let except = format!("{except},{THIS_MACHINE}");
        Ok(Self(Some(Arc::new(Matcher::builder().https(proxy).no(except).build()))))
    }

    /// The proxy that leads to an address, if one does.
    fn to(&self, target: &Uri) -> Option<Intercept> {
        self.0.as_ref()?.intercept(target)
    }
}

/// Connects to where it is told, through a tunnel or directly.
#[derive(Clone)]
pub(crate) struct Outward {
    tcp: HttpConnector,
    tunnels: Tunnels,
}

impl Outward {
    pub(crate) fn new(tcp: HttpConnector, tunnels: Tunnels) -> Self {
        Self { tcp, tunnels }
    }
}

impl Service<Uri> for Outward {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let Some(proxy) = self.tunnels.to(&target) else {
            let connecting = self.tcp.call(target);
            return Box::pin(async move { connecting.await.map_err(Into::into) });
        };
        let mut tunnel = Tunnel::new(proxy.uri().clone(), self.tcp.clone());
        if let Some(auth) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(auth.clone());
        }
        let connecting = tunnel.call(target);
        let host = proxy.uri().authority().map(ToString::to_string).unwrap_or_default();
        Box::pin(async move {
            connecting.await.map_err(|error| {
                let why = std::error::Error::source(&error).map(|why| format!(": {why}")).unwrap_or_default();
                format!("through the proxy {host}: {error}{why}").into()
            })
        })
    }
}

#[cfg(test)]
mod tests;
