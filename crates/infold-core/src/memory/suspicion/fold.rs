//! Makes texts alike that a reader takes for the same: letters of other alphabets that look Latin, letters with marks, wide
//! and mathematical letters, digits in place of letters, letters with spaces between them, entities, text in base64 and
//! in invisible characters.
//!
//! The result is for matching only and never shown.

mod letters;

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::{Captures, Regex};

use super::super::quote::is_unseen;
use letters::{plain_letter, twin};

/// What a folded text has for an address, one of a place for code and documents, a mail address, and text that was hidden.
const ADDRESS: &str = " xurl ";
const KNOWN_ADDRESS: &str = " xdocs ";
const MAIL: &str = " xmail ";
const HIDDEN: &str = " xhidden ";
/// Hosts where code and documents about it are: lessons name them. Not those where anyone may put a file to be fetched as it is.
const KNOWN_HOSTS: [&str; 12] = [
    "github.com",
    "gitlab.com",
    "localhost",
    "127.0.0.1",
    "docs.rs",
    "pkg.go.dev",
    "stackoverflow.com",
    "react.dev",
    "postgresql.org",
    "docs.python.org",
    "docs.github.com",
    "developer.mozilla.org",
];
/// The shortest run of base64 that is looked into.
const ENCODED_CHARS_MIN: usize = 24;

static ENTITY: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(lt|gt|amp|quot|nbsp));").ok());
static ENCODED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[A-Za-z0-9+/_-]{24,}={0,2}").ok());
static MAIL_ADDRESS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[a-z0-9_.+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+").ok());
static WEB_ADDRESS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?:h(?:tt|xx)ps?://(?:www\.)?|www\.)([a-z0-9.-]*)[^\s<>()"'`]*"#).ok());
/// Four or more single letters, with the same sign or space after each.
static SPACED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?:^|[^\pL])((?:\pL ){3,}\pL|(?:\pL\.){3,}\pL|(?:\pL-){3,}\pL|(?:\pL_){3,}\pL|(?:\pL\*){3,}\pL)(?:[^\pL]|$)",
    )
    .ok()
});
/// Words that are looked for where the spaces between words are lost.
static LOST_WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let words = "ignore disregard forget override previous earlier above instructions instruction system prompt \
                 password secret token send upload delete remove disable execute install assistant agent agents user reveal \
                 mail email credentials files without telling never mention rules guidelines everything key keys all your you the \
                 must and from into now this that follow";
    AhoCorasick::builder().match_kind(aho_corasick::MatchKind::LeftmostLongest).build(words.split_whitespace()).ok()
});

/// The text in one plain form, in lower case; what was hidden in it follows at its end.
pub(super) fn folded(text: &str) -> String {
    let text = with_entities(text);
    let (seen, mut hidden) = parted(&text);
    hidden.extend(decoded(&seen));
    let mut plain = folded_words(&seen);
    for text in hidden {
        plain.push_str(HIDDEN);
        plain.push_str(&folded_words(&text));
    }
    plain
}

fn folded_words(text: &str) -> String {
    let unmarked = text.chars().filter(|c| !matches!(c, '\u{300}'..='\u{36f}'));
    let lower: String = unmarked.map(plain_letter).flat_map(char::to_lowercase).collect();
    let latin = each_word(&lower);
    let joined = replaced(&SPACED, &latin, |found| {
        let all = &found[0];
        let run = &found[1];
        let at = all.find(run).unwrap_or(0);
        format!(
            "{} {} {}",
            &all[..at],
            with_words(&run.chars().filter(|c| c.is_alphabetic()).collect::<String>()),
            &all[at + run.len()..]
        )
    });
    let without_mail = replaced(&MAIL_ADDRESS, &joined, |_| MAIL.to_owned());
    replaced(&WEB_ADDRESS, &without_mail, |found| {
        let host = found.get(1).map_or("", |host| host.as_str());
        if KNOWN_HOSTS.contains(&host) { KNOWN_ADDRESS } else { ADDRESS }.to_owned()
    })
}

fn replaced(what: &LazyLock<Option<Regex>>, text: &str, by: impl Fn(&Captures<'_>) -> String) -> String {
    match &**what {
        Some(regex) => regex.replace_all(text, |found: &Captures<'_>| by(found)).into_owned(),
        None => text.to_owned(),
    }
}

/// The text with its HTML entities as the characters that they are.
fn with_entities(text: &str) -> String {
    replaced(&ENTITY, text, |found| {
        let number = found.get(1).and_then(|digits| digits.as_str().parse().ok());
        let number = number.or_else(|| found.get(2).and_then(|digits| u32::from_str_radix(digits.as_str(), 16).ok()));
        let named = || match found.get(3).map(|name| name.as_str()) {
            Some("lt") => '<',
            Some("gt") => '>',
            Some("amp") => '&',
            Some("quot") => '"',
            _ => ' ',
        };
        number.map_or_else(named, |number| char::from_u32(number).unwrap_or(' ')).to_string()
    })
}

/// What can be seen of a text; and if letters are parted by what cannot, or tags spell a text, what is hidden.
fn parted(text: &str) -> (String, Vec<String>) {
    let mut seen = String::with_capacity(text.len());
    let (mut tags, mut parts_letters) = (String::new(), false);
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let reorders =
            matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}');
        if !(is_unseen(c) || reorders) {
            seen.push(c);
            continue;
        }
        if let Some(tag) = u32::from(c).checked_sub(0xe0000).and_then(char::from_u32).filter(char::is_ascii_graphic) {
            tags.push(tag);
        } else if c == '\u{e0020}' {
            tags.push(' ');
        }
        let letter_before = seen.chars().next_back().is_some_and(|c| c.is_ascii_alphabetic());
        parts_letters |= letter_before && characters.peek().is_some_and(char::is_ascii_alphabetic);
    }
    let mut hidden = Vec::new();
    if parts_letters || !tags.is_empty() {
        hidden.push(tags);
    }
    (seen, hidden)
}

/// The texts that are in base64 in a text.
fn decoded(text: &str) -> Vec<String> {
    let Some(encoded) = &*ENCODED else { return Vec::new() };
    let is_text = |text: &String| {
        let words =
            text.split_whitespace().filter(|word| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_graphic()));
        text.chars().all(|c| c.is_ascii_graphic() || c.is_ascii_whitespace()) && words.count() >= 3
    };
    encoded.find_iter(text).filter_map(|found| of_base64(found.as_str())).filter(is_text).collect()
}

fn of_base64(text: &str) -> Option<String> {
    if text.len() < ENCODED_CHARS_MIN {
        return None;
    }
    let (mut bytes, mut bits, mut held) = (Vec::with_capacity(text.len() * 3 / 4), 0_u32, 0_u32);
    for c in text.bytes().take_while(|c| *c != b'=') {
        let six = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            _ => 63,
        };
        bits = (bits << 6 | u32::from(six)) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Folds each word: look-alikes if all its foreign letters are ones, and digits that are among letters.
fn each_word(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_of_word) {
        plain.push_str(&rest[..at]);
        let end = rest[at..].find(|c| !is_of_word(c)).map_or(rest.len(), |end| at + end);
        plain.push_str(&one_word(&rest[at..end]));
        rest = &rest[end..];
    }
    plain.push_str(rest);
    plain
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '@' | '$')
}

fn one_word(word: &str) -> String {
    let is_foreign = |c: &char| c.is_alphabetic() && !c.is_ascii();
    let looks_latin = word.chars().filter(is_foreign).all(|c| twin(c).is_some());
    let word: String = word.chars().map(|c| if looks_latin { twin(c).unwrap_or(c) } else { c }).collect();
    let letters = word.chars().filter(char::is_ascii_lowercase).count();
    let is_mail = word.contains('@') && !word.starts_with('@');
    // A name with a number in it, as sha256, ends in its digits or is mostly of them; a word in disguise does not.
    if letters < 3
        || letters * 2 < word.len()
        || is_mail
        || word.trim_end_matches(|c: char| c.is_ascii_digit()).bytes().all(|c| c.is_ascii_lowercase())
    {
        return word;
    }
    let letter = |c: char| match c {
        '0' => 'o',
        '1' => 'i',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        _ => c,
    };
    word.chars().map(letter).collect()
}

/// Letters that ran together, with spaces around the words that are known.
fn with_words(run: &str) -> String {
    let Some(words) = &*LOST_WORDS else { return run.to_owned() };
    let (mut text, mut at) = (String::new(), 0);
    for found in words.find_iter(run) {
        text.push_str(&run[at..found.start()]);
        text.push_str(&format!(" {} ", &run[found.range()]));
        at = found.end();
    }
    text.push_str(&run[at..]);
    text
}
