//! Functions that ask too much are found, and other people's traits are not ours to change.

use super::{SourceFile, problems};

#[test]
fn many_parameters_and_bare_bools_are_found() {
    let text = "//! A.\nfn many(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8) {}\nstruct S;\nimpl S {\n    fn flagged(&self, on: bool) {}\n    fn five(&self, a: u8, b: u8, c: u8, d: u8, e: u8) {}\n}\nimpl Other for S {\n    fn flagged(&self, on: bool) {}\n}\n";
    let file = SourceFile::new("a.rs".to_owned(), text.to_owned());

    assert_eq!(
        problems(&file),
        [
            "a.rs:2: `many` takes 6 parameters: more than 5 want a struct",
            "a.rs:5: `flagged` takes a `bool`, which says nothing where it is called: use an enum",
        ]
    );
}
