//! Which hosts and origins are let in.

use std::net::Ipv4Addr;

use http::Request;

use super::*;
use crate::settings::Validator;

fn settings(hosts: &[&str], origins: &[&str]) -> DoorSettings {
    let owned = |list: &[&str]| list.iter().map(|text| text.to_string()).collect();
    DoorSettings {
        connections_max: 1,
        head_bytes_max: 1024,
        head_timeout_ms: 1,
        body_bytes_max: 1,
        long_bodies: Vec::new(),
        idle_timeout_ms: 1,
        stall_timeout_ms: 1,
        drain_timeout_ms: 1,
        allowed_hosts: owned(hosts),
        allowed_origins: owned(origins),
        provider_paths: Vec::new(),
        validator: Validator::Strict,
        token: None,
        jwt: None,
    }
}

fn names(hosts: &[&str], origins: &[&str]) -> AllowedNames {
    let address = IpAddr::from(Ipv4Addr::new(127, 0, 0, 9));
    AllowedNames::new(&settings(hosts, origins), address).expect("the settings are right")
}

/// `ok`, or the refusal's code.
fn check(names: &AllowedNames, target: &str, headers: &[(&str, &str)]) -> &'static str {
    let mut request = Request::builder().uri(target);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (parts, ()) = request.body(()).expect("the request is well formed").into_parts();
    match names.check(&parts) {
        Ok(()) => "ok",
        Err(refusal) => refusal.code,
    }
}

#[test]
fn hosts_are_let_in_by_name_and_port() {
    let names = names(&["infold.lan", "box:8080", "[fd00::1]:9090"], &[]);
    for host in [
        "127.0.0.1",
        "127.0.0.1:9090",
        "localhost",
        "LOCALHOST:1",
        "[::1]",
        "[::1]:9090",
        "[0:0:0:0:0:0:0:1]:9090",
        "127.0.0.9:1",
        "infold.lan",
        "infold.lan:443",
        "box:8080",
        "[fd00:0::1]:9090",
    ] {
        assert_eq!(check(&names, "/", &[("host", host)]), "ok", "{host}");
    }
    for host in [
        "",
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil.localhost",
        "localhost.",
        "localhost:",
        "localhost:x",
        "localhost:99999",
        "user@localhost",
        "localhost@evil",
        "localhost/",
        "localhost evil",
        "localhost,evil",
        "[::1",
        "::1",
        "[::1]x",
        "[::2]",
        "127.1",
        "2130706433",
        "0.0.0.0",
        "127.0.0.2",
        "box",
        "box:8081",
        "[fd00::1]",
        "loc\u{e9}lhost",
    ] {
        assert_eq!(check(&names, "/", &[("host", host)]), "host_not_allowed", "{host}");
    }
}

#[test]
fn a_name_in_the_target_must_be_ours_too() {
    let names = names(&[], &[]);
    let host = [("host", "localhost")];
    assert_eq!(check(&names, "http://localhost:9090/a", &host), "ok");
    assert_eq!(check(&names, "http://evil.example/a", &host), "host_not_allowed");
    assert_eq!(check(&names, "http://localhost/a", &[("host", "evil.example")]), "host_not_allowed");
}

#[test]
fn origins_are_let_in_by_scheme_name_and_port() {
    let names = names(&[], &["https://app.example", "http://dev.example:*", "vscode-webview://abc"]);
    let with = |origin| check(&names, "/", &[("host", "localhost"), ("origin", origin)]);
    for origin in [
        "http://localhost",
        "http://localhost:3000",
        "http://127.0.0.1:1",
        "http://[::1]:8080",
        "https://app.example",
        "https://app.example:443",
        "http://dev.example:81",
        "http://dev.example",
        "vscode-webview://abc",
    ] {
        assert_eq!(with(origin), "ok", "{origin}");
    }
    for origin in [
        "null",
        "",
        "*",
        "http://evil.example",
        "https://localhost",
        "http://localhost.evil.example",
        "http://localhost@evil.example",
        "http://localhost:3000/",
        "http://localhost:*",
        "localhost",
        "://localhost",
        "http://app.example",
        "https://app.example:8443",
        "https://dev.example",
        "vscode-webview://abcd",
        "file://",
        "http://localhost http://evil.example",
    ] {
        assert_eq!(with(origin), "origin_not_allowed", "{origin}");
    }
}

#[test]
fn each_of_several_origins_must_be_ours() {
    let names = names(&[], &[]);
    let two = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://evil.example")];
    assert_eq!(check(&names, "/", &two), "origin_not_allowed");
}

#[test]
fn pages_of_other_sites_are_refused_without_an_origin_too() {
    let names = names(&[], &[]);
    for (site, verdict) in [
        ("cross-site", "cross_site"),
        ("Cross-Site", "cross_site"),
        ("same-origin", "ok"),
        ("same-site", "ok"),
        ("none", "ok"),
    ] {
        assert_eq!(check(&names, "/", &[("host", "localhost"), ("sec-fetch-site", site)]), verdict);
    }
}

#[test]
fn settings_that_are_no_names_are_refused() {
    let address = IpAddr::from(Ipv4Addr::LOCALHOST);
    for (hosts, origins) in [
        (vec!["*"], vec![]),
        (vec!["http://a"], vec![]),
        (vec![""], vec![]),
        (vec![], vec!["*"]),
        (vec![], vec!["null"]),
        (vec![], vec!["a.example"]),
        (vec![], vec!["https://a.example/"]),
    ] {
        assert!(AllowedNames::new(&settings(&hosts, &origins), address).is_err(), "{hosts:?} {origins:?}");
    }
}

#[test]
fn the_address_that_means_every_address_is_no_name() {
    let names = AllowedNames::new(&settings(&[], &[]), IpAddr::from(Ipv4Addr::UNSPECIFIED));
    let names = names.expect("the settings are right");
    assert_eq!(check(&names, "/", &[("host", "0.0.0.0:9090")]), "host_not_allowed");
}
