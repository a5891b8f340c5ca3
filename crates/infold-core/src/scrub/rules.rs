//! The rules: which strings are secrets, by the published form of each token.
//!
//! A rule has keywords, and is not tried on a text without one of them; a pattern; and the least entropy of a match.
//! The secret is the pattern's last group, or the whole match where it has none. Lengths are lower bounds where a
//! token's form allows it, so that a longer token is masked whole.
//!
//! The tables go from specific to general: where two rules find the same span, the earlier names it.

mod ai;
mod cloud;
mod code;
mod general;
mod services;

use super::look::{self, SecretLook};
use super::private_key;

/// No rule's id is longer, so that a placeholder's length is bounded.
pub(super) const ID_BYTES_MAX: usize = 40;

/// How one kind of secret is recognised.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) id: &'static str,
    pub(super) keywords: &'static [&'static str],
    pub(super) form: PatternPlace,
    pattern: &'static str,
    look: SecretLook,
    entropy_min_bits: f32,
}

/// In what surroundings a rule's pattern counts.
#[derive(Debug, Clone, Copy)]
pub(super) enum PatternPlace {
    /// Anywhere, because the token's own prefix says what it is.
    Anywhere,
    /// Where it is a word of its own, because its form might occur inside something longer.
    Word,
    /// Where it is assigned to a name of this pattern.
    Named(&'static str),
    /// Where it is assigned, in quotes, to a name of this pattern.
    Quoted(&'static str),
    /// Between the BEGIN and END lines of a private key.
    PrivateKey,
}

/// What may come before a word: an escape, or anything but what would make it part of a longer word or of base64.
const LEFT: &str = r"(?:^|[^0-9A-Za-z+]|\\[nrt]|%[0-9A-Fa-f]{2})";
/// What may come after a word.
const RIGHT: &str = r"(?:$|[^0-9A-Za-z+])";

/// What comes between a name and its value in code, settings, JSON (also inside a JSON string) and XML: a closing
/// quote, a type, an operator.
const OPERATOR: &str = concat!(
    r#"(?:["'`\\\])]{0,4}(?:[ \t]{1,4}string)?(?::[ \t]{0,4}&?(?:'static )?(?:String|string|str))?"#,
    r#"[ \t]{0,20}(?:=>|:=|\?=|\.=|\|\||===?|!==?|[=:])|["'][ \t]{1,4}value=)"#,
);
/// What comes between two arguments of a call.
const COMMA: &str = r#"["'`\\\])]{0,4}[ \t]{0,4},"#;
/// The quote that opens a value. Only one, because two may be an empty value.
const QUOTE: &str = r#"(?:\\{0,3}["'`]|'\\?")"#;

/// Parts of names whose values are no secrets, in lower case.
const OPEN_NAMES: [&str; 12] = [
    "public",
    "csrf",
    "xsrf",
    "page",
    "next",
    "continu",
    "sync",
    "cancel",
    "pubkey",
    "idempotency",
    "clientrequest",
    "placeholder",
];

impl Rule {
    /// The pattern with what must be around it, as the rule's place says.
    pub(super) fn whole_pattern(&self) -> String {
        let Self { pattern, .. } = self;
        match self.form {
            PatternPlace::Anywhere => pattern.to_string(),
            PatternPlace::Word => format!("{LEFT}({pattern}){RIGHT}"),
            PatternPlace::Named(names) => {
                let by_operator = format!(r"{OPERATOR}(?:[ \t]{{0,20}}{QUOTE}?|\s{{0,40}}{QUOTE})");
                let by_comma = format!(r"{COMMA}[ \t]{{0,20}}{QUOTE}?");
                format!(r"(?:{names})(?:{by_operator}|{by_comma}|>\s{{0,40}})(?:{pattern})")
            }
            PatternPlace::Quoted(names) => format!(r"(?:{names}){OPERATOR}\s{{0,40}}{QUOTE}(?:{pattern})"),
            PatternPlace::PrivateKey => private_key::PATTERN.to_owned(),
        }
    }

    /// Whether a match is a secret. `before` is what the pattern matched before it, such as a name.
    pub(super) fn accepts(&self, before: &[u8], secret: &[u8]) -> bool {
        look::entropy_bits(secret) >= self.entropy_min_bits
            && !look::is_example(secret)
            && self.look.fits(secret)
            && !(matches!(self.form, PatternPlace::Named(_) | PatternPlace::Quoted(_)) && is_open_name(before))
    }

    /// The same rule, for values in quotes only.
    const fn quoted(self) -> Self {
        match self.form {
            PatternPlace::Named(names) => Self { form: PatternPlace::Quoted(names), ..self },
            PatternPlace::Anywhere | PatternPlace::Word | PatternPlace::Quoted(_) | PatternPlace::PrivateKey => self,
        }
    }

    /// The same rule, with one more condition on how a match looks.
    const fn looking(self, look: SecretLook) -> Self {
        Self { look, ..self }
    }
}

/// Whether a name says that its value is no secret.
fn is_open_name(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    OPEN_NAMES.iter().any(|open| look::contains(&name, open.as_bytes()))
}

/// A rule for a token that its prefix gives away wherever it is.
const fn token(
    id: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
    entropy_min_bits: f32,
) -> Rule {
    Rule { id, keywords, form: PatternPlace::Anywhere, pattern, look: SecretLook::Any, entropy_min_bits }
}

/// A rule for a token that counts only where it is a word of its own.
const fn word(
    id: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
    entropy_min_bits: f32,
) -> Rule {
    Rule { id, keywords, form: PatternPlace::Word, pattern, look: SecretLook::Any, entropy_min_bits }
}

/// A rule for a value that only its name gives away.
const fn named(
    id: &'static str,
    keywords: &'static [&'static str],
    names: &'static str,
    pattern: &'static str,
    entropy_min_bits: f32,
) -> Rule {
    Rule { id, keywords, form: PatternPlace::Named(names), pattern, look: SecretLook::Any, entropy_min_bits }
}

/// The rule for private keys, which are found by more than a pattern (`private_key.rs`).
static PRIVATE_KEY: [Rule; 1] = [Rule {
    id: "private-key",
    keywords: &["PRIVATE KEY"],
    form: PatternPlace::PrivateKey,
    pattern: private_key::PATTERN,
    look: SecretLook::Any,
    entropy_min_bits: 0.0,
}];

/// Every rule, from specific to general.
pub(super) fn all() -> impl Iterator<Item = &'static Rule> {
    [&PRIVATE_KEY[..], code::RULES, cloud::RULES, ai::RULES, services::RULES, general::RULES].into_iter().flatten()
}

/// Whether a rule has this id.
pub(super) fn is_id(id: &[u8]) -> bool {
    all().any(|rule| rule.id.as_bytes() == id)
}
