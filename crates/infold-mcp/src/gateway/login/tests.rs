//! What is pure about logins, and what is kept of them.

use reqwest::Url;
use serde_json::json;

use super::keeping::{LoginStore, StoreWish};
use super::keyring::{SessionBus, keyring_problem};
use super::returned::LoginReturn;
use super::stored::{LoginClient, SecretWay, StoredLogin, TokenAge};

fn login(access_token: &str) -> StoredLogin {
    StoredLogin {
        access_token: access_token.to_owned(),
        refresh_token: Some(format!("refresh of {access_token}")),
        received_at_ms: 1_000_000,
        expires_at_ms: Some(1_000_000 + 3_600_000),
        scopes: vec!["read".to_owned()],
        client: LoginClient { id: "id".to_owned(), secret: None, secret_way: SecretWay::Header },
        token_endpoint: "https://auth.example/token".to_owned(),
        revocation_endpoint: None,
        resource: "https://server.example/mcp".to_owned(),
        is_refused: false,
        wanted_scopes: Vec::new(),
    }
}

#[test]
fn a_token_is_renewed_shortly_before_its_end() {
    let hour = login("a");
    let age = |login: &StoredLogin, after_ms: u64| login.age(1_000_000 + after_ms);
    assert_eq!(age(&hour, 0), TokenAge::Fresh);
    assert_eq!(age(&hour, 3_569_999), TokenAge::Fresh);
    assert_eq!(age(&hour, 3_570_000), TokenAge::Due);
    assert_eq!(age(&hour, 3_600_000), TokenAge::Over);
    let minute = StoredLogin { expires_at_ms: Some(1_060_000), ..login("a") };
    assert_eq!((age(&minute, 53_999), age(&minute, 54_000)), (TokenAge::Fresh, TokenAge::Due));
    assert_eq!(age(&StoredLogin { expires_at_ms: None, ..login("a") }, u64::MAX / 2), TokenAge::Fresh);
    assert_eq!(hour.age(0), TokenAge::Fresh, "a clock that was set back ends nothing");
}

#[test]
fn new_tokens_take_the_place_of_old_ones_and_what_is_not_said_stays() {
    let refused = StoredLogin { is_refused: true, ..login("a") };
    let answer = json!({ "access_token": "b", "expires_in": 60 });
    let next = refused.with_tokens(&answer, 5_000).unwrap();
    assert_eq!((next.access_token.as_str(), next.refresh_token.as_deref()), ("b", Some("refresh of a")));
    assert_eq!((next.expires_at_ms, next.is_refused, next.scopes), (Some(65_000), false, vec!["read".to_owned()]));
    let answer = json!({ "access_token": "b", "refresh_token": "c", "expires_in": "60", "scope": "x y" });
    let next = login("a").with_tokens(&answer, 5_000).unwrap();
    assert_eq!((next.refresh_token.as_deref(), next.expires_at_ms), (Some("c"), Some(65_000)));
    assert_eq!(next.scopes, ["x", "y"]);
    assert!(login("a").with_tokens(&json!({ "access_token": "" }), 0).is_none());
    assert!(login("a").with_tokens(&json!(["access_token"]), 0).is_none());
}

#[test]
fn a_login_shows_none_of_its_secrets() {
    let secret = LoginClient { secret: Some("shh".to_owned()), ..login("a").client };
    let login = StoredLogin { client: secret, ..login("token") };
    assert_eq!(
        login.hide("it is token, not refresh of token or shh"),
        "it is [hidden], not refresh of [hidden] or [hidden]"
    );
    assert_eq!(format!("{login:?}"), "StoredLogin { expires_at_ms: Some(4600000), .. }");
    assert_eq!(format!("{:?}", login.client), "LoginClient { .. }");
    let returned = LoginReturn::Agreed { code: "secret".to_owned(), issuer: None };
    assert_eq!(format!("{returned:?}"), "Agreed");
}

#[test]
fn what_the_browser_comes_back_with_is_taken_only_with_the_state_of_this_login() {
    let read = |address: &str| LoginReturn::read(address, "s1");
    let agreed = |issuer: Option<&str>| LoginReturn::Agreed { code: "c".to_owned(), issuer: issuer.map(str::to_owned) };
    assert_eq!(read("/callback?code=c&state=s1"), agreed(None));
    assert_eq!(read(" http://127.0.0.1:9/callback?state=s1&code=c&iss=x \n"), agreed(Some("x")));
    for odd in
        ["", "/callback", "/callback?code=c", "/callback?code=c&state=s2", "?state=s1", "?state=s1&state=s1&code=c"]
    {
        assert_eq!(read(odd), LoginReturn::NotOurs, "{odd}");
    }
    assert_eq!(read("?state=s1&code=c&code=d"), LoginReturn::NotOurs);
    let denied = "?state=s1&error=access_denied&error_description=no%1b%5b31m%0athanks";
    assert_eq!(read(denied), LoginReturn::Denied("access_denied: no thanks".to_owned()));
    assert_eq!(read("?state=s1&error=no&code=c"), LoginReturn::Denied("no".to_owned()));
}

#[tokio::test]
async fn a_change_is_for_the_login_that_it_was_meant_for() {
    let folder = tempfile::tempdir().unwrap();
    let kept =
        LoginStore::new(folder.path().join("credentials")).of(&Url::parse("https://server.example/mcp").unwrap());
    assert_eq!((kept.read().await.unwrap(), kept.stamp()), (None, None));
    let lock = kept.lock().await.unwrap();
    kept.keep(&login("older"), StoreWish::File).await.unwrap();
    let stamp = kept.stamp();
    kept.keep(&login("newer"), StoreWish::File).await.unwrap();
    assert_ne!(kept.stamp(), stamp);

    kept.change(&login("older"), |login| login.is_refused = true).await.unwrap();
    assert_eq!(kept.read().await.unwrap(), Some(login("newer")));
    kept.change(&login("newer"), |login| login.is_refused = true).await.unwrap();
    assert_eq!(kept.read().await.unwrap(), Some(StoredLogin { is_refused: true, ..login("newer") }));
    drop(lock);
    drop(kept.lock().await.unwrap());
}

#[tokio::test]
async fn what_a_crash_left_half_written_is_not_read_and_goes_with_the_next_writing() {
    let folder = tempfile::tempdir().unwrap();
    let store = LoginStore::new(folder.path());
    let kept = store.of(&Url::parse("https://server.example/mcp").unwrap());
    kept.keep(&login("a"), StoreWish::File).await.unwrap();
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    std::fs::write(file.with_extension("new"), "{\"kept_in\": \"fi").unwrap();
    assert_eq!(kept.read().await.unwrap(), Some(login("a")));
    kept.keep(&login("b"), StoreWish::File).await.unwrap();
    assert!(!file.with_extension("new").exists());
    assert_eq!(kept.read().await.unwrap(), Some(login("b")));
    assert!(store.stamp("https://server.example/mcp#part").is_some());
    assert!(store.stamp("https://server.example/other").is_none());
}

#[test]
fn a_keyring_needs_its_program_and_a_bus() {
    let folder = tempfile::tempdir().unwrap();
    let problem = |bus| keyring_problem(Some(folder.path().as_os_str()), bus);
    assert_eq!(problem(SessionBus::There), Some("the program secret-tool is not installed"));
    std::fs::write(folder.path().join("secret-tool"), "").unwrap();
    assert_eq!(problem(SessionBus::There), None);
    assert!(problem(SessionBus::Absent).unwrap().contains("no session bus"));
    assert!(keyring_problem(None, SessionBus::There).is_some());
}
