//! Passwords in the formats of files and command lines, each with what is written in the same place and is none.

use super::canaries::filled;
use super::scrub;

/// A made-up password that nothing but its place gives away.
const PASSWORD: &str = "Gr4vel-Moth!7";

/// A format of `fixtures/passwords.toml`.
#[derive(serde::Deserialize)]
struct PasswordFormat {
    name: String,
    /// With a mark where the password is.
    text: String,
    /// Texts of the same format that hold none.
    none: Vec<String>,
}

#[derive(serde::Deserialize)]
struct PasswordFormats {
    formats: Vec<PasswordFormat>,
}

#[test]
fn passwords_are_found_in_every_format_and_what_is_none_stays() {
    let file = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/passwords.toml"));
    let PasswordFormats { formats } = toml::from_str(file).unwrap();
    let mut wrong = Vec::new();
    for PasswordFormat { name, text, none } in formats {
        let text = text.replace('§', PASSWORD);
        if scrub(&text).as_str().contains(PASSWORD) {
            wrong.push(format!("{name}: left in {text:?}"));
        }
        for none in none {
            if scrub(&none).as_str() != none {
                wrong.push(format!("{name}: taken out of {none:?}: {}", scrub(&none).as_str()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_key_of_an_application_and_cookies_are_found() {
    let key = filled("{h128}");
    let rails = format!("production:\n  secret_key_base: {key}\n");
    assert!(!scrub(&rails).as_str().contains(&key));
    let session = filled("{a32}");
    for text in [
        format!("Cookie: theme=dark; session={session}; lang=en"),
        format!("Set-Cookie: connect.sid=s%3A{session}; Path=/; HttpOnly"),
        format!("curl -b 'cookie: sid={session}' https://a.example"),
        format!("\"cookie\": \"_app={session}\""),
        format!("Cookie: s={session}"),
        format!("cookies = {{\"s={session}\"}}"),
    ] {
        let scrubbed = scrub(&text);
        assert!(!scrubbed.as_str().contains(&session), "{text}");
        assert!(scrubbed.as_str().contains("ookie"), "{text}");
    }
    for text in [
        "Set-Cookie: theme=dark; Path=/; SameSite=Lax",
        "let cookie = cookies.get(name);",
        "cookie: consent=accepted-all",
    ] {
        assert_eq!(scrub(text).as_str(), text);
    }
}

#[test]
fn the_keys_that_amazon_exports_as_a_table_are_found() {
    let (id, key) = (filled("AKIA{u16}"), filled("{b40}"));
    let text =
        format!("User name,Password,Access key ID,Secret access key,Console login link\nann,,{id},{key},https://a\n");
    let scrubbed = scrub(&text);
    assert!(!scrubbed.as_str().contains(&id) && !scrubbed.as_str().contains(&key), "{scrubbed:?}");
    assert!(scrubbed.as_str().starts_with("User name,Password,Access key ID,Secret access key,"));
}

#[test]
fn the_values_of_a_kubernetes_secret_are_found() {
    let text = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ntype: Opaque\ndata:\n  username: YWRtaW4=\n  \
                password: c2VjcmV0LXdvcmQ=\nstringData:\n  url: plain-value\n---\nkind: ConfigMap\ndata:\n  a: cGxhaW4=\n";
    let scrubbed = scrub(text);
    for value in ["YWRtaW4=", "c2VjcmV0LXdvcmQ=", "plain-value"] {
        assert!(!scrubbed.as_str().contains(value), "{}", scrubbed.as_str());
    }
    for kept in ["name: db", "username: [", "type: Opaque", "a: cGxhaW4="] {
        assert!(scrubbed.as_str().contains(kept), "{kept} in {}", scrubbed.as_str());
    }
}
