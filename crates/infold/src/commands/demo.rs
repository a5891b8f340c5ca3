//! `infold demo`: plays a recorded agent against a scripted model, with the real daemon between them, and draws it.

use std::io::{self, IsTerminal};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use infold_core::{Counter, Family};
use serde_json::json;

use super::Invocation;
use crate::cli::Globals;
use crate::demo::{self, agent, drawing, model::ScriptedModel};
use crate::failure::Refused;
use crate::output::Form;
use crate::parts;
use crate::run::{Daemon, follow_window};
use crate::settings::LogLevel;
use crate::telemetry::Telemetry;

/// Plays the demonstration in a data folder of its own, which is gone afterwards.
pub fn run(mut invocation: Invocation) -> anyhow::Result<()> {
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let runtime = parts::serving_runtime(&invocation.in_force.settings)?;
    let counter = Counter::new(Family::ClaudeNew);
    let played = runtime.block_on(async {
        let model = ScriptedModel::start(counter).await?;
        adapt_settings(&mut invocation, &folder.path().join("data").display().to_string(), &model.base_url)?;
        let telemetry = Telemetry::start(&invocation.logging(), "")?;
        let daemon = Daemon::start(&invocation, telemetry.registry.clone(), None).await?;
        let progress = progress(&invocation.globals);
        let show_answered = |request| {
            progress.set_message(format!("request {request} answered"));
            progress.tick();
        };
        let played = agent::play(&daemon.url(), "demo", show_answered).await;
        progress.finish_and_clear();
        daemon.stop().await?;
        played.map(|played| (played, model.got()))
    });
    runtime.shutdown_background();
    let (played, got) = played?;

    let prices = parts::prices(&invocation.in_force.settings);
    let price = prices.of(demo::MODEL).with_context(|| format!("[prices] has no price for {}", demo::MODEL));
    let price = price
        .map_err(|error| Refused::new(error.to_string()).hint("remove your own [prices], or add this model to it"))?;
    let story = drawing::story(&played.sent, &got, counter, price);
    match invocation.output.form {
        Form::Json => {
            let got: Vec<_> = got.iter().map(|got| &got.body).collect();
            invocation.output.json(&json!({"story": story, "sent": played.sent, "got": got}))
        }
        Form::Text => {
            let drawn = drawing::draw(&story, &played.sent, &got, &invocation.output.style);
            Ok(invocation.output.text(&drawn)?)
        }
    }
}

/// Adapts the settings as `infold run` does, with a data folder and an upstream of the demonstration's own.
fn adapt_settings(invocation: &mut Invocation, folder: &str, upstream: &str) -> anyhow::Result<()> {
    follow_window(&mut invocation.in_force, Some(demo::MODEL));
    let settings = &mut invocation.in_force.settings;
    settings.data = folder.to_owned();
    settings.proxy.anthropic.upstream = upstream.to_owned();
    // The scripted model never reads anything back, so offloading results would look better than it is.
    settings.proxy.shape = false;
    if invocation.globals.verbose == 0 {
        settings.telemetry.log_level = LogLevel::Off;
    }
    Ok(())
}

fn progress(globals: &Globals) -> ProgressBar {
    let is_seen = !globals.quiet && io::stderr().is_terminal();
    let target = if is_seen { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    ProgressBar::with_draw_target(None, target).with_style(ProgressStyle::default_spinner())
}
