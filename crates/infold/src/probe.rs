//! Who listens on an address: nobody, an infold, or something else.
//!
//! The listener is asked its name, and the kernel whose it is. A name alone proves nothing, so
//! nothing secret is ever sent to find out.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// Behind a question may stand a provider.
const PROVIDER_TIMEOUT: Duration = Duration::from_secs(15);
const ANSWER_BYTES_MAX: u64 = 16 * 1024;

/// Who listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listener {
    /// Nobody.
    Nobody,
    /// An infold of this user.
    Ours {
        /// Its version.
        version: String,
    },
    /// What calls itself infold, but belongs to another user, or the kernel cannot tell.
    Unproven,
    /// Something else.
    Other,
}

/// Finds out who listens on an address.
pub fn probe(address: SocketAddr) -> Listener {
    let address = reachable(address);
    let Ok(mut stream) = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) else {
        return Listener::Nobody;
    };
    let Some(version) = ask_version(&mut stream, address) else { return Listener::Other };
    // Whose the other end is can be told only once a process has taken it and before it is closed:
    // after the answer, on a connection that is kept.
    let is_ours = stream.local_addr().is_ok_and(|local| infold_door::peer::is_same_user(address, local));
    if is_ours { Listener::Ours { version } } else { Listener::Unproven }
}

/// What became of a question to a daemon: the status of its answer, or none that came in time.
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

/// The address to connect to, for one that stands for all of a machine's.
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
