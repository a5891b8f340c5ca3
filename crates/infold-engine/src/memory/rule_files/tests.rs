//! Which rule files count in a folder.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

fn names(read: &ReadRuleFiles, folder: &Path, home: Option<&Path>) -> Vec<String> {
    read.read(Some(folder), home).iter().map(|file| file.name.clone()).collect()
}

#[test]
fn those_of_the_folder_and_of_all_above_it_in_the_repository_count_and_the_users_own() {
    let outer = tempfile::tempdir().unwrap();
    let (root, home) = (outer.path().join("project"), outer.path().join("home"));
    let deep = root.join("crates/parser");
    for folder in [&deep, &root.join(".git"), &root.join(".claude"), &home.join(".claude")] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    for path in ["CLAUDE.md", "project/AGENTS.md", "project/.claude/CLAUDE.md", "home/.claude/CLAUDE.md"] {
        fs::write(outer.path().join(path), "- a rule").unwrap();
    }
    fs::write(deep.join("GEMINI.md"), "- a rule").unwrap();

    let read = ReadRuleFiles::default();
    let found = names(&read, &deep, Some(&home));
    assert_eq!(found, ["GEMINI.md", ".claude/CLAUDE.md", "AGENTS.md", ".claude/CLAUDE.md"], "none above the root");
    fs::remove_file(root.join(".git/HEAD")).unwrap();
    assert_eq!(names(&read, &deep, None), ["GEMINI.md"], "without a repository only the folder's own count");
}

#[test]
fn only_plain_files_below_the_root_are_read_and_only_their_beginning() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("project");
    fs::create_dir_all(root.join("AGENTS.md")).unwrap();
    fs::write(outer.path().join("private"), "- a secret").unwrap();
    symlink(outer.path().join("private"), root.join("CLAUDE.md")).unwrap();
    symlink("/dev/zero", root.join("GEMINI.md")).unwrap();
    symlink("GEMINI.md", root.join(".cursorrules")).unwrap();
    let read = ReadRuleFiles::default();
    assert!(names(&read, &root, None).is_empty());

    fs::remove_dir(root.join("AGENTS.md")).unwrap();
    fs::write(root.join("AGENTS.md"), [b"- a rule \xff\n".repeat(40_000)].concat()).unwrap();
    fs::remove_file(root.join("CLAUDE.md")).unwrap();
    symlink("AGENTS.md", root.join("CLAUDE.md")).unwrap();
    assert_eq!(names(&read, &root, None), ["CLAUDE.md", "CLAUDE.md"], "one file under two names is read once");
}

#[test]
fn a_file_that_has_changed_is_read_again() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("AGENTS.md");
    let read = ReadRuleFiles::default();
    fs::write(&path, "- a rule").unwrap();
    let first = read.read(Some(root.path()), None).remove(0);
    assert!(Arc::ptr_eq(&first, &read.read(Some(root.path()), None).remove(0)));
    fs::write(&path, "- another rule").unwrap();
    assert!(!Arc::ptr_eq(&first, &read.read(Some(root.path()), None).remove(0)));
}
