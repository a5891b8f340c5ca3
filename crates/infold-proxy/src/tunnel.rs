//! Tunnels (`CONNECT`) through the proxy of a network that lets nothing else out. Inside a tunnel the upstream is
//! spoken to as usual, so the network's proxy sees the upstream's name and nothing else.

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

/// Addresses that are never reached through a network's proxy.
const THIS_MACHINE: &str = "localhost,127.0.0.0/8,::1";
/// An address that no list of exceptions contains.
const ANY_UPSTREAM: &str = "https://upstream.invalid/";

/// Which upstreams are reached through the network's own proxy. Only those with `https` can be; plain ones are on this
/// machine or near it.
#[derive(Debug, Clone)]
pub struct Tunnels(Option<Arc<Matcher>>);

/// The address that was given is not one of an HTTP proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is not a proxy that infold can use: write it as http://host:port")]
pub struct NoTunnel;

impl Tunnels {
    /// Makes no tunnels: every upstream is reached directly.
    pub fn none() -> Self {
        Self(None)
    }

    /// Makes tunnels through `proxy` (`http://name:password@host:port`) to every upstream except those in `except`,
    /// which is written like the variable NO_PROXY.
    pub fn through(proxy: &str, except: &str) -> Result<Self, NoTunnel> {
        let intercept = Matcher::builder().https(proxy).build().intercept(&Uri::from_static(ANY_UPSTREAM));
        if intercept.and_then(|intercept| intercept.uri().scheme().cloned()) != Some(http::uri::Scheme::HTTP) {
            return Err(NoTunnel);
        }
        let except = format!("{except},{THIS_MACHINE}");
        Ok(Self(Some(Arc::new(Matcher::builder().https(proxy).no(except).build()))))
    }

    /// Returns the proxy through which an address is reached, if there is one.
    fn to(&self, target: &Uri) -> Option<Intercept> {
        self.0.as_ref()?.intercept(target)
    }
}

/// Connects to an upstream, through a tunnel or directly.
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
