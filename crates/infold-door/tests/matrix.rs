//! Every combination of Host, Origin, method and content type, on every route and on a path that is none.
use crate::common::{exchange, get_with, settings, start, verdict};

const HOSTS: [(&str, bool); 6] = [
    ("localhost", true),
    ("127.0.0.1:9090", true),
    ("[::1]:1", true),
    ("evil.example", false),
    ("localhost.evil.example:9090", false),
    ("192.0.2.1", false),
];
const ORIGINS: [(Option<&str>, bool); 6] = [
    (None, true),
    (Some("http://localhost:3000"), true),
    (Some("http://127.0.0.1:9090"), true),
    (Some("http://evil.example"), false),
    (Some("null"), false),
    (Some("https://localhost"), false),
];
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"];
const TYPES: [Option<&str>; 4] =
    [None, Some("application/json"), Some("text/plain"), Some("application/x-www-form-urlencoded")];
const PATHS: [&str; 7] = ["/who", "/anthropic/v1/messages", "/echo", "/healthz", "/open", "/not/there", "/"];

fn request(path: &str, method: &str, host: &str, origin: Option<&str>, kind: Option<&str>) -> String {
    let origin = origin.map(|origin| format!("Origin: {origin}\r\n")).unwrap_or_default();
    let kind = kind.map(|kind| format!("Content-Type: {kind}\r\n")).unwrap_or_default();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{origin}{kind}\
         Content-Length: 2\r\n\r\n{{}}"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_host_or_origin_is_refused_everywhere_and_ours_nowhere() {
    let door = start(settings()).await;
    let mut tried = 0;
    for (host, host_ours) in HOSTS {
        for (origin, origin_ours) in ORIGINS {
            for method in METHODS {
                for kind in TYPES {
                    for path in PATHS {
                        let answer = exchange(door.address, request(path, method, host, origin, kind)).await;
                        let case = format!("{method} {path} {host} {origin:?} {kind:?}: {answer}");
                        assert_eq!(crate::common::status(&answer) == 403, !(host_ours && origin_ours), "{case}");
                        assert_ne!(crate::common::status(&answer), 401, "{case}");
                        let head = answer.to_lowercase();
                        assert!(!head.contains("access-control-"), "{case}");
                        tried += 1;
                    }
                }
            }
        }
    }
    assert_eq!(tried, 6 * 6 * 7 * 4 * 7);
    door.close().await;
}

#[tokio::test]
async fn a_refusal_says_what_to_do() {
    let door = start(settings()).await;
    let answer = exchange(door.address, request("/who", "GET", "evil.example", None, None)).await;
    let body = answer.split_once("\r\n\r\n").expect("a body").1;
    assert_eq!(
        body,
        "{\"error\":{\"code\":\"host_not_allowed\",\"status\":403,\"message\":\"Host “evil.example” \
         is not a name of this infold: use 127.0.0.1 or localhost, or add the name to \
         auth.allowed_hosts\",\"data\":{}}}"
    );
    door.close().await;
}

#[tokio::test]
async fn pages_of_other_sites_are_refused_everywhere() {
    let door = start(settings()).await;
    for path in PATHS {
        let answer = exchange(door.address, get_with(path, "Sec-Fetch-Site: cross-site\r\n")).await;
        assert_eq!(verdict(&answer), "403 cross_site", "{path}");
    }
    door.close().await;
}

#[tokio::test]
async fn hosts_and_origins_of_the_settings_are_let_in() {
    let mut settings = settings();
    settings.allowed_hosts = vec!["infold.lan".to_owned()];
    settings.allowed_origins = vec!["https://app.example".to_owned()];
    let door = start(settings).await;
    let bytes = request("/who", "GET", "infold.lan:9090", Some("https://app.example"), None);
    assert_eq!(verdict(&exchange(door.address, bytes).await), "200 owner local subject -");
    door.close().await;
}

#[tokio::test]
async fn the_targets_own_host_counts_too() {
    let door = start(settings()).await;
    let ours = get_with("http://localhost/who", "");
    assert_eq!(verdict(&exchange(door.address, ours).await), "200 owner local subject -");
    let theirs = get_with("http://evil.example/who", "");
    assert_eq!(verdict(&exchange(door.address, theirs).await), "403 host_not_allowed");
    door.close().await;
}
