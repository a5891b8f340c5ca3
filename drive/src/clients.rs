//! Other people's MCP clients against the real program: the Python and TypeScript SDKs and the MCP
//! Inspector, over HTTP and stdio, in both eras. What they do is written in `tests-clients/scenario.json`.
//!
//! And their coding agents: Claude Code, Codex and OpenCode, against a scripted model.

mod agents;
mod attached;
mod behind;
mod beside;
mod checks;
mod connect;
mod findings;
mod gate;
mod guarded;
mod home;
mod lessons;
pub mod model;
mod more;
mod neutral;
mod nudged;
mod recipe;
pub mod record;
mod rescue;
mod run;
mod scripts;
mod servers;
mod sessions;
mod space;
mod spoken;
mod steps;
mod threads;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, anyhow, bail};
use infold_testkit::{Daemon, DaemonSetup, Era, McpHttp};
use serde_json::{Value, json};

use crate::IfAbsent;
use checks::AgentTier;
use xtask::report::{Report, Totals, script_totals};
use xtask::tools::{Node, Tools};
use xtask::workspace::{Workspace, run_seeing_lines};

/// The eras of the protocol, as the scripts name them.
const ERAS: [&str; 2] = ["legacy", "modern"];

/// Clients that run at once.
const AT_ONCE: usize = 3;

/// A script of `tests-clients` that plays the scenario with one client.
struct McpClient {
    name: &'static str,
    program: PathBuf,
    script: &'static str,
    modules: Option<PathBuf>,
}

/// What `cargo xtask clients` takes.
#[derive(Debug, clap::Args)]
pub struct ClientsArguments {
    /// Only the coding agents, not the SDKs and the Inspector.
    #[arg(long)]
    agents: bool,
    /// Only other people's servers behind infold.
    #[arg(long)]
    servers: bool,
    /// Only goose and Qwen Code, which are large and not run otherwise.
    #[arg(long)]
    more: bool,
    /// Only a server's calls that say nothing for three minutes, in each coding agent; they are not run otherwise.
    #[arg(long)]
    silent: bool,
    /// Of the checks with coding agents only those whose names hold this.
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
}

/// Installs the clients, runs all of them, and fails if any check does.
pub fn run(workspace: &Workspace, arguments: &ClientsArguments, program: &Path, absent: IfAbsent) -> Result<ExitCode> {
    let mut report = Report::default();
    if arguments.more {
        more::stage(workspace, &arguments.only, program, &mut report);
        return Ok(report.finish());
    }
    if arguments.servers {
        servers::stage(workspace, (program, absent), &mut report);
        return Ok(report.finish());
    }
    if !arguments.agents && !arguments.silent {
        clients_stage(workspace, program, absent, &mut report);
        servers::stage(workspace, (program, absent), &mut report);
    }
    let tier = if arguments.silent { AgentTier::Silent } else { AgentTier::Usual };
    checks::stage(workspace, (tier, &arguments.only), (program, absent), &mut report);
    Ok(report.finish())
}

/// The SDKs and the Inspector. Where that is allowed, those that could not be installed are left out, each with its
/// reason.
fn clients_stage(workspace: &Workspace, program: &Path, absent: IfAbsent, report: &mut Report) {
    let may_skip = absent == IfAbsent::Skip;
    let tools = Tools::install(workspace);
    if let (Err(error), true) = (&tools.python, may_skip) {
        report.skip("clients: Python SDK", &format!("{error:#}"));
    }
    if let (Err(error), true) = (&tools.node, may_skip) {
        report.skip("clients: TypeScript SDK and Inspector", &format!("{error:#}"));
    }
    if tools.python.is_ok() || tools.node.is_ok() || !may_skip {
        report.stage("clients", || check(workspace, &tools, program));
    }
}

/// Plays the scenario with every client that is installed.
fn check(workspace: &Workspace, tools: &Tools, binary: &Path) -> Result<Totals> {
    let clients = installed(tools);
    if clients.is_empty() {
        bail!("no client is installed:\n{}", tools.missing().join("\n"));
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let daemon = runtime.block_on(DaemonSetup::new(binary).start())?;

    let result = runtime.block_on(store_result(&daemon))?;
    let http = format!("{}/mcp", daemon.base_url());
    let transports = [Transport::Http(&http), Transport::Stdio(binary)];
    let mut runs = Vec::new();
    for client in &clients {
        for era in ERAS {
            runs.extend(transports.iter().map(|transport| ClientRun { client, era, transport, result: &result }));
        }
    }
    let totals = go_through_all(workspace, &runs, &daemon)?;
    if totals.failed > 0 {
        println!("the daemon said:\n{}", daemon.stderr());
    }
    Ok(totals)
}

/// One client in one era over one transport.
struct ClientRun<'a> {
    client: &'a McpClient,
    era: &'static str,
    transport: &'a Transport<'a>,
    /// A stored result that the client is to read from.
    result: &'a str,
}

/// Runs a few clients at a time: the Inspector spends most of its time on starting.
fn go_through_all(workspace: &Workspace, runs: &[ClientRun<'_>], daemon: &Daemon) -> Result<Totals> {
    let next = AtomicUsize::new(0);
    let worker = || -> Result<Totals> {
        let mut totals = Totals::default();
        while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            totals.add(go_through(workspace, run, daemon)?);
        }
        Ok(totals)
    };
    let found = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().map(|worker| worker.join()).collect::<Vec<_>>()
    });
    let mut totals = Totals::default();
    for outcome in found {
        totals.add(outcome.map_err(|_| anyhow!("a thread that ran clients panicked"))??);
    }
    Ok(totals)
}

/// Hands in a result that is too long for a context, and returns its handle.
async fn store_result(daemon: &Daemon) -> Result<String> {
    let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
    let opening = json!({"session_id": "with-a-result", "description": "have something to read"});
    let opened = client.call("branch_create", opening).await?;
    let folding = json!({"branch_id": opened.text_field("branch_id"), "message": "There is."});
    client.call("branch_return", folding).await?;

    let content: String = (1..=1_000).map(|line| format!("line {line}\n")).collect();
    let url = format!("{}/api/v1/sessions/with-a-result/results", daemon.base_url());
    let body = json!({"tool_name": "shell", "content": content});
    let answer: Value = client.http().post(url).json(&body).send().await?.error_for_status()?.json().await?;
    let handle = answer["ref_id"].as_str().with_context(|| format!("the result was not stored: {answer}"))?;
    Ok(handle.to_owned())
}

/// How a client reaches the program.
enum Transport<'a> {
    Http(&'a str),
    Stdio(&'a Path),
}

fn installed(tools: &Tools) -> Vec<McpClient> {
    let mut clients = Vec::new();
    if let Ok(python) = &tools.python {
        let script = "tests-clients/python_client.py";
        clients.push(McpClient { name: "python", program: python.clone(), script, modules: None });
    }
    if let Ok(Node { program, modules }) = &tools.node {
        let scripts = [
            ("typescript", "tests-clients/typescript_client.mjs"),
            ("inspector", "tests-clients/inspector_client.mjs"),
        ];
        clients.extend(scripts.map(|(name, script)| McpClient {
            name,
            program: program.clone(),
            script,
            modules: Some(modules.clone()),
        }));
    }
    clients
}

/// Runs one script. Each line that it prints is a check; a script that fails without a line counts as one failed check.
fn go_through(workspace: &Workspace, run: &ClientRun<'_>, daemon: &Daemon) -> Result<Totals> {
    let ClientRun { client, era, transport, result } = run;
    let (kind, target): (&str, Vec<String>) = match transport {
        Transport::Http(url) => ("http", vec!["--http".to_owned(), (*url).to_owned()]),
        Transport::Stdio(binary) => ("stdio", stdio_target(binary, daemon.data())),
    };
    let name = format!("{}-{kind}-{era}", client.name);
    let mut command: Command = workspace.command(&client.program);
    command.arg(client.script).args(["--run", &name, "--result", result, "--era", era]).args(target);
    command.env("HOME", daemon.home()).env("PYTHONDONTWRITEBYTECODE", "1");
    if let Some(modules) = &client.modules {
        command.env("INFOLD_NODE_MODULES", modules);
    }

    let mut totals = Totals::default();
    let succeeded = run_seeing_lines(&mut command, |line| totals.add(script_totals(line)))?;
    if totals.failed == 0 && (!succeeded || totals.passed == 0) {
        println!("not ok {name}: the client itself failed");
        totals.add(Totals::one_failed());
    }
    Ok(totals)
}

/// The command line of a stdio server that shares the daemon's data.
fn stdio_target(binary: &Path, data: &Path) -> Vec<String> {
    let words = ["--stdio", &binary.to_string_lossy(), "mcp", "--data", &data.to_string_lossy()];
    words.map(str::to_owned).to_vec()
}
