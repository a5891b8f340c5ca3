//! Installs what the tests need and the machine lacks: Debian, Python and npm packages.
//!
//! Debian packages go where apt puts them; the others go under `.tools`, so that nothing outside the
//! repository changes. What is there already is left alone, so a second run takes no time.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};

use crate::workspace::{Workspace, run};

/// Programs that the tests call, and the Debian packages that carry them.
const DEBIAN: [(&str, &str); 6] = [
    ("strace", "strace"),
    ("curl", "curl"),
    ("python3", "python3"),
    ("npm", "npm"),
    ("chromium", "chromium"),
    ("tmux", "tmux"),
];

/// What was found or installed. Each part says why it is missing if it is.
#[derive(Debug)]
pub struct Tools {
    /// The tracer that the power-loss test records with.
    pub strace: Result<()>,
    /// A Python with the MCP SDK, and a NATS server beside it.
    pub python: Result<PathBuf>,
    /// A Node that is new enough, and the folder of packages beside it.
    pub node: Result<Node>,
}

/// A Node.js and its packages.
#[derive(Debug)]
pub struct Node {
    /// The path of the `node` program.
    pub program: PathBuf,
    /// The folder named `node_modules`.
    pub modules: PathBuf,
}

impl Tools {
    /// Finds every tool, and installs those that are missing.
    pub fn install(workspace: &Workspace) -> Self {
        Self { strace: find_strace(), python: install_python(workspace), node: install_node(workspace) }
    }

    /// Installs what tests start themselves, and leaves out what only other people's clients need.
    pub fn install_for_tests(workspace: &Workspace) -> Self {
        let left_out = anyhow!("it is needed by other people's clients alone");
        Self { strace: find_strace(), python: install_python(workspace), node: Err(left_out) }
    }

    /// The tools that are missing and why, one line each.
    pub fn missing(&self) -> Vec<String> {
        let node = self.node.as_ref().err().map(|error| format!("the npm packages: {error:#}"));
        self.missing_for_tests().into_iter().chain(node).collect()
    }

    /// The same, of the tools that tests start themselves.
    pub fn missing_for_tests(&self) -> Vec<String> {
        let parts = [
            ("strace", self.strace.as_ref().err()),
            ("the Python packages (the MCP SDK, a NATS server)", self.python.as_ref().err()),
        ];
        parts.into_iter().filter_map(|(name, error)| error.map(|error| format!("{name}: {error:#}"))).collect()
    }
}

/// Installs what Debian has, and says whether the tracer is there.
fn find_strace() -> Result<()> {
    if let Err(error) = install_debian() {
        println!("{error:#}");
    }
    if on_path("strace") { Ok(()) } else { Err(anyhow!("strace is missing")) }
}

/// Installs the Debian packages whose programs are missing, as root or through sudo.
fn install_debian() -> Result<()> {
    let mut packages: Vec<&str> =
        DEBIAN.iter().filter(|(program, _)| !on_path(program)).map(|(_, package)| *package).collect();
    if on_path("python3") && !python_makes_environments() {
        packages.push("python3-venv");
    }
    if packages.is_empty() {
        return Ok(());
    }
    if !on_path("apt-get") {
        bail!("install {} with your system's package manager", packages.join(", "));
    }

    run(&mut apt(&["update"])?)?;
    let mut arguments = vec!["install", "--yes", "--no-install-recommends"];
    arguments.extend(packages);
    run(&mut apt(&arguments)?)
}

/// An apt-get command with the rights that it needs.
fn apt(arguments: &[&str]) -> Result<Command> {
    let mut command = if rustix::process::geteuid().is_root() {
        Command::new("apt-get")
    } else if on_path("sudo") {
        let mut command = Command::new("sudo");
        command.args(["--non-interactive", "apt-get"]);
        command
    } else {
        bail!("run `apt-get {}` as root", arguments.join(" "));
    };
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    Ok(command)
}

/// Whether this Python can make virtual environments: Debian splits that off.
fn python_makes_environments() -> bool {
    succeeds(Command::new("python3").args(["-c", "import venv, ensurepip"]))
}

/// Makes a virtual environment with the packages of `tests-clients/requirements.txt`.
fn install_python(workspace: &Workspace) -> Result<PathBuf> {
    let wanted = workspace.root.join("tests-clients/requirements.txt");
    let folder = workspace.tools().join("venv");
    let python = folder.join("bin/python");
    let stamp = Stamp::of(&folder, &[&wanted])?;
    if stamp.holds() && python.exists() {
        return Ok(python);
    }
    if !on_path("python3") {
        bail!("python3 is missing");
    }

    println!("installing Python packages under .tools/venv");
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
        .arg(&wanted))?;
    stamp.write()?;
    Ok(python)
}

/// Installs the packages of `tests-clients/package.json`, a Node.js among them.
fn install_node(workspace: &Workspace) -> Result<Node> {
    let modules = install_packages(workspace, &workspace.root.join("tests-clients"), "npm")?;
    let program = modules.join("node/bin/node");
    if !program.exists() {
        bail!("npm did not install a Node.js; it must be allowed to run install scripts");
    }
    Ok(Node { program, modules })
}

/// Installs the coding agents that `tests-clients/agents` names. Returns the folder `node_modules`.
pub fn install_agents(workspace: &Workspace) -> Result<PathBuf> {
    install_packages(workspace, &workspace.root.join("tests-clients/agents"), "agents")
}

/// Installs the npm packages that `package.json` and its lock in `from` name into `.tools/NAME`, unless
/// just these are there already. Returns the folder `node_modules`.
pub fn install_packages(workspace: &Workspace, from: &Path, name: &str) -> Result<PathBuf> {
    let wanted = [from.join("package.json"), from.join("package-lock.json")];
    let folder = workspace.tools().join(name);
    let modules = folder.join("node_modules");
    let stamp = Stamp::of(&folder, &[&wanted[0], &wanted[1]])?;
    if stamp.holds() && modules.exists() {
        return Ok(modules);
    }
    if !on_path("npm") {
        bail!("npm is missing");
    }

    println!("installing npm packages under .tools/{name}");
    std::fs::create_dir_all(&folder)?;
    for file in &wanted {
        let name = file.file_name().context("a file without a name")?;
        std::fs::copy(file, folder.join(name))?;
    }
    // `npm ci` insists that the lock names the optional packages of every other platform too, which
    // a registry may not have; `npm install` keeps to the lock as well.
    run(Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--loglevel=error"])
        .args(["--foreground-scripts=false", "--engine-strict=false"])
        .current_dir(&folder))?;
    stamp.write()?;
    Ok(modules)
}

/// Remembers what a folder was installed from, so that it is installed again when that changes.
struct Stamp {
    file: PathBuf,
    content: String,
}

impl Stamp {
    fn of(folder: &Path, sources: &[&Path]) -> Result<Self> {
        let mut content = String::new();
        for source in sources {
            content += &std::fs::read_to_string(source).with_context(|| format!("cannot read {}", source.display()))?;
        }
        Ok(Self { file: folder.join("installed-from"), content })
    }

    fn holds(&self) -> bool {
        std::fs::read_to_string(&self.file).is_ok_and(|content| content == self.content)
    }

    fn write(&self) -> Result<()> {
        std::fs::write(&self.file, &self.content).with_context(|| format!("cannot write {}", self.file.display()))
    }
}

/// Whether a program can be found.
pub fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn succeeds(command: &mut Command) -> bool {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
