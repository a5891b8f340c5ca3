//! Commands that make headers, and commands that do not.

use super::*;

fn made_by(command: &str) -> MadeHeaders {
    let helper = HeadersHelper { command: command.to_owned(), server: "tracker".to_owned() };
    MadeHeaders::new(helper, "https://tracker.example/mcp".to_owned())
}

#[tokio::test]
async fn what_the_command_prints_are_the_headers() {
    let made = made_by(r#"echo "{\"X-Key\": \"of $CLAUDE_CODE_MCP_SERVER_NAME at $CLAUDE_CODE_MCP_SERVER_URL\"}""#);
    let headers = made.headers().await.unwrap();
    assert_eq!(headers["x-key"], "of tracker at https://tracker.example/mcp");
    assert!(headers["x-key"].is_sensitive());
    assert_eq!(
        made.hide("no such key: of tracker at https://tracker.example/mcp"),
        "no such key: of tracker at [hidden]"
    );
    // The command makes the same again, which is no reason to ask the server again.
    assert_eq!(made.renewed(&headers).await.unwrap(), None);
}

#[tokio::test]
async fn what_is_no_headers_is_named_and_never_shown() {
    let cases = [
        ("echo secret-nonsense", "print one JSON object of texts"),
        (r#"echo '{"X-Key": 7}'"#, "print one JSON object of texts"),
        (r#"echo '{"X Key": "secret-nonsense"}'"#, r#"the header "X Key" is not valid"#),
        ("echo secret-nonsense >&2; exit 3", "it ended with exit status: 3"),
        ("yes secret-nonsense", "it printed more than 65536 bytes"),
    ];
    for (command, wanted) in cases {
        let error = made_by(command).headers().await.unwrap_err().to_string();
        assert!(error.contains(wanted) && error.contains("headers_helper"), "{command}: {error}");
        assert!(!error.contains("secret"), "{command}: {error}");
    }
}
