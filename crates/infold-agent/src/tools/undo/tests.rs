//! A change is undone on disk, or not at all.

use serde_json::json;

use super::{UndoError, undo};
use crate::tools::LocalTool::{Edit, Write};
use crate::tools::tests::Scene;

#[tokio::test]
async fn changes_are_undone_from_the_last_to_the_first() {
    let scene = Scene::new(&[("a.txt", "one\ntwo\n")]);
    let made = scene.call(Write, json!({"path": "b/c.txt", "content": "new\n"})).await.changes.remove(0);
    let first = scene.call(Edit, json!({"path": "a.txt", "old": "one", "new": "1"})).await.changes.remove(0);
    let second = scene.call(Edit, json!({"path": "a.txt", "old": "two", "new": "2"})).await.changes.remove(0);

    assert!(matches!(undo(&first, &scene.workplace), Err(UndoError::Conflict(_))));
    assert_eq!(scene.text("a.txt"), "1\n2\n");
    undo(&second, &scene.workplace).unwrap();
    undo(&first, &scene.workplace).unwrap();
    assert_eq!(scene.text("a.txt"), "one\ntwo\n");
    undo(&made, &scene.workplace).unwrap();
    assert!(!scene.folder().join("b/c.txt").exists());
    assert!(matches!(undo(&made, &scene.workplace), Err(UndoError::Conflict(_))));
}

#[tokio::test]
async fn a_stored_change_leads_nowhere_outside() {
    let scene = Scene::new(&[("a.txt", "one")]);
    let mut change = scene.call(Write, json!({"path": "a.txt", "content": "two"})).await.changes.remove(0);
    std::fs::write(scene.outer.path().join("secret"), "two").unwrap();
    change.path = "../secret".to_owned();
    assert!(matches!(undo(&change, &scene.workplace), Err(UndoError::Fence(_))));
    assert_eq!(std::fs::read_to_string(scene.outer.path().join("secret")).unwrap(), "two");
}
