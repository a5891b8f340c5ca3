//! `write` puts whole files in place, and keeps the way back.

use serde_json::json;

use crate::tools::LocalTool::Write;
use crate::tools::change::{FileState, restore};
use crate::tools::tests::Scene;

#[tokio::test]
async fn a_file_is_made_with_its_folders_or_overwritten_and_both_can_be_undone() {
    let scene = Scene::new(&[("a.txt", "one\ntwo\n")]);
    let output = scene.call(Write, json!({"path": "new/deep/b.txt", "content": "x\n"})).await;
    assert_eq!(output.text, "created new/deep/b.txt, 1 lines");
    assert_eq!((output.changes[0].path.as_str(), &output.changes[0].before), ("new/deep/b.txt", &FileState::Absent));
    assert_eq!(restore(Some(b"x\n"), &output.changes[0]), Ok(None));

    let output = scene.call(Write, json!({"path": "a.txt", "content": "one\n"})).await;
    assert_eq!(output.text, "overwrote a.txt: 2 lines before, 1 now");
    assert_eq!(scene.text("a.txt"), "one\n");
    assert_eq!(restore(Some(b"one\n"), &output.changes[0]), Ok(Some(b"one\ntwo\n".to_vec())));

    let again = scene.said(Write, json!({"path": "a.txt", "content": "one\n"})).await;
    assert_eq!(again, "a.txt has had this text already, 1 lines");
}

#[tokio::test]
async fn what_may_not_be_written_is_left_as_it_was() {
    let scene = Scene::new(&[(".git/config", "[core]\n"), ("src/a", "x")]);
    let text = scene.refused(Write, json!({"path": ".git/config", "content": "evil"})).await;
    assert!(text.starts_with(".git/config is never written by a tool"), "{text}");
    assert_eq!(scene.text(".git/config"), "[core]\n");
    assert_eq!(scene.refused(Write, json!({"path": "src", "content": "x"})).await, "src is a folder, not a file");
    let text = scene.refused(Write, json!({"path": "src/a/b", "content": "x"})).await;
    assert!(text.starts_with("src/a/b: Not a directory"), "{text}");
}
