//! What the authorisation server has given to whom, and what is still good of it.

use std::collections::HashMap;

use aws_lc_rs::digest::{SHA256, digest};

/// Everything that was given.
#[derive(Debug, Default)]
pub(super) struct Grants {
    pub(super) clients: HashMap<String, KnownClient>,
    codes: HashMap<String, Code>,
    access: HashMap<String, Access>,
    refresh: HashMap<String, Refresh>,
    /// Every secret that was ever given out.
    pub(super) secrets: Vec<String>,
    families: u64,
}

/// A client that is known.
#[derive(Debug, Clone)]
pub(super) struct KnownClient {
    pub(super) secret: Option<String>,
    pub(super) redirect_uri: String,
}

/// A code that waits to be exchanged.
#[derive(Debug, Clone)]
pub(super) struct Code {
    pub(super) client: String,
    pub(super) challenge: String,
    pub(super) scope: String,
}

#[derive(Debug)]
struct Access {
    family: u64,
    scope: String,
}

#[derive(Debug)]
struct Refresh {
    family: u64,
    client: String,
    scope: String,
    is_used: bool,
}

/// New tokens.
#[derive(Debug)]
pub(super) struct Tokens {
    pub(super) access: String,
    pub(super) refresh: String,
    pub(super) scope: String,
}

impl Grants {
    pub(super) fn add_client(&mut self, id: &str, secret: Option<&str>, redirect_uri: &str) {
        let client = KnownClient { secret: secret.map(str::to_owned), redirect_uri: redirect_uri.to_owned() };
        self.secrets.extend(client.secret.clone());
        self.clients.insert(id.to_owned(), client);
    }

    /// A secret that nobody has.
    pub(super) fn fresh(&mut self, kind: &str) -> String {
        let mut bytes = [0; 24];
        // Without chance, tests would find it out at once.
        let _ = getrandom::fill(&mut bytes);
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let secret = format!("{kind}-{hex}");
        self.secrets.push(secret.clone());
        secret
    }

    pub(super) fn give_code(&mut self, code: Code) -> String {
        let text = self.fresh("code");
        self.codes.insert(text.clone(), code);
        text
    }

    /// Takes a code, once, from the client that it was given to and that knows what its challenge was made of.
    pub(super) fn take_code(&mut self, code: &str, client: &str, verifier: &str) -> Option<Tokens> {
        let found = self.codes.remove(code)?;
        if found.client != client || challenge_of(verifier) != found.challenge {
            return None;
        }
        self.families += 1;
        Some(self.give(self.families, client, &found.scope))
    }

    /// Takes a refresh token, once. A second time everything is taken back that came of the login.
    pub(super) fn take_refresh(&mut self, token: &str, client: &str) -> Option<Tokens> {
        let found = self.refresh.get_mut(token).filter(|found| found.client == client)?;
        let (family, scope) = (found.family, found.scope.clone());
        if std::mem::replace(&mut found.is_used, true) {
            self.access.retain(|_, access| access.family != family);
            self.refresh.retain(|_, refresh| refresh.family != family);
            return None;
        }
        Some(self.give(family, client, &scope))
    }

    fn give(&mut self, family: u64, client: &str, scope: &str) -> Tokens {
        let (access, refresh) = (self.fresh("access"), self.fresh("refresh"));
        let (client, scope) = (client.to_owned(), scope.to_owned());
        self.access.insert(access.clone(), Access { family, scope: scope.clone() });
        self.refresh.insert(refresh.clone(), Refresh { family, client, scope: scope.clone(), is_used: false });
        Tokens { access, refresh, scope }
    }

    /// The rights of an access token that is good.
    pub(super) fn scope_of(&self, access: &str) -> Option<String> {
        self.access.get(access).map(|access| access.scope.clone())
    }

    pub(super) fn end_access_tokens(&mut self) {
        self.access.clear();
    }

    pub(super) fn revoke_all(&mut self) {
        self.access.clear();
        self.refresh.clear();
    }

    /// Takes one token back. Returns whether it was good.
    pub(super) fn revoke(&mut self, token: &str) -> bool {
        let was_access = self.access.remove(token).is_some();
        self.refresh.remove(token).is_some() || was_access
    }
}

/// What PKCE makes of a verifier.
fn challenge_of(verifier: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let hash = digest(&SHA256, verifier.as_bytes());
    let mut text = String::new();
    for chunk in hash.as_ref().chunks(3) {
        let at = |index: usize| u32::from(chunk.get(index).copied().unwrap_or_default());
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        let digits = [18, 12, 6, 0].map(|shift| char::from(DIGITS[(bits >> shift & 63) as usize]));
        text.extend(&digits[..=chunk.len()]);
    }
    text
}
