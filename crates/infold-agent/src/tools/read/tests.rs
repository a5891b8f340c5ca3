//! What `read` shows, and what it says it does not show.

use serde_json::json;

use crate::tools::LocalTool::Read;
use crate::tools::tests::{Scene, limits};
use crate::tools::{ToolLimits, ToolOutput};

#[tokio::test]
async fn lines_come_with_numbers_and_the_rest_is_said() {
    let scene = Scene::new(&[("a.txt", "one\ntwo\nthree\nfour\n"), ("empty", "")]);
    assert_eq!(scene.said(Read, json!({"path": "a.txt", "offset": 4})).await, "     4\tfour\n");
    let text = scene.said(Read, json!({"path": "a.txt", "offset": 2, "limit": 2})).await;
    assert_eq!(text, "     2\ttwo\n     3\tthree\n[lines 2 to 3 of 4; read on with offset 4]\n");
    assert_eq!(scene.said(Read, json!({"path": "empty"})).await, "[the file is empty]");
    let text = scene.refused(Read, json!({"path": "a.txt", "offset": 5})).await;
    assert_eq!(text, "the file has 4 lines: `offset` 5 is behind its end");
}

#[tokio::test]
async fn what_cannot_be_shown_is_said() {
    let scene = Scene::with_limits(
        &[("long", &"x".repeat(101)), ("src/a", "")],
        ToolLimits { file_bytes_max: 100, ..limits() },
    );
    std::fs::write(scene.folder().join("bin"), b"\x7fELF\0").unwrap();
    std::fs::write(scene.folder().join("latin"), b"caf\xe9").unwrap();
    let text = scene.refused(Read, json!({"path": "bin"})).await;
    assert_eq!(text, "bin is a binary file of 5 bytes, and has no lines to show");
    let text = scene.refused(Read, json!({"path": "long"})).await;
    assert!(text.starts_with("long has 101 bytes; `read` takes 100: use"), "{text}");
    assert_eq!(scene.refused(Read, json!({"path": "src"})).await, "src is a folder, not a file: use `list`");
    assert_eq!(scene.refused(Read, json!({"path": "none"})).await, "none does not exist");
    let text = scene.said(Read, json!({"path": "latin"})).await;
    assert_eq!(text, "     1\tcaf\u{fffd}\n[some bytes are not UTF-8, and are shown as \u{fffd}]\n");
}

#[tokio::test]
async fn bytes_are_bounded_and_reading_on_comes_to_the_end() {
    let content = format!("{}\nshort\nlast", "ä".repeat(400));
    let tight = ToolLimits { shown_bytes_max: 60, line_bytes_max: 51, ..limits() };
    let scene = Scene::with_limits(&[("a.txt", &content)], tight);
    let first = scene.said(Read, json!({"path": "a.txt"})).await;
    let shown = format!("     1\t{} [750 more bytes in this line]\n", "ä".repeat(25));
    assert_eq!(first, format!("{shown}[lines 1 to 1 of 3; read on with offset 2]\n"));
    let rest = scene.said(Read, json!({"path": "a.txt", "offset": 2})).await;
    assert_eq!(rest, "     2\tshort\n     3\tlast\n");
    let ToolOutput { changes, command, .. } = scene.call(Read, json!({"path": "a.txt"})).await;
    assert!(changes.is_empty() && command.is_none());
}
