//! Real repositories, and folders that only look like one.

use std::path::Path;
use std::process::Command;

use super::project_of;

fn git(folder: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
    let status = Command::new("git").current_dir(folder).args(identity).args(arguments).output();
    assert!(status.unwrap().status.success(), "git {arguments:?}");
}

#[test]
fn worktrees_and_folders_below_share_a_project_and_each_has_its_branch() {
    let home = tempfile::tempdir().unwrap();
    let (repository, worktree) = (home.path().join("one"), home.path().join("two"));
    std::fs::create_dir_all(repository.join("src/deep")).unwrap();
    git(&repository, &["init", "-q"]);
    git(&repository, &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&repository, &["worktree", "add", "-q", "-b", "feature/x", worktree.to_str().unwrap()]);

    let main = project_of(&repository);
    assert_eq!(main.git_branch.as_deref(), Some("main"));
    assert_eq!(project_of(&repository.join("src/deep")), main);
    let other = project_of(&worktree);
    assert_eq!((&other.project, other.git_branch.as_deref()), (&main.project, Some("feature/x")));
    assert_ne!(project_of(home.path()).project, main.project);
}

#[test]
fn what_only_looks_like_a_repository_is_a_folder_of_its_own_or_a_name_and_never_an_error() {
    let home = tempfile::tempdir().unwrap();
    let folder = |name: &str, git: &[u8]| {
        let folder = home.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(".git"), git).unwrap();
        project_of(&folder)
    };
    let plain = home.path().join("plain");
    std::fs::create_dir_all(plain.join(".git")).unwrap();
    let found = [
        project_of(&plain),
        folder("nowhere", b"gitdir: /nonexistent/place"),
        folder("empty", b""),
        folder("binary", &[0xff, 0xfe, 0]),
        folder("long", &[b'a'; 100_000]),
    ];
    for (at, project) in found.iter().enumerate() {
        assert_eq!(project.git_branch, None);
        assert!(found[..at].iter().all(|other| other.project != project.project), "each is its own");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    let home = tempfile::tempdir().unwrap();
    let made = Command::new("mkfifo").arg(home.path().join(".git")).status();
    assert!(made.unwrap().success());
    assert_eq!(project_of(home.path()).git_branch, None);
}
