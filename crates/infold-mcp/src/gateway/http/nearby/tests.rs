//! Connections that are used again, that the server has closed, and whose answer nobody reads.

use std::sync::atomic::{AtomicUsize, Ordering};

use reqwest::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::*;

/// What a server does with a connection when it has answered a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Afterwards {
    Keep,
    /// Closes it, and has not said so.
    Close,
}

/// Something that happened at the server: on which connection, and what.
type Seen = (usize, String);

/// A server that answers every request with these bytes.
async fn server(answer: &'static str, afterwards: Afterwards) -> (Nearby, mpsc::UnboundedReceiver<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp?a=b", listener.local_addr().unwrap());
    let (seen, news) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let connections = AtomicUsize::new(0);
        while let Ok((mut stream, _)) = listener.accept().await {
            let (number, seen) = (connections.fetch_add(1, Ordering::SeqCst), seen.clone());
            tokio::spawn(async move {
                let mut bytes = [0; 4096];
                while let Ok(read @ 1..) = stream.read(&mut bytes).await {
                    let text = String::from_utf8_lossy(&bytes[..read]).into_owned();
                    seen.send((number, text)).unwrap();
                    stream.write_all(answer.as_bytes()).await.unwrap();
                    if afterwards == Afterwards::Close {
                        break;
                    }
                }
                drop(stream);
                seen.send((number, "closed".to_owned())).unwrap();
            });
        }
    });
    (Nearby::new(&url.parse().unwrap()).unwrap(), news)
}

fn outgoing(body: &'static str) -> Outgoing {
    let mut headers = HeaderMap::new();
    headers.insert("x-key", HeaderValue::from_static("open"));
    Outgoing { method: Method::POST, headers, body: Bytes::from_static(body.as_bytes()) }
}

async fn body_of(mut response: NearResponse) -> String {
    let mut body = String::new();
    while let Some(bytes) = response.chunk().await.unwrap() {
        body.push_str(std::str::from_utf8(&bytes).unwrap());
    }
    body
}

const SHORT: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n";

#[tokio::test]
async fn a_connection_is_used_again_when_its_answer_is_read() {
    for answer in [SHORT, CHUNKED] {
        let (nearby, mut news) = server(answer, Afterwards::Keep).await;
        for body in ["first", "second", "third"] {
            assert_eq!(body_of(nearby.send(&outgoing(body)).await.unwrap()).await, "ok");
            let (connection, request) = news.recv().await.unwrap();
            assert_eq!(connection, 0);
            assert!(request.starts_with("POST /mcp?a=b HTTP/1.1\r\n"), "{request}");
            assert!(request.contains("\r\nhost: 127.0.0.1:") && request.contains("x-key: open"), "{request}");
            assert!(request.ends_with(&format!("\r\n\r\n{body}")), "{request}");
        }
    }
}

#[tokio::test]
async fn a_request_goes_over_a_new_connection_when_the_server_has_closed_the_old_one() {
    for answer in [SHORT, CHUNKED] {
        let (nearby, mut news) = server(answer, Afterwards::Close).await;
        for number in 0..3 {
            assert_eq!(body_of(nearby.send(&outgoing("x")).await.unwrap()).await, "ok");
            assert_eq!(news.recv().await.unwrap().0, number);
            assert_eq!(news.recv().await.unwrap(), (number, "closed".to_owned()));
        }
    }
}

#[tokio::test]
async fn an_answer_that_nobody_reads_to_its_end_closes_its_connection() {
    let (nearby, mut news) = server("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nok", Afterwards::Keep).await;
    let response = nearby.send(&outgoing("x")).await.unwrap();
    assert_eq!(news.recv().await.unwrap().0, 0);
    drop(response);
    assert_eq!(news.recv().await.unwrap(), (0, "closed".to_owned()));
}

#[tokio::test]
async fn requests_at_once_have_a_connection_each() {
    let (nearby, mut news) = server(SHORT, Afterwards::Keep).await;
    let (one, other) = (outgoing("1"), outgoing("2"));
    let (first, second) = tokio::join!(nearby.send(&one), nearby.send(&other));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!((body_of(first).await, body_of(second).await), ("ok".to_owned(), "ok".to_owned()));
    let mut numbers = [news.recv().await.unwrap().0, news.recv().await.unwrap().0];
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1]);
}

#[tokio::test]
async fn nobody_who_listens_is_said_in_the_words_of_the_system() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let nearby = Nearby::new(&url.parse().unwrap()).unwrap();
    let error = nearby.send(&outgoing("x")).await.unwrap_err();
    assert!(matches!(&error, LinkError::Unreachable(why) if why.contains("refused")), "{error}");
}

#[test]
fn only_plain_http_on_this_machine_is_nearby() {
    let is_nearby = |url: &str| Nearby::new(&url.parse().unwrap()).is_some();
    for url in ["http://127.0.0.1:80/mcp", "http://localhost/", "http://[::1]:4000/mcp?x=y"] {
        assert!(is_nearby(url), "{url}");
    }
    for url in ["https://127.0.0.1/mcp", "http://example.com/mcp", "http://me:secret@127.0.0.1/mcp"] {
        assert!(!is_nearby(url), "{url}");
    }
}
