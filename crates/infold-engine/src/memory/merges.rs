//! Looks whether the work of git branches has reached the trunk, so that what was learnt there counts in full elsewhere.
//!
//! The program `git` is asked, in the background, about repositories of the user's own that memories come from. Only
//! `for-each-ref` is run: it reads references and commits, and nothing that a repository's settings could name is
//! started by it. It gets no environment but PATH, may use no network, and has a few seconds. What cannot be found out
//! changes nothing.
//!
//! A git branch is merged if a commit of it that was seen to be ahead of the trunk is in the trunk now, and nothing of it
//! is ahead any more. One that was squashed or rebased elsewhere leaves no such commit, and stays as it was.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use infold_core::Owner;
use infold_core::memory::TRUNKS;
use infold_store::UnmergedBranch;
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::{Engine, Error};

/// The pause between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(120);
/// Git branches that one look is about.
const BRANCHES_MAX: usize = 64;
/// How long git may take for one answer.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(5);
/// How much of an answer is read.
const ANSWER_BYTES_MAX: u64 = 64 << 10;
/// Settings that no repository may change, whatever version git has.
const SETTINGS: [&str; 4] = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];
/// What git gets by its environment: no network, no locks, no questions.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
];

/// What was seen of repositories at the last look: their references, by folder. Where they are the same, nothing can have
/// been merged.
#[derive(Default)]
pub(crate) struct SeenReferences {
    folders: Mutex<HashMap<String, String>>,
}

/// What a look says of a git branch.
#[derive(Debug, PartialEq, Eq)]
enum BranchFate {
    Unknown,
    /// It is ahead of the trunk by this commit.
    Ahead(String),
    Merged,
}

impl Engine {
    /// Looks for merged work again and again, until it is cancelled.
    pub(crate) async fn keep_looking_for_merges(&self, cancel: &CancellationToken) {
        let looks = async {
            loop {
                if let Err(error) = self.look_for_merges().await {
                    tracing::warn!(%error, "it could not be found out which git branches are merged; this is tried again");
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::select! {
            () = cancel.cancelled() => {}
            () = looks => {}
        }
    }

    /// Looks once which git branches of memories have reached the trunk, and notes it.
    async fn look_for_merges(&self) -> Result<(), Error> {
        let branches = self.inner.store.unmerged_branches(Owner::local(), &TRUNKS, BRANCHES_MAX).await?;
        let mut folders: Vec<Vec<UnmergedBranch>> = Vec::new();
        for branch in branches.into_iter().filter(|branch| is_reference_name(branch.name.as_str())) {
            match folders.iter_mut().find(|known| known[0].git_folder == branch.git_folder) {
                Some(known) => known.push(branch),
                None => folders.push(vec![branch]),
            }
        }
        for branches in folders {
            self.look_at_branches(branches).await?;
        }
        Ok(())
    }

    /// Looks at git branches of one repository.
    async fn look_at_branches(&self, branches: Vec<UnmergedBranch>) -> Result<(), Error> {
        let folder = branches[0].git_folder.as_str().to_owned();
        let names = branches.iter().map(|branch| format!("refs/heads/{}", branch.name.as_str()));
        let wanted: Vec<String> = trunk_references().chain(names).collect();
        let format = "--format=%(objectname) %(refname)".to_owned();
        let Some(references) = self.ask_git(&folder, [vec![format], wanted].concat()).await else { return Ok(()) };
        if !self.inner.learning.references.is_new(&folder, &references) {
            return Ok(());
        }
        for branch in branches {
            let tip = references.lines().find_map(|line| {
                let (commit, reference) = line.split_once(' ')?;
                (reference.strip_prefix("refs/heads/") == Some(branch.name.as_str())).then(|| commit.to_owned())
            });
            let owner = Owner::local();
            match self.fate_of(&folder, tip, branch.tip.clone()).await {
                BranchFate::Unknown => {}
                BranchFate::Ahead(tip) => self.inner.store.note_branch_ahead(owner, branch, tip).await?,
                BranchFate::Merged => {
                    let name = branch.name.clone();
                    let memories = self.inner.store.note_branch_merged(owner, branch, self.now_ms()).await?;
                    tracing::debug!(branch = name.as_str(), memories, "the work of a git branch is in the trunk");
                }
            }
        }
        Ok(())
    }

    /// What became of a git branch, by its last commit now and by the one that was ahead of the trunk before.
    async fn fate_of(&self, folder: &str, now: Option<String>, before: Option<String>) -> BranchFate {
        if let Some(tip) = &now {
            match self.is_in_trunk(folder, tip).await {
                Some(false) => return BranchFate::Ahead(tip.clone()),
                Some(true) => {}
                None => return BranchFate::Unknown,
            }
        }
        match before {
            Some(tip) if self.is_in_trunk(folder, &tip).await == Some(true) => BranchFate::Merged,
            Some(_) | None => BranchFate::Unknown,
        }
    }

    /// Whether a commit is in the trunk; `None` if that cannot be said.
    async fn is_in_trunk(&self, folder: &str, commit: &str) -> Option<bool> {
        let is_commit = matches!(commit.len(), 40 | 64) && commit.bytes().all(|digit| digit.is_ascii_hexdigit());
        let question = [format!("--contains={commit}"), "--format=%(refname)".to_owned(), "--count=1".to_owned()];
        let question = question.into_iter().chain(trunk_references()).collect();
        let answer = if is_commit { self.ask_git(folder, question).await } else { None };
        answer.map(|references| !references.trim().is_empty())
    }

    /// What `git for-each-ref` answers in a folder; `None` if there is no git, it refuses, or it takes too long.
    async fn ask_git(&self, folder: &str, arguments: Vec<String>) -> Option<String> {
        let mut command = Command::new("git");
        command.args(["--no-pager", "-C", folder]).args(SETTINGS).arg("for-each-ref").args(arguments);
        command.env_clear().envs(ENVIRONMENT);
        command.env("PATH", self.inner.settings.programs.as_deref().unwrap_or(OsStr::new("")));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.process_group(0).kill_on_drop(true);
        let answer = async {
            let mut child = command.spawn().ok()?;
            let mut text = String::new();
            child.stdout.take()?.take(ANSWER_BYTES_MAX).read_to_string(&mut text).await.ok()?;
            child.wait().await.ok()?.success().then_some(text)
        };
        let answer = tokio::time::timeout(ANSWER_WAIT_MAX, answer).await.ok().flatten();
        if answer.is_none() {
            tracing::debug!(folder, "git gave no answer, so it is not known which git branches are merged there");
        }
        answer
    }
}

impl SeenReferences {
    /// Notes the references of a folder. Returns whether they are others than before.
    fn is_new(&self, folder: &str, references: &str) -> bool {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if folders.len() > BRANCHES_MAX {
            folders.clear();
        }
        folders.insert(folder.to_owned(), references.to_owned()).as_deref() != Some(references)
    }
}

/// The references that everything ends up in.
fn trunk_references() -> impl Iterator<Item = String> {
    let of_origin = TRUNKS.iter().map(|name| format!("refs/remotes/origin/{name}"));
    TRUNKS.iter().map(|name| format!("refs/heads/{name}")).chain(of_origin)
}

/// Whether git could have a branch of this name. Others would mean several branches, or something else.
fn is_reference_name(name: &str) -> bool {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '*' | '?' | '[' | '\\' | '^' | '~' | ':');
    !name.is_empty() && !name.contains("..") && !name.contains(is_odd)
}
