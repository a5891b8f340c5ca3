//! Small cases of every rule; the figures for whole sessions are compared where recordings are at hand.

use super::*;

fn check(text: &str) -> Vec<String> {
    let mut found: Vec<Atom<'_>> = atoms(text).into_iter().collect();
    found.sort();
    let letter = |sort| match sort {
        AtomSort::Path => 'P',
        AtomSort::Identifier => 'I',
        AtomSort::Number => 'N',
        AtomSort::Hash => 'H',
    };
    found.into_iter().map(|atom| format!("{}:{}", letter(atom.sort), atom.name)).collect()
}

#[test]
fn a_path_is_known_by_its_last_two_components() {
    assert_eq!(check("see src/fork/mod.rs, please"), ["P:fork/mod.rs"]);
    assert_eq!(check("/usr/lib"), ["P:usr/lib"]);
    assert_eq!(check("./src/a"), ["P:src/a"]);
    assert_eq!(check("../abcd"), ["P:/abcd"]);
    assert_eq!(check("docs/a.md."), ["P:docs/a.md"]);
    assert_eq!(check("some/dir/.."), ["P:some/dir"]);
    assert_eq!(check("https://example.org/a/b"), ["P:a/b"]);
}

#[test]
fn a_short_path_is_none() {
    assert!(check("a/b, and/o").is_empty());
    assert_eq!(check("and/or"), ["P:and/or"]);
}

#[test]
fn a_path_stops_before_a_last_component_that_cannot_end_one() {
    assert_eq!(check("alpha/beta/~"), ["P:alpha/beta"]);
    assert_eq!(check("alpha/beta~old"), ["P:alpha/beta"]);
    assert_eq!(check("~/notes/today"), ["P:notes/today"]);
    assert!(check("a slash / alone // or //").is_empty());
}

#[test]
fn an_identifier_is_more_than_a_word() {
    assert_eq!(check("plain words, Capital CAPITALS"), Vec::<String>::new());
    assert_eq!(check("snake_case"), ["I:snake_case"]);
    assert_eq!(check("camelCase"), ["I:camelCase"]);
    assert_eq!(check("utf8text"), ["I:utf8text"]);
    assert_eq!(check("12thirteen4"), ["I:thirteen4"]);
    assert!(check("__init_ a_b x1").is_empty());
    assert_eq!(check("éclair_pan"), ["I:clair_pan"]);
}

#[test]
fn a_number_is_a_word_of_its_own() {
    assert_eq!(check("12 123 1234"), ["N:123", "N:1234"]);
    assert!(check("1.234 v123 123px 123.").is_empty());
    assert_eq!(check("line 120→fn"), ["N:120"]);
    assert_eq!(check("100-200"), ["N:100", "N:200"]);
    assert_eq!(check("１２３"), ["N:１２３"]);
}

#[test]
fn a_hash_has_digits_and_letters() {
    assert_eq!(check("commit 1a2b3c4d5e"), ["I:a2b3c4d5e", "H:1a2b3c4"]);
    assert!(check("deadbeef 1a2b3c").is_empty());
    assert_eq!(check("1234567"), ["N:1234567"]);
    assert_eq!(check("abc1234"), ["I:abc1234", "H:abc1234"]);
    assert!(check(&"1".repeat(41)).iter().all(|atom| atom.starts_with('N')));
}

#[test]
fn the_atoms_of_a_text_are_those_of_its_lines() {
    let text = "src/a_file.rs:120\n\tlet some_name = 0x1f; // docs/b.md\n1a2b3c4 done";
    let lines: HashSet<Atom<'_>> = text.split('\n').flat_map(atoms).collect();
    assert_eq!(atoms(text), lines);
}

#[test]
fn an_edit_line_is_without_its_number_and_its_margins() {
    assert_eq!(edit_line("    12→\tlet x = compute();"), Some("let x = compute();"));
    assert_eq!(edit_line("120:    let x = compute();  "), Some("let x = compute();"));
    assert_eq!(edit_line("120-let x = compute();"), Some("let x = compute();"));
    assert_eq!(edit_line("let x = compute();\r"), Some("let x = compute();"));
    assert_eq!(edit_line("120 let x = compute();"), Some("120 let x = compute();"));
}

#[test]
fn a_short_line_is_no_edit_line() {
    assert_eq!(edit_line("   eleven char"), None);
    assert_eq!(edit_line("          }          "), None);
    // The number counts as long as it is there.
    assert_eq!(edit_line("123456→twelve"), Some("twelve"));
    assert_eq!(edit_line("short"), None);
}
