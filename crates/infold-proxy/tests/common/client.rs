//! A client that sends exactly the bytes it is given, and looks closely at what comes back.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What one answer may take; only a hanging test ever waits so long.
const PATIENCE: Duration = Duration::from_secs(20);

/// An answer, read byte for byte.
#[derive(Debug)]
pub struct Answer {
    pub status: String,
    /// The header lines, but for those that our own server adds on its connection.
    pub headers: Vec<String>,
    pub body: Vec<u8>,
    /// Whether the answer has its proper end, by its length or its last chunk.
    pub is_whole: bool,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A request with the usual headers.
pub fn post(path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
        .into_bytes()
}

pub async fn connect(address: SocketAddr, request: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("the proxy listens");
    stream.set_nodelay(true).expect("an option");
    stream.write_all(request).await.expect("the proxy reads");
    stream
}

/// Sends a request and reads until the connection ends.
pub async fn exchange(address: SocketAddr, request: &[u8]) -> Answer {
    let mut stream = connect(address, request).await;
    let mut bytes = Vec::new();
    // A connection that is cut off is an end too; whether the answer was whole shows in its bytes.
    let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("an end in time");
    parse(&bytes)
}

/// Reads until `wanted` has come, and returns all that came.
pub async fn read_until(stream: &mut TcpStream, wanted: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while !bytes.windows(wanted.len()).any(|window| window == wanted) {
        let reading = tokio::time::timeout(PATIENCE, stream.read(&mut buffer));
        let count = reading.await.expect("bytes in time").expect("a connection");
        assert!(count > 0, "the answer ended before {:?}", String::from_utf8_lossy(wanted));
        bytes.extend_from_slice(&buffer[..count]);
    }
    bytes
}

pub fn parse(bytes: &[u8]) -> Answer {
    let at = bytes.windows(4).position(|window| window == b"\r\n\r\n");
    let Some(at) = at else {
        return Answer { status: String::new(), headers: Vec::new(), body: Vec::new(), is_whole: false };
    };
    let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
    let rest = &bytes[at + 4..];
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap_or_default().to_owned();
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    let value = |wanted: &str| {
        lines.iter().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case(wanted).then(|| value.trim().to_owned())
        })
    };
    let (body, is_whole) = match (value("content-length"), value("transfer-encoding")) {
        (_, Some(_)) => dechunked(rest),
        (Some(length), None) => (rest.to_vec(), length.parse() == Ok(rest.len())),
        (None, None) => (rest.to_vec(), true),
    };
    let ours = ["connection:", "date:", "transfer-encoding:"];
    let headers = lines.into_iter().filter(|line| !ours.iter().any(|ours| line.starts_with(ours))).collect();
    Answer { status, headers, body, is_whole }
}

fn dechunked(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let Some(at) = rest.windows(2).position(|window| window == b"\r\n") else { return (body, false) };
        let size = std::str::from_utf8(&rest[..at]).ok().and_then(|text| usize::from_str_radix(text, 16).ok());
        let Some(size) = size else { return (body, false) };
        rest = &rest[at + 2..];
        if size == 0 {
            return (body, rest == b"\r\n");
        }
        body.extend_from_slice(&rest[..size.min(rest.len())]);
        if rest.len() < size + 2 {
            return (body, false);
        }
        rest = &rest[size + 2..];
    }
}
