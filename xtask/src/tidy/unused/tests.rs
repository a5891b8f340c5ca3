//! What only tests name is found; what anybody names is not.

use super::{SourceFile, problems};

#[test]
fn a_public_item_that_nobody_names_is_found() {
    let file = |path: &str, text: &str| SourceFile::new(path.to_owned(), text.to_owned());
    let files = [
        file(
            "crates/a/src/a.rs",
            "pub fn lonely() {}\npub fn wanted() {}\nfn private() {}\npub struct Held { wanted: u8 }",
        ),
        file("crates/a/src/b.rs", "fn main() { a::wanted(); }\n// lonely() in a comment is talk.\nuse a::Held;"),
    ];

    assert_eq!(
        problems(&files),
        ["crates/a/src/a.rs:1: only tests name `lonely`: remove it, or move it to the tests that use it"]
    );
}
