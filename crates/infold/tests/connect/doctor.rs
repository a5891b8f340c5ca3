//! `infold doctor` checks the whole way of each connected agent, from its settings to its model.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::cli::home::Home;

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// The status that the doctor gives Claude Code, and what it says of it.
fn of_claude(home: &Home) -> (String, String) {
    let ended = home.run(&["doctor", "--json"]);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "Claude Code").unwrap();
    let text = |field: &str| check[field].as_str().unwrap_or_default().to_owned();
    (text("status"), format!("{} / {}", text("detail"), text("hint")))
}

/// A daemon that is killed when the test ends.
struct Daemon(Child);

impl Daemon {
    fn start(home: &Home, listen: SocketAddr, upstream: SocketAddr) -> Self {
        let listen = listen.to_string();
        let upstream = format!("proxy.anthropic.upstream=http://{upstream}");
        let mut command = home.command(&["serve", "--agents", "--listen", &listen, "--set", &upstream]);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("listening"), "{line}");
        Self(child)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_connected_agent_is_looked_at_from_end_to_end() {
    let home = Home::new();
    home.write(".claude/settings.json", "{}\n");
    let address = free_address();
    let ended = home.run(&["connect", "claude", "--set", &format!("server.listen={address}")]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);

    let (status, said) = of_claude(&home);
    assert_eq!(status, "failed");
    assert!(said.contains("no daemon listens there"), "{said}");
    assert!(said.contains(&format!("start the daemon: `infold serve --agents --listen {address}`")), "{said}");

    let nobody = free_address();
    let daemon = Daemon::start(&home, address, nobody);
    let (status, said) = of_claude(&home);
    assert_eq!(status, "failed");
    assert!(said.contains("cannot reach the model's provider") && said.contains("proxy.anthropic.upstream"), "{said}");
    drop(daemon);

    let provider = TcpListener::bind("127.0.0.1:0").unwrap();
    let _daemon = Daemon::start(&home, address, provider.local_addr().unwrap());
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = provider.accept().unwrap();
        let _ = stream.read(&mut [0; 4_096]);
        stream.write_all(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    });
    let (status, said) = of_claude(&home);
    assert_eq!(status, "ok", "{said}");
    assert!(said.contains("daemon, tools and provider answer"), "{said}");
    answering.join().unwrap();

    home.write(".claude/settings.json", "{\"env\": {\"ANTHROPIC_BASE_URL\": \"https://elsewhere.example\"}}\n");
    let (status, said) = of_claude(&home);
    assert_eq!(status, "failed");
    assert!(said.contains("settings.json no longer contains what `infold connect` wrote"), "{said}");
}
