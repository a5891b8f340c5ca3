//! Asks the kernel for one TCP socket over netlink (`sock_diag`).
//!
//! One question of 72 bytes gets one answer. Encoding and decoding are pure; the layouts are those of
//! `inet_diag_req_v2` and `inet_diag_msg` in the kernel's headers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{connect, recv, send, socket_with};

use super::socket::{Pair, SocketOwner};

const HEADER_BYTES: usize = 16;
const QUESTION_BYTES: usize = HEADER_BYTES + 56;
const ANSWER_BYTES: usize = HEADER_BYTES + 72;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const FAMILY_IPV4: u8 = 2;
const FAMILY_IPV6: u8 = 10;
const PROTOCOL_TCP: u8 = 6;
const ALL_STATES: u32 = u32::MAX;
const NO_COOKIE: u64 = u64::MAX;
/// The kernel answers while the question is being sent, so this never runs out in practice.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// The user id of the socket at the `theirs` end; `None` if the kernel does not know it.
pub(super) fn lookup(asked: &Pair) -> Option<u32> {
    let answer = ask(&question(asked)).ok()?;
    read_answer(&answer)?.uid(asked)
}

fn ask(question: &[u8]) -> rustix::io::Result<Vec<u8>> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(SOCK_DIAG))?;
    set_socket_timeout(&socket, Timeout::Recv, Some(ANSWER_TIMEOUT))?;
    // Connected to port 0, the socket takes messages from the kernel only.
    connect(&socket, &SocketAddrNetlink::new(0, 0))?;
    send(&socket, question, SendFlags::empty())?;

    let mut answer = vec![0; 4096];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    answer.truncate(length);
    Ok(answer)
}

/// The question for the socket whose own end is `theirs`.
pub(super) fn question(asked: &Pair) -> Vec<u8> {
    let ipv4 = asked.theirs.is_ipv4() && asked.ours.is_ipv4();
    let mut bytes = Vec::with_capacity(QUESTION_BYTES);
    bytes.extend((QUESTION_BYTES as u32).to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    bytes.extend(1u32.to_ne_bytes()); // sequence number
    bytes.extend(0u32.to_ne_bytes()); // sender: the kernel fills it in

    bytes.extend([if ipv4 { FAMILY_IPV4 } else { FAMILY_IPV6 }, PROTOCOL_TCP, 0, 0]);
    bytes.extend(ALL_STATES.to_ne_bytes());
    bytes.extend(asked.theirs.port().to_be_bytes());
    bytes.extend(asked.ours.port().to_be_bytes());
    bytes.extend(address_bytes(asked.theirs));
    bytes.extend(address_bytes(asked.ours));
    bytes.extend(0u32.to_ne_bytes()); // any interface
    bytes.extend(NO_COOKIE.to_ne_bytes());
    bytes
}

fn address_bytes(address: SocketAddr) -> [u8; 16] {
    match address.ip() {
        IpAddr::V4(ip) => {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&ip.octets());
            bytes
        }
        IpAddr::V6(ip) => ip.octets(),
    }
}

/// The socket that the kernel described; `None` if it answered with an error.
pub(super) fn read_answer(answer: &[u8]) -> Option<SocketOwner> {
    let answer = answer.get(..ANSWER_BYTES)?;
    if u16::from_ne_bytes(field(answer, 4)?) != SOCK_DIAG_BY_FAMILY {
        return None;
    }
    let body = &answer[HEADER_BYTES..];
    let theirs = SocketAddr::new(address(body, 8)?, u16::from_be_bytes(field(body, 4)?));
    let ours = SocketAddr::new(address(body, 24)?, u16::from_be_bytes(field(body, 6)?));
    Some(SocketOwner {
        ends: Pair::new(theirs, ours),
        state: body[1],
        uid: u32::from_ne_bytes(field(body, 64)?),
        inode: u32::from_ne_bytes(field(body, 68)?),
    })
}

fn address(body: &[u8], at: usize) -> Option<IpAddr> {
    match body[0] {
        FAMILY_IPV4 => Some(Ipv4Addr::from(field::<4>(body, at)?).into()),
        FAMILY_IPV6 => Some(Ipv6Addr::from(field::<16>(body, at)?).into()),
        _ => None,
    }
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}
