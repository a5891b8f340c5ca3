//! Paths and keys are found in the text of documents.

use super::{named_paths, uncommented_keys};

#[test]
fn only_words_that_look_like_our_paths_are_paths() {
    let document = "See `crates/infold/src/main.rs`, `/mcp`, `tools/call`, `cargo xtask test`, \
                    [style](docs/style.md#names), [far](https://example.org/x) and `crates/*`.";

    assert_eq!(named_paths(document), ["crates/infold/src/main.rs", "docs/style.md"]);
}

#[test]
fn a_key_needs_a_comment_right_above_it() {
    let settings = "# The server.\n[server]\n# Where to listen.\nlisten = \"x\"\nbare = 1\n\
                    # Hosts.\nhosts = [\n  \"a=b\",\n]\n#\nempty = 2\n";

    assert_eq!(uncommented_keys(settings), [(5, "bare".to_owned()), (11, "empty".to_owned())]);
}
