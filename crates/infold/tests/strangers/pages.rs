//! Web pages: what a browser would send for one that is not ours.

use anyhow::Result;
use serde_json::json;

use super::routes::{PROVIDERS, methods, paths};
use crate::support::{ApiAnswer, Program, infold};

/// Headers that a page's request has and ours has not.
const FOREIGN: [(&str, &str, &str); 12] = [
    ("origin", "https://evil.example", "origin_not_allowed"),
    ("origin", "http://evil.example:9090", "origin_not_allowed"),
    ("origin", "http://127.0.0.1.evil.example", "origin_not_allowed"),
    ("origin", "http://localhost.evil.example", "origin_not_allowed"),
    ("origin", "null", "origin_not_allowed"),
    ("origin", "file://", "origin_not_allowed"),
    ("host", "evil.example", "host_not_allowed"),
    ("host", "127.0.0.1.evil.example:9090", "host_not_allowed"),
    ("host", "localhost.evil.example", "host_not_allowed"),
    ("host", "10.0.0.1:9090", "host_not_allowed"),
    ("host", "0.0.0.0:9090", "host_not_allowed"),
    ("sec-fetch-site", "cross-site", "cross_site"),
];

#[tokio::test]
async fn a_foreign_origin_or_host_is_refused_on_every_route_with_every_method() -> Result<()> {
    let program = Program::start(infold()).await?;
    let mut paths = paths(&program).await?;
    paths.extend(PROVIDERS.map(str::to_owned));
    program.open("some-session", "Not to be touched").await?;
    let before = program.database()?.contents()?;
    let mut tried = 0;
    for path in &paths {
        for method in methods() {
            for (header, value, code) in FOREIGN {
                let body = json!({"description": "x"}).to_string();
                let request = program.api.request(method.clone(), path).header(header, value);
                let request = request.header("content-type", "application/json").body(body);
                let answer = ApiAnswer::read(request).await?;
                let answered = format!("{method} {path} with {header}: {value} got {} {}", answer.status, answer.text);
                assert_eq!(answer.status, 403, "{answered}");
                // An answer to HEAD has no body to say more in.
                let has_code = method == reqwest::Method::HEAD || answer.body["error"]["code"] == code;
                assert!(has_code, "{answered}");
                let shared = answer.headers.keys().find(|name| name.as_str().starts_with("access-control-"));
                assert_eq!(shared, None, "no page is allowed to read this: {answered}");
                tried += 1;
            }
        }
    }
    eprintln!("{tried} requests of pages refused");
    assert_eq!(program.database()?.contents()?, before, "nothing was touched");
    Ok(())
}

#[tokio::test]
async fn a_good_token_does_not_help_a_page() -> Result<()> {
    let program = Program::start(infold()).await?;
    let token = std::fs::read_to_string(program.daemon.data().join("token"))?;
    for path in paths(&program).await? {
        for (header, value, _) in FOREIGN {
            let request = program.api.request(reqwest::Method::GET, &path).header(header, value);
            let answer = ApiAnswer::read(request.bearer_auth(token.trim())).await?;
            assert_eq!(answer.status, 403, "{path} with {header}: {value}: {}", answer.text);
        }
    }
    Ok(())
}

#[tokio::test]
async fn names_and_origins_that_settings_allow_are_let_in() -> Result<()> {
    let setup = infold()
        .set("auth.allowed_hosts", r#"["infold.example"]"#)
        .set("auth.allowed_origins", r#"["https://tools.example"]"#);
    let program = Program::start(setup).await?;
    for (header, value) in [
        ("host", "infold.example"),
        ("host", "localhost:9090"),
        ("origin", "https://tools.example"),
        ("origin", "http://localhost:3000"),
    ] {
        let request = program.api.request(reqwest::Method::GET, "/api/v1/sessions").header(header, value);
        let answer = ApiAnswer::read(request).await?;
        assert_eq!(answer.status, 200, "{header}: {value}: {}", answer.text);
    }
    Ok(())
}
