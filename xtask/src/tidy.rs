//! The rules of this repository that a program can check: a rule that no test checks is a wish.
//!
//! Each check returns problems as text; this file collects them. What is a matter of taste stays
//! with the reader.

mod documents;
mod graph;
mod names;
mod paths;
mod rust_source;
mod signatures;
mod tracked;
mod unused;
mod words;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};

use xtask::workspace::Workspace;

/// Folders that hold nothing that anybody wrote.
const LEFT_OUT: [&str; 4] = [".git", ".tools", "node_modules", "target"];

/// Sources that only tests build.
const NOT_SHIPPED: [&str; 2] = ["crates/infold-testkit/", "crates/infold-mcp/src/fixtures"];

/// A text file of the repository.
#[derive(Debug)]
pub struct SourceFile {
    /// Its path from the root, with forward slashes.
    pub path: String,
    /// The whole file.
    pub text: String,
}

impl SourceFile {
    /// Whether it is in the program that people get: a source of one of our crates, but no test and nothing that only
    /// tests build.
    pub fn is_shipped(&self) -> bool {
        let in_tests = ["/tests/", "/tests.rs", "/testing.rs"].iter().any(|part| self.path.contains(part));
        let is_source = self.path.starts_with("crates/") && self.path.contains("/src/") && self.path.ends_with(".rs");
        is_source && !in_tests && !NOT_SHIPPED.iter().any(|part| self.path.starts_with(part))
    }

    /// Whether it is a chore of this repository, and no test of one.
    fn is_chore(&self) -> bool {
        ["xtask/src/", "drive/src/"].iter().any(|part| self.path.starts_with(part))
            && self.path.ends_with(".rs")
            && !self.path.ends_with("/tests.rs")
    }

    /// Lines with code on them: no comments, no blank ones.
    fn code_lines(&self) -> usize {
        let code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
        self.text.lines().filter(code).count()
    }
}

/// Checks everything, prints figures and what is wrong, and fails if anything is.
pub fn run(workspace: &Workspace) -> Result<ExitCode> {
    let problems = problems(workspace)?;
    for problem in &problems {
        println!("{problem}");
    }
    println!("{} problems", problems.len());
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Everything that is wrong, one line each. The figures of the paths and of all shipped code are printed.
pub fn problems(workspace: &Workspace) -> Result<Vec<String>> {
    let files = text_files(&workspace.root)?;
    let shipped = || files.iter().filter(|file| file.is_shipped());
    let paths = paths::report(&files);
    for figure in &paths.figures {
        println!("{figure}");
    }
    println!("shipped: {} lines of code", shipped().map(SourceFile::code_lines).sum::<usize>());

    let mut problems = graph::problems(&workspace.metadata);
    problems.extend(graph::unused_dependencies(&workspace.metadata, &files));
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        problems.extend(rust_source::problems(file));
    }
    shipped().for_each(|file| problems.extend(signatures::problems(file)));
    problems.extend(names::problems(shipped()));
    problems.extend(unused::problems(&files));
    problems.extend(paths.problems);
    files.iter().for_each(|file| problems.extend(words::problems(file)));
    problems.extend(words::glossary_problems(&files));
    problems.extend(documents::map_problems(&workspace.root));
    problems.extend(documents::settings_problems(&workspace.root));
    problems.extend(tracked::problems(&workspace.root, &files));
    Ok(problems)
}

/// Every text file of the repository, in order of path.
fn text_files(root: &Path) -> Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder);
        for entry in entries.with_context(|| format!("cannot list {}", folder.display()))? {
            let entry = entry?;
            let left_out = LEFT_OUT.iter().any(|name| entry.file_name() == *name);
            match entry.file_type()? {
                _ if left_out => {}
                kind if kind.is_dir() => folders.push(entry.path()),
                kind if kind.is_file() => files.extend(read_text(root, entry.path())),
                _ => {}
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// The file, unless it is not text.
fn read_text(root: &Path, path: PathBuf) -> Option<SourceFile> {
    let text = std::fs::read_to_string(&path).ok()?;
    let path = path.strip_prefix(root).ok()?.to_string_lossy().replace('\\', "/");
    Some(SourceFile { path, text })
}
