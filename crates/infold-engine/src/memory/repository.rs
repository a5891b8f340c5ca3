//! Which project a folder belongs to, and which git branch is checked out there.
//!
//! A repository is named by the folder that all of its worktrees share, so that they have one memory. Only `.git`,
//! `commondir` and `HEAD` are read, each up to a bound, and no command is run: whoever wrote the folder decides nothing
//! but the name of its own project. What it says of its origin (`config`) is a claim: a person decides what follows.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use infold_core::memory::{ProjectKey, git_setting, remote_name};

/// How many folders upward a repository is looked for.
const FOLDERS_MAX: usize = 64;
/// How much of a file is read.
const FILE_BYTES_MAX: u64 = 4_096;
/// How much of a repository's settings is read.
const SETTINGS_BYTES_MAX: u64 = 64 << 10;

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

/// Where git keeps what belongs to this worktree: the folder `.git`, or the one that a file of that name points to. What a
/// folder points to has to point back to it: otherwise it could pass for a worktree of any repository.
fn git_folder_in(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    if git.symlink_metadata().ok()?.is_dir() {
        return git.join("HEAD").is_file().then_some(git);
    }
    let target = folder.join(line_of(&git)?.strip_prefix("gitdir: ")?).canonicalize().ok()?;
    (is_worktree(&target, &git) || is_submodule(&target, folder)).then_some(target)
}

/// Whether a folder of git's is that of a worktree with this `.git` file.
fn is_worktree(target: &Path, git: &Path) -> bool {
    let back = line_of(&target.join("gitdir")).and_then(|back| target.join(back).canonicalize().ok());
    let of = target.parent().filter(|worktrees| worktrees.ends_with("worktrees")).and_then(Path::parent);
    back.is_some() && back == git.canonicalize().ok() && of == common_folder(target).canonicalize().ok().as_deref()
}

/// Whether a folder of git's is that of a submodule in this folder.
fn is_submodule(target: &Path, folder: &Path) -> bool {
    let settings = text_of(&target.join("config"), SETTINGS_BYTES_MAX).unwrap_or_default();
    let back = git_setting(&settings, "core", "worktree").and_then(|back| target.join(back).canonicalize().ok());
    back.is_some() && back == folder.canonicalize().ok() && !target.join("commondir").exists()
}

/// Where git keeps what all worktrees share.
fn common_folder(git_folder: &Path) -> PathBuf {
    // The folder of a repository itself has no `commondir`; one that was put there would lead to another repository.
    let shared = if git_folder.ends_with(".git") { None } else { line_of(&git_folder.join("commondir")) };
    shared.map_or_else(|| git_folder.to_owned(), |common| git_folder.join(common))
}

fn branch_in(git_folder: &Path) -> Option<String> {
    let head = line_of(&git_folder.join("HEAD"))?;
    head.strip_prefix("ref: refs/heads/").map(str::to_owned)
}

/// What a repository says its origin is, as a name without credentials.
pub(crate) fn remote_in(git_folder: &Path) -> Option<String> {
    let settings = text_of(&git_folder.join("config"), SETTINGS_BYTES_MAX)?;
    remote_name(&git_setting(&settings, "remote \"origin\"", "url")?)
}

/// The first line of a small file.
fn line_of(path: &Path) -> Option<String> {
    text_of(path, FILE_BYTES_MAX)?.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

/// The beginning of a file; `None` for anything that is no plain file, which is never opened.
fn text_of(path: &Path, bytes_max: u64) -> Option<String> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(bytes_max).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
