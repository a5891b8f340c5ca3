//! Which crate may use which. Arrows point inward: towards the core, which uses nothing of ours.

use std::collections::HashSet;

use serde_json::Value;

use super::source_file::{SourceFile, Word};

#[cfg(test)]
mod tests;

/// Our crates, and those of ours that each may use.
const ARROWS: [(&str, &[&str]); 16] = [
    ("infold-core", &[]),
    ("infold-wire", &["infold-core"]),
    ("infold-replay", &["infold-core"]),
    ("infold-store", &["infold-core"]),
    ("infold-engine", &["infold-core", "infold-store", "infold-wire"]),
    ("infold-agent", &["infold-core", "infold-wire", "infold-engine"]),
    ("infold-chat", &[]),
    ("infold-mcp", &["infold-core", "infold-wire", "infold-engine"]),
    ("infold-control", &["infold-core", "infold-wire", "infold-engine"]),
    ("infold-proxy", &["infold-core", "infold-wire", "infold-engine"]),
    ("infold-door", &["infold-core"]),
    (
        "infold",
        &[
            "infold-core",
            "infold-wire",
            "infold-replay",
            "infold-store",
            "infold-engine",
            "infold-agent",
            "infold-chat",
            "infold-mcp",
            "infold-control",
            "infold-proxy",
            "infold-door",
        ],
    ),
    ("infold-testkit", &["infold-core"]),
    ("xtask", &[]),
    ("drive", &["infold-core", "infold-wire", "infold-replay", "infold-store", "infold-testkit", "xtask"]),
    (
        "fuzz",
        &[
            "infold-core",
            "infold-wire",
            "infold-store",
            "infold-engine",
            "infold-mcp",
            "infold-proxy",
            "infold-testkit",
        ],
    ),
];

/// Crates of ours that are not in the folder `crates`.
const CHORES: [&str; 3] = ["xtask", "drive", "fuzz"];

/// Files of another crate that a crate builds as its own, because the other is a program and no library.
const BORROWED: [(&str, &str); 1] = [("fuzz", "crates/infold/src/settings")];

/// Crates of others that only one of ours may name, because it hides them from the rest.
const HIDDEN_IN: [(&str, &str); 2] = [("rmcp", "infold-mcp"), ("rusqlite", "infold-store")];

/// Crates of others that bring I/O, a clock or randomness, which the core must not have.
const NOT_IN_CORE: [&str; 9] = ["tokio", "reqwest", "rusqlite", "rand", "getrandom", "uuid", "time", "chrono", "axum"];

/// What is wrong with the crate graph.
pub fn problems(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages.flat_map(package_problems).collect()
}

/// Dependencies that a crate lists and does not name, and ones of the workspace that no crate lists.
pub fn unused_dependencies(metadata: &Value, files: &[SourceFile]) -> Vec<String> {
    let packages = || metadata["packages"].as_array().into_iter().flatten();
    let mut problems: Vec<String> = packages().flat_map(|package| unnamed(package, files)).collect();
    let listed: HashSet<&str> = packages().flat_map(dependencies).filter_map(|one| one["name"].as_str()).collect();
    let manifest = files.iter().find(|file| file.path == "Cargo.toml").map_or("", |file| &file.text);
    let section = manifest.split("[workspace.dependencies]").nth(1).and_then(|rest| rest.split("\n[").next());
    let names = section.into_iter().flat_map(str::lines).filter_map(|line| line.split_once(" = "));
    let unlisted = names.filter(|(name, _)| !listed.contains(name));
    problems.extend(unlisted.map(|(name, _)| format!("Cargo.toml: no crate uses {name}")));
    problems
}

fn dependencies(package: &Value) -> impl Iterator<Item = &Value> {
    package["dependencies"].as_array().into_iter().flatten()
}

/// Dependencies of a crate that none of its sources names.
fn unnamed(package: &Value, files: &[SourceFile]) -> Vec<String> {
    let name = package["name"].as_str().unwrap_or_default();
    let folder = if CHORES.contains(&name) { format!("{name}/") } else { format!("crates/{name}/") };
    let borrowed = BORROWED.iter().filter(|(crate_name, _)| *crate_name == name).map(|(_, files)| *files);
    let folders: Vec<&str> = borrowed.chain([&*folder]).collect();
    let is_source =
        |file: &&SourceFile| file.path.ends_with(".rs") && folders.iter().any(|folder| file.path.starts_with(folder));
    let sources: Vec<&SourceFile> = files.iter().filter(is_source).collect();
    let used = |dependency: &str| {
        let word = dependency.replace('-', "_");
        sources.iter().any(|file| names_crate(file.words(), &word))
    };
    let names = dependencies(package).filter_map(|one| one["name"].as_str());
    let unused = names.filter(|dependency| !used(dependency));
    unused.map(|dependency| format!("{name} lists {dependency} and does not use it")).collect()
}

/// Whether a crate is named: at the front of a path or of an import.
fn names_crate(words: &[Word], name: &str) -> bool {
    let is = |at: Option<usize>, text: &str| at.and_then(|at| words.get(at)).is_some_and(|word| word.text == text);
    let mut named = words.iter().enumerate().filter(|(_, word)| word.text == name);
    named.any(|(at, _)| {
        let inner = is(at.checked_sub(1), ":");
        let in_path = is(Some(at + 1), ":") && is(Some(at + 2), ":");
        !inner && (in_path || is(at.checked_sub(1), "use"))
    })
}

fn package_problems(package: &Value) -> Vec<String> {
    let name = package["name"].as_str().unwrap_or_default();
    let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| *known == name) else {
        return vec![format!("{name}: say in xtask/src/tidy/graph.rs which crates it may use")];
    };
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    dependencies.filter_map(|dependency| arrow_problem(name, allowed, dependency)).collect()
}

fn arrow_problem(name: &str, allowed: &[&str], dependency: &Value) -> Option<String> {
    let used = dependency["name"].as_str().unwrap_or_default();
    let for_tests = dependency["kind"].as_str() == Some("dev");
    let ours = ARROWS.iter().any(|(known, _)| *known == used);
    // Tests may build what they need on a real store, and may serve it behind a real door.
    let helps_tests = for_tests && ["infold-testkit", "infold-store", "infold-door"].contains(&used);
    if ours && !allowed.contains(&used) && !helps_tests {
        return Some(format!("{name} must not use {used}: arrows point towards the core"));
    }
    if for_tests {
        return None;
    }
    if name == "infold-core" && NOT_IN_CORE.contains(&used) {
        return Some(format!("{name} must not use {used}: the core has no I/O, clock or randomness"));
    }
    let keeper = HIDDEN_IN.iter().find(|(kept, _)| *kept == used).map(|(_, keeper)| *keeper)?;
    (keeper != name).then(|| format!("{name} must not use {used}: only {keeper} may"))
}
