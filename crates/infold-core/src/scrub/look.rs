//! Whether a string looks like a secret: what a pattern cannot say.
//!
//! Patterns find the places where a secret may be. Names of variables, paths, examples and masks are in such places
//! too, and masking those would hide from a reader what it came for.

/// What a rule asks of a match beyond its pattern and its entropy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SecretLook {
    /// Nothing more: the pattern is specific enough.
    #[default]
    Any,
    /// Made by a machine: letters, cases and digits alternate as no word does.
    Random,
    /// Chosen by a person: anything but what documents put in such a place, such as `password`.
    Chosen,
    /// Like `Chosen`, with a letter and with a digit or a sign that plain words do not have.
    Mixed,
    /// Like `Mixed` or only digits, and not the name of a secret.
    Password,
    /// Like `Chosen`, and none of the words that forms, messages and descriptions put in such a place.
    Word,
    /// Like `Password`, and neither code nor a path: for values without quotes.
    BarePassword,
}

impl SecretLook {
    /// Whether a match looks like this.
    pub(super) fn fits(self, secret: &[u8]) -> bool {
        match self {
            Self::Any => true,
            Self::Random => is_random(secret),
            Self::Chosen => is_chosen(secret),
            Self::Mixed => is_chosen(secret) && is_mixed(secret),
            Self::Password => is_chosen(secret) && (is_mixed(secret) || is_pin(secret)) && !is_name(secret),
            Self::Word => is_chosen(secret) && !is_said_of_passwords(secret),
            Self::BarePassword => {
                is_chosen(secret) && (is_mixed(secret) || is_pin(secret)) && !is_name(secret) && !is_code(secret)
            }
        }
    }
}

/// Parts of examples that are in no secret, in lower case.
const STOP_WORDS: &str = "example xxxxx placeholder changeme change_me change-me redacted your_ your- yourpass \
    yourtoken tokenhere _here dummy process.env getenv ${ {{ ***";

/// Whole values that documents put where a secret goes, in lower case.
const STOP_VALUES: &str = "password passwd pass pwd token test user username apikey api_key key null none undefined \
    true false yyy xxx password1 password123 test123 test1234 foobar empty base64 base64url utf8 utf-8 ed25519 x25519 sha1 \
    sha256 sha512 md5 rs256 hs256";

/// Words that are said of passwords, or are put where one goes by those who do not mean one, in lower case.
const PASSWORD_WORDS: &str = "string text hidden field input label enter reset change forgot confirm confirmation invalid \
    missing incorrect wrong required optional value type name default plain plaintext encrypted hashed hash bcrypt login \
    admin-password current new old change_password reset_password grant credential credentials object any number \
    boolean varchar char bytes base64 unknown wait prompt ask stdin file env environment external inherit basic bearer \
    auth authentication write read only writeonly protected masked redacted removed filtered private public strong weak \
    short long empty blank nothing something whatever password-input secure insecure expired incomplete expected result \
    kennwort passwort wachtwoord senha contrasena lozenord parola";

/// Whether a match is an example or a mask.
pub(super) fn is_example(secret: &[u8]) -> bool {
    let lower = secret.to_ascii_lowercase();
    lower.ends_with(b"...") || STOP_WORDS.split(' ').any(|word| contains(&lower, word.as_bytes()))
}

/// Whether `needle` occurs in `text`.
pub(super) fn contains(text: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(text, needle).is_some()
}

/// Shannon entropy in bits for each byte: 0 for one byte repeated, near 4 for hex, near 6 for base64.
pub(super) fn entropy_bits(secret: &[u8]) -> f32 {
    let mut counts = [0_u32; 256];
    for &byte in secret {
        counts[usize::from(byte)] += 1;
    }
    let total = secret.len() as f32;
    counts
        .into_iter()
        .filter(|&count| count > 0)
        .map(|count| count as f32 / total)
        .map(|share| -share * share.log2())
        .sum()
}

/// Whether letters, cases and digits alternate as often as in random text. In words, paths and camel case they do so
/// rarely: a capital before a small letter does not count as a change.
pub(super) fn is_random(secret: &[u8]) -> bool {
    const BYTES_PER_CHANGE_MAX: usize = 8;
    const CHANGES_MIN: usize = 4;
    let changes = secret.windows(2).filter(|pair| is_change(pair[0], pair[1])).count();
    let has_digit = secret.iter().any(u8::is_ascii_digit);
    let has_letter = secret.iter().any(u8::is_ascii_alphabetic);
    has_digit
        && has_letter
        && changes >= CHANGES_MIN
        && changes * BYTES_PER_CHANGE_MAX >= secret.len()
        && !is_assignment(secret)
}

/// Whether this is a name with its value, such as `mode=a1b2`, and so belongs to another name.
fn is_assignment(secret: &[u8]) -> bool {
    let name = secret.split(|&byte| byte == b'=').next().unwrap_or_default();
    name.len() < secret.len() && name.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
}

/// Whether one of two neighbours is a digit and the other a letter, or only one of them is ASCII, or a capital follows a
/// small letter.
fn is_change(before: u8, after: u8) -> bool {
    let is_letter_or_digit = |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    let digit = before.is_ascii_digit() != after.is_ascii_digit();
    let script = before.is_ascii() != after.is_ascii();
    let case = before.is_ascii_lowercase() && after.is_ascii_uppercase();
    (is_letter_or_digit(before) && is_letter_or_digit(after)) && (digit || script || case)
}

/// Whether this is not what documents put where a password goes: `password`, `$PASSWORD`, `<…>`.
fn is_chosen(secret: &[u8]) -> bool {
    const REFERENCE_STARTS: &[u8] = b"$<{%/.([]&@*-~\\";
    let lower = secret.to_ascii_lowercase();
    !secret.first().is_some_and(|first| REFERENCE_STARTS.contains(first))
        && !STOP_VALUES.split(' ').any(|value| value.as_bytes() == lower)
}

/// Whether there is a letter, and a digit or a sign that plain words do not have.
pub(super) fn is_mixed(secret: &[u8]) -> bool {
    // The letters of other alphabets of Europe too. In those of Asia a short text is a sentence.
    let has_letter = secret.iter().any(|byte| byte.is_ascii_alphabetic() || matches!(byte, 0xc3..=0xd4));
    let has_more = secret.iter().any(|byte| byte.is_ascii_digit() || b"!@#$%^&?~+=".contains(byte));
    has_letter && has_more
}

/// Whether this is digits only, as many as a password has.
fn is_pin(secret: &[u8]) -> bool {
    const DIGITS_MIN: usize = 6;
    secret.len() >= DIGITS_MIN && secret.iter().all(u8::is_ascii_digit)
}

/// Whether this is the name of a secret, such as `e2e-test-secret`, or an address, and no secret itself.
fn is_name(secret: &[u8]) -> bool {
    const NAME_PARTS: &str = "passw _secret -secret secret_ secret-";
    let lower = secret.to_ascii_lowercase();
    let has_part = NAME_PARTS.split(' ').any(|part| contains(&lower, part.as_bytes()));
    // People do put the word itself into their passwords, with a sign or capitals.
    let is_chosen = secret.iter().any(|byte| b"!@%^&?~+".contains(byte))
        || (lower != secret && !is_constant(secret) && !contains(secret, b"$"));
    contains(secret, b"://") || contains(secret, b"|") || (has_part && !is_chosen)
}

/// Whether a value without quotes is code rather than a value: a call, an index, a member, a type, a path.
fn is_code(value: &[u8]) -> bool {
    const CODE_PARTS: [&str; 9] = ["(", ")", "[", "{", "}", "::", "->", "&&", "=="];
    let has_part = CODE_PARTS.iter().any(|part| contains(value, part.as_bytes()));
    has_part || value.starts_with(b"_") || is_member(value) || is_constant(value)
}

/// Whether this is names with dots between, such as `config.db1.password`.
fn is_member(value: &[u8]) -> bool {
    let is_name = |name: &[u8]| {
        name.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
            && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    contains(value, b".") && value.split(|byte| *byte == b'.').all(is_name)
}

/// Whether this is a constant's name, such as `DB_PASSWORD_2`.
fn is_constant(value: &[u8]) -> bool {
    contains(value, b"_")
        && value.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
}

/// Whether this is a word that is said of passwords, or has one's name in it.
fn is_said_of_passwords(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let is_listed = PASSWORD_WORDS.split_whitespace().any(|word| word.as_bytes() == lower);
    is_listed || contains(&lower, b"_passw") || contains(&lower, b"passw_") || is_constant(value) || is_camel(value)
}

/// Whether small letters are followed by a capital: a name in code.
fn is_camel(value: &[u8]) -> bool {
    value.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
}
