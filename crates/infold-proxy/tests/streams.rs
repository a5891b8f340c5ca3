//! Streams that are cut anywhere, read slowly, given up by their client, or drained in a shutdown.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::client::{connect, exchange, post, read_until};
use crate::common::upstream::{Act, Upstream, send};
use crate::common::{settings, start};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const EVENTS: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n\
    event: ping\ndata: {\"type\": \"ping\"}\n\n: comment é\n\n\
    event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
    event: unheard_of\ndata: {\"x\":1}\r\n\r\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

fn chunk(bytes: &[u8]) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_the_same_wherever_it_is_cut() {
    let play = |number: usize| {
        let (first, rest) = EVENTS.as_bytes().split_at(number + 1);
        vec![send(HEAD), send(chunk(first)), send(chunk(rest)), send("0\r\n\r\n")]
    };
    let upstream = Upstream::start(play).await;
    let proxy = start(settings(upstream.address)).await;
    let request = post("/anthropic/v1/messages", "{\"model\":\"m\",\"stream\":true,\"messages\":[]}");
    for cut in 1..EVENTS.len() {
        let answer = exchange(proxy.address, &request).await;
        assert!(answer.is_whole && answer.body == EVENTS.as_bytes(), "cut at {cut}");
    }
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_breaks_off_anywhere_breaks_off_for_the_client() {
    let play = |number: usize| {
        let mut stream = chunk(EVENTS.as_bytes());
        stream.extend_from_slice(b"0\r\n\r\n");
        stream.truncate(number * 7);
        vec![send(HEAD), send(stream), Act::Close]
    };
    let upstream = Upstream::start(play).await;
    let proxy = start(settings(upstream.address)).await;
    let request = post("/anthropic/v1/messages", "{\"model\":\"m\",\"stream\":true,\"messages\":[]}");
    for cut in (0..EVENTS.len()).step_by(7) {
        let answer = exchange(proxy.address, &request).await;
        assert!(!answer.is_whole, "broken off at {cut}");
        assert!(EVENTS.as_bytes().starts_with(&answer.body), "broken off at {cut}");
    }
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_piece_is_passed_on_when_it_comes() {
    let go_on = Arc::new(Notify::new());
    let acts = vec![
        send(HEAD),
        send(chunk(b"first")),
        Act::Wait(Arc::clone(&go_on)),
        send(chunk(b"second")),
        Act::Wait(Arc::clone(&go_on)),
        send("0\r\n\r\n"),
    ];
    let upstream = Upstream::always(acts).await;
    let proxy = start(settings(upstream.address)).await;
    let mut stream = connect(proxy.address, &post("/openai/v1/responses", "{}")).await;
    read_until(&mut stream, b"first").await;
    go_on.notify_one();
    read_until(&mut stream, b"second").await;
    go_on.notify_one();
    read_until(&mut stream, b"0\r\n\r\n").await;
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_waits_for_a_slow_reader() {
    let go_on = Arc::new(Notify::new());
    let (piece, times) = (vec![b'x'; 64 * 1024], 1024);
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", piece.len() * times);
    let flood = Act::Flood { piece, times, go_on: Arc::clone(&go_on) };
    let mut upstream = Upstream::always(vec![send(head), flood]).await;
    let proxy = start(settings(upstream.address)).await;
    let mut stream = connect(proxy.address, &post("/anthropic/v1/messages", "{}")).await;

    let written = upstream.written.recv().await.expect("a flood that stops");
    assert!(written < 32 << 20, "{written} bytes of 64 MiB went although nobody read any");

    go_on.notify_one();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).await.expect("the rest");
    assert!(all.len() > 64 << 20);
    proxy.close().await;
}

/// How soon the proxy closes an upstream whose client has gone.
const ABORT_TIME_MAX: Duration = Duration::from_secs(1);
/// How often closing may take longer before something other than a busy machine must be the cause.
const TRIES_MAX: usize = 4;

/// Drops the client, and says whether the upstream's connection is closed soon.
async fn closes_soon(upstream: &mut Upstream, client: TcpStream) -> bool {
    let since = Instant::now();
    drop(client);
    let closing = tokio::time::timeout(Duration::from_secs(10), upstream.closed.recv());
    closing.await.expect("the upstream is closed").expect("the upstream runs");
    since.elapsed() < ABORT_TIME_MAX
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_gives_up_before_the_head_closes_the_upstream() {
    let mut upstream = Upstream::always(vec![Act::UntilClosed]).await;
    let proxy = start(settings(upstream.address)).await;
    for attempt in 1.. {
        let stream = connect(proxy.address, &post("/anthropic/v1/messages", "{}")).await;
        upstream.came.recv().await.expect("the request");
        if closes_soon(&mut upstream, stream).await {
            break;
        }
        assert!(attempt < TRIES_MAX, "it is never closed soon");
    }
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_gives_up_in_mid_stream_closes_the_upstream() {
    let mut upstream = Upstream::always(vec![send(HEAD), send(chunk(b"first")), Act::UntilClosed]).await;
    let proxy = start(settings(upstream.address)).await;
    for reset in [false, true] {
        for attempt in 1.. {
            let mut stream = connect(proxy.address, &post("/anthropic/v1/messages", "{}")).await;
            read_until(&mut stream, b"first").await;
            if reset {
                stream.set_zero_linger().expect("an option");
            }
            if closes_soon(&mut upstream, stream).await {
                break;
            }
            assert!(attempt < TRIES_MAX, "it is never closed soon; reset: {reset}");
        }
    }
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_gives_up_while_it_takes_nothing_closes_the_upstream() {
    let go_on = Arc::new(Notify::new());
    let (piece, times) = (vec![b'x'; 64 * 1024], 1024);
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", piece.len() * times);
    let flood = Act::Flood { piece, times, go_on };
    let mut upstream = Upstream::always(vec![send(head), flood, Act::UntilClosed]).await;
    let proxy = start(settings(upstream.address)).await;
    let stream = connect(proxy.address, &post("/anthropic/v1/messages", "{}")).await;
    upstream.written.recv().await.expect("a flood that stops");
    drop(stream);
    // The proxy has nothing left to do for the stream, so it ends at once, and not when its time for draining is over.
    let closed = tokio::time::timeout(Duration::from_secs(9), proxy.close()).await.expect("an end in time");
    assert_eq!(closed.cut, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_under_way_are_finished_at_shutdown() {
    let go_on = Arc::new(Notify::new());
    let acts =
        vec![send(HEAD), send(chunk(b"first")), Act::Wait(Arc::clone(&go_on)), send(chunk(b"last")), send("0\r\n\r\n")];
    let upstream = Upstream::always(acts).await;
    let proxy = start(settings(upstream.address)).await;
    let mut stream = connect(proxy.address, &post("/anthropic/v1/messages", "{}")).await;
    read_until(&mut stream, b"first").await;

    proxy.shutdown.cancel();
    go_on.notify_one();

    read_until(&mut stream, b"last\r\n0\r\n\r\n").await;
    let closed = proxy.close().await;
    assert_eq!(closed.cut, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_to_the_upstream_are_used_again() {
    let upstream = Upstream::always(vec![send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")]).await;
    let proxy = start(settings(upstream.address)).await;
    let mut stream = TcpStream::connect(proxy.address).await.expect("the proxy listens");
    for _ in 0..20 {
        let request = "POST /anthropic/v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}";
        stream.write_all(request.as_bytes()).await.expect("the proxy reads");
        read_until(&mut stream, b"\r\n\r\n{}").await;
    }
    assert_eq!(upstream.requests().len(), 20);
    proxy.close().await;
}
