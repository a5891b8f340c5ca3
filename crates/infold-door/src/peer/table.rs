//! Finds one TCP socket in the kernel's table, `/proc/net/tcp` and `/proc/net/tcp6`.
//!
//! This is slower than asking for one socket, since the kernel writes all of them out. It is for
//! kernels without `sock_diag` and for sandboxes that forbid netlink.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::socket::{Pair, SocketOwner};

/// The user id of the socket at the `theirs` end; `None` if it is in neither table.
pub(super) fn lookup(asked: &Pair) -> Option<u32> {
    // An IPv6 socket can hold an IPv4 connection, so both tables may have it.
    ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().find_map(|path| {
        let lines = BufReader::new(File::open(path).ok()?).lines();
        find(lines.map_while(Result::ok), asked)
    })
}

/// The user id of the asked socket, in a table given as lines.
pub(super) fn find(lines: impl Iterator<Item = impl AsRef<str>>, asked: &Pair) -> Option<u32> {
    lines.filter_map(|line| read_line(line.as_ref())).find_map(|found| found.uid(asked))
}

/// Reads `sl: local remote state queues timer retransmits uid timeout inode …`.
fn read_line(line: &str) -> Option<SocketOwner> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let theirs = read_address(words.next()?)?;
    let ours = read_address(words.next()?)?;
    let state = u8::from_str_radix(words.next()?, 16).ok()?;
    let mut words = words.skip(3);
    let uid = words.next()?.parse().ok()?;
    let inode = words.nth(1)?.parse().ok()?;
    Some(SocketOwner { ends: Pair::new(theirs, ours), state, uid, inode })
}

/// Reads `ADDRESS:PORT` in hexadecimal, where an address is words in the machine's own byte order.
fn read_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let digits = address.get(at * 8..at * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    let ip = match address.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let octets: [u8; 16] = words.concat().try_into().ok()?;
            IpAddr::from(Ipv6Addr::from(octets))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}
