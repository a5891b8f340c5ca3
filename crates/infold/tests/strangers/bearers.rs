//! Bearers of tokens: forged, expired and otherwise bad ones are refused, whoever shows them; good ones
//! are let in.

use anyhow::Result;
use reqwest::{Method, StatusCode};

use super::routes::{HEALTH, methods, paths};
use crate::support::{ApiAnswer, Issuer, Program, infold};

/// Whether an answer has this error code. An answer to HEAD has no body, so it need not have it.
fn says(answer: &ApiAnswer, method: &Method, code: &str) -> bool {
    *method == Method::HEAD || answer.body["error"]["code"] == code
}

#[tokio::test]
async fn forged_and_expired_tokens_are_refused_on_every_route_with_every_method() -> Result<()> {
    let issuer = Issuer::new()?;
    let program = Program::start(issuer.believed_by(infold())).await?;
    program.open("some-session", "Not to be touched").await?;
    let before = program.database()?.contents()?;
    let closed: Vec<String> =
        paths(&program).await?.into_iter().filter(|path| !HEALTH.contains(&path.as_str())).collect();
    for (what, token) in issuer.bad_tokens()? {
        for path in &closed {
            for method in methods() {
                let answer = ApiAnswer::read(program.api.request(method.clone(), path).bearer_auth(&token)).await?;
                let shown = format!("{method} {path}, {what}: {} {}", answer.status, answer.text);
                assert_eq!(answer.status, 401, "{shown}");
                assert!(says(&answer, &method, "token_invalid"), "{shown}");
                assert!(answer.header("www-authenticate").is_some_and(|value| value.starts_with("Bearer")), "{shown}");
                assert!(!answer.text.contains(&token), "the token is repeated: {shown}");
            }
            let answer =
                ApiAnswer::read(program.api.request(Method::GET, path).header("x-infold-token", &token)).await?;
            assert_eq!(answer.status, 401, "GET {path} with X-Infold-Token, {what}: {}", answer.text);
        }
    }
    assert_eq!(program.database()?.contents()?, before, "nothing was touched");
    assert!(!program.daemon.stderr().contains("eyJ"), "no token is logged: {}", program.daemon.stderr());
    Ok(())
}

#[tokio::test]
async fn a_credential_that_can_be_read_in_two_ways_is_refused() -> Result<()> {
    let issuer = Issuer::new()?;
    let program = Program::start(issuer.believed_by(infold())).await?;
    let (ann, bob) = (issuer.token("ann")?, issuer.token("bob")?);
    let get = || program.api.request(Method::GET, "/api/v1/sessions");
    for (what, request) in [
        ("two tokens in one header", get().bearer_auth(&ann).bearer_auth(&bob)),
        ("two tokens in two headers", get().bearer_auth(&ann).header("x-infold-token", &bob)),
        ("the same header twice", get().header("x-infold-token", &ann).header("x-infold-token", &ann)),
        ("another scheme", get().header("authorization", format!("Basic {ann}"))),
        ("no scheme", get().header("authorization", &ann)),
        ("an empty token", get().header("authorization", "Bearer ")),
        ("an empty header", get().header("x-infold-token", "")),
    ] {
        let answer = ApiAnswer::read(request).await?;
        assert_eq!(answer.status, 401, "{what}: {}", answer.text);
    }
    Ok(())
}

#[tokio::test]
async fn good_tokens_are_let_in_on_every_route() -> Result<()> {
    let issuer = Issuer::new()?;
    let program = Program::start(issuer.believed_by(infold())).await?;
    let jwt = issuer.token("ann")?;
    let own = std::fs::read_to_string(program.daemon.data().join("token"))?;
    for path in paths(&program).await? {
        for method in methods() {
            for token in [jwt.as_str(), own.trim()] {
                // Only the head is waited for: a stream of events has no end.
                let answer = program.api.request(method.clone(), &path).bearer_auth(token).send().await?;
                let refused = matches!(answer.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
                assert!(!refused, "{method} {path} got {}", answer.status());
                assert!(!answer.status().is_server_error(), "{method} {path} got {}", answer.status());
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn where_no_issuer_is_set_up_no_jwt_is_believed() -> Result<()> {
    let issuer = Issuer::new()?;
    let program = Program::plain().await?;
    let jwt = issuer.token("ann")?;
    for path in paths(&program).await?.iter().filter(|path| !HEALTH.contains(&path.as_str())) {
        let answer = ApiAnswer::read(program.api.request(Method::GET, path).bearer_auth(&jwt)).await?;
        assert_eq!(
            (answer.status, says(&answer, &Method::GET, "token_invalid")),
            (401, true),
            "{path}: {}",
            answer.text
        );
    }
    Ok(())
}
