//! Entries: what is replaced in them, what is wrong with them, and what of them is never shown.

use proptest::prelude::*;

use super::*;

fn child(program: &str, arguments: &[&str], variables: &[(&str, &str)]) -> ServerEntry {
    entry(ServerWay::Child {
        program: program.to_owned(),
        arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
        variables: values(variables),
        inherited: Vec::new(),
        folder: None,
    })
}

fn http(url: &str, headers: &[(&str, &str)]) -> ServerEntry {
    entry(ServerWay::Http { url: url.to_owned(), headers: values(headers), helper: None, login: LoginHints::default() })
}

fn entry(way: ServerWay) -> ServerEntry {
    let key = ServerKey::new("github");
    ServerEntry {
        prefix: ServerEntry::usual_prefix(&key),
        key,
        way,
        kind: ServerKind::Plain,
        sharing: Sharing::PerProject,
        limits: CallLimits { start_timeout_ms: 30_000, call_timeout_ms: 600_000 },
        rights: Rights::default(),
        hints: HintTrust::Trusted,
        origin: EntryOrigin::Settings,
    }
}

fn values(values: &[(&str, &str)]) -> NamedValues {
    NamedValues(values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
}

fn variable(name: &str) -> Option<String> {
    match name {
        "TOKEN" => Some("s3cret".to_owned()),
        "EMPTY" => Some(String::new()),
        "ODD" => Some("${TOKEN}".to_owned()),
        _ => None,
    }
}

fn expand(argument: &str) -> String {
    let expanded = child("x", &[argument], &[]).expanded(&variable);
    match expanded.map(|entry| entry.way) {
        Ok(ServerWay::Child { arguments, .. }) => arguments.join(""),
        Ok(ServerWay::Http { .. }) => "an address".to_owned(),
        Err(problems) => problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    }
}

fn problems(entry: &ServerEntry) -> String {
    entry.problems().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn variables_are_replaced_and_what_only_looks_like_one_stays() {
    let cases = [
        ("--key=${TOKEN}!", "--key=s3cret!"),
        ("${EMPTY}", ""),
        ("${EMPTY:-default}", ""),
        ("${GONE:-default}", "default"),
        ("${GONE:-}", ""),
        ("${GONE:-a:-b}", "a:-b"),
        ("${ODD}", "${TOKEN}"),
        ("$TOKEN ${ ${} ${1A} ${a.b} ${TOKEN", "$TOKEN ${ ${} ${1A} ${a.b} ${TOKEN"),
        ("${#a} ${TOKEN}", "${#a} s3cret"),
    ];
    for (text, expected) in cases {
        assert_eq!(expand(text), expected, "{text}");
    }
}

#[test]
fn a_variable_that_is_not_set_is_named() {
    assert_eq!(expand("${GONE} ${GONE}"), "the variable GONE is not set: set it, or write ${GONE:-default}");
}

#[test]
fn every_value_is_expanded_and_no_name_is() {
    let entry = http("https://${HOST:-example.com}/mcp", &[("Authorization", "Bearer ${TOKEN}")]);
    let ServerWay::Http { url, headers, .. } = entry.expanded(&variable).unwrap().way else { panic!("an address") };
    assert_eq!((url.as_str(), headers), ("https://example.com/mcp", values(&[("Authorization", "Bearer s3cret")])));
    let entry = child("${EMPTY}bin", &[], &[("KEY", "${TOKEN}")]);
    let ServerWay::Child { program, variables, .. } = entry.expanded(&variable).unwrap().way else { panic!("a child") };
    assert_eq!((program.as_str(), variables), ("bin", values(&[("KEY", "s3cret")])));
}

#[test]
fn an_entry_is_checked_once_its_variables_are_replaced() {
    assert!(http("${BASE}/mcp", &[]).problems().is_empty());
    let entry = http("${EMPTY}/mcp", &[("X", "${NEXT:-a\r\nb}")]);
    let found = entry.expanded(&variable).unwrap_err();
    let words: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        words,
        ["url must begin with http:// or https://", "headers has \"X\": its value has a line break in it"]
    );
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let mut broken = child(" ", &["a\0b"], &[("", "x"), ("A=B", "y\0")]);
    broken.key = ServerKey::new("a/b\u{202e}");
    broken.prefix = "läuft__".to_owned();
    broken.limits.call_timeout_ms = 0;
    insta::assert_snapshot!(problems(&broken), @r#"
    the name "a/b" must have 1 to 64 visible characters, none of them "/"
    prefix "läuft__" must have at most 32 characters of A-Z, a-z, 0-9, _ and -
    command is empty
    args has a NUL character in it
    env has a variable "": a name must not be empty and has no "="
    env has a variable "A=B": a name must not be empty and has no "="
    env has a NUL character in it
    timeout_ms must be at least 1
    "#);
    insta::assert_snapshot!(problems(&http("wss://example.com", &[("Mcp-Session-Id", "x"), ("a b", "y")])), @r#"
    url is a WebSocket's, which infold does not speak: leave this server with its client
    headers has "Mcp-Session-Id": infold sets this one itself
    headers has "a b": a name has letters, digits and -
    "#);
    for bad in ["example.com", "http://", "http://:80/x", "ftp://x", "http://a b"] {
        assert_eq!(http(bad, &[]).problems().len(), 1, "{bad}");
    }
}

#[test]
fn an_ordinary_entry_has_no_problems() {
    assert_eq!(problems(&child("npx", &["-y", "server"], &[("KEY", "v")])), "");
    assert_eq!(problems(&http("https://me:pw@example.com:8443/mcp?x=1", &[("Authorization", "Bearer x")])), "");
}

#[test]
fn written_out_an_entry_shows_no_value() {
    let child = child("npx", &["--token", "s3cret"], &[("KEY", "s3cret")]);
    let http = http("https://me:s3cret@example.com/mcp?key=s3cret#s3cret", &[("Authorization", "Bearer s3cret")]);
    for text in [format!("{child:?}"), format!("{http:?}"), format!("{:#?}", http)] {
        assert!(!text.contains("s3cret"), "{text}");
    }
    assert!(format!("{http:?}").contains("https://example.com/mcp"));
    assert!(format!("{child:?}").contains("\"KEY\""));
}

#[test]
fn an_approval_is_for_what_was_written() {
    let entry = child("npx", &["a"], &[("KEY", "${TOKEN}")]);
    let mut slower = entry.clone();
    slower.limits.call_timeout_ms = 1;
    assert_eq!(entry.approval_hash(), slower.approval_hash());
    assert_ne!(entry.approval_hash(), child("npx", &["b"], &[("KEY", "${TOKEN}")]).approval_hash());
    assert_ne!(entry.approval_hash(), child("npx", &["a"], &[("KEY", "x")]).approval_hash());
}

#[test]
fn the_same_program_or_address_is_the_same_target() {
    assert!(child("npx", &["a"], &[]).way.is_same_target(&child("npx", &["a"], &[("K", "v")]).way));
    assert!(!child("npx", &["a"], &[]).way.is_same_target(&child("npx", &[], &[]).way));
    assert!(http("http://a/mcp", &[]).way.is_same_target(&http("http://a/mcp/", &[]).way));
    assert!(!http("http://a/mcp", &[]).way.is_same_target(&child("http://a/mcp", &[], &[]).way));
}

#[test]
fn names_that_are_there_twice_are_found_once() {
    let entries = vec![child("a", &[], &[]), child("b", &[], &[]), http("http://c", &[])];
    assert_eq!(duplicate_names(&entries), [&ServerKey::new("github")]);
}

proptest! {
    #[test]
    fn text_without_a_whole_variable_stays_and_nothing_panics(text in "[a-z$ {:\\-]{0,40}", odd in "[A-Z${}:\\-a-z\0é]{0,60}") {
        prop_assert_eq!(expand(&text), text);
        expand(&odd);
    }
}
