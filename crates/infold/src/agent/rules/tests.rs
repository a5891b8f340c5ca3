//! Rule files and skills in temporary folders.

use std::fs;

use super::*;

#[test]
fn rules_of_a_repository_come_from_its_root_down_and_nothing_above_it_counts() {
    let outside = tempfile::tempdir().unwrap();
    let root = outside.path().join("repo");
    let inner = root.join("a/b");
    fs::create_dir_all(&inner).unwrap();
    fs::create_dir(root.join(".git")).unwrap();
    fs::write(outside.path().join("AGENTS.md"), "outside").unwrap();
    fs::write(root.join("AGENTS.md"), "root").unwrap();
    fs::write(root.join("AGENT.md"), "not read beside AGENTS.md").unwrap();
    fs::write(inner.join("AGENT.md"), "inner").unwrap();

    let texts: Vec<String> = project_rules(&inner).unwrap().into_iter().map(|(_, text)| text).collect();

    assert_eq!(texts, ["root", "inner"]);
}

#[test]
fn a_skill_is_named_by_its_front_or_by_its_folder_and_the_projects_own_comes_first() {
    let (project, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let write = |root: &Path, name: &str, text: &str| {
        let folder = root.join(".infold/skills").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("SKILL.md"), text).unwrap();
    };
    write(project.path(), "release", "---\nname: release\ndescription: \"How to release\"\n---\nTag it.");
    write(home.path(), "release", "another");
    write(home.path(), "notes", "# Write notes\nShort ones.");

    let skills = skills(project.path(), Some(home.path()));

    let seen: Vec<(&str, &str, &str)> =
        skills.iter().map(|skill| (&*skill.name, &*skill.description, &*skill.text)).collect();
    assert_eq!(
        seen,
        [("notes", "Write notes", "# Write notes\nShort ones."), ("release", "How to release", "Tag it.")]
    );
}

#[test]
fn a_rule_file_that_is_too_long_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("AGENTS.md"), vec![b'x'; 300 << 10]).unwrap();

    let refused = project_rules(folder.path()).unwrap_err().to_string();

    assert!(refused.contains("make it shorter"), "{refused}");
}
