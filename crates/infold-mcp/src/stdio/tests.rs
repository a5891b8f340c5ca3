//! How serving one client over two streams ends, and how broken lines are answered.

use infold_core::Principal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use super::{StdioError, serve_streams};
use crate::testing::{server, settings};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;
const CREATE: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"branch_create","arguments":{"session_id":"s1","description":"d"}}}"#;

/// Serves a client that writes `input` and then closes its end; returns what the server wrote.
async fn serve(input: &str) -> (Result<(), StdioError>, String) {
    let fixture = server(settings());
    let (mut ours, theirs) = tokio::io::duplex(1 << 20);
    ours.write_all(input.as_bytes()).await.unwrap();
    ours.shutdown().await.unwrap();
    let streams = tokio::io::split(theirs);
    let served = serve_streams(&fixture.server, Principal::local(), streams, CancellationToken::new()).await;
    let mut output = String::new();
    ours.read_to_string(&mut output).await.unwrap();
    (served, output)
}

#[tokio::test]
async fn what_was_asked_before_the_end_of_input_is_still_answered() {
    let (served, output) = serve(&format!("{INITIALIZE}\n{CREATE}\n")).await;
    assert!(served.is_ok());
    assert_eq!(output.lines().count(), 2, "{output}");
    assert!(output.contains("budget_allocated"), "{output}");
}

#[tokio::test]
async fn a_client_that_says_nothing_is_no_error() {
    let (served, output) = serve("").await;
    assert!(served.is_ok() && output.is_empty());
}

#[tokio::test]
async fn shutdown_ends_it_while_the_client_is_still_there() {
    let fixture = server(settings());
    let (mut ours, theirs) = tokio::io::duplex(1 << 20);
    ours.write_all(format!("{INITIALIZE}\n").as_bytes()).await.unwrap();
    let shutdown = CancellationToken::new();
    let serving = serve_streams(&fixture.server, Principal::local(), tokio::io::split(theirs), shutdown.clone());
    let stopping = async {
        let mut first = [0; 1];
        ours.read_exact(&mut first).await.unwrap();
        shutdown.cancel();
    };
    let (served, ()) = tokio::join!(serving, stopping);
    assert!(served.is_ok());
}

#[tokio::test]
async fn lines_that_are_no_messages_are_answered_and_the_last_one_needs_no_end() {
    let bytes_max = settings().message_bytes_max;
    let too_long = format!(r#"{{"x":"{}"}}"#, "y".repeat(bytes_max));
    let (served, output) = serve_slowly(&format!("{INITIALIZE}\nnot json\n{too_long}\n\n{CREATE}")).await;
    assert!(served.is_ok());
    assert!(output.contains(r#""id":null,"error":{"code":-32700,"#), "{output}");
    assert!(output.contains(&format!("larger than {bytes_max} bytes")), "{output}");
    assert!(output.contains("budget_allocated"), "{output}");
    assert_eq!(output.lines().count(), 4, "{output}");
}

#[tokio::test]
async fn a_line_without_a_value_is_answered_even_if_it_looks_like_json() {
    let not_utf_8: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\x8c\x86ping\"}";
    let too_large = br#"{"jsonrpc":"2.0","id":8,"method":"ping","params":{"x":1e999}}"#;
    let half_a_character = br#"{"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":"\ud800"}}"#;
    for broken in [not_utf_8, too_large, half_a_character] {
        let input = [INITIALIZE.as_bytes(), broken, CREATE.as_bytes()].join(&b'\n');
        let (served, output) = serve_slowly(&input).await;
        assert!(served.is_ok());
        assert!(output.contains(r#""id":null,"error":{"code":-32700,"#), "{output}");
        assert_eq!(output.lines().count(), 3, "{output}");
    }
}

/// Like [`serve`], for more input than fits the pipe, so that writing and serving run at the same time.
async fn serve_slowly(input: impl AsRef<[u8]>) -> (Result<(), StdioError>, String) {
    let fixture = server(settings());
    let (mut ours, theirs) = tokio::io::duplex(1 << 16);
    let streams = tokio::io::split(theirs);
    let serving = serve_streams(&fixture.server, Principal::local(), streams, CancellationToken::new());
    let asking = async {
        ours.write_all(input.as_ref()).await.unwrap();
        ours.shutdown().await.unwrap();
        let mut output = String::new();
        ours.read_to_string(&mut output).await.unwrap();
        output
    };
    tokio::join!(serving, asking)
}
