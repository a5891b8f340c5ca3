//! Texts that were made to lock scrubbing up. It ends on all of them, and what it leaves is clean.

use super::canaries::filled;
use super::{scrub, token};

/// How long each text is: long enough to show work that grows faster than the text.
const TEXT_BYTES: usize = 256 << 10;

/// Texts that repeat what a rule begins with, ends with, or waits for.
fn hostile() -> Vec<(&'static str, String)> {
    let fill = |part: &str| part.repeat(TEXT_BYTES / part.len() + 1);
    let glued = format!("AIza{}-", "Qw3rTy".repeat(6).split_at(34).0);
    vec![
        ("glued keys", fill(&glued)),
        ("glued tokens", fill(&token())),
        ("prefixes", fill("ghp_")),
        ("prefixes of many rules", fill("ghp_sk-ant-xoxb-AKIAAIzaeyJglpat-")),
        ("beginnings of web tokens", fill("eyJ")),
        ("parts of web tokens", fill("eyJhbGciOiJIUzI1NiJ9.")),
        ("names", fill("password")),
        ("assignments", fill("password=")),
        ("addresses", fill("://")),
        ("users in addresses", fill("://a:")),
        ("openings of placeholders", fill("[SECRET:")),
        ("placeholders", fill("[SECRET:jwt:0a1b2c]")),
        ("beginnings of keys", fill("-----BEGIN PRIVATE KEY-----\n")),
        ("percent signs", fill("%25")),
        ("backslashes", fill("\\")),
        ("escapes of escapes", fill("\\u005cu005c")),
        ("colour codes", fill("\x1b[31m")),
        ("unfinished colour codes", fill("\x1b[")),
        ("base64 of base64", fill("WlhsS2FHSkhZMmxQYVVwSlZYcEpNVTVwU2prPQ")),
        ("lines of one token", fill("aB3dE5gH7j\n")),
        ("cookies", fill("cookie: a=")),
        ("secrets of Kubernetes", fill("kind: Secret\ndata:\n")),
        ("heads of tables", fill("a,password\n")),
        ("heads without an end", fill("a,password,")),
        ("beginnings of key ids", fill("AKIA")),
        ("numbered passwords", fill("1:password: |\n")),
        ("one letter", fill("a")),
    ]
}

#[test]
fn scrubbing_ends_and_what_is_left_is_clean() {
    for (kind, text) in hostile() {
        let once = scrub(&text);
        let twice = scrub(once.as_str());
        assert_eq!(twice.secrets(), 0, "{kind}");
        assert!(twice == once, "{kind}");
    }
}

#[test]
fn keys_that_are_glued_together_are_all_taken_out() {
    let key = filled("AIza{a34}-");
    for keys in [1, 2, 8, 9, 200] {
        let scrubbed = scrub(&key.repeat(keys));
        assert!(!scrubbed.as_str().contains("AIza"), "{keys}: {}", scrubbed.as_str());
        assert_eq!(scrubbed.secrets() as usize, keys);
    }
}
