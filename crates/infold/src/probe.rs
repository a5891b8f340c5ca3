//! Finds out who listens on an address: nobody, an infold, or another program.
//!
//! The listener is asked for its name, and the kernel for the listener's user. A name alone proves
//! nothing, so nothing secret is ever sent to find out.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// How long an answer may take if the daemon has to ask a provider for it.
const PROVIDER_TIMEOUT: Duration = Duration::from_secs(15);
const ANSWER_BYTES_MAX: u64 = 16 * 1024;

/// Who listens on an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listener {
    /// No connection was possible.
    Nobody,
    /// An infold of this user.
    Ours { version: String },
    /// A program that calls itself infold, but belongs to another user, or the kernel does not say to whom.
    Unproven,
    /// A program that does not call itself infold.
    Other,
}

/// Finds out who listens on an address.
pub fn probe(address: SocketAddr) -> Listener {
    let address = reachable(address);
    let Ok(mut stream) = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) else {
        return Listener::Nobody;
    };
    let Some(version) = ask_version(&mut stream, address) else { return Listener::Other };
    // The kernel knows the user of the other end only after a process has accepted the connection and
    // before it is closed: after the answer, while the connection is still open.
    let is_ours = stream.local_addr().is_ok_and(|local| infold_door::peer::is_same_user(address, local));
    if is_ours { Listener::Ours { version } } else { Listener::Unproven }
}

/// Sends a GET request to a daemon. Returns the status of the answer, or `None` if none came in time.
pub fn ask(address: SocketAddr, path: &str) -> Option<u16> {
    let address = reachable(address);
    let mut stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).ok()?;
    stream.set_read_timeout(Some(PROVIDER_TIMEOUT)).ok()?;
    stream.set_write_timeout(Some(ANSWER_TIMEOUT)).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").ok()?;
    let mut first = String::new();
    BufReader::new(stream.take(ANSWER_BYTES_MAX)).read_line(&mut first).ok()?;
    first.split(' ').nth(1)?.parse().ok()
}

/// The address to connect to: loopback if the given one means all addresses of this machine.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// The version of the infold that answers, if one does.
fn ask_version(stream: &mut TcpStream, address: SocketAddr) -> Option<String> {
    stream.set_read_timeout(Some(ANSWER_TIMEOUT)).ok()?;
    stream.set_write_timeout(Some(ANSWER_TIMEOUT)).ok()?;
    write!(stream, "GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n").ok()?;

    let head = BufReader::new(stream.take(ANSWER_BYTES_MAX)).lines().map_while(Result::ok);
    head.take_while(|line| !line.is_empty()).find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let version = value.trim().strip_prefix("infold/")?;
        name.eq_ignore_ascii_case("server").then(|| version.to_owned())
    })
}
