//! The stream of events: who gets which of them, from where on, and how it ends.

use std::pin::pin;
use std::task::Poll;

use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use infold_core::Principal;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::client::{Api, bare, local, somebody};
use crate::contract::check_event;

/// An open stream, of which blocks are read one by one.
struct Stream {
    body: Body,
    text: String,
}

/// One block of a stream: an event, or a comment alone.
#[derive(Debug, Default)]
struct Block {
    id: String,
    name: String,
    data: Value,
    comment: String,
}

impl Stream {
    async fn open(api: &Api, who: Option<Principal>, query: &str, last_id: Option<&str>) -> Self {
        let mut request = Request::builder().uri(format!("/api/v1/events{query}"));
        if let Some(last_id) = last_id {
            request = request.header("last-event-id", last_id);
        }
        let mut request = request.body(Body::empty()).unwrap();
        if let Some(who) = who {
            request.extensions_mut().insert(who);
        }
        let response = api.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body(), text: String::new() }
    }

    /// The next block; `None` once the stream has ended.
    async fn next(&mut self) -> Option<Block> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (read(block), rest.to_owned());
                self.text = rest;
                return Some(block);
            }
            let frame = self.body.frame().await?.expect("the stream is not broken off");
            self.text.push_str(std::str::from_utf8(&frame.into_data().unwrap()).unwrap());
        }
    }

    /// The names of the next events.
    async fn names(&mut self, count: usize) -> Vec<String> {
        let mut names = Vec::new();
        for _ in 0..count {
            names.push(self.next().await.expect("an event").name);
        }
        names
    }
}

fn read(block: &str) -> Block {
    let mut read = Block::default();
    for line in block.lines() {
        match line.split_once(": ").unwrap_or((line, "")) {
            ("id", id) => read.id = id.to_owned(),
            ("event", name) => read.name = name.to_owned(),
            ("data", data) => read.data = serde_json::from_str(data).unwrap(),
            (_, comment) => read.comment = comment.to_owned(),
        }
    }
    if !read.data.is_null() {
        check_event(&read.data);
    }
    read
}

#[tokio::test]
async fn without_a_place_the_stream_starts_with_what_comes() {
    let api = Api::new();
    api.open("before").await;
    let mut stream = Stream::open(&api, local(), "", None).await;
    let branch = api.open("after").await;
    let created = stream.next().await.unwrap();
    assert_eq!(
        (created.name.as_str(), &created.data["id"]),
        ("branch.created", &json!(created.id.parse::<u64>().unwrap()))
    );
    assert_eq!((&created.data["session_id"], &created.data["at"]), (&json!("s"), &json!("2025-01-17T10:30:00Z")));
    assert_eq!(created.data["event"]["type"], "branch.created");
    assert_eq!(created.data["event"]["branch_id"], branch);
}

#[tokio::test]
async fn a_reader_that_comes_back_misses_nothing_and_sees_nothing_twice() {
    let api = Api::new();
    let branch = api.open("look").await;
    api.fold(&branch, "done").await;
    let mut first = Stream::open(&api, local(), "?after=0", None).await;
    let all = ["session.started", "branch.created", "branch.activated", "branch.folded"];
    let started = first.next().await.unwrap();
    let created = first.next().await.unwrap();
    assert_eq!([started.name.as_str(), created.name.as_str()], all[..2]);
    drop(first);

    let mut by_header = Stream::open(&api, local(), "?after=0", Some(&created.id)).await;
    assert_eq!(by_header.names(2).await, all[2..]);
    drop(by_header);
    let mut by_query = Stream::open(&api, local(), &format!("?after={}", started.id), None).await;
    assert_eq!(by_query.names(3).await, all[1..]);
}

#[tokio::test]
async fn a_stream_has_the_callers_events_only_and_of_one_session_if_wished() {
    let api = Api::new();
    api.open("mine").await;
    let other = crate::client::request("POST", "/api/v1/sessions/t/branches", &json!({ "description": "theirs" }));
    api.send(somebody("other"), other).await;
    api.post("/api/v1/sessions/t/branches", json!({ "description": "mine too" })).await;

    let mut stream = Stream::open(&api, local(), "?after=0&session_id=t", None).await;
    stream.next().await.unwrap();
    assert_eq!(stream.next().await.unwrap().data["event"]["description"], "mine too");
    drop(stream);
    let mut stream = Stream::open(&api, somebody("other"), "?after=0", None).await;
    stream.next().await.unwrap();
    assert_eq!(stream.next().await.unwrap().data["event"]["description"], "theirs");
}

#[tokio::test]
async fn a_place_that_is_none_is_refused() {
    let api = Api::new();
    for query in
        ["?after=x", "?after=-1", "?after=18446744073709551615", "?after=18446744073709551616", "?session_id=a%20b"]
    {
        let answer = api.get(&format!("/api/v1/events{query}")).await;
        assert!(answer.error().starts_with("400 invalid_input: "), "{query}: {}", answer.text);
    }
    let mut request = bare("GET", "/api/v1/events");
    request.headers_mut().insert("last-event-id", "latest".parse().unwrap());
    let expected =
        "400 invalid_input: Last-Event-ID must be the id of an event, as it came {\"field\":\"Last-Event-ID\"}";
    assert_eq!(api.send(local(), request).await.error(), expected);
}

#[tokio::test]
async fn streams_are_bounded_and_a_closed_one_makes_room() {
    let api = Api::new();
    let first = Stream::open(&api, local(), "", None).await;
    let _second = Stream::open(&api, local(), "", None).await;
    let third = api.get("/api/v1/events").await;
    let expected =
        "429 streams_exhausted: All 2 event streams are in use: close one, or try again later {\"streams_max\":2}";
    assert_eq!(third.error(), expected);
    drop(first);
    Stream::open(&api, local(), "", None).await;
}

#[tokio::test]
async fn streams_end_when_the_daemon_shuts_down() {
    let api = Api::new();
    let mut stream = Stream::open(&api, local(), "", None).await;
    let mut next = pin!(stream.next());
    assert!(matches!(futures::poll!(&mut next), Poll::Pending));
    api.shutdown.cancel();
    assert!(next.await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_never_silent_for_longer_than_a_heartbeat() {
    let api = Api::new();
    let mut stream = Stream::open(&api, local(), "", None).await;
    let start = tokio::time::Instant::now();
    assert_eq!(stream.next().await.unwrap().comment, "heartbeat");
    assert_eq!(start.elapsed().as_secs(), 15);
    assert_eq!(stream.next().await.unwrap().comment, "heartbeat");
    assert_eq!(start.elapsed().as_secs(), 30);
}
