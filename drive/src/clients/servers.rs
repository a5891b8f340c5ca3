//! Other people's MCP servers behind infold: the reference servers from npm and one of the Python SDK, as children and
//! over HTTP, called by the Python SDK in both eras over both transports. What is called is in
//! `tests-clients/servers_client.py`.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use infold_testkit::{Daemon, DaemonSetup, TempFolder};

use super::ERAS;
use crate::IfAbsent;
use xtask::report::{Report, Totals, script_totals};
use xtask::tools::{Node, Tools};
use xtask::workspace::{Workspace, run_seeing_lines, shown};

const CLIENT: &str = "tests-clients/servers_client.py";
/// The servers, by the names of their entries.
const NAMES: &str = "everything,filesystem,memory,python,everything_http,python_http";
const SERVER: &str = "tests-clients/python_server.py";
/// How long a server may take until it accepts connections.
const READY_TRIES_MAX: u32 = 300;
const BETWEEN_TRIES: Duration = Duration::from_millis(100);

/// Runs the checks, or reports why they are left out.
pub fn stage(workspace: &Workspace, (program, absent): (&Path, IfAbsent), report: &mut Report) {
    let tools = Tools::install(workspace);
    match (&tools.python, &tools.node) {
        (Ok(python), Ok(node)) => report.stage("servers", || check(workspace, (python, node), program)),
        (Err(error), _) | (_, Err(error)) if absent == IfAbsent::Skip => report.skip("servers", &format!("{error:#}")),
        _ => report.stage("servers", || bail!("not every server is installed:\n{}", tools.missing().join("\n"))),
    }
}

/// Starts the servers that are reached over HTTP, and has every client call all servers.
fn check(workspace: &Workspace, (python, node): (&Path, &Node), program: &Path) -> Result<Totals> {
    let folder = TempFolder::new()?;
    let readable = folder.join("readable");
    std::fs::create_dir(&readable)?;
    let servers = Servers { workspace, python, node, folder: folder.path(), readable: &readable };
    let (everything, python_http) = (servers.everything_over_http()?, servers.python_over_http()?);
    let entries = servers.entries(&everything.url, &python_http.url);
    let settings = [format!("gateway.servers={entries}"), "gateway.list_wait_ms=30000".to_owned()];
    // Every tool is listed, so that clients see the schemas of results.
    let listing = ["gateway.deferral_tokens=1000000", "gateway.deferral_percent=100"].map(str::to_owned);
    let settings: Vec<String> = settings.into_iter().chain(listing).collect();

    let runtime = tokio::runtime::Runtime::new()?;
    let setup = settings.iter().filter_map(|setting| setting.split_once('='));
    let setup = setup.fold(DaemonSetup::new(program), |setup, (key, value)| setup.set(key, value));
    let daemon = runtime.block_on(setup.start())?;
    let runs = ERAS.map(|era| [(era, "http"), (era, "stdio")]).concat();
    let totals = std::thread::scope(|scope| {
        let start = |(era, transport)| {
            let (servers, daemon, settings) = (&servers, &daemon, &settings);
            scope.spawn(move || servers.call_all(era, transport, (program, settings), daemon))
        };
        let running: Vec<_> = runs.into_iter().map(start).collect();
        running.into_iter().map(|run| run.join()).collect::<Vec<_>>()
    });
    let mut sum = Totals::default();
    for outcome in totals {
        sum.add(outcome.map_err(|_| anyhow!("a thread that ran a client panicked"))??);
    }
    if sum.failed > 0 {
        println!("the daemon said:\n{}", daemon.stderr());
    }
    Ok(sum)
}

/// What the servers are started from.
struct Servers<'a> {
    workspace: &'a Workspace,
    python: &'a Path,
    node: &'a Node,
    /// Where what they write goes.
    folder: &'a Path,
    /// The folder that the server for files may read.
    readable: &'a Path,
}

impl Servers<'_> {
    fn package(&self, name: &str) -> PathBuf {
        self.node.modules.join("@modelcontextprotocol").join(name).join("dist/index.js")
    }

    fn everything_over_http(&self) -> Result<HttpServer> {
        HttpServer::start(|port| {
            let mut command = self.workspace.command(&self.node.program);
            command.arg(self.package("server-everything")).arg("streamableHttp").env("PORT", port);
            command
        })
    }

    fn python_over_http(&self) -> Result<HttpServer> {
        HttpServer::start(|port| {
            let mut command = self.workspace.command(self.python);
            command.args([SERVER, "http", port]).env("PYTHONDONTWRITEBYTECODE", "1");
            command
        })
    }

    /// The setting that names all servers.
    fn entries(&self, everything: &str, python: &str) -> String {
        let (node, memory) = (&self.node.program, self.folder.join("memory.jsonl"));
        let of_node = |name: &str, package: &str, argument: &Path| {
            let package = self.package(package);
            // Shared, because a server that gets a project's folder as its root takes that for the folder it may read.
            format!(r#"{{ name = "{name}", shared = true, command = {node:?}, args = [{package:?}, {argument:?}] }}"#)
        };
        let server = self.workspace.root.join(SERVER);
        let entries = [
            of_node("everything", "server-everything", Path::new("stdio")),
            of_node("filesystem", "server-filesystem", self.readable),
            format!(
                r#"{{ name = "memory", command = {node:?}, args = [{:?}], env = {{ MEMORY_FILE_PATH = {memory:?} }} }}"#,
                self.package("server-memory")
            ),
            format!(r#"{{ name = "python", command = {:?}, args = [{server:?}, "stdio"] }}"#, self.python),
            format!(r#"{{ name = "everything_http", url = "{everything}" }}"#),
            format!(r#"{{ name = "python_http", url = "{python}" }}"#),
        ];
        format!("[{}]", entries.join(", "))
    }

    /// Has one client call every server. Each line that it prints is a check; a client that fails without a line counts
    /// as one failed check.
    fn call_all(
        &self,
        era: &str,
        transport: &str,
        (program, settings): (&Path, &[String]),
        daemon: &Daemon,
    ) -> Result<Totals> {
        let name = format!("{transport}-{era}");
        let mut command = self.workspace.command(self.python);
        command.args([CLIENT, "--run", &name, "--era", era, "--servers", NAMES, "--folder"]).arg(self.readable);
        command.env("HOME", daemon.home()).env("PYTHONDONTWRITEBYTECODE", "1");
        if transport == "http" {
            command.arg("--http").arg(format!("{}/mcp", daemon.base_url()));
        } else {
            command.arg("--stdio").arg(program).arg("mcp").arg("--data").arg(self.folder.join(&name));
            settings.iter().for_each(|setting| _ = command.args(["--set", setting]));
        }
        let mut totals = Totals::default();
        let succeeded = run_seeing_lines(&mut command, |line| totals.add(script_totals(line)))?;
        if totals.failed == 0 && (!succeeded || totals.passed == 0) {
            println!("not ok {name}: the client itself failed");
            totals.add(Totals::one_failed());
        }
        Ok(totals)
    }
}

/// A server on loopback. It is stopped when it is dropped.
struct HttpServer {
    child: Child,
    url: String,
}

impl HttpServer {
    /// Starts a server on a free port, and waits until it accepts connections.
    fn start(command: impl FnOnce(&str) -> Command) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = command(&port.to_string());
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().with_context(|| format!("cannot run {}", shown(command)))?;
        let server = Self { child, url: format!("http://127.0.0.1:{port}/mcp") };
        for _ in 0..READY_TRIES_MAX {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(server);
            }
            std::thread::sleep(BETWEEN_TRIES);
        }
        bail!("{} does not listen", shown(command))
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        // The server may have ended by itself; either way it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
