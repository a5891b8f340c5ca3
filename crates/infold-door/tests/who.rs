//! Who is let in: by the kernel's word, by the token, by a JWT; and who is not.
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::common::{exchange, get_with, router, settings, start, start_on, verdict};
use infold_core::Owner;
use infold_door::{Door, DoorError, DoorSettings, JwtSettings, Token, Validator};
use jsonwebtoken::{EncodingKey, Header, encode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";
const NOBODY: u32 = 65534;
/// Every kind of path: with a principal, a provider's, and none at all.
const CLOSED_PATHS: [&str; 5] = ["/who", "/anthropic/v1/messages", "/echo", "/not/there", "/"];

/// A folder with a token and a JWT secret in it, and settings that use both.
fn keyed() -> (TempDir, DoorSettings) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let key = folder.path().join("secret");
    std::fs::write(&key, SECRET).expect("it can be written");
    let jwt = JwtSettings {
        algorithm: "HS256".to_owned(),
        issuer: "https://issuer".to_owned(),
        audience: "infold".to_owned(),
        key_file: Some(key),
        jwks_file: None,
        leeway_seconds: 0,
    };
    let token = Token::read_or_create(folder.path()).expect("a token can be made");
    (folder, DoorSettings { token: Some(token), jwt: Some(jwt), ..settings() })
}

fn claims(changes: Value) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs();
    let mut claims = json!({ "iss": "https://issuer", "aud": "infold", "sub": "ann", "exp": now + 600 });
    for (name, value) in changes.as_object().expect("an object") {
        claims[name] = value.clone();
    }
    claims
}

fn jwt(changes: Value) -> String {
    encode(&Header::default(), &claims(changes), &EncodingKey::from_secret(SECRET)).expect("signed")
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

/// Tokens that must not let anybody in.
fn bad_tokens() -> Vec<(&'static str, String)> {
    let good = jwt(json!({}));
    let (head, signature) = good.rsplit_once('.').expect("it has dots");
    let payload = head.split_once('.').expect("it has dots").1;
    let other = EncodingKey::from_secret(b"another secret of thirty-two bytes");
    let forged = encode(&Header::default(), &claims(json!({})), &other).expect("signed");
    vec![
        ("wrong", "0".repeat(64)),
        ("forged", forged),
        ("expired", jwt(json!({ "exp": 1_000_000_000 }))),
        ("not yet", jwt(json!({ "nbf": 99_999_999_999u64 }))),
        ("other audience", jwt(json!({ "aud": "other" }))),
        ("other issuer", jwt(json!({ "iss": "other" }))),
        ("no subject", jwt(json!({ "sub": null }))),
        ("alg none", format!("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{payload}.")),
        ("alg none, signed", format!("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{payload}.{signature}")),
        ("no signature", format!("{head}.")),
    ]
}

#[tokio::test]
async fn the_users_own_processes_need_no_token() {
    let door = start(settings()).await;
    for path in ["/who", "/anthropic/v1/messages"] {
        let answer = exchange(door.address, get_with(path, "")).await;
        assert_eq!(verdict(&answer), "200 owner local subject -", "{path}");
    }
    door.close().await;
}

#[tokio::test]
async fn the_token_and_a_jwt_each_name_their_owner() {
    let (_folder, settings) = keyed();
    let token = settings.token.clone().expect("there is one");
    let door = start(settings).await;
    let by = |lines: String| exchange(door.address, get_with("/who", &lines));

    assert_eq!(verdict(&by(bearer(token.as_str())).await), "200 owner local subject -");
    let own = format!("X-Infold-Token: {}\r\n", token.as_str());
    assert_eq!(verdict(&by(own).await), "200 owner local subject -");
    let ann = format!("200 owner {} subject ann", Owner::from_subject("ann").as_str());
    assert_eq!(verdict(&by(bearer(&jwt(json!({})))).await), ann);
    assert_eq!(verdict(&by(format!("X-Infold-Token: {}\r\n", jwt(json!({})))).await), ann);
    door.close().await;
}

#[tokio::test]
async fn a_permissive_validator_gives_everyone_the_local_sessions_and_keeps_the_claims() {
    let (_folder, settings) = keyed();
    let door = start(DoorSettings { validator: Validator::Permissive, ..settings }).await;
    let answer = exchange(door.address, get_with("/who", &bearer(&jwt(json!({}))))).await;
    assert_eq!(verdict(&answer), "200 owner local subject ann");
    door.close().await;
}

#[tokio::test]
async fn a_bad_token_is_refused_even_from_the_users_own_processes() {
    let (_folder, with_jwt) = keyed();
    let without_jwt = DoorSettings { jwt: None, ..with_jwt.clone() };
    for settings in [with_jwt, without_jwt, settings()] {
        let door = start(settings).await;
        for (name, token) in bad_tokens() {
            for path in CLOSED_PATHS {
                let own = get_with(path, &format!("X-Infold-Token: {token}\r\n"));
                let answer = exchange(door.address, own).await;
                assert_eq!(verdict(&answer), "401 token_invalid", "{name} {path}: {answer}");
                assert!(answer.contains("\r\nwww-authenticate: Bearer"), "{answer}");
            }
            let answer = exchange(door.address, get_with("/who", &bearer(&token))).await;
            assert_eq!(verdict(&answer), "401 token_invalid", "{name}: {answer}");
        }
        door.close().await;
    }
}

#[tokio::test]
async fn a_providers_key_is_not_taken_for_our_token() {
    let (_folder, settings) = keyed();
    let door = start(settings).await;
    let request = get_with("/anthropic/v1/messages", &bearer("sk-provider-key"));
    assert_eq!(verdict(&exchange(door.address, request).await), "200 owner local subject -");
    door.close().await;
}

#[tokio::test]
async fn health_needs_nobody_but_the_right_host() {
    let (_folder, settings) = keyed();
    let door = start(settings).await;
    for (path, body) in [("/healthz", "200 well"), ("/readyz", "200 ready")] {
        assert_eq!(verdict(&exchange(door.address, get_with(path, &bearer("wrong"))).await), body);
        let foreign = get_with(path, "Origin: http://evil.example\r\n");
        assert_eq!(verdict(&exchange(door.address, foreign).await), "403 origin_not_allowed");
    }
    door.close().await;
}

/// What a process of another user gets for these bytes; `None` if this process may not start one.
fn as_nobody(address: SocketAddr, bytes: &str) -> Option<String> {
    let port = address.port();
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}; printf '%s' \"$1\" >&3; cat <&3");
    let mut command = Command::new("bash");
    command.args(["-c", &script, "bash", bytes]).current_dir("/").uid(NOBODY).gid(NOBODY);
    match command.output() {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(error) => {
            eprintln!("skipped: only root can act as another user ({error})");
            None
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_user_of_the_machine_is_refused_on_every_path_but_health() {
    let (_folder, settings) = keyed();
    let token = settings.token.clone().expect("there is one");
    let door = start(settings).await;
    for path in CLOSED_PATHS {
        let Some(answer) = as_nobody(door.address, &get_with(path, "")) else { return };
        assert_eq!(verdict(&answer), "401 unauthenticated", "{path}: {answer}");
        assert!(answer.contains("data folder"), "{answer}");
    }
    let by = |path: &str, lines: &str| as_nobody(door.address, &get_with(path, lines)).expect("it worked before");
    assert_eq!(verdict(&by("/healthz", "")), "200 well");
    assert_eq!(verdict(&by("/who", &bearer(token.as_str()))), "200 owner local subject -");
    // Authorization is the provider's here, so that it cannot let anybody in.
    let provider = by("/anthropic/v1/messages", &bearer(token.as_str()));
    assert_eq!(verdict(&provider), "401 unauthenticated");
    door.close().await;
}

#[tokio::test]
async fn an_address_that_strangers_can_reach_needs_a_jwt() {
    let listener = TcpListener::bind("0.0.0.0:0").await.expect("it can be listened on");
    let (_folder, with_jwt) = keyed();
    let without_jwt = DoorSettings { jwt: None, ..with_jwt };
    let refused = Door::open(listener, without_jwt).err().expect("it is refused");
    assert!(matches!(refused, DoorError::OpenToStrangers { .. }), "{refused}");
}

#[tokio::test]
async fn beyond_loopback_the_uid_proves_nothing() {
    let listener = TcpListener::bind("0.0.0.0:0").await.expect("it can be listened on");
    let (_folder, settings) = keyed();
    let token = settings.token.clone().expect("there is one");
    let door = start_on(listener, settings, router(), CancellationToken::new());
    let address = SocketAddr::from(([127, 0, 0, 1], door.address.port()));
    let by = |lines: String| exchange(address, get_with("/who", &lines));

    let nobody = by(String::new()).await;
    assert_eq!(verdict(&nobody), "401 unauthenticated");
    assert!(nobody.contains("send a JWT"), "{nobody}");
    // The peer is on this machine all the same, so it may have read the token.
    assert_eq!(verdict(&by(bearer(token.as_str())).await), "200 owner local subject -");
    let ann = format!("200 owner {} subject ann", Owner::from_subject("ann").as_str());
    assert_eq!(verdict(&by(bearer(&jwt(json!({})))).await), ann);
    door.close().await;
}
