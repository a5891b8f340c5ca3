//! Rust files that break a rule are found, and those that only talk about it are not.

use super::{FUNCTION_LINES_MAX, SourceFile, problems};

#[test]
fn a_file_needs_a_header() {
    assert_eq!(check("xtask/a.rs", "fn a() {}"), ["xtask/a.rs: starts without `//!` that says what it is for"]);
    assert!(check("xtask/a.rs", "//! For a.\nfn a() {}").is_empty());
}

#[test]
fn a_function_fits_a_screen() {
    let body = "    a();\n".repeat(FUNCTION_LINES_MAX - 2);
    let fits = format!("//! A.\nfn a() {{\n{body}}}\n");
    let long = format!("//! A.\nimpl B {{\nfn a() {{\n{body}\n}}\n}}\n");

    assert!(check("xtask/a.rs", &fits).is_empty());
    assert_eq!(check("xtask/a.rs", &long), ["xtask/a.rs:3: `a` has 71 lines, the limit is 70: split it"]);
}

#[test]
fn nothing_is_left_undone() {
    let source = "//! A.\n// todo!() in a comment is talk.\nfn a() { todo!() }\n#[ignore]\nfn b() {}\n";

    assert_eq!(
        check("xtask/a.rs", source),
        ["xtask/a.rs:3: `todo!` is left in", "xtask/a.rs:4: an ignored test; run it or remove it"]
    );
}

#[test]
fn the_core_does_nothing_but_decide() {
    let source = "//! A.\nuse std::{fmt, fs::File, collections::{HashMap}};\nfn a() { std::net::x(\"std::env\"); Instant::now() }\n";

    assert_eq!(
        check("crates/infold-core/src/a.rs", source),
        [
            "crates/infold-core/src/a.rs:2: `fs` in the core, which has no I/O, clock or randomness",
            "crates/infold-core/src/a.rs:3: `net` in the core, which has no I/O, clock or randomness",
            "crates/infold-core/src/a.rs:3: `Instant` in the core, which has no I/O, clock or randomness",
        ]
    );
    assert!(check("crates/infold-store/src/a.rs", source).is_empty());
}

fn check(path: &str, text: &str) -> Vec<String> {
    problems(&SourceFile::new(path.to_owned(), text.to_owned()))
}
