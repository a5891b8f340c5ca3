//! Which headers are passed on, and which belong to one connection.

use super::*;

fn map(lines: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        let name: HeaderName = name.parse().expect("a name");
        headers.append(name, HeaderValue::from_str(value).expect("a value"));
    }
    headers
}

fn lines(headers: &HeaderMap) -> Vec<String> {
    headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().expect("text"))).collect()
}

#[test]
fn headers_keep_their_order_and_those_of_one_connection_stay_behind() {
    let from = map(&[
        ("host", "127.0.0.1:9090"),
        ("connection", "keep-alive, x-hop"),
        ("x-api-key", "k"),
        ("x-hop", "1"),
        ("anthropic-beta", "a,b"),
        ("te", "trailers"),
        ("content-length", "7"),
        ("x-infold-token", "ours"),
        ("anthropic-beta", "c"),
        ("expect", "100-continue"),
        ("x-last", "z"),
    ]);
    let upstream = Upstream::parse("http://127.0.0.1:1234").expect("an address");
    let expected = [
        "host: 127.0.0.1:1234",
        "x-api-key: k",
        "anthropic-beta: a,b",
        "anthropic-beta: c",
        "content-length: 9",
        "x-last: z",
    ];
    assert_eq!(lines(&for_upstream(&from, &upstream, 9)), expected);
}

#[test]
fn over_tls_the_host_is_the_upstreams_too() {
    let upstream = Upstream::parse("https://api.example/base").expect("an address");
    let sent = for_upstream(&map(&[("host", "127.0.0.1:9090"), ("a", "b")]), &upstream, 0);
    assert_eq!(lines(&sent), ["host: api.example", "a: b"]);
}

#[test]
fn connection_cannot_take_the_length_away() {
    let upstream = Upstream::parse("http://127.0.0.1:1").expect("an address");
    let sent = for_upstream(&map(&[("connection", "content-length"), ("content-length", "3")]), &upstream, 3);
    assert_eq!(lines(&sent), ["content-length: 3"]);
}
