//! The daemon as a service. A script replaces the system's own program, and writes down what it is asked for.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use crate::cli::home::{Ended, Home};

/// A home whose system starts services with `name`, which ends with `code`.
struct Served {
    home: Home,
    listen: String,
}

impl Served {
    fn new(name: &str, code: i32) -> Self {
        let home = Home::new();
        let script =
            format!("#!/bin/sh\necho \"$@\" >> '{}'\necho 'no bus' >&2\nexit {code}\n", home.join("asked").display());
        home.write(&format!("bin/{name}"), &script);
        fs::set_permissions(home.join(&format!("bin/{name}")), fs::Permissions::from_mode(0o755)).unwrap();
        home.write(".claude/settings.json", "{}\n");
        home.write(".codex/config.toml", "");
        // A port that nobody listens on.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        Self { home, listen: format!("server.listen={address}") }
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        let mut command = self.home.command(&[arguments, &["--set", &self.listen]].concat());
        command.env("PATH", self.home.join("bin"));
        let ended = self.home.ended(command.output().unwrap());
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        ended
    }

    /// What the system was asked for since the last time.
    fn asked(&self) -> Vec<String> {
        let asked = fs::read_to_string(self.home.join("asked")).unwrap_or_default();
        let _ = fs::remove_file(self.home.join("asked"));
        asked.lines().map(|line| line.replace(&self.home.join("").display().to_string(), "HOME/")).collect()
    }

    fn unit(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.home.join(".config/systemd/user").join(name)).ok()
    }
}

#[test]
fn systemd_holds_the_port_as_long_as_an_agent_is_connected() {
    let served = Served::new("systemctl", 0);
    let ended = served.run(&["connect", "claude", "--set", "proxy.retries_max=1"]);
    let address = served.listen.trim_start_matches("server.listen=");
    let asked =
        ["show-environment", "daemon-reload", "enable infold.socket", "stop infold.service", "restart infold.socket"];
    assert_eq!(served.asked(), asked.map(|words| format!("--user {words}")));
    assert!(ended.stderr.contains("the first request starts the daemon"), "{}", ended.stderr);
    assert!(served.unit("infold.socket").unwrap().contains(&format!("ListenStream={address}\n")));
    let service = served.unit("infold.service").unwrap();
    let data = served.home.data();
    let command = format!(
        "ExecStart=\"{}\" \"serve\" \"--agents\" \"--listen\" \"{address}\" \"--data\" \"{}\" \"--set\" \"proxy.retries_max=1\"\n",
        env!("CARGO_BIN_EXE_infold"),
        data.display()
    );
    assert!(service.contains(&command), "{service}");

    served.run(&["connect", "codex"]);
    served.asked();
    let ended = served.run(&["disconnect", "claude"]);
    assert!(served.asked().is_empty() && served.unit("infold.socket").is_some(), "{}", ended.stderr);
    let ended = served.run(&["disconnect", "codex"]);
    let wanted =
        ["--user show-environment", "--user disable --now infold.socket infold.service", "--user daemon-reload"];
    assert_eq!(served.asked(), wanted);
    assert!(ended.stderr.contains("removed infold.socket and infold.service"), "{}", ended.stderr);
    assert!(served.unit("infold.socket").is_none() && served.unit("infold.service").is_none());
}

#[test]
fn where_the_system_does_not_answer_the_person_learns_how_to_start_the_daemon() {
    let served = Served::new("systemctl", 1);
    let ended = served.run(&["connect", "claude"]);
    assert!(ended.stderr.contains("`systemctl --user show-environment` failed: no bus"), "{}", ended.stderr);
    let address = served.listen.trim_start_matches("server.listen=");
    let command = format!("run `infold serve --agents --listen {address} --data");
    assert!(ended.stderr.contains(&command), "{}", ended.stderr);
    assert!(served.unit("infold.socket").is_none());
}

#[test]
fn a_unit_of_somebody_elses_is_left_alone() {
    let served = Served::new("systemctl", 0);
    served.home.write(".config/systemd/user/infold.service", "[Service]\nExecStart=mine\n");
    let ended = served.run(&["connect", "claude"]);
    assert!(ended.stderr.contains("infold.service was not written by infold"), "{}", ended.stderr);
    served.run(&["disconnect", "claude"]);
    assert_eq!(served.unit("infold.service").unwrap(), "[Service]\nExecStart=mine\n");
}

#[test]
fn a_trial_run_and_one_without_a_service_ask_the_system_for_nothing() {
    let served = Served::new("systemctl", 0);
    served.run(&["connect", "claude", "--dry-run"]);
    let ended = served.run(&["connect", "claude", "--no-service"]);
    assert!(served.asked().is_empty() && ended.stderr.contains("(--no-service)"), "{}", ended.stderr);
}

#[test]
fn launchd_keeps_a_daemon_running() {
    let served = Served::new("launchctl", 0);
    served.run(&["connect", "claude"]);
    let path = "Library/LaunchAgents/dev.infold.daemon.plist";
    assert_eq!(served.asked(), [format!("load -w HOME/{path}")]);
    let list = fs::read_to_string(served.home.join(path)).unwrap();
    assert!(list.contains("<string>--agents</string>") && list.contains("<key>KeepAlive</key>"), "{list}");
    served.run(&["disconnect", "claude"]);
    assert_eq!(served.asked(), [format!("unload -w HOME/{path}")]);
    assert!(!served.home.join(path).exists());
}

#[test]
fn a_port_that_the_persons_own_daemon_has_is_left_to_it_until_the_next_login() {
    let served = Served::new("systemctl", 0);
    let mut daemon = served.home.command(&["serve", "--set", &served.listen]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(daemon.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("infold listening on"), "{line}");
    let ended = served.run(&["connect", "claude"]);
    assert!(ended.stderr.contains("at your next login"), "{}", ended.stderr);
    assert!(!served.asked().iter().any(|asked| asked.contains("restart")), "the port was fought over");
    let ended = served.run(&["connect", "codex"]);
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    assert!(ended.stderr.contains("is installed already"), "{}", ended.stderr);
}
