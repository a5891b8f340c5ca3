//! A shutdown lets what is in flight finish, and cuts off what does not.
use std::convert::Infallible;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::{connect, exchange, get_with, read_one, read_to_close, settings, start, start_with, verdict};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::get;
use futures::stream;
use infold_door::DoorSettings;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

/// Much longer than a shutdown that waits for nothing takes, and shorter than one that drains to the end of its time.
const SOON: Duration = Duration::from_secs(9);

/// A stream that says it has begun, and ends when `end` is notified.
fn streaming(end: Arc<Notify>) -> Router {
    Router::new().route(
        "/stream",
        get(move || {
            let end = Arc::clone(&end);
            async move {
                let steps = stream::unfold((0, end), |(step, end)| async move {
                    let text = match step {
                        0 => "begun ",
                        1 => {
                            end.notified().await;
                            "ended"
                        }
                        _ => return None,
                    };
                    Some((Ok::<_, Infallible>(Bytes::from(text)), (step + 1, end)))
                });
                Body::from_stream(steps)
            }
        }),
    )
}

/// A client that has received the beginning of the stream.
fn open_stream(address: std::net::SocketAddr) -> std::net::TcpStream {
    let mut stream = connect(address);
    stream.write_all(b"GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("the bytes can be sent");
    let mut seen = Vec::new();
    while !seen.ends_with(b"begun \r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("the stream begins");
        seen.push(byte[0]);
    }
    stream
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_ends_in_time_is_delivered_whole() {
    let end = Arc::new(Notify::new());
    let door = start_with(settings(), streaming(Arc::clone(&end)), CancellationToken::new()).await;
    let address = door.address;
    let client = spawn_blocking(move || open_stream(address)).await.expect("no panic");

    door.shutdown.cancel();
    let rest = spawn_blocking(move || {
        let mut client = client;
        read_to_close(&mut client)
    });
    // No new connection is taken while the old one drains.
    while tokio::net::TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    end.notify_one();
    assert_eq!(door.close().await.cut, 0);
    assert_eq!(rest.await.expect("no panic"), "5\r\nended\r\n0\r\n\r\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_does_not_end_is_cut_off_and_does_not_look_whole() {
    let settings = DoorSettings { drain_timeout_ms: 100, ..settings() };
    let never = Arc::new(Notify::new());
    let door = start_with(settings, streaming(never), CancellationToken::new()).await;
    let address = door.address;
    let clients = spawn_blocking(move || [open_stream(address), open_stream(address)]);
    let [mut first, _second] = clients.await.expect("no panic");

    let begun = Instant::now();
    assert_eq!(door.close().await.cut, 2);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let rest = spawn_blocking(move || read_to_close(&mut first)).await.expect("no panic");
    assert!(!rest.contains("0\r\n\r\n"), "{rest}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_and_unfinished_connections_do_not_hold_a_shutdown_up() {
    let door = start(settings()).await;
    let address = door.address;
    let clients = spawn_blocking(move || {
        let mut idle = connect(address);
        idle.write_all(b"GET /who HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
        read_one(&mut idle);
        let mut partial = connect(address);
        partial.write_all(b"GET /who HTTP/1.1\r\nHo").expect("sent");
        [idle, partial, connect(address)]
    });
    let clients = clients.await.expect("no panic");

    let begun = Instant::now();
    assert_eq!(door.close().await.cut, 0);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    drop(clients);
}

#[tokio::test]
async fn a_client_that_goes_away_ends_its_stream() {
    let (dropped, mut gone) = tokio::sync::mpsc::channel::<()>(1);
    let routes = Router::new().route(
        "/forever",
        get(move || {
            let held = dropped.clone();
            async move {
                let frames = stream::unfold(held, |held| async move {
                    tokio::time::sleep(Duration::from_secs(3600)).await;
                    Some((Ok::<_, Infallible>(Bytes::from("never")), held))
                });
                Body::from_stream(frames)
            }
        }),
    );
    let door = start_with(settings(), routes, CancellationToken::new()).await;
    let address = door.address;
    let client = spawn_blocking(move || {
        let mut stream = connect(address);
        stream.write_all(b"GET /forever HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
        let mut begun = [0; 15];
        stream.read_exact(&mut begun).expect("the head comes");
        stream
    });
    drop(client.await.expect("no panic"));

    // The router holds one sender, the stream the other; closing the door drops the router, and the
    // drain has nothing to wait for because the stream is gone already.
    assert_eq!(door.close().await.cut, 0);
    assert_eq!(gone.recv().await, None);
}

#[tokio::test]
async fn a_request_in_flight_is_answered_as_the_last_of_its_connection() {
    let go = Arc::new(Notify::new());
    let (begun, waits) = (Arc::new(Notify::new()), Arc::clone(&go));
    let at_work = Arc::clone(&begun);
    let routes = Router::new().route(
        "/slow",
        get(move || {
            let (at_work, waits) = (Arc::clone(&at_work), Arc::clone(&waits));
            async move {
                at_work.notify_one();
                waits.notified().await;
                "done"
            }
        }),
    );
    let door = start_with(settings(), routes, CancellationToken::new()).await;
    let request = get_with("/slow", "").replace("Connection: close\r\n", "");
    let answer = tokio::spawn(exchange(door.address, request));
    begun.notified().await;
    door.shutdown.cancel();
    go.notify_one();

    let answer = answer.await.expect("no panic");
    assert_eq!(verdict(&answer), "200 done");
    assert!(answer.contains("connection: close"), "{answer}");
    assert_eq!(door.close().await.cut, 0);
}
