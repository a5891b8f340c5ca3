//! `cargo xtask model`: the scripted model as a program, for trying an agent against it by hand.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use infold_testkit::model::{Model, Script};
use serde_json::json;

/// What `cargo xtask model` takes.
#[derive(Debug, clap::Args)]
pub struct ModelArguments {
    /// A JSON file with `steps`, each with `reasoning`, `text` and `calls` of `tool` and `input`.
    #[arg(long)]
    script: Option<PathBuf>,
    /// Where to listen. Port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Where to write what it was sent, one JSON line for each request, once it is stopped.
    #[arg(long)]
    record: Option<PathBuf>,
}

/// Serves the scripted model until ctrl-c, then writes what it was sent.
pub fn run(arguments: &ModelArguments) -> Result<ExitCode> {
    let script = match &arguments.script {
        None => Script::default(),
        Some(file) => {
            let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
            serde_json::from_str(&text).with_context(|| format!("{} is not a script", file.display()))?
        }
    };
    let runtime = tokio::runtime::Runtime::new()?;
    let model = runtime.block_on(Model::start_on(arguments.listen, script))?;
    println!("the scripted model listens on {}", model.base_url());
    runtime.block_on(tokio::signal::ctrl_c())?;

    let requests = model.requests();
    println!("{} requests, {} of them refused", requests.len(), model.broken().len());
    if let Some(file) = &arguments.record {
        let lines: String = requests
            .iter()
            .map(|request| {
                let headers: serde_json::Map<_, _> =
                    request.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
                let line =
                    json!({"path": request.path, "headers": headers, "body": request.body, "refused": request.broken});
                format!("{line}\n")
            })
            .collect();
        std::fs::write(file, lines).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
