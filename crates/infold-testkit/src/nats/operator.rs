//! Users that servers know by what an operator signed, and not by a list: an operator signs accounts, an account signs users,
//! and a user shows that, with a signature of its own, from its credentials file.

use anyhow::{Result, anyhow};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use serde_json::{Value, json};

/// No limit, as accounts and users say it.
const ANY: i64 = -1;

/// An operator with its accounts.
pub struct Operator {
    key: KeyPair,
    /// Sees how the servers are, and no data.
    system: SignedAccount,
    accounts: Vec<SignedAccount>,
}

/// An account, and what the operator says of it.
struct SignedAccount {
    key: KeyPair,
    token: String,
}

impl Operator {
    /// An operator with this many accounts that may use JetStream, counted from 0.
    pub fn new(accounts: usize) -> Result<Self> {
        let key = KeyPair::new_operator();
        // An account of the servers' own cannot have streams.
        let system = sign_account(&key, "system", json!({}))?;
        let stored = json!({"mem_storage": ANY, "disk_storage": ANY, "streams": ANY, "consumer": ANY});
        let accounts = (0..accounts).map(|number| sign_account(&key, &format!("team-{number}"), stored.clone()));
        Ok(Self { accounts: accounts.collect::<Result<_>>()?, key, system })
    }

    /// A credentials file of a new user of an account.
    pub fn credentials(&self, account: usize) -> Result<String> {
        let account = self.accounts.get(account).ok_or_else(|| anyhow!("there is no account {account}"))?;
        let user = KeyPair::new_user();
        let about =
            json!({"type": "user", "version": 2, "pub": {}, "sub": {}, "subs": ANY, "data": ANY, "payload": ANY});
        let token = sign(&account.key, &user.public_key(), "infold", about)?;
        let seed = user.seed().map_err(|error| anyhow!("{error}"))?;
        Ok(format!(
            "-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        ))
    }

    /// What a server's configuration says in place of accounts and users.
    pub(super) fn configuration(&self) -> Result<String> {
        let system = self.system.key.public_key();
        let about = json!({"type": "operator", "version": 2, "system_account": system});
        let token = sign(&self.key, &self.key.public_key(), "operator", about)?;
        let known: String = std::iter::once(&self.system)
            .chain(&self.accounts)
            .map(|account| format!("    {}: \"{}\"\n", account.key.public_key(), account.token))
            .collect();
        Ok(format!(
            "operator: \"{token}\"\nsystem_account: {system}\nresolver: MEMORY\nresolver_preload: {{\n{known}}}\n"
        ))
    }
}

fn sign_account(operator: &KeyPair, name: &str, stored: Value) -> Result<SignedAccount> {
    let mut limits = json!({
        "subs": ANY, "data": ANY, "payload": ANY, "imports": ANY, "exports": ANY, "wildcards": true, "conn": ANY,
        "leaf": ANY,
    });
    if let (Some(limits), Value::Object(stored)) = (limits.as_object_mut(), stored) {
        limits.extend(stored);
    }
    let key = KeyPair::new_account();
    let about = json!({"type": "account", "version": 2, "limits": limits});
    let token = sign(operator, &key.public_key(), name, about)?;
    Ok(SignedAccount { key, token })
}

/// What `issuer` says about `subject`, signed.
fn sign(issuer: &KeyPair, subject: &str, name: &str, about: Value) -> Result<String> {
    let claims = json!({
        "jti": subject, "iat": 0, "iss": issuer.public_key(), "sub": subject, "name": name, "nats": about,
    });
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let said = format!("{}.{}", part(&json!({"typ": "JWT", "alg": "ed25519-nkey"})), part(&claims));
    let signature = issuer.sign(said.as_bytes()).map_err(|error| anyhow!("{error}"))?;
    Ok(format!("{said}.{}", URL_SAFE_NO_PAD.encode(signature)))
}
