//! Bodies that are a message, and bodies that are not.

use super::read;

fn check(body: &str) -> String {
    match read(body.as_bytes()) {
        Ok(envelope) => format!("{:?} {:?}", envelope.method.as_deref(), envelope.id.as_deref()),
        Err(problem) => problem.body(),
    }
}

#[test]
fn requests_notifications_and_responses_are_messages() {
    assert_eq!(check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), r#"Some("ping") Some("1")"#);
    assert_eq!(check(r#"  {"jsonrpc":"2.0","id":"a","method":"ping"}"#), r#"Some("ping") Some("\"a\"")"#);
    assert_eq!(
        check(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
        r#"Some("notifications/initialized") None"#
    );
    assert_eq!(check(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), "None None");
}

#[test]
fn everything_else_is_answered_with_what_is_wrong() {
    let problems: Vec<String> = [
        "",
        "nonsense",
        r#"{"jsonrpc":"2.0","#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        r#"{"id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
    ]
    .into_iter()
    .map(check)
    .collect();
    insta::assert_snapshot!(problems.join("\n"));
}

#[test]
fn a_cancellation_names_the_request_as_it_was_written() {
    let cancels = |params: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#);
        read(body.as_bytes()).unwrap().cancels()
    };
    assert_eq!(cancels(r#"{"requestId":7}"#).as_deref(), Some("7"));
    assert_eq!(cancels(r#"{"requestId":"a"}"#).as_deref(), Some("\"a\""));
    assert_eq!(cancels("{}"), None);
}
