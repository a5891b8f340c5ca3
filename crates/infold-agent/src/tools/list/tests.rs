//! `list` shows what git does not ignore, within its bound.

use serde_json::json;

use crate::tools::LocalTool::List;
use crate::tools::ToolLimits;
use crate::tools::tests::{Scene, limits};

const FILES: [(&str, &str); 6] = [
    (".gitignore", "target\n*.log\n"),
    ("src/a.rs", ""),
    ("src/inner/b.rs", ""),
    ("target/out", ""),
    ("x.log", ""),
    (".git/config", ""),
];

#[tokio::test]
async fn a_tree_without_what_git_ignores() {
    let scene = Scene::new(&FILES);
    std::os::unix::fs::symlink("/etc", scene.folder().join("link")).unwrap();
    let text = scene.said(List, json!({})).await;
    assert_eq!(text, ".gitignore\nlink -> /etc\nsrc/\n  a.rs\n  inner/\n    b.rs\n");
    assert_eq!(scene.said(List, json!({"path": "src", "depth": 1})).await, "a.rs\ninner/\n");
    assert_eq!(scene.refused(List, json!({"path": "src/a.rs"})).await, "src/a.rs is not a folder: use `read`");
    assert_eq!(scene.refused(List, json!({"path": "none"})).await, "none does not exist");
}

#[tokio::test]
async fn what_is_left_out_is_counted() {
    let scene = Scene::with_limits(&FILES, ToolLimits { list_entries_max: 2, ..limits() });
    let text = scene.said(List, json!({})).await;
    assert!(text.starts_with(".gitignore\nsrc/\n[3 more entries are left out: "), "{text}");
    let scene = Scene::new(&[]);
    assert_eq!(scene.said(List, json!({})).await, "[no files, apart from those that git ignores]\n");
}
