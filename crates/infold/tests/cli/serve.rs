//! `infold serve` and `infold mcp`: how they start, what they say, how they end.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use serde_json::{Value, json};

use super::home::{Ended, Home, mode};

/// A daemon that is killed when the test ends, however it ends.
struct Daemon {
    child: Child,
    stdout: BufReader<ChildStdout>,
    address: String,
}

impl Daemon {
    fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("infold listening on http://").unwrap_or_default().to_owned();
        if address.is_empty() {
            let mut stderr = String::new();
            child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
            panic!("first line was {line:?}; standard error:\n{stderr}");
        }
        Self { child, stdout, address }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end, and returns what was printed after the first line.
    fn end(mut self) -> Ended {
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.stdout.read_to_string(&mut stdout).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        Ended { code: self.child.wait().unwrap().code().unwrap_or(-1), stdout, stderr }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Calls an MCP tool, and returns its structured answer.
    fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nConnection: close\r\n\
                    Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n";
        write!(stream, "{head}Host: {}\r\nContent-Length: {}\r\n\r\n{body}", self.address, body.len()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let from = answer.find("{\"jsonrpc\"").unwrap_or_else(|| panic!("no JSON in {answer}"));
        let mut values = serde_json::Deserializer::from_str(&answer[from..]).into_iter::<Value>();
        values.next().unwrap().unwrap()["result"]["structuredContent"].clone()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn serve_prints_one_line_answers_and_ends_with_0_when_it_is_stopped() {
    let home = Home::new();
    let daemon = Daemon::start(home.command(&["serve", "--listen", "127.0.0.1:0"]));
    let health = daemon.get("/healthz");
    assert!(health.starts_with("HTTP/1.1 200") && health.contains("server: infold/"), "{health}");
    assert!(daemon.get("/readyz").contains(r#""status":"ready""#));
    assert!(daemon.get("/metrics").starts_with("HTTP/1.1 200"));
    assert!(daemon.get("/mcp/tools/list").starts_with("HTTP/1.1 200"));
    assert_eq!(mode(&home.data().join("token")), 0o600);
    assert_eq!(mode(&home.data().join("infold.db")), 0o600);

    daemon.signal(Signal::TERM);
    let ended = daemon.end();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, ""), "{}", ended.stderr);
    for line in ended.stderr.lines() {
        let _: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
}

/// The command `serve` as systemd starts it: with a socket that is listened on as its descriptor 3.
fn activated(home: &Home, listener: TcpListener, pid: &str) -> Command {
    let program = env!("CARGO_BIN_EXE_infold");
    let script = format!(
        "exec 3<&0 0</dev/null; export LISTEN_PID={pid} LISTEN_FDS=1; exec '{program}' serve --listen 127.0.0.1:0"
    );
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script]).env_clear().env("HOME", home.join("")).stdin(OwnedFd::from(listener));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn the_first_request_to_a_socket_of_systemds_is_answered_by_the_daemon_that_it_started() {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut first = TcpStream::connect(&address).unwrap();
    write!(first, "GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();

    let daemon = Daemon::start(activated(&home, listener, "$$"));
    assert_eq!(daemon.address, address);
    let mut answer = String::new();
    first.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("server: infold/"), "{answer}");
}

#[test]
fn a_socket_that_was_meant_for_another_process_is_not_taken() {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    assert_ne!(Daemon::start(activated(&home, listener, "1")).address, address);
}

#[test]
fn what_happens_in_the_daemon_is_seen_by_sessions_and_show() {
    let home = Home::new();
    let daemon = Daemon::start(home.command(&["serve", "--listen", "127.0.0.1:0"]));
    let open =
        |description: &str| daemon.call("branch_create", json!({"session_id": "demo", "description": description}));
    let search = open("Search the logs");
    open("Read the newest one");
    daemon.call("branch_return", json!({"branch_id": search["branch_id"], "message": "Three patterns.\nAll known."}));
    open("Fix the validator");

    let listed = home.run(&["sessions"]).stdout;
    let row = listed.lines().nth(1).unwrap_or_default().split_whitespace().take(5).collect::<Vec<_>>().join(" ");
    assert_eq!(row, "demo - - active 1/3", "{listed}");
    let listed: Value = serde_json::from_str(&home.run(&["sessions", "--json"]).stdout).unwrap();
    assert_eq!(listed["sessions"][0]["total_branches"], 3);

    let shown = home.run(&["show", "demo"]);
    assert_eq!((shown.code, shown.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = shown.stdout.lines().collect();
    for (at, part) in [
        (2, "├─ ✓ Search the logs  br_"),
        (3, "│  │  completed · "),
        (4, "│  │  → Three patterns. All known."),
        (5, "│  └─ ✓ Read the newest one  br_"),
        (8, "└─ ● Fix the validator  br_"),
    ] {
        assert!(lines.get(at).is_some_and(|line| line.starts_with(part)), "{part} in line {at} of\n{}", shown.stdout);
    }
    assert!(shown.stdout.contains("working now"), "{}", shown.stdout);
    let shown: Value = serde_json::from_str(&home.run(&["show", "demo", "--json"]).stdout).unwrap();
    assert_eq!(shown["branches"][0]["message"], "Three patterns.\nAll known.");
    assert_eq!(shown["context_health"]["warning"], "none");
}

#[test]
fn a_second_signal_stops_at_once() {
    let home = Home::new();
    let daemon = Daemon::start(home.command(&["serve", "--listen", "127.0.0.1:0"]));
    let mut stream = TcpStream::connect(&daemon.address).unwrap();
    let head = "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n";
    write!(stream, "{head}Host: {}\r\n\r\n{{", daemon.address).unwrap();
    // Once another request is answered, this one has long been taken in.
    daemon.get("/readyz");
    daemon.signal(Signal::INT);
    // The daemon has reacted to the first signal once its listener is closed.
    while TcpStream::connect(&daemon.address).is_ok() {
        std::thread::yield_now();
    }
    daemon.signal(Signal::TERM);
    let ended = daemon.end();
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    assert!(ended.stderr.contains("error: interrupted"), "{}", ended.stderr);
}

#[test]
fn a_port_that_is_taken_names_who_has_it() {
    let home = Home::new();
    let daemon = Daemon::start(home.command(&["serve", "--listen", "127.0.0.1:0"]));
    let second = home.run(&["serve", "--listen", &daemon.address]);
    assert_eq!((second.code, second.stdout.as_str()), (3, ""));
    assert!(second.stderr.contains("your own infold "), "{}", second.stderr);
    assert!(second.stderr.contains("--listen 127.0.0.1:0"), "{}", second.stderr);
    let doctor = home.run(&["doctor", "--set", &format!("server.listen={}", daemon.address)]);
    assert!(doctor.stdout.contains("✓ daemon"), "{}", doctor.stdout);

    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = stranger.local_addr().unwrap().to_string();
    let closer = std::thread::spawn(move || {
        // This is the one connection that asks who is there; it is closed unanswered.
        stranger.accept().map(drop)
    });
    let third = home.run(&["serve", "--listen", &address]);
    assert_eq!(third.code, 3);
    assert!(third.stderr.contains("another program listens on"), "{}", third.stderr);
    closer.join().unwrap().unwrap();
}

#[test]
fn log_lines_are_text_json_or_silent_as_wished() {
    let home = Home::new();
    let log = |more: &[&str]| {
        let daemon = Daemon::start(home.command(&[&["serve", "--listen", "127.0.0.1:0"], more].concat()));
        daemon.signal(Signal::TERM);
        daemon.end().stderr
    };
    assert!(log(&["--set", "telemetry.log_format=text"]).contains(" INFO infold"));
    assert!(!log(&["--set", "telemetry.log_format=text"]).contains('\u{1b}'));
    assert!(log(&["-v"]).contains(r#""level":"INFO""#));
    assert_eq!(log(&["-q"]), "");
}

#[test]
fn an_unreachable_collector_does_not_keep_the_daemon_from_working_or_ending() {
    let home = Home::new();
    let endpoint = "telemetry.otlp_endpoint=http://127.0.0.1:9";
    let daemon = Daemon::start(home.command(&["serve", "--listen", "127.0.0.1:0", "--set", endpoint]));
    assert!(daemon.get("/readyz").starts_with("HTTP/1.1 200"));
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.end().code, 0);
}

#[test]
fn a_collector_gets_traces_and_metrics_by_the_time_the_daemon_has_ended() {
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("telemetry.otlp_endpoint=http://{}", collector.local_addr().unwrap());
    let home = Home::new();
    let daemon = Daemon::start(home.command(&["serve", "--listen", "127.0.0.1:0", "--set", &endpoint]));
    let collecting = std::thread::spawn(move || {
        let mut paths = BTreeSet::new();
        while paths.len() < 2 {
            paths.insert(collect_one(&collector.accept().unwrap().0));
        }
        paths.into_iter().collect::<Vec<_>>().join(" ")
    });
    daemon.get("/readyz");
    daemon.signal(Signal::TERM);
    let ended = daemon.end();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(collecting.join().unwrap(), "/v1/metrics /v1/traces");
}

/// Takes one request, answers it, and returns its path.
fn collect_one(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
    }
    let length = head.to_lowercase().split("content-length: ").nth(1).unwrap().lines().next().unwrap().parse().unwrap();
    std::io::copy(&mut reader.take(length), &mut std::io::sink()).unwrap();
    let mut answer = stream;
    answer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    head.split(' ').nth(1).unwrap().to_owned()
}

#[test]
fn mcp_ends_with_its_input_beside_a_running_daemon() {
    let home = Home::new();
    let daemon = Daemon::start(home.command(&["serve", "--listen", "127.0.0.1:0"]));
    let hello = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
        r#""capabilities":{},"clientInfo":{"name":"test","version":"0"}}}"#,
        "\n"
    );
    let ended = home.run_with_input(&["mcp"], hello.as_bytes());
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let answer: Value = serde_json::from_str(ended.stdout.lines().next().unwrap_or_default()).unwrap();
    assert_eq!(answer["result"]["serverInfo"]["name"], "infold");
    assert_eq!(home.run(&["mcp"]).code, 0);

    let waiting = home.command(&["mcp"]).stdin(Stdio::piped()).spawn().unwrap();
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.end().code, 0);
    drop(waiting.wait_with_output().unwrap());
}
