//! Asks the real kernel about real sockets, and reads its table as text.

use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};

use super::socket::Pair;
use super::*;

/// A connection: the client's socket, and the server's, accepted.
fn connection(listen: &str, connect: impl Fn(u16) -> String) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(listen).expect("loopback can be listened on");
    let port = listener.local_addr().expect("it has an address").port();
    let client = TcpStream::connect(connect(port)).expect("the listener takes connections");
    let (server, _) = listener.accept().expect("a connection waits");
    (client, server)
}

/// The other end of `stream`, by both ways of asking.
fn both_ways(stream: &TcpStream) -> [Option<u32>; 2] {
    let theirs = stream.peer_addr().expect("it is connected");
    let pair = Pair::new(theirs, stream.local_addr().expect("it is bound"));
    [diag::lookup(&pair), table::lookup(&pair)]
}

fn own() -> [Option<u32>; 2] {
    let uid = rustix::process::geteuid().as_raw();
    [Some(uid), Some(uid)]
}

#[test]
fn both_ends_of_an_ipv4_connection_are_found() {
    let (client, server) = connection("127.0.0.1:0", |port| format!("127.0.0.1:{port}"));
    assert_eq!(both_ways(&server), own());
    assert_eq!(both_ways(&client), own());
}

#[test]
fn an_ipv6_connection_is_found() {
    if TcpListener::bind("[::1]:0").is_err() {
        eprintln!("skipped: this machine has no IPv6");
        return;
    }
    let (_client, server) = connection("[::1]:0", |port| format!("[::1]:{port}"));
    assert_eq!(both_ways(&server), own());
}

#[test]
fn ends_of_different_families_are_found() {
    if TcpListener::bind("[::]:0").is_err() {
        eprintln!("skipped: this machine has no IPv6");
        return;
    }
    let (_client, server) = connection("127.0.0.1:0", |port| format!("[::ffff:127.0.0.1]:{port}"));
    assert_eq!(both_ways(&server), own());
    let (_client, server) = connection("[::]:0", |port| format!("127.0.0.1:{port}"));
    assert_eq!(both_ways(&server), own());
}

#[test]
fn a_client_that_closed_only_its_own_direction_is_found() {
    let (client, server) = connection("127.0.0.1:0", |port| format!("127.0.0.1:{port}"));
    client.shutdown(std::net::Shutdown::Write).expect("it is open");
    assert_eq!(both_ways(&server), own());
}

#[test]
fn a_socket_that_was_closed_belongs_to_nobody() {
    let (client, server) = connection("127.0.0.1:0", |port| format!("127.0.0.1:{port}"));
    let (theirs, ours) = (server.peer_addr().expect("connected"), server.local_addr().expect("bound"));
    drop(client);
    let pair = Pair::new(theirs, ours);
    assert_eq!([diag::lookup(&pair), table::lookup(&pair)], [None, None]);
    assert!(!is_same_user(theirs, ours));
}

#[test]
fn a_listener_is_not_taken_for_the_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be listened on");
    let theirs = listener.local_addr().expect("it has an address");
    let ours = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    let pair = Pair::new(theirs, ours);
    assert_eq!([diag::lookup(&pair), table::lookup(&pair)], [None, None]);
}

#[test]
fn the_question_is_laid_out_as_the_kernel_reads_it() {
    let pair = Pair::new(
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0x1234)),
        SocketAddr::from((Ipv4Addr::new(127, 0, 0, 2), 9090)),
    );
    let bytes = diag::question(&pair);
    assert_eq!(bytes.len(), 72);
    assert_eq!(bytes[16..18], [2, 6]);
    assert_eq!(bytes[24..28], [0x12, 0x34, 0x23, 0x82]);
    assert_eq!(bytes[28..32], [127, 0, 0, 1]);
    assert_eq!(bytes[44..48], [127, 0, 0, 2]);
}

#[test]
fn short_and_foreign_answers_are_no_answers() {
    assert_eq!(diag::read_answer(&[]), None);
    assert_eq!(diag::read_answer(&[0; 87]), None);
    let mut error = [0; 100];
    error[4..6].copy_from_slice(&2u16.to_ne_bytes());
    assert_eq!(diag::read_answer(&error), None);
}

#[cfg(target_endian = "little")]
#[test]
fn the_table_is_read_by_both_ends_state_and_inode() {
    let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
    let line = |state: &str, uid: u32, inode: u32| {
        format!(
            "   1: 0100007F:A7E6 0100007F:2382 {state} 00000000:00000000 00:00000000 00000000  {uid}        0 {inode} 1 0 20 4 30 10 -1"
        )
    };
    let pair = Pair::new(
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0xA7E6)),
        SocketAddr::from((Ipv6Addr::from([0, 0, 0, 0, 0, 0xffff, 0x7f00, 1]), 9090)),
    );
    let find = |line: String| table::find([head.to_owned(), line].into_iter(), &pair);

    assert_eq!(find(line("01", 1000, 77)), Some(1000));
    assert_eq!(find(line("01", 0, 0)), None);
    assert_eq!(find(line("06", 0, 77)), None);
    assert_eq!(find(line("02", 1000, 77)), None);
    assert_eq!(find("   1: nonsense".to_owned()), None);
    let mapped =
        "   0: 0000000000000000FFFF00000100007F:A7E6 0000000000000000FFFF00000100007F:2382 01 0:0 0:0 0 1001 0 5 2";
    assert_eq!(find(mapped.to_owned()), Some(1001));
}
