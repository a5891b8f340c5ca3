//! Other people's MCP clients against the real program: the Python and TypeScript SDKs and the MCP
//! Inspector, over HTTP and stdio, in both eras. What they do stands in `tests-clients/scenario.json`.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Result, bail};
use infold_testkit::{Daemon, DaemonSetup};

use crate::report::{Report, Totals, script_totals};
use crate::tools::{Node, Tools};
use crate::workspace::{Profile, Workspace, run_seeing_lines};

/// The eras of the protocol, as the scripts name them.
const ERAS: [&str; 2] = ["legacy", "modern"];

/// A program that takes the scenario through one client.
struct Client {
    name: &'static str,
    program: PathBuf,
    script: &'static str,
    modules: Option<PathBuf>,
}

/// Installs the clients, runs all of them, and fails if any check does.
pub fn run(workspace: &Workspace) -> Result<ExitCode> {
    let tools = Tools::install(workspace);
    let mut report = Report::default();
    report.stage("clients", || check(workspace, &tools));
    Ok(report.finish())
}

/// Takes every client that is installed through the scenario.
pub fn check(workspace: &Workspace, tools: &Tools) -> Result<Totals> {
    let clients = installed(tools);
    if clients.is_empty() {
        bail!("no client is installed:\n{}", tools.missing().join("\n"));
    }
    let binary = workspace.build_program(Profile::Debug)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let daemon = runtime.block_on(DaemonSetup::new(&binary).start())?;

    let mut totals = Totals::default();
    for client in &clients {
        for era in ERAS {
            let http = format!("{}/mcp", daemon.base_url());
            totals.add(go_through(workspace, client, era, &Transport::Http(&http), &daemon)?);
            totals.add(go_through(workspace, client, era, &Transport::Stdio(&binary), &daemon)?);
        }
    }
    if totals.failed > 0 {
        println!("the daemon said:\n{}", daemon.stderr());
    }
    Ok(totals)
}

/// How a client reaches the program.
enum Transport<'a> {
    Http(&'a str),
    Stdio(&'a Path),
}

fn installed(tools: &Tools) -> Vec<Client> {
    let mut clients = Vec::new();
    if let Ok(python) = &tools.python {
        let script = "tests-clients/python_client.py";
        clients.push(Client { name: "python", program: python.clone(), script, modules: None });
    }
    if let Ok(Node { program, modules }) = &tools.node {
        let scripts = [
            ("typescript", "tests-clients/typescript_client.mjs"),
            ("inspector", "tests-clients/inspector_client.mjs"),
        ];
        clients.extend(scripts.map(|(name, script)| Client {
            name,
            program: program.clone(),
            script,
            modules: Some(modules.clone()),
        }));
    }
    clients
}

/// Runs one script. Its lines are the checks; a script that dies without one is a failure too.
fn go_through(
    workspace: &Workspace,
    client: &Client,
    era: &str,
    transport: &Transport<'_>,
    daemon: &Daemon,
) -> Result<Totals> {
    let (kind, target): (&str, Vec<String>) = match transport {
        Transport::Http(url) => ("http", vec!["--http".to_owned(), (*url).to_owned()]),
        Transport::Stdio(binary) => ("stdio", stdio_target(binary, daemon.data())),
    };
    let name = format!("{}-{kind}-{era}", client.name);
    let mut command: Command = workspace.command(&client.program);
    command.arg(client.script).args(["--run", &name, "--era", era]).args(target);
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
