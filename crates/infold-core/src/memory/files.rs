//! Files as texts and memories name them.
//!
//! Agents name one file in many ways: whole, from the root of the repository, or by its last part only. So files are
//! compared by the last parts of their paths, in lower case.

/// Longer pieces are data, not paths.
const PATH_BYTES_MAX: usize = 400;
/// Letters that the ending of a file's name has at most.
const ENDING_CHARS_MAX: usize = 5;
/// Files of which every project has some: that two texts name one says little.
const COMMON_NAMES: [&str; 17] = [
    "__init__.py",
    "agents.md",
    "cargo.toml",
    "changelog.md",
    "claude.md",
    "go.mod",
    "index.js",
    "index.md",
    "index.ts",
    "lib.rs",
    "main.go",
    "main.rs",
    "mod.rs",
    "package.json",
    "readme.md",
    "skill.md",
    "tsconfig.json",
];

/// The last part of a path, in lower case.
pub(crate) fn file_name(path: &str) -> String {
    last_parts(path, 1).to_lowercase()
}

/// The last parts of a path.
pub(crate) fn last_parts(path: &str, parts: usize) -> &str {
    let path = path.trim_end_matches('/');
    match path.rmatch_indices('/').nth(parts - 1) {
        Some((slash, _)) => &path[slash + 1..],
        None => path,
    }
}

/// Whether so many projects have a file of this name, in lower case, that it says little.
pub(crate) fn is_common_name(name: &str) -> bool {
    COMMON_NAMES.binary_search(&name).is_ok()
}

/// The pieces of a text that look like a file's path or name, in order, as often as they occur.
pub(crate) fn paths_in(text: &str) -> impl Iterator<Item = &str> {
    let pieces = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-')));
    pieces.map(|piece| piece.trim_end_matches(['.', '/', '-'])).filter(|piece| looks_like_path(piece))
}

fn looks_like_path(piece: &str) -> bool {
    if piece.len() > PATH_BYTES_MAX {
        return false;
    }
    match piece.rsplit_once('/') {
        Some((before, last)) => has_ending(last) || (!last.is_empty() && before.chars().any(char::is_alphanumeric)),
        None => has_ending(piece),
    }
}

/// Whether a name has a file's ending: `a.rs` has one, `3.5` and `e.g` have none.
pub(crate) fn has_ending(name: &str) -> bool {
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let is_short = (1..=ENDING_CHARS_MAX).contains(&ending.chars().count());
    let is_letters = ending.chars().all(char::is_alphanumeric) && ending.starts_with(char::is_alphabetic);
    is_short && is_letters && stem.chars().filter(|c| c.is_alphanumeric()).nth(1).is_some()
}

#[cfg(test)]
mod tests;
