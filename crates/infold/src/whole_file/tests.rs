//! A file exists whole or not at all, also when writing it fails.

use super::*;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_file_is_there_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    write(&path, IfThere::Refuse, |to| Ok(to.write_all(b"all of it")?)).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"all of it");
    assert_eq!(names(folder.path()), ["out"]);
}

#[test]
fn what_fails_in_the_middle_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let failed = write(&path, IfThere::Refuse, |to| {
        to.write_all(&[0; 1 << 20])?;
        anyhow::bail!("no more")
    });
    assert_eq!(failed.map(|()| String::new()).unwrap_err().to_string(), "no more");
    assert!(names(folder.path()).is_empty());
}

#[test]
fn while_it_is_written_no_name_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    write(&path, IfThere::Refuse, |to| {
        to.write_all(&[0; 1 << 20])?;
        assert!(names(folder.path()).is_empty());
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_file_that_is_there_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    fs::write(&path, "mine").unwrap();
    let error = write(&path, IfThere::Refuse, |_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("is there already"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"mine");
}

#[test]
fn a_file_that_is_there_can_be_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    fs::write(&path, "old").unwrap();
    write(&path, IfThere::Replace, |to| Ok(to.write_all(b"new")?)).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(names(folder.path()), ["out"]);
}
