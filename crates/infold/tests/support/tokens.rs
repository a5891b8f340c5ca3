//! An issuer of JWTs, and a daemon that accepts them.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use infold_testkit::{DaemonSetup, TempFolder};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

pub const ISSUER: &str = "https://issuer.example";
pub const AUDIENCE: &str = "infold";
const KEY: &[u8] = b"a key of tests, and of nothing else: 0123456789";

/// Issues tokens, and keeps the key file that a daemon needs to check them.
pub struct Issuer {
    folder: TempFolder,
}

impl Issuer {
    /// An issuer with its key file.
    pub fn new() -> Result<Self> {
        let folder = TempFolder::new()?;
        std::fs::write(folder.join("key"), KEY)?;
        Ok(Self { folder })
    }

    /// Sets a daemon up to accept this issuer's tokens.
    pub fn believed_by(&self, setup: DaemonSetup) -> DaemonSetup {
        setup
            .set("auth.jwt.algorithm", "HS256")
            .set("auth.jwt.issuer", ISSUER)
            .set("auth.jwt.audience", AUDIENCE)
            .set("auth.jwt.key_file", self.folder.join("key").display())
            .set("auth.jwt.leeway_seconds", 0)
    }

    /// A good token for `subject`.
    pub fn token(&self, subject: &str) -> Result<String> {
        self.token_with(json!({ "sub": subject }))
    }

    /// A token that is good but for `changes`.
    pub fn token_with(&self, changes: Value) -> Result<String> {
        self.signed(Algorithm::HS256, KEY, changes)
    }

    /// A token that is good but for `changes`, signed in this way.
    pub fn signed(&self, algorithm: Algorithm, key: &[u8], changes: Value) -> Result<String> {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let mut claims = json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": now_s + 600 });
        for (name, value) in changes.as_object().into_iter().flatten() {
            claims[name] = value.clone();
        }
        Ok(encode(&Header::new(algorithm), &claims, &EncodingKey::from_secret(key))?)
    }

    /// Tokens that must not let anybody in, each with what is wrong with it.
    pub fn bad_tokens(&self) -> Result<Vec<(&'static str, String)>> {
        let good = self.token("ann")?;
        let (head, signature) = good.rsplit_once('.').unwrap_or_default();
        let payload = head.split_once('.').unwrap_or_default().1;
        let other = self.token("eve")?;
        let other_payload = other.split('.').nth(1).unwrap_or_default();
        let header = head.split('.').next().unwrap_or_default();
        // {"alg":"none","typ":"JWT"}
        let none = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0";
        Ok(vec![
            (
                "forged with another key",
                self.signed(Algorithm::HS256, b"another key, as long as the first: 012", json!({}))?,
            ),
            ("signed with another algorithm", self.signed(Algorithm::HS512, KEY, json!({}))?),
            ("somebody else's payload under its signature", format!("{header}.{other_payload}.{signature}")),
            ("alg none", format!("{none}.{payload}.")),
            ("alg none with a signature", format!("{none}.{payload}.{signature}")),
            ("without its signature", format!("{head}.")),
            ("expired", self.token_with(json!({ "exp": 1_000_000_000 }))?),
            ("not valid yet", self.token_with(json!({ "nbf": 99_999_999_999_u64 }))?),
            ("without an end", self.token_with(json!({ "exp": null }))?),
            ("from another issuer", self.token_with(json!({ "iss": "https://other.example" }))?),
            ("for another audience", self.token_with(json!({ "aud": "other" }))?),
            ("of nobody", self.token_with(json!({ "sub": "" }))?),
            ("no token at all", "0".repeat(64)),
        ])
    }
}
