//! Which project a folder belongs to, and which git branch is checked out there.
//!
//! A repository is named by the folder that all of its worktrees share, so that they have one memory. Only `.git`,
//! `commondir` and `HEAD` are read, each up to a bound, and no command is run: whoever wrote the folder decides nothing
//! but the name of its own project.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use infold_core::memory::ProjectKey;

/// How many folders upward a repository is looked for.
const FOLDERS_MAX: usize = 64;
/// How much of a file is read.
const FILE_BYTES_MAX: u64 = 4_096;

/// A project and the git branch that is checked out in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundProject {
    pub project: ProjectKey,
    pub git_branch: Option<String>,
    /// The folder that all worktrees of its repository share.
    pub git_folder: Option<String>,
}

/// The project of a folder. A folder that is in no repository is a project of its own.
pub(crate) fn project_of(folder: &Path) -> FoundProject {
    let git_folder = folder.ancestors().take(FOLDERS_MAX).find_map(git_folder_in);
    let Some(git_folder) = git_folder else {
        let project = ProjectKey::of_path(&folder.to_string_lossy());
        return FoundProject { project, git_branch: None, git_folder: None };
    };
    let common = common_folder(&git_folder);
    let common = common.canonicalize().unwrap_or(common);
    let common = common.to_string_lossy().into_owned();
    FoundProject {
        project: ProjectKey::of_folder(&common),
        git_branch: branch_in(&git_folder),
        git_folder: Some(common),
    }
}

/// The folder that a repository, or a worktree of it, is checked out in.
pub(crate) fn root_of(folder: &Path) -> Option<&Path> {
    folder.ancestors().take(FOLDERS_MAX).find(|folder| git_folder_in(folder).is_some())
}

/// Where git keeps what belongs to this worktree: the folder `.git`, or the one that a file of that name points to.
fn git_folder_in(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    if git.is_dir() {
        return git.join("HEAD").is_file().then_some(git);
    }
    let target = folder.join(line_of(&git)?.strip_prefix("gitdir: ")?);
    target.is_dir().then_some(target)
}

/// Where git keeps what all worktrees share.
fn common_folder(git_folder: &Path) -> PathBuf {
    match line_of(&git_folder.join("commondir")) {
        Some(common) => git_folder.join(common),
        None => git_folder.to_owned(),
    }
}

fn branch_in(git_folder: &Path) -> Option<String> {
    let head = line_of(&git_folder.join("HEAD"))?;
    head.strip_prefix("ref: refs/heads/").map(str::to_owned)
}

/// The first line of a small file; `None` for anything that is no plain file, which is never opened.
fn line_of(path: &Path) -> Option<String> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}
