//! Installs the daemon as a service of the user's own, so that a connected agent always finds one.
//!
//! systemd holds the port and starts the daemon with the first request; launchd keeps it running. Without either, the
//! user learns how to start the daemon by hand. Must hold: nothing is written outside of the user's own folders, only
//! files that infold wrote are removed, and an agent is connected whether or not there is a service.

mod files;

use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::commands::Invocation;
use crate::data_folder;
use crate::probe::{Listener, probe};
use crate::run::on_path;
use crate::settings::Surroundings;
use crate::whole_file::{self, IfThere};

/// systemd's unit that holds the port.
const SOCKET: &str = "infold.socket";
/// systemd's unit that runs the daemon.
const SERVICE: &str = "infold.service";
/// The label of launchd's agent that runs the daemon.
const LABEL: &str = "dev.infold.daemon";

/// The daemon that a service starts, and how.
#[derive(Debug)]
pub struct ServedDaemon {
    /// The path of this program.
    pub program: PathBuf,
    /// The address and port that the daemon listens on.
    pub address: SocketAddr,
    pub arguments: Vec<String>,
}

impl ServedDaemon {
    /// The daemon for these settings: with the same data folder and address, and the same `--set` options.
    pub fn of(invocation: &Invocation) -> anyhow::Result<Self> {
        let settings = &invocation.in_force.settings;
        let address = settings.server.listen.parse().context("server.listen")?;
        let data = data_folder::location(&invocation.in_force)?;
        let mut arguments: Vec<String> = ["serve", "--agents", "--listen"].map(str::to_owned).into();
        arguments.extend([settings.server.listen.clone(), "--data".to_owned(), data.to_string_lossy().into_owned()]);
        let others = invocation.globals.set.iter().filter(|set| set.key != "server.listen" && set.key != "data");
        arguments.extend(others.flat_map(|set| ["--set".to_owned(), format!("{}={}", set.key, set.text)]));
        Ok(Self { program: std::env::current_exe()?, address, arguments })
    }

    /// The command by which a person starts it.
    pub fn by_hand(&self) -> String {
        let words = self.arguments.iter().map(|word| data_folder::quoted(Path::new(word)));
        format!("infold {}", words.collect::<Vec<_>>().join(" "))
    }
}

/// Whether there is a service now.
#[derive(Debug, PartialEq, Eq)]
pub enum Installed {
    /// There is one; the text says what it does.
    Yes(String),
    /// There is none; the text says why.
    No(String),
}

/// The program that runs the user's services on this machine.
#[derive(Debug)]
enum System {
    /// The user's own instance of systemd.
    Systemd { systemctl: PathBuf, folder: PathBuf },
    /// launchd, on macOS.
    Launchd { launchctl: PathBuf, folder: PathBuf },
}

impl System {
    /// Finds systemd or launchd. The error says why neither can be used.
    fn find(surroundings: &Surroundings) -> Result<Self, String> {
        let home = surroundings.text("HOME").map(PathBuf::from).ok_or("HOME is not set")?;
        if let Some(systemctl) = on_path("systemctl", surroundings) {
            run(&systemctl, &["--user", "show-environment"])?;
            let named = surroundings.text("XDG_CONFIG_HOME").map(PathBuf::from);
            let folder = named.unwrap_or_else(|| home.join(".config")).join("systemd/user");
            return Ok(Self::Systemd { systemctl, folder });
        }
        match on_path("launchctl", surroundings) {
            Some(launchctl) => Ok(Self::Launchd { launchctl, folder: home.join("Library/LaunchAgents") }),
            None => Err("this system has neither systemd nor launchd".to_owned()),
        }
    }

    /// The paths of the service's files, whether or not they exist.
    fn paths(&self) -> Vec<PathBuf> {
        match self {
            Self::Systemd { folder, .. } => vec![folder.join(SOCKET), folder.join(SERVICE)],
            Self::Launchd { folder, .. } => vec![folder.join(format!("{LABEL}.plist"))],
        }
    }

    /// The text of each of these files, in the same order.
    fn texts(&self, daemon: &ServedDaemon) -> Vec<String> {
        match self {
            Self::Systemd { .. } => vec![files::socket(daemon), files::service(daemon)],
            Self::Launchd { .. } => vec![files::launch_agent(LABEL, daemon)],
        }
    }
}

/// Writes the service's files and starts the service. Files that infold did not write are left alone.
pub fn install(daemon: &ServedDaemon, surroundings: &Surroundings) -> anyhow::Result<Installed> {
    let system = match System::find(surroundings) {
        Ok(system) => system,
        Err(why) => return Ok(Installed::No(why)),
    };
    // Files of these names may have been written by somebody else.
    let paths = system.paths();
    if let Some(other) = paths.iter().find(|path| fs::read_to_string(path).is_ok_and(|text| !files::is_ours(&text))) {
        return Ok(Installed::No(format!("{} was not written by infold", other.display())));
    }
    let texts = system.texts(daemon);
    let is_there = paths.iter().zip(&texts).all(|(path, text)| fs::read_to_string(path).is_ok_and(|now| now == *text));
    for (path, text) in paths.iter().zip(texts).filter(|_| !is_there) {
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        whole_file::write(path, IfThere::Replace, |file| Ok(file.write_all(text.as_bytes())?))?;
    }
    // The service may be running already, because another agent was connected before.
    if is_there && probe(daemon.address) != Listener::Nobody {
        return Ok(Installed::Yes(format!("a service for {} is installed already", daemon.address)));
    }
    Ok(start(&system, daemon).unwrap_or_else(Installed::No))
}

/// Has the system start the service: now if nobody listens on its address, otherwise at the next login.
fn start(system: &System, daemon: &ServedDaemon) -> Result<Installed, String> {
    let address = daemon.address;
    match system {
        System::Systemd { systemctl, .. } => {
            run(systemctl, &["--user", "daemon-reload"])?;
            run(systemctl, &["--user", "enable", SOCKET])?;
            if probe(address) != Listener::Nobody {
                let later = format!("another process listens on {address}: {SOCKET} takes over at your next login");
                return Ok(Installed::Yes(later));
            }
            // A daemon at an earlier address would keep the socket from moving to this one. Usually there is none.
            let _ = run(systemctl, &["--user", "stop", SERVICE]);
            run(systemctl, &["--user", "restart", SOCKET])?;
            Ok(Installed::Yes(format!("{SOCKET} listens on {address}: the first request starts the daemon")))
        }
        System::Launchd { launchctl, folder } => {
            let plist = folder.join(format!("{LABEL}.plist")).to_string_lossy().into_owned();
            run(launchctl, &["load", "-w", &plist])?;
            Ok(Installed::Yes(format!("{LABEL} keeps the daemon running on {address}")))
        }
    }
}

/// Removes the service, if infold has installed one. Returns the names of the files that were removed.
pub fn remove(surroundings: &Surroundings) -> anyhow::Result<Option<String>> {
    let Ok(system) = System::find(surroundings) else { return Ok(None) };
    let paths = system.paths();
    let ours = |path: &&PathBuf| fs::read_to_string(path).is_ok_and(|text| files::is_ours(&text));
    if !paths.iter().any(|path| ours(&path)) {
        return Ok(None);
    }
    // This fails if the service was not running, which does not matter.
    let _ = match &system {
        System::Systemd { systemctl, .. } => run(systemctl, &["--user", "disable", "--now", SOCKET, SERVICE]),
        System::Launchd { launchctl, .. } => run(launchctl, &["unload", "-w", &paths[0].to_string_lossy()]),
    };
    for path in paths.iter().filter(ours) {
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", path.display()));
            }
            Ok(()) | Err(_) => {}
        }
    }
    if let System::Systemd { systemctl, .. } = &system {
        let _ = run(systemctl, &["--user", "daemon-reload"]);
    }
    let names: Vec<_> = paths.iter().filter_map(|path| path.file_name()).map(|name| name.to_string_lossy()).collect();
    Ok(Some(names.join(" and ")))
}

/// The command that starts the service; `None` if it is not installed.
pub fn how_to_start(surroundings: &Surroundings) -> Option<String> {
    let system = System::find(surroundings).ok()?;
    let installed = system.paths().iter().all(|path| path.exists());
    installed.then(|| match &system {
        System::Systemd { .. } => format!("systemctl --user restart {SOCKET}"),
        System::Launchd { folder, .. } => format!("launchctl load -w {}/{LABEL}.plist", folder.display()),
    })
}

/// Runs a program of the system. If it fails, the error holds what it printed.
fn run(program: &Path, arguments: &[&str]) -> Result<(), String> {
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
    let asked = format!("`{name} {}`", arguments.join(" "));
    let ran = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    match ran {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(if said.is_empty() { format!("{asked} failed") } else { format!("{asked} failed: {said}") })
        }
        Err(error) => Err(format!("cannot run {asked}: {error}")),
    }
}
