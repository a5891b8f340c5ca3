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
mod source_file;
mod tracked;
mod unused;
mod words;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};

use source_file::SourceFile;
use xtask::workspace::Workspace;

/// Folders that hold nothing that anybody wrote.
const LEFT_OUT: [&str; 4] = [".git", ".tools", "node_modules", "target"];

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
    problems.extend(names::problems(files.iter().filter(|file| file.is_code())));
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
    Some(SourceFile::new(path, text))
}
