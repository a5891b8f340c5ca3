//! Answers whose end their connection does not show, and heads that contradict themselves: through the daemon nothing
//! looks whole that is not.

use infold_testkit::Daemon;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::proxy::scene::upstream;
use crate::support::{PATIENCE, infold};

const BODY: &str = r#"{"model":"claude-opus-5-5","max_tokens":1,"messages":[{"role":"user","content":"Hello."}]}"#;

/// A daemon in front of an upstream that answers one request with these bytes and closes.
async fn answering(bytes: &str) -> (Daemon, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let bytes = bytes.to_owned();
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut came = Vec::new();
        while !came.ends_with(BODY.as_bytes()) {
            came.push(stream.read_u8().await.unwrap());
        }
        stream.write_all(bytes.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
    });
    (upstream(infold(), &url).set("proxy.retries_max", 0).start().await.unwrap(), serving)
}

/// What a client gets: the status, and the body if it is whole.
async fn got(bytes: &str) -> (u16, Option<String>) {
    let (daemon, serving) = answering(bytes).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let asking = http.post(format!("{}/anthropic/v1/messages", daemon.base_url())).body(BODY).send();
    let answer = timeout(PATIENCE, asking).await.unwrap().unwrap();
    let status = answer.status().as_u16();
    let body = timeout(PATIENCE, answer.text()).await.unwrap().ok();
    serving.await.unwrap();
    (status, body)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_ends_by_closing_is_whole_only_if_it_says_so() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    let begun = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n";
    let over = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    assert_eq!(got(&format!("{head}{begun}{over}")).await, (200, Some(format!("{begun}{over}"))));
    assert_eq!(got(&format!("{head}{begun}")).await, (200, None));

    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
    assert_eq!(got(&format!("{head}{{\"a\":1}}")).await, (200, Some("{\"a\":1}".to_owned())));
    assert_eq!(got(&format!("{head}{{\"a\":1")).await, (200, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_contradicts_itself_and_a_switch_of_protocols_are_bad_gateways() {
    for bytes in [
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n7\r\nabcdefg\r\n0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n",
    ] {
        let (status, said) = got(bytes).await;
        let said = said.unwrap_or_default();
        assert_eq!(status, 502, "{said}");
        assert!(said.contains("cannot be passed on") && said.contains("try again"), "{said}");
    }
}
