//! `infold mcp`: serves the tools over standard input and output, until the input ends.

use anyhow::Context;
use infold_core::Principal;
use tokio_util::sync::CancellationToken;

use super::Invocation;
use crate::commands::serve::finish_recording;
use crate::signals::Stops;
use crate::telemetry::Telemetry;
use crate::{gateway, parts};

/// What is served.
#[derive(Debug, Clone, Copy)]
pub enum ServedTools {
    /// infold's own tools, and those of other servers.
    Own,
    /// The fixtures of the conformance suite too.
    #[cfg(feature = "conformance")]
    Fixtures,
}

/// Serves one client until its input ends or a signal stops the process.
pub fn run(invocation: &Invocation, served: ServedTools) -> anyhow::Result<()> {
    let settings = &invocation.in_force.settings;
    let telemetry = Telemetry::start(&invocation.logging(), &settings.telemetry.otlp_endpoint)?;
    let runtime = parts::serving_runtime(settings)?;
    let outcome = runtime.block_on(serve(invocation, served));
    // A read of standard input that is under way cannot be interrupted, so nothing waits for it.
    runtime.shutdown_background();
    telemetry.stop();
    outcome
}

async fn serve(invocation: &Invocation, tools: ServedTools) -> anyhow::Result<()> {
    let settings = &invocation.in_force.settings;
    invocation.warn_of_testing();
    let mut stops = Stops::catch()?;
    let engine = parts::engine(&invocation.data_folder()?, settings)?;

    let shutdown = CancellationToken::new();
    let timers = tokio::spawn({
        let (engine, cancel) = (engine.clone(), shutdown.clone());
        async move { engine.run_timers(cancel).await }
    });
    let servers = gateway::start(invocation, &engine, &shutdown, Vec::new());
    let server = infold_mcp::Server::new(engine.clone(), parts::mcp_settings(settings), servers);
    let serving = async {
        match tools {
            ServedTools::Own => infold_mcp::serve_stdio(&server, Principal::local(), shutdown.clone()).await,
            #[cfg(feature = "conformance")]
            ServedTools::Fixtures => infold_mcp::serve_fixtures(&server, Principal::local(), shutdown.clone()).await,
        }
    };
    tokio::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => served,
        () = stops.next() => {
            shutdown.cancel();
            serving.await
        }
    };
    shutdown.cancel();
    finish_recording(engine.tasks()).await;
    engine.flush_gateway().await;
    timers.await.context("the timers failed")?;
    Ok(served?)
}
