//! Nothing in the repository may name a path of the machine it was made on, or a package registry:
//! both are true on one machine only.

use std::path::Path;

use super::source_file::SourceFile;

#[cfg(test)]
mod tests;

/// Hosts of package registries. Written in two halves, so that this file does not name them.
const HOSTS: [(&str, &str); 5] = [
    ("registry.npmjs", ".org"),
    ("registry.yarnpkg", ".com"),
    ("files.pythonhosted", ".org"),
    ("pypi", ".org"),
    ("deb.debian", ".org"),
];

/// Files that other programs write, and that name their registry in a fixed way.
const WRITTEN_BY_CARGO: &str = "Cargo.lock";

/// A path shorter than this many parts is too common to mean this machine.
const PATH_PARTS_MIN: usize = 2;

/// What names this machine or a registry.
pub fn problems(root: &Path, files: &[SourceFile]) -> Vec<String> {
    let home = std::env::var("HOME").unwrap_or_default();
    let own_paths = own_paths(root, Path::new(&home));
    let files = files.iter().filter(|file| file.path != WRITTEN_BY_CARGO);
    files.flat_map(|file| file_problems(file, &own_paths)).collect()
}

/// The paths that only this machine has: the repository's, and what lies in the person's home.
fn own_paths(root: &Path, home: &Path) -> Vec<String> {
    let mut paths = vec![root.to_path_buf()];
    paths.extend([".cargo", ".rustup", ".npm", ".cache"].map(|name| home.join(name)));
    let telling = paths.into_iter().filter(|path| path.components().count() > PATH_PARTS_MIN);
    telling.map(|path| path.to_string_lossy().into_owned()).collect()
}

fn file_problems(file: &SourceFile, own_paths: &[String]) -> Vec<String> {
    let mut problems = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let at = format!("{}:{}", file.path, index + 1);
        if let Some(path) = own_paths.iter().find(|path| names_path(line, path)) {
            problems.push(format!("{at}: names {path}, a path of this machine"));
        }
        let mut hosts = HOSTS.iter().map(|(name, end)| format!("{name}{end}"));
        if let Some(host) = hosts.find(|host| line.contains(host.as_str())) {
            problems.push(format!("{at}: names {host}, a package registry"));
        }
    }
    problems
}

/// Whether `line` names `path` or something below it, rather than a longer name that starts alike.
fn names_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let next = line[at + path.len()..].chars().next();
        !next.is_some_and(|next| next.is_alphanumeric() || next == '-' || next == '_')
    })
}
