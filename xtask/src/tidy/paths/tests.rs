//! Paths are read from the map, and files that nothing leads to are found.

use super::{SourceFile, Sources, paths_of};

#[test]
fn a_path_is_its_files_in_order() {
    let map = "# Map\n`crates/before.rs`\n## Following one call\nSome words.\n\n`tool` goes so:\n\n1. `crates/a.rs`: x; `crates/b.rs`\n2. `crates/a.rs` again\n\n`fork`:\n1. `crates/c.rs`\n\n## Next\n`crates/after.rs`\n";

    let paths = paths_of(map);

    let files: Vec<Vec<&str>> = paths.iter().map(|(_, files)| files.iter().map(String::as_str).collect()).collect();
    assert_eq!(files, [vec!["crates/a.rs", "crates/b.rs"], vec!["crates/c.rs"]]);
}

#[test]
fn a_file_is_reached_by_what_it_defines_or_implements_or_by_its_parent() {
    let file = |path: &str, text: &str| SourceFile::new(path.to_owned(), text.to_owned());
    let files = [
        file("crates/x/src/a.rs", "fn start(s: Server) { walk(); }"),
        file("crates/x/src/b.rs", "pub fn walk() {}"),
        file("crates/x/src/c.rs", "impl Handler for Server { fn call(&self) {} }"),
        file("crates/x/src/b/below.rs", "fn leaf() {}"),
        file("crates/x/src/far.rs", "fn nobody_calls() {}"),
    ];
    let path: Vec<String> = files.iter().map(|file| file.path.clone()).collect();

    assert_eq!(
        Sources::of(&files).unreached(&path),
        ["ARCHITECTURE.md: nothing on the path in front of crates/x/src/far.rs leads to it"]
    );
}
