//! The map must name places that exist, and every setting must be explained.

use std::path::Path;

#[cfg(test)]
mod tests;

/// The document that maps the repository.
pub const MAP: &str = "ARCHITECTURE.md";

/// The file that holds every setting.
const SETTINGS: &str = "crates/infold/default.toml";

/// Beginnings that make a word in backticks a path of this repository.
const PATH_STARTS: [&str; 7] = ["crates/", "drive/", "xtask/", "docs/", "tests-clients/", ".ci/", ".cargo/"];

/// Paths that the map names and that are not there.
pub fn map_problems(root: &Path) -> Vec<String> {
    let Ok(map) = std::fs::read_to_string(root.join(MAP)) else {
        return vec![format!("{MAP} is missing")];
    };
    let paths = named_paths(&map);
    let gone = paths.into_iter().filter(|path| !root.join(path).exists());
    gone.map(|path| format!("{MAP} names {path}, which is not there")).collect()
}

/// The paths that a document names: words in backticks that start like one, and link targets.
fn named_paths(document: &str) -> Vec<String> {
    let quoted = document.split('`').skip(1).step_by(2);
    let quoted = quoted.filter(|word| PATH_STARTS.iter().any(|start| word.starts_with(start)));
    let linked = document.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let linked = linked.map(|target| target.split('#').next().unwrap_or_default());
    let linked = linked.filter(|target| !target.is_empty() && !target.contains("://"));
    quoted
        .chain(linked)
        .filter(|path| !path.contains([' ', '*', '<', '{']))
        .map(|path| path.trim_end_matches('/').to_owned())
        .collect()
}

/// Settings without a sentence above them.
pub fn settings_problems(root: &Path) -> Vec<String> {
    match std::fs::read_to_string(root.join(SETTINGS)) {
        Ok(settings) => uncommented_keys(&settings)
            .into_iter()
            .map(|(line, key)| format!("{SETTINGS}:{line}: `{key}` has no comment above it"))
            .collect(),
        Err(_) => vec![format!("{SETTINGS} is missing")],
    }
}

/// Keys whose line does not follow a comment, with their line numbers.
fn uncommented_keys(settings: &str) -> Vec<(usize, String)> {
    let mut keys = Vec::new();
    let mut explained = false;
    let mut open_brackets = 0_usize;
    for (index, line) in settings.lines().enumerate() {
        let line = line.trim();
        let key = line.split_once('=').filter(|_| !line.starts_with(['#', '[']));
        if let Some((key, _)) = key
            && open_brackets == 0
            && !explained
        {
            keys.push((index + 1, key.trim().to_owned()));
        }
        explained = line.starts_with('#') && line.len() > 2;
        // A list may go over several lines; none of them but the first holds a key.
        if !line.starts_with(['#', '[']) || open_brackets > 0 {
            open_brackets += line.matches('[').count();
            open_brackets = open_brackets.saturating_sub(line.matches(']').count());
        }
    }
    keys
}
