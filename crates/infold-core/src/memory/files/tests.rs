//! What counts as a file in a text.

use super::*;

#[test]
fn paths_and_names_of_files_are_found_in_a_text() {
    let text = "Look at `crates/core/src/lib.rs`, config.toml and (docs/a-b.md:12). See e.g. 3.5, either/or, ./run.sh.";
    let found: Vec<&str> = paths_in(text).collect();
    assert_eq!(found, ["crates/core/src/lib.rs", "config.toml", "docs/a-b.md", "either/or", "./run.sh"]);
}

#[test]
fn files_are_compared_by_the_last_parts_of_their_paths() {
    assert_eq!(file_name("src/Main.RS"), "main.rs");
    assert_eq!(last_parts("/home/a/b/c.rs", 3), "a/b/c.rs");
    assert_eq!(last_parts("c.rs", 3), "c.rs");
    assert!(is_common_name("readme.md") && !is_common_name("decide.rs"));
    assert!(COMMON_NAMES.is_sorted());
}
