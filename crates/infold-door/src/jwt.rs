//! Checks JWTs against the settings: one algorithm, one issuer, one audience, keys from a file.
//!
//! Must hold: nothing in a token's own header decides how it is checked, except that `kid` is looked
//! up among our keys. `iss`, `aud`, `exp` and `sub` are required and of the right type.
//! Keys are read once, at the start; new ones need a restart.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use infold_core::{Claims, Owner, Principal};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;

use crate::settings::{DoorError, JwtSettings};

mod keys;

/// The longest subject that OpenID Connect allows.
const SUBJECT_CHARS_MAX: usize = 255;
/// The largest leeway that can be set; more would make a token's expiry meaningless.
const LEEWAY_SECONDS_MAX: u64 = 300;

/// The keys with which tokens may be signed.
enum Keys {
    /// The one key of a key file, for every token.
    One(Box<DecodingKey>),
    /// The keys of a JWK set, by `kid`.
    ByKid(HashMap<String, DecodingKey>),
}

/// Checks tokens against the keys and the settings.
pub(crate) struct Verifier {
    keys: Keys,
    validation: Validation,
}

/// The claims of a token that are used. Reading a token into this fails if `iss` or `sub` is not a string.
#[derive(Deserialize)]
struct Presented {
    iss: String,
    sub: String,
    scope: Option<String>,
    scp: Option<Vec<String>>,
}

impl Verifier {
    /// Reads the keys and refuses settings that would let in more than they say.
    pub(crate) fn new(settings: &JwtSettings) -> Result<Self, DoorError> {
        let algorithm = Algorithm::from_str(&settings.algorithm).map_err(|_| {
            wrong(
                "auth.jwt.algorithm",
                "must be one of HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, PS512, \
                 ES256, ES384, EdDSA",
            )
        })?;
        for (setting, value) in [("auth.jwt.issuer", &settings.issuer), ("auth.jwt.audience", &settings.audience)] {
            if value.trim().is_empty() {
                return Err(wrong(setting, "must not be empty"));
            }
        }
        if settings.leeway_seconds > LEEWAY_SECONDS_MAX {
            return Err(wrong("auth.jwt.leeway_seconds", "must be at most 300"));
        }

        let keys = read_keys(settings, algorithm)?;

        let mut validation = Validation::new(algorithm);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation.set_issuer(&[&settings.issuer]);
        validation.set_audience(&[&settings.audience]);
        validation.validate_nbf = true;
        validation.leeway = settings.leeway_seconds;
        Ok(Self { keys, validation })
    }

    /// The principal that `token` names, or what is wrong with the token.
    pub(crate) fn verify(&self, token: &str) -> Result<Principal, &'static str> {
        let header = decode_header(token).map_err(|_| "it is not a JWT that can be read")?;
        if header.crit.is_some() {
            return Err("it demands an extension (crit) that is not supported");
        }
        let key = match &self.keys {
            Keys::One(key) => key.as_ref(),
            Keys::ByKid(keys) => {
                let kid = header.kid.ok_or("it names no key (kid)")?;
                keys.get(&kid).ok_or("it names a key (kid) that is not known here")?
            }
        };

        let presented = decode::<Presented>(token, key, &self.validation).map_err(|error| reason(error.kind()))?.claims;

        presented.into_principal()
    }
}

impl Presented {
    fn into_principal(self) -> Result<Principal, &'static str> {
        let length = self.sub.chars().count();
        if length == 0 || length > SUBJECT_CHARS_MAX || self.sub.chars().any(char::is_control) {
            return Err("its subject is empty, longer than 255 characters or not printable");
        }
        let words = self.scope.as_deref().unwrap_or_default().split_ascii_whitespace();
        let mut scopes: Vec<String> = words.map(str::to_owned).collect();
        scopes.extend(self.scp.unwrap_or_default());
        scopes.sort();
        scopes.dedup();

        Ok(Principal {
            owner: Owner::from_subject(&self.sub),
            claims: Claims { subject: Some(self.sub), issuer: Some(self.iss), scopes },
        })
    }
}

/// What is wrong with a token, in words. Claims are checked only after the signature, so a forger learns nothing
/// from it.
fn reason(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::ExpiredSignature => "it has expired",
        ErrorKind::ImmatureSignature => "it is not valid yet",
        ErrorKind::InvalidIssuer => "its issuer is not the configured one",
        ErrorKind::InvalidAudience => "it was issued for another audience",
        ErrorKind::MissingRequiredClaim(_) => "it lacks one of the claims exp, iss, aud and sub",
        ErrorKind::InvalidClaimFormat(_) | ErrorKind::Json(_) => "a claim has the wrong type",
        ErrorKind::InvalidAlgorithm => "its algorithm is not the configured one",
        ErrorKind::InvalidSignature => "its signature does not hold",
        _ => "it cannot be verified",
    }
}

fn read_keys(settings: &JwtSettings, algorithm: Algorithm) -> Result<Keys, DoorError> {
    match (&settings.key_file, &settings.jwks_file) {
        (Some(path), None) => {
            let bytes = read(path)?;
            let key = keys::one(&bytes, algorithm).map_err(|problem| unusable(path, problem))?;
            Ok(Keys::One(Box::new(key)))
        }
        (None, Some(path)) => {
            let bytes = read(path)?;
            let keys = keys::by_kid(&bytes, algorithm).map_err(|problem| unusable(path, problem))?;
            Ok(Keys::ByKid(keys))
        }
        (None, None) | (Some(_), Some(_)) => Err(wrong("auth.jwt", "needs exactly one of key_file and jwks_file")),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, DoorError> {
    std::fs::read(path).map_err(|error| unusable(path, error.to_string()))
}

fn unusable(path: &Path, problem: String) -> DoorError {
    DoorError::Key { path: PathBuf::from(path), problem }
}

fn wrong(setting: &'static str, problem: &str) -> DoorError {
    DoorError::Setting { setting, problem: problem.to_owned() }
}

#[cfg(test)]
mod tests;
