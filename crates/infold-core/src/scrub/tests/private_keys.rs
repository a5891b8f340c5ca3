//! Private keys are masked whole, however a transcript shows them.

use super::canaries::filled;
use super::{scrub, shape};

const MASK: &str = "[SECRET:private-key:#]";

/// The lines of a key's body: five full ones and a short last one.
fn lines() -> Vec<String> {
    let body = filled("{b340}==");
    body.as_bytes().chunks(64).map(|line| String::from_utf8(line.to_vec()).unwrap()).collect()
}

/// A whole key with `between` between its lines.
fn key(kind: &str, between: &str) -> String {
    format!("-----BEGIN {kind}-----{between}{}{between}-----END {kind}-----", lines().join(between))
}

#[test]
fn a_key_is_masked_from_begin_to_end() {
    for kind in [
        "PRIVATE KEY",
        "RSA PRIVATE KEY",
        "EC PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ] {
        let scrubbed = scrub(&format!("cat key\n{}\ndone", key(kind, "\n")));
        assert_eq!(shape(&scrubbed), format!("cat key\n{MASK}\ndone"));
        assert_eq!(scrubbed.secrets(), 1);
    }
}

#[test]
fn what_is_between_the_lines_does_not_matter() {
    for between in [
        "\n",
        "\r\n",
        "\\n",
        "\\r\\n",
        "\\\\n",
        "\n    ",
        "\" +\n  \"",
        "\\n\" +\n\"",
        "\n// ",
        "\n> ",
        "\n# ",
        " ",
        "\n+",
        "<br>\n",
    ] {
        let scrubbed = scrub(&format!("{{\"key\": \"{}\"}}", key("PRIVATE KEY", between)));
        assert_eq!(shape(&scrubbed), format!("{{\"key\": \"{MASK}\"}}"), "{between:?}");
    }
}

#[test]
fn a_key_with_line_numbers_or_armour_headers_is_masked_whole() {
    let numbered: Vec<String> =
        key("RSA PRIVATE KEY", "\n").lines().enumerate().map(|(index, line)| format!("    {index}→\t{line}")).collect();
    assert_eq!(shape(&scrub(&numbered.join("\n"))), format!("    0→\t{MASK}"));

    let encrypted = key("RSA PRIVATE KEY", "\n").replacen(
        "-----\n",
        "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B2C3D4E5F60718293A4B5C6D7E8F9\n\n",
        1,
    );
    assert_eq!(shape(&scrub(&encrypted)), MASK);
}

#[test]
fn a_key_that_was_cut_off_is_masked_to_the_end_of_its_lines() {
    for between in ["\n", "\\n", "\r\n", "\n   7→\t"] {
        let whole = key("PRIVATE KEY", between);
        let first_line_end = "-----BEGIN PRIVATE KEY-----".len() + between.len() + 64;
        for end in first_line_end..whole.len() - "-----END PRIVATE KEY-----".len() - between.len() {
            let scrubbed = scrub(&format!("{} [cut] more words", &whole[..whole.floor_char_boundary(end)]));
            let left = shape(&scrubbed);
            assert!(left.starts_with(MASK) && left.ends_with(" [cut] more words"), "{between:?} {end}: {left}");
            assert!(!lines().iter().any(|line| left.contains(&line[..8])), "{left}");
        }
    }
}

#[test]
fn a_key_whose_beginning_was_cut_off_is_masked_back_to_its_first_line() {
    for between in ["\n", "\\n", "\n   7→\t"] {
        let whole = key("PRIVATE KEY", between);
        let from = "-----BEGIN PRIVATE KEY-----".len() + between.len();
        let scrubbed = scrub(&format!("(cut) {}", &whole[from..]));
        assert_eq!(shape(&scrubbed), format!("(cut) {MASK}"), "{between:?}");
    }
}

#[test]
fn two_keys_are_two_secrets_and_what_is_between_them_stays() {
    let text = format!("{}\nand\n{}", key("PRIVATE KEY", "\n"), key("EC PRIVATE KEY", "\n"));
    let scrubbed = scrub(&text);
    assert_eq!(shape(&scrubbed), format!("{MASK}\nand\n{MASK}"));
    assert_eq!(scrubbed.secrets(), 2);
}

#[test]
fn a_key_in_a_service_account_file_is_masked_and_the_file_stays_json() {
    let file = serde_json::json!({
        "type": "service_account",
        "project_id": "demo",
        "private_key": key("PRIVATE KEY", "\n"),
        "client_email": "a@b.iam.gserviceaccount.com",
    });
    let scrubbed = scrub(&file.to_string());
    let read: serde_json::Value = serde_json::from_str(scrubbed.as_str()).unwrap();
    assert_eq!(read["project_id"], "demo");
    assert!(read["private_key"].as_str().unwrap().starts_with("[SECRET:private-key:"));
}

#[test]
fn words_around_the_lines_do_not_save_a_key() {
    let key = key("RSA PRIVATE KEY", "\n");
    let commented = key.replacen("-----\n", "-----\nComment: key of bob@example.com\n\n", 1);
    let numbered = |before: &str, lines: usize| -> String {
        let lines = key.lines().take(lines).enumerate();
        lines.map(|(number, line)| format!("{}{line}\n", before.replace('#', &number.to_string()))).collect()
    };
    for text in
        [commented, numbered("examples/id_rsa:#:", 8), numbered("L#: ", 5), numbered("file-#-", 5), numbered("// ", 5)]
    {
        let scrubbed = scrub(&text);
        for line in lines().iter().take(3) {
            assert!(!scrubbed.as_str().contains(line), "{text}\n{}", scrubbed.as_str());
        }
    }
}

#[test]
fn a_long_key_as_base64_in_lines_is_masked_whole() {
    let key = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", filled("{b3200}"));
    for (width, between) in [(76, "\n"), (64, "\r\n"), (60, "\\n")] {
        let coded = super::forms::base64(key.as_bytes());
        let lines: Vec<&str> = coded.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
        let scrubbed = scrub(&format!("key: {}\n", lines.join(between)));
        assert!(scrubbed.as_str().len() < 80, "{width}: {}", scrubbed.as_str());
    }
}
