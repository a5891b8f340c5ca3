//! Secrets in the forms that hide them: what is decoded, joined or left out on the way to a reader is searched too.

use super::canaries::{CANARIES, filled};
use super::{scrub, scrubber};

/// The tokens that their own form gives away.
fn tokens() -> impl Iterator<Item = (&'static str, String)> {
    CANARIES.iter().filter(|(.., around)| *around == "@").map(|(rule, template, _)| (*rule, filled(template)))
}

/// Every form of a token, each in a text of its own, with as much of the token as may never be left in it.
fn forms(token: &str) -> Vec<(&'static str, String)> {
    let middle = token.len() / 2;
    let (start, end) = token.split_at(middle);
    let percent: String = token.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let escaped: String = token.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
    let backslash: String = token.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
    let octal: String = token.bytes().map(|byte| format!("\\{byte:03o}")).collect();
    let long: String = token.bytes().map(|byte| format!("\\U{byte:08x}")).collect();
    let padded = format!("FIRST=1\nVALUE={token}\nLAST=2\n");
    let entities: String = token.bytes().map(|byte| format!("&#{byte};")).collect();
    let hex: String = token.bytes().map(|byte| format!("{byte:02x}")).collect();
    let between: String = token.chars().flat_map(|letter| [letter, '\u{200b}']).collect();
    vec![
        ("plain", format!("see {token} there")),
        ("in a colour", format!("see \x1b[31m{token}\x1b[0m there")),
        ("with a colour inside", format!("see {start}\x1b[1;31m{end}\x1b[0m there")),
        ("with a colour that was written down", format!("see {start}\\u001b[31m{end}\\u001b[0m there")),
        ("without width", format!("see {start}\u{200b}{end} there")),
        ("without width after every character", format!("see {between} there")),
        ("percent signs", format!("https://a.example/?q={percent}&b=c")),
        ("unicode escapes", format!("{{\"a\":\"{escaped}\"}}")),
        ("byte escapes", format!("b\"{backslash}\"")),
        ("octal escapes", format!("printf '{octal}'")),
        ("long unicode escapes", format!("\"{long}\"")),
        ("in a link of a terminal", format!("see \x1b]8;;http://a.b\x1b\\{start}\x1b]8;;\x1b\\{end} there")),
        ("with a tag inside", format!("see {start}\u{e0100}{end} there")),
        ("base64 in lines", format!("{{\"content\":\"{}\"}}", in_lines(&base64(padded.as_bytes()), "\\n"))),
        ("an added line", format!("a\n+{token}\nb")),
        ("entities", format!("<p>{entities}</p>")),
        ("base64", format!("data: {}", base64(token.as_bytes()))),
        ("base64 of a text", format!("data: {}\n", base64(format!("{{\"value\":\"{token}\"}}").as_bytes()))),
        ("base64 of base64", format!("data: {}", base64(base64(token.as_bytes()).as_bytes()))),
        ("hex", format!("data: {hex}")),
        ("wrapped", format!("see {start}\n{end} there")),
        ("wrapped and indented", format!("see {start}\n    {end}\n")),
        ("continued", format!("see {start}\\\n{end} there")),
        ("put together", format!("a = \"{start}\" +\n    \"{end}\";")),
    ]
}

/// A text in lines of sixty bytes, with this between them.
fn in_lines(text: &str, between: &str) -> String {
    let lines: Vec<&str> = text.as_bytes().chunks(60).map(|line| std::str::from_utf8(line).unwrap()).collect();
    lines.join(between)
}

pub(super) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for digit in 0..=group.len() {
            text.push(char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize]));
        }
        text.push_str(&"=".repeat(3 - group.len()));
    }
    text
}

#[test]
fn tokens_are_found_in_every_form() {
    let mut missed = Vec::new();
    let mut tried = 0;
    for (rule, token) in tokens() {
        for (form, text) in forms(&token) {
            tried += 1;
            if scrub(&text).secrets() == 0 {
                missed.push(format!("{form}: {rule} {text:.120}"));
            }
        }
    }
    assert!(missed.len() * 100 <= tried, "{} of {tried}:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn a_secret_that_is_split_over_two_parts_is_in_neither() {
    for (rule, token) in tokens() {
        let text = format!("see {token} there");
        let whole = scrub(&text);
        for cut in 1..text.len() {
            let (first, second) = text.split_at(cut);
            let parts = scrubber().scrub_parts(&[first, second]).unwrap();
            assert_eq!(format!("{}{}", parts[0].as_str(), parts[1].as_str()), whole.as_str(), "{rule} at {cut}");
        }
    }
}

#[test]
fn a_token_that_is_whole_in_its_line_does_not_go_on_in_the_next() {
    let token = super::token();
    for text in [
        format!("     1\tTOKEN={token}\n     2\tLEVEL=1\n"),
        format!("TOKEN={token}\nLEVEL2 is on\n"),
        format!("{token}\nnext-word_1 here"),
    ] {
        let scrubbed = scrub(&text);
        assert_eq!(scrubbed.as_str().replace(&scrubbed_token(&token), &token), text);
    }
    // One token in each line are as many secrets.
    let lines = format!("{}\n{}\n{}\n", filled("ghp_{a36}"), filled("glpat-{a20}"), filled("npm_{a36}"));
    assert_eq!(scrub(&lines).secrets(), 3);
}

fn scrubbed_token(token: &str) -> String {
    scrub(token).into_string()
}
