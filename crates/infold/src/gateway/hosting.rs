//! The gateway as the daemon and `infold mcp` run it: made from settings, at work until the program stops.

use std::sync::Arc;

use infold_core::gateway::{DeferralRules, HealthRules, ServerEntry};
use infold_engine::Engine;
use infold_mcp::gateway::{LinkLimits, ListLimits, LoginStore};
use infold_mcp::{Gateway, GatewayListing, GatewaySetup, HostedServer};
use tokio_util::sync::CancellationToken;

use super::entries::{LoadedServer, LoadedState, load, load_entry};
use super::logins::login_store;
use super::way::link_way;
use crate::commands::Invocation;
use crate::parts;
use crate::settings::{Settings, Surroundings};

/// How long a server has to end when its input has ended.
const CLOSE_TIMEOUT_MS: u64 = 2_000;
/// The wait after a server's first failure.
const RETRY_FIRST_MS: u64 = 500;
/// How long a server is left alone that failed too often.
const OPEN_MS: u64 = 30_000;
/// Bounds of a server's lists.
const PAGES_MAX: usize = 100;
const ITEMS_MAX: usize = 2_000;
const ITEM_BYTES_MAX: usize = 64 << 10;

/// Starts the gateway if there are servers: those of settings, and `taken` beside them. It works until `shutdown`, and the
/// engine's tasks end with it.
pub fn start(
    invocation: &Invocation,
    engine: &Engine,
    shutdown: &CancellationToken,
    taken: Vec<ServerEntry>,
) -> Option<Arc<Gateway>> {
    let (settings, surroundings) = (&invocation.in_force.settings, &invocation.surroundings);
    let logins = login_store(invocation).ok();
    let taken = taken.into_iter().map(|entry| load_entry(entry, surroundings));
    let servers: Vec<HostedServer> = load(&settings.gateway, surroundings)
        .into_iter()
        .chain(taken)
        .filter_map(|server| hosted(server, surroundings, logins.as_ref()))
        .collect();
    if servers.is_empty() {
        return None;
    }
    let gateway = Gateway::new(engine.clone(), setup(settings, servers));
    engine.tasks().spawn(gateway.clone().run(shutdown.clone()));
    Some(gateway)
}

/// A server that is not switched off.
fn hosted(server: LoadedServer, surroundings: &Surroundings, logins: Option<&LoginStore>) -> Option<HostedServer> {
    let way = match server.state {
        LoadedState::Off(_) => return None,
        LoadedState::Usable(expanded) => Ok(link_way((expanded.key.as_str(), &expanded.way), surroundings, logins)),
        LoadedState::Refused(problems) => Err(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
    };
    Some(HostedServer { entry: server.entry, way })
}

fn setup(settings: &Settings, servers: Vec<HostedServer>) -> GatewaySetup {
    let gateway = &settings.gateway;
    let deferral = DeferralRules {
        mode: gateway.deferral.into(),
        percent: gateway.deferral_percent,
        tokens_max: gateway.deferral_tokens,
    };
    let window_tokens = parts::windows(settings).default_tokens;
    GatewaySetup {
        servers,
        folder: std::env::current_dir().ok(),
        new_tools: gateway.new_tools.into(),
        listing: GatewayListing {
            mode: deferral.mode,
            room_tokens: deferral.room_tokens(window_tokens, settings.rescue.reserve_tokens),
            form: gateway.schemas.into(),
        },
        limits: LinkLimits {
            start_timeout_ms: gateway.start_timeout_ms,
            message_bytes_max: gateway.message_bytes_max,
            calls_max: gateway.calls_max,
            close_timeout_ms: CLOSE_TIMEOUT_MS,
            list: ListLimits {
                pages_max: PAGES_MAX,
                items_max: ITEMS_MAX,
                item_bytes_max: ITEM_BYTES_MAX,
                timeout_ms: gateway.start_timeout_ms,
            },
        },
        health: HealthRules {
            retry_first_ms: RETRY_FIRST_MS,
            retry_max_ms: gateway.retry_max_ms,
            failures_max: gateway.failures_max,
            open_ms: OPEN_MS,
        },
        list_wait_ms: gateway.list_wait_ms,
        idle_ms: gateway.idle_ms,
        children_max: gateway.children_max,
        result_bytes_max: gateway.result_bytes_max,
        heartbeat_ms: gateway.heartbeat_ms,
        questions_max: gateway.questions_max,
        question_wait_ms: gateway.question_wait_ms,
    }
}
