//! A connection's two ends, and the kernel's description of the socket at one of them.
//!
//! Both ways of asking the kernel end in [`SocketOwner::uid`], so that both are equally careful.

use std::net::{IpAddr, SocketAddr};

/// The kernel's numbers of the TCP states in which the socket's owner still holds it: established, and
/// the two that follow when the owner has closed its own direction only.
const LIVE_STATES: [u8; 3] = [1, 4, 5];

/// The two ends of a connection. An IPv4 address that is written as an IPv6 address is turned back into
/// an IPv4 address, since the two ends may be of different families.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) theirs: SocketAddr,
    pub(super) ours: SocketAddr,
}

impl Pair {
    pub(super) fn new(theirs: SocketAddr, ours: SocketAddr) -> Self {
        Self { theirs: plain(theirs.ip(), theirs.port()), ours: plain(ours.ip(), ours.port()) }
    }
}

fn plain(ip: IpAddr, port: u16) -> SocketAddr {
    SocketAddr::new(ip.to_canonical(), port)
}

/// One socket as the kernel described it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SocketOwner {
    pub(super) ends: Pair,
    pub(super) state: u8,
    pub(super) uid: u32,
    pub(super) inode: u32,
}

impl SocketOwner {
    /// The socket's user, if it is the socket that was asked for and a process still holds it.
    /// A socket without an inode has been closed, and the user that it names may be wrong.
    pub(super) fn uid(&self, asked: &Pair) -> Option<u32> {
        let held = self.inode != 0 && LIVE_STATES.contains(&self.state);
        (held && self.ends == *asked).then_some(self.uid)
    }
}
