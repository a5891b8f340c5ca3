//! Changes are undone on disk, or none of them is.

use serde_json::json;

use super::{UndoError, undo_all};
use crate::tools::LocalTool::{Edit, Write};
use crate::tools::change::{Conflict, FileChange};
use crate::tools::tests::Scene;

const BYTES_MAX: u64 = 10_000;

fn undo(scene: &Scene, newest_first: &[FileChange]) -> Result<Vec<String>, Vec<UndoError>> {
    undo_all(newest_first, &scene.workplace.fence, BYTES_MAX)
}

/// Two changes of one file, and a new file, from the newest to the oldest.
async fn three_changes(scene: &Scene) -> Vec<FileChange> {
    let made = scene.call(Write, json!({"path": "b/c.txt", "content": "new\n"})).await.changes.remove(0);
    let first = scene.call(Edit, json!({"path": "a.txt", "old": "one", "new": "1"})).await.changes.remove(0);
    let second = scene.call(Edit, json!({"path": "a.txt", "old": "two", "new": "2"})).await.changes.remove(0);
    vec![second, first, made]
}

#[tokio::test]
async fn changes_are_undone_from_the_last_to_the_first() {
    let scene = Scene::new(&[("a.txt", "one\ntwo\n")]);
    let changes = three_changes(&scene).await;
    assert_eq!(undo(&scene, &changes).unwrap(), ["a.txt", "b/c.txt"]);
    assert_eq!(scene.text("a.txt"), "one\ntwo\n");
    assert!(!scene.folder().join("b/c.txt").exists());
    assert!(undo(&scene, &changes).unwrap().is_empty(), "what is undone stays so");
}

#[tokio::test]
async fn where_somebody_else_has_changed_a_file_nothing_is_undone() {
    let scene = Scene::new(&[("a.txt", "one\ntwo\n")]);
    let changes = three_changes(&scene).await;
    std::fs::write(scene.folder().join("b/c.txt"), "mine\n").unwrap();

    let problems = undo(&scene, &changes).unwrap_err();
    assert_eq!(problems.len(), 1);
    let UndoError::Conflict(Conflict::ChangedSince { path, diff }) = &problems[0] else { panic!("{problems:?}") };
    assert!(path == "b/c.txt" && diff.contains("-mine"), "{diff}");
    assert_eq!(scene.text("a.txt"), "1\n2\n");

    let problems = undo(&scene, &changes[1..2]).unwrap_err();
    assert!(matches!(problems[0], UndoError::Conflict(_)), "a later change is still there");
    assert_eq!(undo(&scene, &changes[..2]).unwrap(), ["a.txt"]);
}

#[tokio::test]
async fn a_stored_change_leads_nowhere_outside() {
    let scene = Scene::new(&[("a.txt", "one")]);
    let mut change = scene.call(Write, json!({"path": "a.txt", "content": "two"})).await.changes.remove(0);
    std::fs::write(scene.outer.path().join("secret"), "two").unwrap();
    change.path = "../secret".to_owned();
    assert!(matches!(undo(&scene, &[change]).unwrap_err()[0], UndoError::Fence(_)));
    assert_eq!(std::fs::read_to_string(scene.outer.path().join("secret")).unwrap(), "two");
}
