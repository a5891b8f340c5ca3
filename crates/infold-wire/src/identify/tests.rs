//! Tests of finding out whose request it is.

use infold_core::transcript::Client;
use infold_core::view::RequestKind;

use super::{RequestIdentity, identify};
use crate::request::{Api, Request};

const TOOLS: &str = r#""tools":[{"name":"Bash"}]"#;

fn asked(api: Api, headers: &[(&str, &str)], body: &str) -> RequestIdentity {
    identify(api, headers, &Request::read(api, body.as_bytes()).unwrap())
}

fn named(session: &str, agent: Option<&str>, kind: RequestKind, client: Option<Client>) -> RequestIdentity {
    RequestIdentity { session: Some(session.to_owned()), agent: agent.map(str::to_owned), kind, client }
}

#[test]
fn claude_code_says_it_in_headers_or_in_its_users_id() {
    let client = Some(Client::ClaudeCode);
    let body = format!(r#"{{"messages":[],{TOOLS}}}"#);
    let headers = [("X-Claude-Code-Session-Id", "s1"), ("x-claude-code-agent-id", "a1")];
    assert_eq!(asked(Api::Messages, &headers, &body), named("s1", Some("a1"), RequestKind::Turn, client));

    let body = format!(
        r#"{{"messages":[],{TOOLS},"metadata":{{"user_id":"{{\"device_id\":\"d\",\"session_id\":\"s2\"}}"}}}}"#
    );
    assert_eq!(asked(Api::Messages, &[], &body), named("s2", None, RequestKind::Turn, client));

    let body = r#"{"messages":[],"metadata":{"user_id":"user_ab_account__session_12-34"}}"#;
    assert_eq!(asked(Api::Messages, &[], body), named("12-34", None, RequestKind::Side, client));

    let body = r#"{"messages":[],"metadata":{"user_id":"somebody"}}"#;
    assert_eq!(asked(Api::Messages, &[], body).session, None);
}

#[test]
fn codex_says_it_in_headers_and_in_its_turns_metadata() {
    let body = r#"{"input":[],"tools":[],"prompt_cache_key":"k"}"#;
    let client = Some(Client::Codex);
    let headers = |kind: &'static str| [("session-id", "s1"), ("thread-id", "s1"), ("x-codex-turn-metadata", kind)];
    let turn = headers(r#"{"request_kind":"turn"}"#);
    assert_eq!(asked(Api::Responses, &turn, body), named("s1", None, RequestKind::Turn, client));
    let compaction = headers(r#"{"request_kind":"compaction"}"#);
    assert_eq!(asked(Api::Responses, &compaction, body), named("s1", None, RequestKind::Compaction, client));
    let unknown_kind = headers(r#"{"request_kind":"unheard-of"}"#);
    assert_eq!(asked(Api::Responses, &unknown_kind, body), named("s1", None, RequestKind::Side, client));

    let subagent = [("session_id", "s1"), ("Thread-Id", "t2"), ("x-codex-parent-thread-id", "s1")];
    assert_eq!(asked(Api::Responses, &subagent, body), named("s1", Some("t2"), RequestKind::Side, client));
    let originator = [("originator", "codex_cli_rs")];
    assert_eq!(asked(Api::Responses, &originator, body), named("k", None, RequestKind::Side, client));
}

#[test]
fn a_key_that_others_share_a_cache_by_is_no_session() {
    let body = r#"{"input":[],"tools":[],"prompt_cache_key":"all-of-us"}"#;
    assert_eq!(asked(Api::Responses, &[], body).session, None);
}

#[test]
fn opencode_says_it_in_headers() {
    let body = format!(r#"{{"messages":[],{TOOLS}}}"#);
    let client = Some(Client::OpenCode);
    let headers = [("x-session-affinity", "ses_1"), ("X-Session-Id", "ses_1")];
    assert_eq!(asked(Api::Chat, &headers, &body), named("ses_1", None, RequestKind::Turn, client));
    let headers = [("X-Session-Id", "ses_2"), ("x-parent-session-id", "ses_1")];
    assert_eq!(asked(Api::Chat, &headers, &body), named("ses_1", Some("ses_2"), RequestKind::Turn, client));
}

#[test]
fn a_client_that_says_nothing_has_no_session() {
    let body = format!(r#"{{"messages":[],{TOOLS}}}"#);
    let nobody = RequestIdentity { session: None, agent: None, kind: RequestKind::Turn, client: None };
    assert_eq!(asked(Api::Chat, &[("user-agent", "curl"), ("x-session-id", " ")], &body), nobody);
}

#[test]
fn a_compaction_is_known_by_the_words_that_ask_for_it() {
    let body = |last: &str| format!(r#"{{"messages":[{{"role":"assistant","content":"x"}},{last}],{TOOLS}}}"#);
    let asking = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"r"},{"type":"text","text":"CRITICAL: Respond with TEXT ONLY. …"}]}"#;
    let instructed = format!(r#"{asking},{{"role":"system","content":"rules"}}"#);
    let asked = |last: &str| asked(Api::Messages, &[], &body(last)).kind;
    assert_eq!(asked(asking), RequestKind::Compaction);
    assert_eq!(asked(&instructed), RequestKind::Compaction);
    assert_eq!(asked(&format!(r#"{asking},{{"role":"assistant","content":"summary"}}"#)), RequestKind::Turn);
    assert_eq!(
        asked(r#"{"role":"user","content":"What does CRITICAL: Respond with TEXT ONLY mean?"}"#),
        RequestKind::Turn
    );
}
