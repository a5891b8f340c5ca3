//! Every wait and every size has its bound, and the caller learns which one it met.
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{connect, exchange, get_with, read_one, read_to_close, settings, start, verdict};
use infold_door::{Door, DoorError, DoorSettings, LongBody};
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

/// Much longer than any bound that a test sets, and shorter than those of the ordinary settings.
const SOON: Duration = Duration::from_secs(9);

const WHO: &str = "GET /who HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Sends `bytes`, waits for the close, and returns what came before it and after how long.
async fn until_closed(settings: DoorSettings, bytes: &'static str) -> (String, Duration) {
    let door = start(settings).await;
    let address = door.address;
    let client = move || {
        // The door's time begins when it takes the connection, which may be long before we go on.
        let start = Instant::now();
        let mut stream = connect(address);
        stream.write_all(bytes.as_bytes()).expect("the bytes can be sent");
        (read_to_close(&mut stream), start.elapsed())
    };
    let closed = spawn_blocking(client).await.expect("the client does not panic");
    door.close().await;
    closed
}

#[tokio::test]
async fn a_head_that_does_not_end_is_cut_off() {
    let settings = DoorSettings { head_timeout_ms: 100, ..settings() };
    let (answer, after) = until_closed(settings, "GET /who HTTP/1.1\r\nHost: loc").await;
    assert_eq!(verdict(&answer), "408 head_timeout");
    assert!(after >= Duration::from_millis(90) && after < SOON, "{after:?}");
}

#[tokio::test]
async fn a_head_that_trickles_is_cut_off_all_the_same() {
    let door = start(DoorSettings { head_timeout_ms: 300, ..settings() }).await;
    let address = door.address;
    let trickle = move || {
        let mut stream = connect(address);
        stream.write_all(b"GET /who HTTP/1.1\r\n").expect("the bytes can be sent");
        // Each byte comes well in time; between two of them we listen for the answer.
        stream.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout can be set");
        let mut answer = [0; 12];
        loop {
            stream.write_all(b"X").expect("the bytes can be sent");
            match stream.read_exact(&mut answer) {
                Ok(()) => return answer,
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        }
    };
    let start = Instant::now();
    let answer = spawn_blocking(trickle).await.expect("the client does not panic");
    assert_eq!(&answer, b"HTTP/1.1 408");
    assert!(start.elapsed() < SOON);
    door.close().await;
}

#[tokio::test]
async fn a_connection_that_never_asks_is_closed_without_a_word() {
    let settings = DoorSettings { head_timeout_ms: 100, ..settings() };
    let (answer, after) = until_closed(settings, "").await;
    assert_eq!(answer, "");
    assert!(after < SOON, "{after:?}");
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let settings = DoorSettings { idle_timeout_ms: 100, head_timeout_ms: 1_000, ..settings() };
    let (answer, after) = until_closed(settings, WHO).await;
    assert_eq!(verdict(&answer), "200 owner local subject -");
    assert!(after >= Duration::from_millis(100) && after < SOON, "{after:?}");
}

#[tokio::test]
async fn a_body_that_stops_coming_is_given_up() {
    let settings = DoorSettings { stall_timeout_ms: 100, ..settings() };
    let bytes = "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n123";
    let (answer, after) = until_closed(settings, bytes).await;
    assert!(!answer.contains("200 OK"), "{answer}");
    assert!(after < SOON, "{after:?}");
}

#[tokio::test]
async fn a_reader_that_stops_reading_is_given_up() {
    let big = axum::Router::new().route("/big", axum::routing::get(|| async { vec![b'x'; 64 << 20] }));
    let settings = DoorSettings { stall_timeout_ms: 100, connections_max: 1, ..settings() };
    let door = crate::common::start_with(settings, big, CancellationToken::new()).await;
    let address = door.address;
    let client = move || {
        let mut stuck = connect(address);
        stuck.write_all(get_with("/big", "").as_bytes()).expect("the bytes can be sent");
        // The only seat is free again once the reader that does not read has been given up.
        loop {
            let mut next = connect(address);
            next.write_all(get_with("/none", "").as_bytes()).expect("the bytes can be sent");
            let answer = read_to_close(&mut next);
            if crate::common::status(&answer) == 404 {
                return;
            }
            assert_eq!(verdict(&answer), "503 connections_exhausted");
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(10), spawn_blocking(client)).await;
    waited.expect("the seat is free in time").expect("the client does not panic");
    door.close().await;
}

#[tokio::test]
async fn bodies_over_the_limit_are_refused_whether_they_say_their_length_or_not() {
    let door = start(DoorSettings { body_bytes_max: 1000, ..settings() }).await;
    let post = |lines: &str, body: &str| {
        format!("POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{lines}\r\n\r\n{body}")
    };
    let fits = post("Content-Length: 1000", &"x".repeat(1000));
    assert_eq!(verdict(&exchange(door.address, fits).await), "200 1000 bytes");
    let over = post("Content-Length: 1001", &"x".repeat(1001));
    assert_eq!(verdict(&exchange(door.address, over).await), "413 body_too_large");
    let huge = post("Content-Length: 999999999999", "");
    assert_eq!(verdict(&exchange(door.address, huge).await), "413 body_too_large");
    let chunks = format!("{}0\r\n\r\n", format!("64\r\n{}\r\n", "x".repeat(100)).repeat(11));
    let over = exchange(door.address, post("Transfer-Encoding: chunked", &chunks)).await;
    assert_eq!(crate::common::status(&over), 413, "{over}");
    door.close().await;
}

#[tokio::test]
async fn a_path_with_a_bound_of_its_own_takes_more_and_no_other_path_does() {
    let long_bodies = vec![LongBody { path: "/echo", bytes_max: 2000 }];
    let door = start(DoorSettings { body_bytes_max: 1000, long_bodies, ..settings() }).await;
    let post = |path: &str, bytes: usize| {
        let body = "x".repeat(bytes);
        format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {bytes}\r\n\r\n{body}")
    };
    assert_eq!(verdict(&exchange(door.address, post("/echo", 2000)).await), "200 2000 bytes");
    assert_eq!(verdict(&exchange(door.address, post("/echo?x=1", 2000)).await), "200 2000 bytes");
    for (path, bytes) in
        [("/echo", 2001), ("/echo/below", 2001), ("/echoes", 1001), ("/Echo", 1001), ("/who", 1001), ("//echo", 1001)]
    {
        assert_eq!(verdict(&exchange(door.address, post(path, bytes)).await), "413 body_too_large", "{path}");
    }
    door.close().await;
}

#[tokio::test]
async fn a_refusal_arrives_though_its_large_body_was_never_read() {
    let door = start(DoorSettings { body_bytes_max: 1000, ..settings() }).await;
    let body = "x".repeat(4 << 20);
    let bytes = format!("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let answer = exchange(door.address, bytes).await;
    assert_eq!(verdict(&answer), "413 body_too_large");
    door.close().await;
}

#[tokio::test]
async fn one_connection_too_many_is_refused_with_the_reason_and_a_free_seat_is_taken() {
    let door = start(DoorSettings { connections_max: 2, ..settings() }).await;
    let address = door.address;
    let client = move || {
        let mut held: Vec<_> = (0..2).map(|_| connect(address)).collect();
        for stream in &mut held {
            stream.write_all(WHO.as_bytes()).expect("the bytes can be sent");
            assert_eq!(verdict(&read_one(stream)), "200 owner local subject -");
        }
        let mut third = connect(address);
        third.write_all(WHO.as_bytes()).expect("the bytes can be sent");
        let answer = read_to_close(&mut third);
        assert_eq!(verdict(&answer), "503 connections_exhausted");
        assert!(answer.contains("connection: close"), "{answer}");

        held.pop();
        loop {
            let mut next = connect(address);
            next.write_all(get_with("/who", "").as_bytes()).expect("the bytes can be sent");
            if crate::common::status(&read_to_close(&mut next)) == 200 {
                return;
            }
        }
    };
    spawn_blocking(client).await.expect("the client does not panic");
    door.close().await;
}

#[tokio::test]
async fn bounds_that_cannot_work_are_refused() {
    let cases = [
        (DoorSettings { connections_max: 0, ..settings() }, "connections_max"),
        (DoorSettings { head_bytes_max: 10, ..settings() }, "head_bytes_max"),
        (DoorSettings { head_bytes_max: 1 << 20, ..settings() }, "head_bytes_max"),
        (DoorSettings { head_timeout_ms: 0, ..settings() }, "head_timeout_ms"),
        (DoorSettings { provider_paths: vec!["x".to_owned()], ..settings() }, "provider_paths"),
        (DoorSettings { allowed_hosts: vec!["*".to_owned()], ..settings() }, "auth.allowed_hosts"),
    ];
    for (settings, name) in cases {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback can be listened on");
        match Door::open(listener, settings).err() {
            Some(DoorError::Setting { setting, .. }) => assert_eq!(setting, name),
            other => panic!("{name}: {other:?}"),
        }
    }
}

const HEALTH: &str = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
const CHILD: &str = "INFOLD_DOOR_TEST_FEW_FILES";

/// Not a test by itself: the server of the next one, which runs this binary with few files allowed.
#[tokio::test]
async fn child_with_few_files() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let door = start(settings()).await;
    eprintln!("listens on {}", door.address.port());
    // The parent closes our standard input when it is done.
    let _ = spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await;
    door.close().await;
}

#[tokio::test]
async fn running_out_of_files_slows_the_door_and_does_not_end_it() {
    let program = std::env::current_exe().expect("the test knows its own file");
    let mut child = Command::new("bash")
        .args(["-c", "ulimit -n 40; exec \"$0\" --exact limits::child_with_few_files --nocapture"])
        .arg(program)
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("bash is installed");
    let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let port = lines.find_map(|line| line.ok()?.strip_prefix("listens on ")?.parse::<u16>().ok());
    let address = ([127, 0, 0, 1], port.expect("the child listens")).into();

    let client = move || {
        let mut crowd: Vec<_> = (0..60).map(|_| connect(address)).collect();
        for stream in &mut crowd {
            stream.write_all(HEALTH.as_bytes()).expect("the bytes can be sent");
        }
        assert_eq!(verdict(&read_one(&mut crowd[0])), "200 well");
        // The last one is not even accepted: the child has no file left for it.
        let mut last = crowd.pop().expect("there are sixty");
        last.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout can be set");
        let early = last.read(&mut [0]).expect_err("it is not answered");
        assert_eq!(early.kind(), ErrorKind::WouldBlock);

        drop(crowd);
        last.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout can be set");
        assert_eq!(verdict(&read_one(&mut last)), "200 well");
    };
    spawn_blocking(client).await.expect("the client does not panic");
    drop(child.stdin.take());
    assert!(child.wait().expect("it ends").success());
}
