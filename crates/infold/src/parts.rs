//! Puts the parts together: turns the settings into what each crate takes, and builds what commands need.

use std::path::{Path, PathBuf};

use anyhow::Context;
use infold_control::{ContextRoom, ControlSettings};
use infold_core::fork::ForkLimits;
use infold_core::{ContextBound, Counter, Limits, ModelWindow, ModelWindows, Prices, ShapeRules};
use infold_door::{DoorSettings, JwtSettings, LongBody, Token};
use infold_engine::{
    Clock, ContextNotes, Engine, EngineSettings, ForkSettings, KeptCalls, ScrubSettings, Shaping, TimerSettings,
    TurnSettings,
};
use infold_proxy::{Planning, ProxySettings, RetryStatus, Tunnels, Upstream};
use infold_store::{Store, StoreError, StoreSettings};
use prometheus::Registry;
use tokio_util::sync::CancellationToken;

use crate::cluster;
use crate::commands::Invocation;
use crate::data_folder::DataFolder;
use crate::failure::Refused;
use crate::gateway;
use crate::memory_models;
use crate::scrub_rules;
use crate::settings::{
    Allocation, ErrorForm, Family, Isolation, Jwt, ScrubFault, SessionSource, Settings, Surroundings, Synchronous,
    ToolFamily, Validator,
};

const SECOND_MS: u64 = 1_000;
const HOUR_MS: u64 = 3_600 * SECOND_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// Opens the database in the folder, and makes an engine that uses it.
pub fn engine(folder: &DataFolder, settings: &Settings) -> anyhow::Result<Engine> {
    let store = open_store(folder, settings)?;
    Ok(Engine::new(store, engine_settings(settings)?, Clock::System))
}

/// Opens the database in the folder: this machine's own, or its index of what several machines share.
pub fn open_store(folder: &DataFolder, settings: &Settings) -> anyhow::Result<Store> {
    let mut store = store_settings(settings);
    store.cluster = cluster::settings(settings)?;
    let database = folder.database(settings.store.backend);
    if let Some(index) = database.parent() {
        DataFolder::create(index.to_owned())?;
    }
    Store::open(&database, &store).map_err(store_error)
}

/// Opens the database at a path, and makes an engine that uses it.
pub fn engine_at(database: &Path, settings: &Settings, clock: Clock) -> anyhow::Result<Engine> {
    let store = Store::open(database, &store_settings(settings)).map_err(store_error)?;
    Ok(Engine::new(store, engine_settings(settings)?, clock))
}

pub fn store_error(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::TooNew { .. } | StoreError::DiskFull | StoreError::Busy | StoreError::Damaged { .. } => {
            Refused::new(error.to_string()).into()
        }
        StoreError::Unreachable { .. } => Refused::new(error.to_string())
            .hint("start the servers, or set store.backend = \"sqlite\" to work with this machine's own state")
            .into(),
        StoreError::Unfit { path, problem, remedy } => Refused::new(format!("{path} {problem}")).hint(remedy).into(),
        other => anyhow::Error::new(other).context("cannot open the database; run `infold doctor` for details"),
    }
}

/// Turns an engine's error into a command's: what was refused is for the user to put right.
pub fn command_error(error: infold_engine::Error) -> anyhow::Error {
    match error {
        infold_engine::Error::Refused(refusal) => Refused::new(refusal.to_string()).code(refusal.code()).into(),
        infold_engine::Error::Failed(failure) => failure.into(),
    }
}

/// How the store opens its database.
pub fn store_settings(settings: &Settings) -> StoreSettings {
    let store = &settings.store;
    StoreSettings {
        synchronous: match store.synchronous {
            Synchronous::Full => infold_store::Synchronous::Full,
            Synchronous::Normal => infold_store::Synchronous::Normal,
        },
        busy_timeout_ms: store.busy_timeout_ms,
        readers_max: store.readers,
        cluster: None,
        checkpoint_pages: store.checkpoint_pages,
    }
}

/// What counts tokens where no model is known.
pub fn counter(settings: &Settings) -> Counter {
    Counter::new(match settings.count.family {
        Family::Claude => infold_core::Family::Claude,
        Family::ClaudeNew => infold_core::Family::ClaudeNew,
        Family::Gpt => infold_core::Family::Gpt,
    })
}

fn engine_settings(settings: &Settings) -> anyhow::Result<EngineSettings> {
    Ok(EngineSettings {
        limits: limits(settings),
        counter: counter(settings),
        scrub: scrub_settings(settings)?,
        shape: shape_rules(settings),
        isolation: match settings.folding.isolation {
            Isolation::Isolated => infold_core::Isolation::Isolated,
            Isolation::Inherit => infold_core::Isolation::Inherit,
        },
        fork: ForkSettings {
            profile: settings.fork.profile.into(),
            limits: ForkLimits::with_char_budget(settings.fork.char_budget),
            log_bytes_max: transcript_bytes_max(settings),
        },
        timers: TimerSettings {
            live_ms: u64::from(settings.store.live_hours) * HOUR_MS,
            retention_ms: u64::from(settings.store.retention_days) * DAY_MS,
        },
        prices: prices(settings),
        turn: TurnSettings {
            shaping: if settings.proxy.shape { Shaping::On } else { Shaping::Off },
            windows: windows(settings),
            reserve_tokens: settings.rescue.reserve_tokens,
            kept_results_tokens: settings.proxy.kept_results_tokens,
            context_notes: if settings.proxy.context_notes { ContextNotes::On } else { ContextNotes::Off },
            sessions_max: settings.proxy.sessions_max,
            sessions_bytes_max: settings.proxy.sessions_bytes_max,
            kept_calls: match settings.gateway.servers.is_empty() && !settings.run.gateway {
                true => KeptCalls::Own,
                false => KeptCalls::All,
            },
        },
        memory: settings.memory.rules(),
        memory_models: memory_models::of(settings)?,
        folder: std::env::current_dir().ok(),
        home: std::env::home_dir(),
        programs: std::env::var_os("PATH"),
    })
}

/// What scrubbing looks for, how long and how large it may be, and the fault that tests plant in it.
pub fn scrub_settings(settings: &Settings) -> anyhow::Result<ScrubSettings> {
    Ok(ScrubSettings {
        rules: scrub_rules::load(&settings.scrub, &Surroundings::of_this_process())?,
        timeout_ms: settings.scrub.timeout_ms,
        bytes_max: settings.scrub.max_bytes,
        fault: match settings.testing.scrub_fault {
            ScrubFault::None => infold_engine::ScrubFault::None,
            ScrubFault::Panic => infold_engine::ScrubFault::Panic,
            ScrubFault::Stall => infold_engine::ScrubFault::Stall,
            ScrubFault::Missing => infold_engine::ScrubFault::Missing,
        },
    })
}

/// What providers charge for tokens, by model.
pub fn prices(settings: &Settings) -> Prices {
    Prices(settings.prices.models.iter().map(price).collect())
}

fn price(price: &crate::settings::Price) -> infold_core::Price {
    let crate::settings::Price(model, input, output, cache_read, cache_write) = price.clone();
    infold_core::Price { model, input, output, cache_read, cache_write: Some(cache_write) }
}

/// Which results are offloaded, and how much is shown of them.
pub fn shape_rules(settings: &Settings) -> ShapeRules {
    ShapeRules {
        file_bytes_max: settings.shape.file_bytes_max,
        output_bytes_max: settings.shape.output_bytes_max,
        handed_in_bytes_max: settings.store.result_offload_threshold,
        reread_bytes_min: settings.shape.reread_bytes_min,
        lines_chars_max: settings.shape.lines_chars_max,
        names_chars_max: settings.shape.names_chars_max,
    }
}

fn transcript_bytes_max(settings: &Settings) -> usize {
    usize::try_from(settings.server.transcript_bytes_max).unwrap_or(usize::MAX)
}

fn limits(settings: &Settings) -> Limits {
    let folding = &settings.folding;
    let context = &settings.context;
    Limits {
        budget_default_tokens: folding.default_budget,
        budget_max_tokens: folding.max_budget,
        timeout_default_s: folding.default_timeout_seconds,
        timeout_max_s: folding.max_timeout_seconds,
        depth_max: folding.max_depth,
        open_per_session_max: folding.max_concurrent_per_session.into(),
        open_per_instance_max: folding.max_concurrent_per_instance.into(),
        fair_share_percent: fair_share_percent(settings),
        openings_per_minute_max: folding.max_branches_per_minute.into(),
        allocation: match folding.allocation {
            Allocation::Independent => infold_core::Allocation::Independent,
            Allocation::Pool => infold_core::Allocation::Pool,
        },
        session_budget_tokens: (folding.session_budget > 0).then_some(folding.session_budget),
        context_limit_tokens: context.context_limit,
        context_bound: if context.context_hard_limit { ContextBound::Hard } else { ContextBound::Soft },
        session_end_ms: folding.session_end_timeout_seconds * SECOND_MS,
    }
}

/// The share of one principal, where there can be several whose sessions are apart.
fn fair_share_percent(settings: &Settings) -> Option<u64> {
    let are_several = settings.auth.jwt.is_on() && settings.auth.validator == Validator::Strict;
    (are_several && settings.folding.fair_share_percent > 0).then(|| settings.folding.fair_share_percent.into())
}

/// The door's limits, and who may come in: with `token`, or with a JWT if that is configured.
pub fn door_settings(settings: &Settings, token: Token) -> DoorSettings {
    let (server, auth) = (&settings.server, &settings.auth);
    DoorSettings {
        connections_max: server.connections_max,
        head_bytes_max: server.head_bytes_max,
        head_timeout_ms: server.head_timeout_ms,
        body_bytes_max: server.body_bytes_max,
        long_bodies: long_bodies(settings),
        idle_timeout_ms: server.idle_timeout_ms,
        stall_timeout_ms: server.stall_timeout_ms,
        drain_timeout_ms: server.drain_timeout_ms,
        allowed_hosts: auth.allowed_hosts.clone(),
        allowed_origins: auth.allowed_origins.clone(),
        provider_paths: infold_proxy::PATHS.map(str::to_owned).to_vec(),
        validator: match auth.validator {
            Validator::Strict => infold_door::Validator::Strict,
            Validator::Permissive => infold_door::Validator::Permissive,
        },
        token: Some(token),
        jwt: auth.jwt.is_on().then(|| jwt_settings(&auth.jwt)),
    }
}

fn long_bodies(settings: &Settings) -> Vec<LongBody> {
    let long = [infold_control::FORKS_PATH, infold_control::IMPORT_PATH];
    let long = long.map(|path| LongBody { path, bytes_max: settings.server.transcript_bytes_max });
    // The proxy bounds its bodies itself, and says so in the provider's shape.
    let proxied = infold_proxy::PATHS.map(|path| LongBody { path, bytes_max: u64::MAX });
    proxied.into_iter().chain(long).collect()
}

fn jwt_settings(jwt: &Jwt) -> JwtSettings {
    let file = |path: &str| (!path.is_empty()).then(|| PathBuf::from(path));
    JwtSettings {
        algorithm: jwt.algorithm.clone(),
        issuer: jwt.issuer.clone(),
        audience: jwt.audience.clone(),
        key_file: file(&jwt.key_file),
        jwks_file: file(&jwt.jwks_file),
        leeway_seconds: jwt.leeway_seconds,
    }
}

/// Which tools the MCP server lists, where their session comes from, and its limits.
pub fn mcp_settings(settings: &Settings) -> infold_mcp::Settings {
    let mcp = &settings.mcp;
    let family = |family: &ToolFamily| match family {
        ToolFamily::Branch => infold_mcp::ToolFamily::Branch,
        ToolFamily::Context => infold_mcp::ToolFamily::Context,
        ToolFamily::Memory => infold_mcp::ToolFamily::Memory,
        ToolFamily::Lean => infold_mcp::ToolFamily::Lean,
    };
    infold_mcp::Settings {
        families: mcp.tools.iter().map(family).collect(),
        session_from: match mcp.session {
            SessionSource::Caller => infold_mcp::SessionFrom::Caller,
            SessionSource::Proxy => infold_mcp::SessionFrom::Proxy,
        },
        errors: match mcp.errors {
            ErrorForm::Jsonrpc => infold_mcp::ErrorStyle::Jsonrpc,
            ErrorForm::Result => infold_mcp::ErrorStyle::Result,
        },
        message_bytes_max: mcp.message_bytes_max,
    }
}

/// The proxy's upstreams and limits. Tunnels are not among the settings: they come from the environment.
pub fn proxy_settings(settings: &Settings) -> anyhow::Result<ProxySettings> {
    let proxy = &settings.proxy;
    Ok(ProxySettings {
        anthropic: Upstream::parse(&proxy.anthropic.upstream).context("proxy.anthropic.upstream")?,
        openai: Upstream::parse(&proxy.openai.upstream).context("proxy.openai.upstream")?,
        planning: if proxy.plan { Planning::On } else { Planning::Off },
        body_bytes_max: proxy.body_bytes_max,
        unsearched_paths: proxy.unsearched_paths.clone(),
        tunnels: Tunnels::none(),
        connect_timeout_ms: proxy.connect_timeout_ms,
        silence_timeout_ms: proxy.silence_timeout_ms,
        hold_ms: proxy.hold_ms,
        retries_max: proxy.retries_max,
        retry_statuses: proxy.retry_statuses.iter().filter_map(|status| RetryStatus::of(*status)).collect(),
        retry_after_max_ms: proxy.retry_after_max_ms,
    })
}

/// How many tokens each model takes.
pub fn windows(settings: &Settings) -> ModelWindows {
    let windows = &settings.windows;
    ModelWindows { default_tokens: windows.default_tokens, models: windows.models.iter().map(window).collect() }
}

fn window(window: &crate::settings::Window) -> ModelWindow {
    ModelWindow { model: window.model().to_owned(), tokens: window.tokens(), largest_tokens: window.largest_tokens() }
}

/// The HTTP proxy that leads out of this network, as the environment names it for every program. An error names only
/// the variable, because its value may hold a password.
pub fn tunnels(surroundings: &Surroundings) -> Result<Tunnels, String> {
    let first = |names: &[&'static str]| names.iter().find_map(|name| Some((*name, surroundings.text(name)?)));
    let Some((name, proxy)) = first(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]) else {
        return Ok(Tunnels::none());
    };
    let except = first(&["NO_PROXY", "no_proxy"]).map_or("", |(_, list)| list);
    Tunnels::through(proxy, except).map_err(|error| format!("ignoring {name}, which {error}"))
}

/// What the size of a session's main thread is measured against.
pub fn room(settings: &Settings) -> ContextRoom {
    ContextRoom { windows: windows(settings), context_limit_tokens: settings.context.context_limit }
}

/// The JSON API's limits, the servers and metrics that it shows, and the token that ends its event streams.
pub fn control_settings(invocation: &Invocation, registry: Registry, shutdown: CancellationToken) -> ControlSettings {
    let settings = &invocation.in_force.settings;
    ControlSettings {
        streams_max: settings.server.streams_max,
        body_bytes_max: usize::try_from(settings.server.body_bytes_max).unwrap_or(usize::MAX),
        transcript_bytes_max: transcript_bytes_max(settings),
        room: room(settings),
        servers: gateway::configured(invocation).into(),
        registry,
        shutdown,
    }
}

/// The stack of a thread that serves. A request's whole way through a program that is not optimised takes up to two
/// megabytes, which is what threads have otherwise. Only what is used of it takes memory.
const STACK_BYTES: usize = 8 << 20;

/// A runtime with several threads, for commands that serve.
pub fn serving_runtime(settings: &Settings) -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(settings.server.worker_threads)
        .thread_name("infold")
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()
        .context("cannot start threads")
}

/// A runtime on the current thread, for commands that ask the engine one thing and end.
pub fn asking_runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")
}
