//! `search` finds lines, and counts what it does not show.

use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::tools::LocalTool::Search;
use crate::tools::tests::{Scene, limits};
use crate::tools::{LocalCall, ToolLimits, run};

const FILES: [(&str, &str); 5] = [
    (".gitignore", "target\n"),
    ("src/a.rs", "use one;\nfn find_me() {}\n"),
    ("src/b.txt", "find_me too\n"),
    ("target/c.rs", "find_me not\n"),
    (".hidden", "find_me as well\n"),
];

#[tokio::test]
async fn lines_are_found_where_git_looks_as_well() {
    let scene = Scene::new(&FILES);
    std::fs::write(scene.folder().join("bin"), b"find_me\0").unwrap();
    let text = scene.said(Search, json!({"pattern": r"find_\w+"})).await;
    let wanted = ".hidden:1:find_me as well\nsrc/a.rs:2:fn find_me() {}\nsrc/b.txt:1:find_me too\n";
    assert_eq!(text, format!("{wanted}[3 lines in 3 files]\n"));
    let text = scene.said(Search, json!({"pattern": "find_me", "glob": "*.rs"})).await;
    assert_eq!(text, "src/a.rs:2:fn find_me() {}\n[1 lines in 1 files]\n");
    let text = scene.said(Search, json!({"pattern": "find_me", "path": "src", "glob": "b.*"})).await;
    assert_eq!(text, "src/b.txt:1:find_me too\n[1 lines in 1 files]\n");
    let text = scene.said(Search, json!({"pattern": "^find", "path": "src/b.txt"})).await;
    assert_eq!(text, "src/b.txt:1:find_me too\n[1 lines in 1 files]\n");
    assert_eq!(scene.said(Search, json!({"pattern": "nowhere"})).await, "[0 lines in 0 files]\n");
}

#[tokio::test]
async fn mistakes_are_said() {
    let scene = Scene::new(&FILES);
    assert!(scene.refused(Search, json!({"pattern": "("})).await.starts_with("`pattern` is no regular expression"));
    assert!(scene.refused(Search, json!({"pattern": "x", "glob": "a{"})).await.starts_with("`glob` cannot be read"));
    assert!(scene.refused(Search, json!({"pattern": "x", "glob": "!*.rs"})).await.starts_with("`glob` says which"));
    assert_eq!(scene.refused(Search, json!({"pattern": "x", "path": "no"})).await, "no does not exist");
}

#[tokio::test]
async fn what_is_left_out_is_counted() {
    let tight = ToolLimits { search_lines_max: 2, search_files_max: 3, file_bytes_max: 100, ..limits() };
    let long = "many\n".repeat(30);
    let scene = Scene::with_limits(&[("a", "many\nmany\nmany\n"), ("b", &long), ("c", "many\n"), ("d", "many")], tight);
    let text = scene.said(Search, json!({"pattern": "many"})).await;
    let notes: Vec<&str> = text.lines().skip(2).collect();
    assert_eq!(
        notes,
        [
            "[4 lines in 2 files, 2 of them left out: search for something rarer, or give `path` or `glob`]",
            "[3 files searched, 1 not: give `path` or `glob`]",
            "[1 files are longer than is searched: use `shell` with `grep`]",
        ]
    );
}

#[tokio::test]
async fn a_cancelled_search_ends() {
    let scene = Scene::new(&FILES);
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let call = LocalCall::read(Search, &json!({"pattern": "x"})).unwrap();
    assert_eq!(run(call, &scene.workplace, &cancelled).await.text, "cancelled");
}
