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

mod answer;
mod astray;
mod budget_note;
mod connect;
mod decode;
mod first_sight;
mod headers;
mod identity;
mod lost;
mod mentioned;
mod metrics;
mod opening;
mod placeholders;
mod planning;
mod provider;
mod refusal;
mod relay;
mod rescue;
mod route;
mod send;
mod sessions;
mod settings;
mod sight;
mod trouble;
mod tunnel;
mod turn;
mod underway;
mod watch;
mod words;

use std::sync::Arc;

use axum::Router;
use axum::routing::any;
use infold_engine::Engine;
use tokio_util::sync::CancellationToken;

pub use provider::Provider;
pub use settings::{Planning, ProxySettings, RetryStatus, Shaping, Upstream, UpstreamError};
pub use tunnel::{NoTunnel, Tunnels};

/// What every request needs.
pub(crate) struct Proxy {
    pub(crate) engine: Engine,
    pub(crate) settings: ProxySettings,
    pub(crate) client: connect::Client,
    pub(crate) sessions: sessions::Sessions,
    pub(crate) metrics: metrics::Metrics,
    pub(crate) shutdown: CancellationToken,
}

/// The routes of both providers. Requests under way when `shutdown` is cancelled are finished; what they
/// leave to be recorded runs on `settings.tasks`, which whoever serves waits for.
pub fn router(engine: Engine, settings: ProxySettings, shutdown: CancellationToken) -> Router {
    let client = connect::Client::new(&settings);
    let sessions = sessions::Sessions::new(settings.sessions_max, settings.sessions_bytes_max);
    let metrics = metrics::Metrics::new();
    let proxy = Arc::new(Proxy { engine, settings, client, sessions, metrics, shutdown });
    let mut router = Router::new();
    for provider in Provider::ALL {
        let prefix = provider.prefix();
        for path in [prefix.to_owned(), format!("{prefix}/"), format!("{prefix}/{{*rest}}")] {
            router = router.route(&path, any(answer::answer));
        }
    }
    router.route(&format!("{ASTRAY}/{{*rest}}"), any(astray::answer)).with_state(proxy)
}

/// Paths below which `Authorization` is a provider's.
pub const PATHS: [&str; 3] = [Provider::Anthropic.prefix(), Provider::OpenAi.prefix(), ASTRAY];
/// Where requests come to whose base URL lacks the provider's path.
const ASTRAY: &str = "/v1";
