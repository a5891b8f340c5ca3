//! `infold serve`: the daemon. Load settings, bind, open, serve, drain, in that order.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use infold_door::{Door, DoorError, Token};
use infold_engine::Engine;
use prometheus::Registry;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::Invocation;
use crate::cli::ServeArgs;
use crate::cluster;
use crate::failure::{self, Interrupted, Refused};
use crate::gateway;
use crate::output::{Form, Output};
use crate::parts;
use crate::probe::{Listener, probe};
use crate::requests::{self, RequestSpans};
use crate::run::follow_window;
use crate::settings::Surroundings;
use crate::signals::Stops;
use crate::telemetry::Telemetry;

/// How long threads that are stuck in a blocking call may hold up the end.
const THREADS_TIMEOUT: Duration = Duration::from_secs(1);
/// The file descriptor of the first socket that systemd passes.
const FIRST_HANDED_OVER: i32 = 3;
/// How long the end may wait until the last answers are recorded.
const RECORDING_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs the daemon until a signal stops it.
pub fn run(args: &ServeArgs, mut invocation: Invocation) -> anyhow::Result<()> {
    if args.agents {
        follow_window(&mut invocation.in_force, None);
        // Connected agents may call every tool of infold's without asking, and that must not reach other servers.
        let servers = &mut invocation.in_force.settings.gateway.servers;
        if !std::mem::take(servers).is_empty() && !invocation.globals.quiet {
            failure::tell("note", "with --agents other MCP servers are not used: `infold run --gateway` uses them");
        }
    }
    let invocation = &invocation;
    let settings = &invocation.in_force.settings;
    let telemetry = Telemetry::start(&invocation.logging(), &settings.telemetry.otlp_endpoint)?;
    let runtime = parts::serving_runtime(settings)?;
    let outcome = runtime.block_on(serve(invocation, telemetry.registry.clone()));
    if outcome.as_ref().is_err_and(|error| error.is::<Interrupted>()) {
        runtime.shutdown_background();
        return outcome;
    }
    runtime.shutdown_timeout(THREADS_TIMEOUT);
    telemetry.stop();
    outcome
}

async fn serve(invocation: &Invocation, registry: Registry) -> anyhow::Result<()> {
    let settings = &invocation.in_force.settings;
    invocation.warn_of_testing();
    let folder = invocation.data_folder()?;
    let mut stops = Stops::catch()?;
    let listener = match inherited(&invocation.surroundings)? {
        Some(listener) => listener,
        None => bind(&settings.server.listen).await?,
    };
    let token = Token::read_or_create(folder.path()).map_err(|error| Refused::new(error.to_string()))?;
    let door = Door::open(listener, parts::door_settings(settings, token)).map_err(door_error)?;
    let engine = parts::engine(&folder, settings)?;
    cluster::announce(&engine, &settings.store.nats);

    let shutdown = CancellationToken::new();
    let timers = tokio::spawn({
        let (engine, cancel) = (engine.clone(), shutdown.clone());
        async move { engine.run_timers(cancel).await }
    });
    let servers = gateway::start(invocation, &engine, &shutdown, Vec::new());
    let server = infold_mcp::Server::new(engine.clone(), parts::mcp_settings(settings), servers);
    let router = router(invocation, (engine.clone(), server), registry, &shutdown)?;

    let address = door.address();
    announce(address, &invocation.output)?;
    tracing::info!(%address, data = %folder.path().display(), "ready");
    let serving = door.serve(router, shutdown.clone());
    until_stopped(serving, &shutdown, &mut stops).await?;
    shutdown.cancel();
    finish_recording(engine.tasks()).await;
    engine.flush_requests().await;
    engine.flush_gateway().await;
    timers.await.context("the timers failed")
}

/// Waits until the last answers are recorded, but not for ever.
pub(crate) async fn finish_recording(tasks: &TaskTracker) {
    tasks.close();
    if tokio::time::timeout(RECORDING_TIMEOUT, tasks.wait()).await.is_err() {
        tracing::warn!(answers = tasks.len(), "some answers could not be recorded in time");
    }
}

/// Everything that the daemon serves: MCP, the JSON API and the proxy.
pub(crate) fn router(
    invocation: &Invocation,
    (engine, server): (Engine, infold_mcp::Server),
    registry: Registry,
    shutdown: &CancellationToken,
) -> anyhow::Result<Router> {
    let settings = &invocation.in_force.settings;
    let mcp = infold_mcp::http_router(server.clone(), shutdown.clone());
    #[cfg(feature = "conformance")]
    let mcp = mcp.merge(infold_mcp::conformance_router(server, shutdown.clone()));
    let control_settings = parts::control_settings(invocation, registry, shutdown.clone());
    let control = infold_control::router(engine.clone(), control_settings);
    let mut proxy_settings = parts::proxy_settings(settings)?;
    match parts::tunnels(&invocation.surroundings) {
        Ok(tunnels) => proxy_settings.tunnels = tunnels,
        Err(problem) if !invocation.globals.quiet => failure::tell("warning", problem),
        Err(_) => {}
    }
    let proxy = infold_proxy::router(engine, proxy_settings, shutdown.clone());
    // The proxy relays answers of others and must not add headers to them. It measures its requests itself.
    let spans = RequestSpans::for_collector(&settings.telemetry.otlp_endpoint);
    Ok(requests::recorded(mcp.merge(control), spans).merge(proxy))
}

async fn until_stopped(
    serving: impl Future<Output = infold_door::Closed>,
    shutdown: &CancellationToken,
    stops: &mut Stops,
) -> anyhow::Result<()> {
    tokio::pin!(serving);
    tokio::select! {
        _ = &mut serving => return Ok(()),
        () = stops.next() => {}
    }
    tracing::info!("stopping once running requests have finished; a second signal stops at once");
    shutdown.cancel();
    tokio::select! {
        closed = &mut serving => {
            tracing::info!(cut_off = closed.cut, "stopped");
            Ok(())
        }
        () = stops.next() => Err(Interrupted.into()),
    }
}

/// The one line on standard output that says the daemon is ready.
fn announce(address: SocketAddr, output: &Output) -> anyhow::Result<()> {
    let url = format!("http://{address}");
    match output.form {
        Form::Text => output.text(&format!("infold listening on {url}\n"))?,
        Form::Json => output.text(&format!("{}\n", json!({"listening": url, "pid": std::process::id()})))?,
    }
    Ok(())
}

/// Takes over the socket that systemd opened for this process; `None` if there is none. The address is then the one in
/// the socket unit, and `server.listen` does not count.
fn inherited(surroundings: &Surroundings) -> anyhow::Result<Option<TcpListener>> {
    let number = |name: &str| surroundings.text(name).and_then(|text| text.parse::<u32>().ok());
    if number("LISTEN_PID") != Some(std::process::id()) || number("LISTEN_FDS").unwrap_or(0) == 0 {
        return Ok(None);
    }
    let own = pidfd_open(getpid(), PidfdFlags::empty());
    let socket = own.and_then(|own| pidfd_getfd(own, FIRST_HANDED_OVER, PidfdGetfdFlags::empty()));
    let listener = socket.map_err(io::Error::from).map(std::net::TcpListener::from).and_then(|listener| {
        listener.local_addr()?;
        listener.set_nonblocking(true)?;
        TcpListener::from_std(listener)
    });
    let cannot = |error: io::Error| {
        Refused::new(format!("cannot listen on the socket from systemd: {error}"))
            .hint("set ListenStream= in infold.socket to an address and port, such as 127.0.0.1:9090")
    };
    Ok(Some(listener.map_err(cannot)?))
}

async fn bind(listen: &str) -> anyhow::Result<TcpListener> {
    let address: SocketAddr = listen.parse().context("server.listen")?;
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(listener),
        Err(error) => {
            let refused = tokio::task::spawn_blocking(move || cannot_bind(address, &error)).await?;
            Err(refused.into())
        }
    }
}

fn cannot_bind(address: SocketAddr, error: &io::Error) -> Refused {
    if error.kind() != ErrorKind::AddrInUse {
        return Refused::new(format!("cannot listen on {address}: {error}"))
            .hint("choose another address or port with --listen ADDR:PORT");
    }
    let free_port = format!("use any free port with --listen {}:0", bracketed(address));
    match probe(address) {
        Listener::Ours { version } => Refused::new(format!("your own infold {version} already listens on {address}"))
            .hint(format!("use that one, stop it, or {free_port}")),
        Listener::Unproven => {
            Refused::new(format!("another user's infold seems to listen on {address}")).hint(free_port)
        }
        Listener::Other | Listener::Nobody => Refused::new(format!("another program listens on {address}"))
            .hint(format!("{free_port}; `ss -ltnp 'sport = :{}'` shows which program it is", address.port())),
    }
}

fn bracketed(address: SocketAddr) -> String {
    match address {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }
}

/// Turns the reason why the door cannot be opened into a command's error.
pub(crate) fn door_error(error: DoorError) -> anyhow::Error {
    match error {
        DoorError::Address(error) => error.into(),
        DoorError::Key { .. } => Refused::new(format!("cannot use the key of [auth.jwt]: {error}"))
            .hint("set auth.jwt.key_file or auth.jwt.jwks_file to a file with a key")
            .into(),
        DoorError::OpenToStrangers { .. } | DoorError::Setting { .. } => Refused::new(error.to_string()).into(),
    }
}
