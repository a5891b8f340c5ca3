//! Tokens in, principals or reasons out. Keys are made afresh in each test.

use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{EncodingKey, Header, encode};
use serde_json::{Value, json};

use super::*;

const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs()
}

fn good() -> Value {
    json!({ "iss": "https://issuer", "aud": "infold", "sub": "ann", "exp": now() + 600 })
}

/// The good claims with one changed, or taken away by `null`.
fn with(name: &str, value: Value) -> Value {
    let mut claims = good();
    match value {
        Value::Null => claims.as_object_mut().expect("an object").remove(name),
        value => claims.as_object_mut().expect("an object").insert(name.to_owned(), value),
    };
    claims
}

fn settings(algorithm: &str) -> JwtSettings {
    JwtSettings {
        algorithm: algorithm.to_owned(),
        issuer: "https://issuer".to_owned(),
        audience: "infold".to_owned(),
        key_file: None,
        jwks_file: None,
        leeway_seconds: 5,
    }
}

/// A verifier whose key file, or JWK set, holds `content`.
fn with_key(algorithm: &str, content: &[u8]) -> Result<Verifier, DoorError> {
    let file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    std::fs::write(file.path(), content).expect("it can be written");
    let path = Some(file.path().to_owned());
    Verifier::new(&JwtSettings { key_file: path, ..settings(algorithm) })
}

fn with_set(algorithm: &str, set: &Value) -> Result<Verifier, DoorError> {
    let file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    std::fs::write(file.path(), set.to_string()).expect("it can be written");
    let path = Some(file.path().to_owned());
    Verifier::new(&JwtSettings { jwks_file: path, ..settings(algorithm) })
}

fn hmac() -> Verifier {
    with_key("HS256", SECRET).expect("the settings are right")
}

fn signed(claims: &Value) -> String {
    encode(&Header::default(), claims, &EncodingKey::from_secret(SECRET)).expect("it is signed")
}

/// Why a token with these claims is refused.
fn reason_for(claims: &Value) -> &'static str {
    hmac().verify(&signed(claims)).expect_err("the token is refused")
}

/// The sentence with which a verifier is refused, without the file's name.
fn refused(made: Result<Verifier, DoorError>) -> String {
    match made.err().expect("the settings are refused") {
        DoorError::Key { problem, .. } | DoorError::Setting { problem, .. } => problem,
        other => other.to_string(),
    }
}

fn ec_key() -> EncodingKey {
    let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
    EncodingKey::from_ec_der(made.expect("a key can be made").as_ref())
}

fn jwk(key: &EncodingKey, algorithm: Algorithm, kid: &str) -> Jwk {
    let mut jwk = Jwk::from_encoding_key(key, algorithm).expect("the key is of that kind");
    jwk.common.key_id = Some(kid.to_owned());
    jwk
}

fn set(keys: Vec<Jwk>) -> Value {
    serde_json::to_value(JwkSet { keys }).expect("a set is JSON")
}

fn signed_es256(kid: Option<&str>, key: &EncodingKey) -> String {
    let header = Header { kid: kid.map(str::to_owned), ..Header::new(Algorithm::ES256) };
    encode(&header, &good(), key).expect("it is signed")
}

#[test]
fn a_good_token_names_its_bearer() {
    let mut claims = with("scope", json!("write read"));
    claims["scp"] = json!(["read", "admin"]);
    let principal = hmac().verify(&signed(&claims)).expect("the token is good");
    assert_eq!(principal.owner, Owner::from_subject("ann"));
    assert_eq!(principal.claims.subject.as_deref(), Some("ann"));
    assert_eq!(principal.claims.issuer.as_deref(), Some("https://issuer"));
    assert_eq!(principal.claims.scopes, ["admin", "read", "write"]);

    let several = with("aud", json!(["other", "infold"]));
    assert!(hmac().verify(&signed(&several)).is_ok());
}

#[test]
fn times_are_checked_with_the_leeway_and_no_more() {
    assert_eq!(reason_for(&with("exp", json!(now() - 30))), "it has expired");
    assert_eq!(reason_for(&with("nbf", json!(now() + 60))), "it is not valid yet");
    assert!(hmac().verify(&signed(&with("exp", json!(now() - 1)))).is_ok());
    assert!(hmac().verify(&signed(&with("nbf", json!(now())))).is_ok());
}

#[test]
fn every_claim_is_required_and_typed() {
    for name in ["exp", "iss", "aud", "sub"] {
        let reason = reason_for(&with(name, Value::Null));
        assert!(
            ["it lacks one of the claims exp, iss, aud and sub", "a claim has the wrong type"].contains(&reason),
            "{name}: {reason}"
        );
    }
    for (name, value) in [
        ("exp", json!("99999999999")),
        ("exp", json!(true)),
        ("exp", json!(-1)),
        ("exp", json!([99999999999u64])),
        ("nbf", json!("0")),
        ("iss", json!(["https://issuer"])),
        ("iss", json!(1)),
        ("aud", json!(1)),
        ("aud", json!({ "infold": true })),
        ("sub", json!(7)),
        ("sub", json!(["ann"])),
        ("sub", json!("")),
        ("sub", json!("a\nb")),
        ("sub", json!("x".repeat(256))),
        ("scope", json!(["read"])),
    ] {
        assert!(hmac().verify(&signed(&with(name, value.clone()))).is_err(), "{name}: {value}");
    }
}

#[test]
fn other_issuers_and_audiences_are_refused() {
    assert_eq!(reason_for(&with("iss", json!("https://other"))), "its issuer is not the configured one");
    assert_eq!(reason_for(&with("aud", json!("other"))), "it was issued for another audience");
    assert_eq!(reason_for(&with("aud", json!([]))), "it was issued for another audience");
}

#[test]
fn forged_tokens_are_refused() {
    let verifier = hmac();
    let other = EncodingKey::from_secret(b"another secret of thirty-two bytes");
    let forged = encode(&Header::default(), &good(), &other).expect("it is signed");
    assert_eq!(verifier.verify(&forged).err(), Some("its signature does not hold"));

    let token = signed(&good());
    let parts: Vec<&str> = token.split('.').collect();
    let stolen = signed(&with("sub", json!("bob")));
    let mixed = format!("{}.{}.{}", parts[0], stolen.split('.').nth(1).expect("a payload"), parts[2]);
    assert_eq!(verifier.verify(&mixed).err(), Some("its signature does not hold"));
    for broken in ["", ".", "..", "a.b.c", &token[1..], &format!("{}.{}.", parts[0], parts[1])] {
        assert!(verifier.verify(broken).is_err(), "{broken}");
    }
}

#[test]
fn the_token_does_not_choose_the_algorithm() {
    // {"alg":"none","typ":"JWT"} and the same with capital letters, without a signature.
    for header in ["eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0", "eyJhbGciOiJOb05lIiwidHlwIjoiSldUIn0"] {
        let token = signed(&good());
        let payload = token.split('.').nth(1).expect("a payload");
        for signature in ["", token.split('.').nth(2).expect("a signature")] {
            assert!(hmac().verify(&format!("{header}.{payload}.{signature}")).is_err());
        }
    }
    let stronger = Header::new(Algorithm::HS512);
    let token = encode(&stronger, &good(), &EncodingKey::from_secret(SECRET)).expect("it is signed");
    assert_eq!(hmac().verify(&token).err(), Some("its algorithm is not the configured one"));
}

#[test]
fn a_public_key_is_not_a_secret() {
    let pair = Ed25519KeyPair::generate().expect("a key can be made");
    // The fixed head of an Ed25519 public key in DER form, then the key.
    let mut der = vec![0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    der.extend(pair.public_key().as_ref());
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", base64(&der));
    let verifier = with_key("EdDSA", pem.as_bytes()).expect("the settings are right");

    let private = pair.to_pkcs8().expect("it can be written out");
    let key = EncodingKey::from_ed_der(private.as_ref());
    let token = encode(&Header::new(Algorithm::EdDSA), &good(), &key).expect("it is signed");
    assert!(verifier.verify(&token).is_ok());
    let confused = encode(&Header::default(), &good(), &EncodingKey::from_secret(pem.as_bytes()));
    let confused = confused.expect("it is signed");
    assert_eq!(verifier.verify(&confused).err(), Some("its algorithm is not the configured one"));

    assert_eq!(refused(with_key("HS256", pem.as_bytes())), "holds a PEM key, and HS256 needs a secret");
}

/// Plain base64, as PEM has it.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[test]
fn keys_of_a_set_are_found_by_kid() {
    let (first, second) = (ec_key(), ec_key());
    let keys = vec![jwk(&first, Algorithm::ES256, "1"), jwk(&second, Algorithm::ES256, "2")];
    let verifier = with_set("ES256", &set(keys)).expect("the settings are right");

    assert!(verifier.verify(&signed_es256(Some("1"), &first)).is_ok());
    assert!(verifier.verify(&signed_es256(Some("2"), &second)).is_ok());
    let swapped = verifier.verify(&signed_es256(Some("2"), &first));
    assert_eq!(swapped.err(), Some("its signature does not hold"));
    let unnamed = verifier.verify(&signed_es256(None, &first));
    assert_eq!(unnamed.err(), Some("it names no key (kid)"));
    for kid in ["", "3", "../1", "1 "] {
        let unknown = verifier.verify(&signed_es256(Some(kid), &first));
        assert_eq!(unknown.err(), Some("it names a key (kid) that is not known here"));
    }
}

#[test]
fn a_key_that_a_token_brings_along_is_not_used() {
    let (ours, theirs) = (ec_key(), ec_key());
    let keys = set(vec![jwk(&ours, Algorithm::ES256, "1")]);
    let verifier = with_set("ES256", &keys).expect("the settings are right");
    let mut header = Header::new(Algorithm::ES256);
    header.kid = Some("1".to_owned());
    header.jwk = Some(jwk(&theirs, Algorithm::ES256, "1"));
    let token = encode(&header, &good(), &theirs).expect("it is signed");
    assert_eq!(verifier.verify(&token).err(), Some("its signature does not hold"));

    header.crit = Some(vec!["exp".to_owned()]);
    let token = encode(&header, &good(), &ours).expect("it is signed");
    assert!(verifier.verify(&token).is_err());
}

#[test]
fn sets_that_cannot_work_are_refused() {
    let key = ec_key();
    let one = jwk(&key, Algorithm::ES256, "1");
    let none = "has no key for ES256 with a kid";
    assert_eq!(refused(with_set("ES256", &set(vec![]))), none);
    let mut encryption = set(vec![one.clone()]);
    encryption["keys"][0]["use"] = json!("enc");
    assert_eq!(refused(with_set("ES256", &encryption)), none);
    assert_eq!(refused(with_set("RS256", &set(vec![one.clone()]))), "has no key for RS256 with a kid");
    assert_eq!(refused(with_set("ES256", &set(vec![one.clone(), one]))), "has two keys with kid 1: give each its own");
    assert!(refused(with_set("ES256", &json!([]))).starts_with("is not a JWK set"));
    let short = json!({ "keys": [{ "kty": "oct", "kid": "1", "k": "c2hvcnQ" }] });
    assert!(refused(with_set("HS256", &short)).starts_with("key 1: the secret has 5 bytes"));
}

#[test]
fn settings_that_cannot_work_are_refused() {
    assert!(refused(with_key("HS256", b"")).starts_with("the secret has 0 bytes"));
    assert!(refused(with_key("HS256", b"\n")).starts_with("the secret has 0 bytes"));
    assert!(refused(with_key("HS256", &SECRET[1..])).starts_with("the secret has 31 bytes"));
    assert!(refused(with_key("RS256", SECRET)).starts_with("holds no PEM key"));
    let private = b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    assert!(refused(with_key("RS256", private)).starts_with("holds a private key"));
    let nonsense = b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
    assert!(refused(with_key("ES256", nonsense)).starts_with("holds no public key for ES256"));
    for algorithm in ["", "none", "hs256", "HS1"] {
        assert!(refused(with_key(algorithm, SECRET)).starts_with("must be one of"));
    }
    assert_eq!(refused(Verifier::new(&settings("HS256"))), "needs exactly one of key_file and jwks_file");
    let both = JwtSettings { key_file: Some("a".into()), jwks_file: Some("b".into()), ..settings("HS256") };
    assert_eq!(refused(Verifier::new(&both)), "needs exactly one of key_file and jwks_file");
    let unnamed = JwtSettings { audience: " ".to_owned(), ..settings("HS256") };
    assert_eq!(refused(Verifier::new(&unnamed)), "must not be empty");
    let missing = JwtSettings { key_file: Some("/does/not/exist".into()), ..settings("HS256") };
    assert!(matches!(Verifier::new(&missing), Err(DoorError::Key { .. })));
}
