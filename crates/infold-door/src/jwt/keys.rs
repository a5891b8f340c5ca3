//! Reads keys from the content of key files. Takes bytes; returns keys, or a sentence about what is wrong.

use std::collections::HashMap;

use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, JwkSet, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};

/// The shortest HMAC secret that is accepted; shorter ones can be found by trying.
const SECRET_BYTES_LEAST: usize = 32;

/// The one key in a file: an HMAC secret, or a public key in PEM form.
pub(super) fn one(bytes: &[u8], algorithm: Algorithm) -> Result<DecodingKey, String> {
    let is_pem = bytes.trim_ascii_start().starts_with(b"-----BEGIN");
    let is_private = bytes.windows(11).any(|window| window == b"PRIVATE KEY");
    if is_private {
        return Err("holds a private key: infold needs only the public one".to_owned());
    }
    let key = match (algorithm.family(), is_pem) {
        (AlgorithmFamily::Hmac, true) => {
            return Err(format!("holds a PEM key, and {algorithm:?} needs a secret"));
        }
        (AlgorithmFamily::Hmac, false) => return secret(bytes.trim_ascii_end()),
        (_, false) => return Err(format!("holds no PEM key, as {algorithm:?} needs")),
        (AlgorithmFamily::Rsa, true) => DecodingKey::from_rsa_pem(bytes),
        (AlgorithmFamily::Ec, true) => DecodingKey::from_ec_pem(bytes),
        (AlgorithmFamily::Ed, true) => DecodingKey::from_ed_pem(bytes),
    };
    key.map_err(|error| format!("holds no public key for {algorithm:?}: {error}"))
}

fn secret(bytes: &[u8]) -> Result<DecodingKey, String> {
    if bytes.len() < SECRET_BYTES_LEAST {
        return Err(format!(
            "the secret has {} bytes, at least {SECRET_BYTES_LEAST} are needed: \
             `openssl rand -hex 32` makes one",
            bytes.len()
        ));
    }
    Ok(DecodingKey::from_secret(bytes))
}

/// The keys of a JWK set that fit the algorithm, by their `kid`. Others are passed over: a set is
/// often shared between services.
pub(super) fn by_kid(bytes: &[u8], algorithm: Algorithm) -> Result<HashMap<String, DecodingKey>, String> {
    let set: JwkSet = serde_json::from_slice(bytes).map_err(|error| format!("is not a JWK set: {error}"))?;
    let mut keys = HashMap::new();
    for jwk in set.keys.iter().filter(|jwk| fits(jwk, algorithm)) {
        let Some(kid) = &jwk.common.key_id else { continue };
        let key = DecodingKey::from_jwk(jwk).map_err(|error| format!("key {kid}: {error}"))?;
        if key.family() != algorithm.family() {
            continue;
        }
        if let (AlgorithmFamily::Hmac, Ok(bytes)) = (key.family(), key.try_get_as_bytes()) {
            secret(bytes).map_err(|problem| format!("key {kid}: {problem}"))?;
        }
        if keys.insert(kid.clone(), key).is_some() {
            return Err(format!("has two keys with kid {kid}: give each its own"));
        }
    }
    if keys.is_empty() {
        return Err(format!("has no key for {algorithm:?} with a kid"));
    }
    Ok(keys)
}

/// Whether a key may be used with the algorithm, as far as it says so itself.
fn fits(jwk: &Jwk, algorithm: Algorithm) -> bool {
    let for_signing = matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature));
    let named = jwk.common.key_algorithm.is_none_or(|named| named == KeyAlgorithm::from(algorithm));
    let understood = !matches!(jwk.algorithm, AlgorithmParameters::Other(_));
    for_signing && named && understood
}
