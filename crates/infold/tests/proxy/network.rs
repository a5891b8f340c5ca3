//! A daemon in a network that lets nobody out but through its own proxy.

use std::time::Duration;

use infold_testkit::Daemon;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::support::{PATIENCE, infold};

/// A host name that nobody can resolve: only a proxy could reach it.
const UPSTREAM: &str = "https://upstream.invalid";

/// A daemon with this upstream, whose environment names the proxy at `listener`.
async fn behind(listener: &TcpListener, upstream: &str) -> Daemon {
    let proxy = format!("http://somebody:a%20word@{}", listener.local_addr().unwrap());
    let daemon = infold().set("proxy.anthropic.upstream", upstream).set("proxy.retries_max", 0);
    daemon.env("HTTPS_PROXY", &proxy).start().await.unwrap()
}

/// Sends the daemon a request, and returns its answer.
async fn asked(daemon: &Daemon) -> String {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let body = r#"{"model":"claude-opus-5-5","max_tokens":1,"messages":[{"role":"user","content":"Hello."}]}"#;
    let url = format!("{}/anthropic/v1/messages", daemon.base_url());
    http.post(url).header("x-api-key", "none").body(body).send().await.unwrap().text().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_is_reached_through_a_tunnel_that_its_proxy_cannot_look_into() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let daemon = behind(&listener, UPSTREAM).await;
    let proxy = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
        // These bytes begin a TLS handshake; what follows them differs from one to the next.
        let mut hello = [0; 3];
        stream.read_exact(&mut hello).await.unwrap();
        (String::from_utf8(head).unwrap(), hello)
    };
    let (answer, (head, hello)) = timeout(PATIENCE, async { tokio::join!(asked(&daemon), proxy) }).await.unwrap();
    assert!(head.starts_with("CONNECT upstream.invalid:443 HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("Proxy-Authorization: Basic c29tZWJvZHk6YSB3b3Jk\r\n"), "{head}");
    assert_eq!(hello[..2], [0x16, 0x03]);
    // The proxy has hung up, so there can be no answer.
    assert!(answer.contains("\"type\":\"error\""), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_refuses_is_named_and_its_password_is_not() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let daemon = behind(&listener, UPSTREAM).await;
    let proxy = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 1024];
        let _ = stream.read(&mut head).await.unwrap();
        stream.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").await.unwrap();
    };
    let (answer, ()) = timeout(PATIENCE, async { tokio::join!(asked(&daemon), proxy) }).await.unwrap();
    let name = listener.local_addr().unwrap().to_string();
    assert!(answer.contains(&format!("through the proxy {name}")) && !answer.contains("word@"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn this_machine_is_reached_directly() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let daemon = behind(&listener, "https://127.0.0.1:1").await;
    let answer = timeout(PATIENCE, asked(&daemon)).await.unwrap();
    assert!(answer.contains("\"type\":\"error\"") && !answer.contains("through the proxy"), "{answer}");
    // Nothing has connected to the proxy meanwhile.
    assert!(timeout(Duration::ZERO, listener.accept()).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_of_another_kind_is_reported_by_its_variable() {
    let daemon = infold().env("ALL_PROXY", "socks5://somebody:secret@127.0.0.1:1").start().await.unwrap();
    let said = daemon.stderr();
    assert!(said.contains("warning: ignoring ALL_PROXY, which is not a proxy that infold can use"), "{said}");
    assert!(!said.contains("secret"), "{said}");
}
