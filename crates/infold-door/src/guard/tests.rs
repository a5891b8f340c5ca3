//! Which credential counts on which path.

use std::net::Ipv4Addr;

use http::Request;

use super::*;
use crate::settings::JwtSettings;

fn settings() -> DoorSettings {
    DoorSettings {
        connections_max: 1,
        head_bytes_max: 1024,
        head_timeout_ms: 1,
        body_bytes_max: 1,
        long_bodies: Vec::new(),
        idle_timeout_ms: 1,
        stall_timeout_ms: 1,
        drain_timeout_ms: 1,
        allowed_hosts: Vec::new(),
        allowed_origins: Vec::new(),
        provider_paths: vec!["/anthropic".to_owned()],
        validator: Validator::Strict,
        token: None,
        jwt: None,
    }
}

/// The credential that is taken off a request, or the refusal's code; and the names of the headers that are left.
fn take(path: &str, headers: &[(&str, &str)]) -> (String, Vec<String>) {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 9090));
    let guard = Guard::new(&settings(), address).expect("the settings are right");
    let mut request = Request::builder().uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (mut parts, ()) = request.body(()).expect("the request is well formed").into_parts();
    let taken = match guard.take_credential(&mut parts) {
        Ok(Some(credential)) => credential,
        Ok(None) => "nothing".to_owned(),
        Err(refusal) => refusal.code.to_owned(),
    };
    (taken, parts.headers.keys().map(|name| name.to_string()).collect())
}

#[test]
fn either_header_carries_our_token_and_neither_is_left() {
    let none: Vec<String> = Vec::new();
    assert_eq!(take("/mcp", &[]), ("nothing".to_owned(), none.clone()));
    for value in ["Bearer abc", "bearer abc", "BEARER   abc"] {
        assert_eq!(take("/mcp", &[("authorization", value)]), ("abc".to_owned(), none.clone()));
    }
    assert_eq!(take("/mcp", &[("x-infold-token", "abc")]), ("abc".to_owned(), none.clone()));
    let both = [("x-infold-token", "abc"), ("authorization", "Bearer abc")];
    assert_eq!(take("/mcp", &both), ("abc".to_owned(), none));
}

#[test]
fn on_provider_paths_authorization_is_not_ours() {
    let theirs = [("authorization", "Bearer sk-provider")];
    for path in ["/anthropic", "/anthropic/v1/messages"] {
        assert_eq!(take(path, &theirs), ("nothing".to_owned(), vec!["authorization".to_owned()]));
    }
    for path in ["/anthropics", "/", "//anthropic/v1", "/mcp/anthropic/"] {
        assert_eq!(take(path, &theirs).0, "sk-provider", "{path}");
    }
    let both = [("x-infold-token", "abc"), ("authorization", "Bearer sk-provider")];
    let left = vec!["authorization".to_owned()];
    assert_eq!(take("/anthropic/v1/messages", &both), ("abc".to_owned(), left));
}

#[test]
fn credentials_that_could_be_read_in_two_ways_are_refused() {
    let twice = [("x-infold-token", "a"), ("x-infold-token", "a")];
    assert_eq!(take("/", &twice).0, "token_ambiguous");
    let twice = [("authorization", "Bearer a"), ("authorization", "Bearer b")];
    assert_eq!(take("/", &twice).0, "token_ambiguous");
    let differing = [("x-infold-token", "a"), ("authorization", "Bearer b")];
    assert_eq!(take("/", &differing).0, "token_ambiguous");
    for value in ["", "Bearer", "Bearer ", "Basic dTpw", "abc", "Bearer caf\u{e9}"] {
        assert_eq!(take("/", &[("authorization", value)]).0, "token_invalid", "{value}");
    }
    assert_eq!(take("/", &[("x-infold-token", "")]).0, "token_invalid");
}

#[test]
fn an_address_that_strangers_can_reach_needs_a_jwt() {
    for address in ["0.0.0.0:9090", "[::]:9090", "192.0.2.1:9090", "[::ffff:192.0.2.1]:9090"] {
        let address: SocketAddr = address.parse().expect("an address");
        let refused = Guard::new(&settings(), address).err().expect("it is refused");
        assert!(matches!(refused, DoorError::OpenToStrangers { .. }));
        assert!(refused.to_string().contains("set auth.jwt"), "{refused}");
    }
    for address in ["127.0.0.1:9090", "127.8.8.8:1", "[::1]:9090", "[::ffff:127.0.0.1]:1"] {
        assert!(Guard::new(&settings(), address.parse().expect("an address")).is_ok());
    }
}

#[test]
fn an_empty_secret_refuses_to_start() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    let jwt = JwtSettings {
        algorithm: "HS256".to_owned(),
        issuer: "i".to_owned(),
        audience: "a".to_owned(),
        key_file: Some(file.path().to_owned()),
        jwks_file: None,
        leeway_seconds: 0,
    };
    let settings = DoorSettings { jwt: Some(jwt), ..settings() };
    assert!(Guard::new(&settings, SocketAddr::from((Ipv4Addr::LOCALHOST, 1))).is_err());
}
