//! The proxy: takes model requests, has them planned, forwards them, streams the answer back untouched
//! and meters a copy of it.
//!
//! Must hold: with nothing to edit, the provider gets the client's bytes and the client the provider's;
//! keys go to the configured host and nowhere else, and are never stored or logged; an answer that broke
//! off never looks whole; every wait, retry, body and cache has a bound.
//!
//! Left to others: what a request holds (`infold-wire`), what of it is sent (`infold-core`), what is
//! stored of a session (`infold-engine`), who may come in (`infold-door`).
#![cfg_attr(test, allow(clippy::expect_used, reason = "a test that cannot go on should stop"))]

mod connect;
mod decode;
mod ending;
mod handling;
mod headers;
mod metrics;
mod opening;
mod own;
mod provider;
mod refusal;
mod relay;
mod route;
mod send;
mod settings;
mod tunnel;
mod turn;
mod unpack;
mod wrong_base_url;

use std::sync::Arc;

use axum::Router;
use axum::routing::any;
use infold_engine::Engine;
use tokio_util::sync::CancellationToken;

pub use handling::known_paths;
pub use own::{OwnKey, OwnModel, OwnSettings, OwnStream, OwnWay, StreamedAnswer, ask_model, embed_texts};
pub use provider::Provider;
pub use settings::{Planning, ProxySettings, RetryStatus, Upstream, UpstreamError};
pub use tunnel::{NoTunnel, Tunnels};

/// What all requests share.
pub(crate) struct Proxy {
    pub(crate) engine: Engine,
    pub(crate) settings: ProxySettings,
    pub(crate) client: connect::UpstreamClient,
    pub(crate) metrics: metrics::ProxyMetrics,
    pub(crate) shutdown: CancellationToken,
}

/// Builds the routes of both providers. Requests under way when `shutdown` is cancelled are finished. The engine
/// records what they leave behind, so whoever serves has to wait for the engine's tasks.
pub fn router(engine: Engine, settings: ProxySettings, shutdown: CancellationToken) -> Router {
    let client = connect::UpstreamClient::new(settings.connect_timeout_ms, settings.tunnels.clone());
    let metrics = metrics::ProxyMetrics::new();
    let proxy = Arc::new(Proxy { engine, settings, client, metrics, shutdown });
    let mut router = Router::new();
    for provider in Provider::ALL {
        let prefix = provider.prefix();
        for path in [prefix.to_owned(), format!("{prefix}/"), format!("{prefix}/{{*rest}}")] {
            router = router.route(&path, any(turn::answer));
        }
    }
    router.route(&format!("{NO_PROVIDER}/{{*rest}}"), any(wrong_base_url::answer)).with_state(proxy)
}

/// Paths below which the header `Authorization` is meant for a provider, not for infold.
pub const PATHS: [&str; 3] = [Provider::Anthropic.prefix(), Provider::OpenAi.prefix(), NO_PROVIDER];
/// Where requests arrive if their client's base URL lacks the provider's path.
const NO_PROVIDER: &str = "/v1";
