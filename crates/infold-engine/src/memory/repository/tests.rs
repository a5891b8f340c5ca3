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

#[test]
fn a_submodule_is_a_project_of_its_own() {
    let home = tempfile::tempdir().unwrap();
    let (repository, outer) = (home.path().join("one"), home.path().join("outer"));
    for folder in [&repository, &outer] {
        std::fs::create_dir_all(folder).unwrap();
        git(folder, &["init", "-q"]);
        git(folder, &["commit", "-q", "--allow-empty", "-m", "first"]);
    }
    git(&outer, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../one", "inner"]);
    let inner = project_of(&outer.join("inner"));
    assert_eq!(inner.git_branch.as_deref(), Some("main"));
    assert!(inner.project != project_of(&outer).project && inner.project != project_of(&repository).project);
}

#[test]
fn a_folder_that_points_to_a_repository_is_none_of_its_worktrees_unless_that_points_back() {
    let home = tempfile::tempdir().unwrap();
    let (repository, worktree) = (home.path().join("one"), home.path().join("two"));
    std::fs::create_dir_all(&repository).unwrap();
    git(&repository, &["init", "-q"]);
    git(&repository, &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&repository, &["worktree", "add", "-q", worktree.to_str().unwrap()]);
    let (ours, theirs) = (project_of(&repository).project, repository.join(".git"));

    let liar = |name: &str, points: &dyn Fn(&Path)| {
        let folder = home.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        points(&folder);
        assert_ne!(project_of(&folder).project, ours, "{name}");
    };
    let names = |target: &Path| format!("gitdir: {}\n", target.display());
    liar("file", &|folder| std::fs::write(folder.join(".git"), names(&theirs)).unwrap());
    liar("worktree", &|folder| std::fs::write(folder.join(".git"), names(&theirs.join("worktrees/two"))).unwrap());
    liar("link", &|folder| std::os::unix::fs::symlink(&theirs, folder.join(".git")).unwrap());
    liar("common", &|folder| {
        git(folder, &["init", "-q"]);
        std::fs::write(folder.join(".git/commondir"), theirs.to_str().unwrap()).unwrap();
    });
    liar("own", &|folder| {
        let own = folder.join("worktrees/own");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(folder.join(".git"), names(&own)).unwrap();
        std::fs::write(own.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(own.join("gitdir"), folder.join(".git").to_str().unwrap()).unwrap();
        std::fs::write(own.join("commondir"), theirs.to_str().unwrap()).unwrap();
        std::fs::write(own.join("config"), format!("[core]\nworktree = {}\n", folder.display())).unwrap();
    });
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    let home = tempfile::tempdir().unwrap();
    let made = Command::new("mkfifo").arg(home.path().join(".git")).status();
    assert!(made.unwrap().success());
    assert_eq!(project_of(home.path()).git_branch, None);
}
