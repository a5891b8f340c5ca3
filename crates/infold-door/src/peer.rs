//! Finds out which user's process holds the other end of a loopback connection.
//!
//! The kernel knows: both ends' sockets are on this machine. It is asked over netlink for exactly
//! the one socket, and where that is not possible the table in `/proc` is read. Works from either
//! end, so a client can check whose server it has reached.
//!
//! Must hold: the answer is `None` unless it is certain. A socket that its process has already closed counts as
//! belonging to nobody, because older kernels report such sockets as root's.

use std::net::SocketAddr;

#[cfg(target_os = "linux")]
mod diag;
#[cfg(target_os = "linux")]
mod socket;
#[cfg(target_os = "linux")]
mod table;

/// The user "nobody". It identifies no one: services without a user of their own share it, and the
/// kernel reports it for users that it cannot translate.
const NOBODY_UID: u32 = 65534;

/// The user id of the process that holds the `theirs` end of the connection between `theirs` and
/// `ours`, if this system can tell.
#[cfg(target_os = "linux")]
pub fn uid_of(theirs: SocketAddr, ours: SocketAddr) -> Option<u32> {
    let pair = socket::Pair::new(theirs, ours);
    diag::lookup(&pair).or_else(|| table::lookup(&pair))
}

/// The user id of the process that holds the `theirs` end of the connection between `theirs` and
/// `ours`, if this system can tell. This one cannot.
#[cfg(not(target_os = "linux"))]
pub fn uid_of(_theirs: SocketAddr, _ours: SocketAddr) -> Option<u32> {
    None
}

/// Whether the `theirs` end of a connection is held by a process of the user we run as. It is
/// `false` wherever that is not certain.
pub fn is_same_user(theirs: SocketAddr, ours: SocketAddr) -> bool {
    let own = rustix::process::geteuid().as_raw();
    own != NOBODY_UID && uid_of(theirs, ours) == Some(own)
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
