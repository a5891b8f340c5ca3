//! Who listens on an address: nobody, an infold, or something else.
//!
//! The listener is asked its name, and the kernel whose it is. A name alone proves nothing, so
//! nothing secret is ever sent to find out.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

use serde::Deserialize;

const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
const ANSWER_MAX_BYTES: u64 = 16 * 1024;

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

#[derive(Deserialize)]
struct Name {
    name: String,
    version: String,
}

/// Finds out who listens on an address.
pub fn probe(address: SocketAddr) -> Listener {
    let address = reachable(address);
    let Ok(mut stream) = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) else {
        return Listener::Nobody;
    };
    let is_ours = stream.local_addr().is_ok_and(|local| infold_door::peer::is_same_user(address, local));
    match ask_name(&mut stream, address) {
        Some(name) if name.name == "infold" && is_ours => Listener::Ours { version: name.version },
        Some(name) if name.name == "infold" => Listener::Unproven,
        Some(_) | None => Listener::Other,
    }
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

fn ask_name(stream: &mut TcpStream, address: SocketAddr) -> Option<Name> {
    stream.set_read_timeout(Some(ANSWER_TIMEOUT)).ok()?;
    stream.set_write_timeout(Some(ANSWER_TIMEOUT)).ok()?;
    write!(stream, "GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = Vec::new();
    // Whatever came before an error is looked at all the same.
    let _ = stream.take(ANSWER_MAX_BYTES).read_to_end(&mut answer);
    let answer = String::from_utf8(answer).ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    serde_json::from_str(body).ok()
}
