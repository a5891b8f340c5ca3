//! Placeholders: the text that replaces a secret, such as `[SECRET:github-pat:7f3a2c]`.
//!
//! A placeholder is recognised only with what is formed like a rule's id and exactly six hex digits, so that nothing that
//! could be a secret passes as one and hides from scrubbing.
//!
//! Of the six digits four identify the secret, and two prove to whoever has the key that the placeholder was made with
//! it. So a text that only looks like a placeholder, in a document for instance, can be distinguished from a real one
//! without a list of all that were ever made; one in 256 is mistaken for a real one.

use std::fmt::Write;
use std::ops::Range;

use super::rules;

const OPENING: &str = "[SECRET:";
const HASH_DIGITS: usize = 6;
/// How many of the digits identify the secret; the others prove the placeholder.
const SECRET_DIGITS: usize = 4;
/// Hashed before the placeholder to make its proof, so that a proof is never the hash of a secret: no secret begins so.
const PROOF_OF: &str = "infold placeholder\0";

/// Appends the placeholder of `secret`. The hash is keyed: without the key it reveals nothing of the secret; with it
/// the same secret gets the same placeholder everywhere.
pub(super) fn write(key: &[u8; 32], rule: &str, secret: &str, text: &mut String) {
    let hash = blake3::keyed_hash(key, secret.as_bytes()).to_hex();
    let digits = &hash[..SECRET_DIGITS];
    // Writing to a string cannot fail.
    let _ = write!(text, "{OPENING}{rule}:{digits}{}]", proof(key, rule, digits));
}

/// Whether this placeholder was made with this key.
pub(super) fn is_made_with(key: &[u8; 32], placeholder: &str) -> bool {
    let inner = placeholder.strip_prefix(OPENING).and_then(|rest| rest.strip_suffix(']'));
    inner.and_then(|inner| inner.split_once(':')).is_some_and(|(rule, hash)| {
        hash.split_at_checked(SECRET_DIGITS).is_some_and(|(digits, proven)| proven == proof(key, rule, digits))
    })
}

fn proof(key: &[u8; 32], rule: &str, digits: &str) -> String {
    let hash = blake3::keyed_hash(key, format!("{PROOF_OF}{rule}:{digits}").as_bytes()).to_hex();
    hash[..HASH_DIGITS - SECRET_DIGITS].to_owned()
}

/// The places of placeholders in a text, in order.
pub(super) fn find_all(text: &str) -> impl Iterator<Item = Range<usize>> {
    memchr::memchr_iter(OPENING.as_bytes()[0], text.as_bytes())
        .filter(|start| text[*start..].starts_with(OPENING))
        .filter_map(|start| Some(start..start + length(&text[start..])?))
}

/// The length of the placeholder that `text` starts with, if it does. Looks no further than a
/// placeholder reaches, so that a text full of openings costs no more than another.
fn length(text: &str) -> Option<usize> {
    let body = text.as_bytes().get(OPENING.len()..)?;
    let rule_end = body.iter().take(rules::ID_BYTES_MAX + 1).position(|&byte| byte == b':')?;
    let (rule, rest) = body.split_at(rule_end);
    let hash = rest.get(1..1 + HASH_DIGITS)?;

    let is_hex = hash.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let is_closed = rest.get(1 + HASH_DIGITS) == Some(&b']');
    (is_hex && is_closed && rules::is_id(rule)).then_some(OPENING.len() + rule_end + 1 + HASH_DIGITS + 1)
}
