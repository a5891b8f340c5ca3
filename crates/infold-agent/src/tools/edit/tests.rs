//! `edit` changes exactly what was meant, or nothing.

use serde_json::json;

use crate::tools::LocalTool::Edit;
use crate::tools::change::restore;
use crate::tools::tests::Scene;

const CODE: &str = "fn one() {\n    let a = 1;\n    call(a);\n}\n\nfn two() {\n    let b = 2;\n    call(b);\n}\n";

#[tokio::test]
async fn an_exact_match_is_replaced_and_can_be_undone() {
    let scene = Scene::new(&[("a.rs", CODE)]);
    let output = scene.call(Edit, json!({"path": "a.rs", "old": "let b = 2", "new": "let b = 3"})).await;
    assert_eq!(output.text, "edited a.rs, at line 7");
    let now = scene.text("a.rs");
    assert_eq!(now, CODE.replace("let b = 2", "let b = 3"));
    assert_eq!(restore(Some(now.as_bytes()), &output.changes[0]), Ok(Some(CODE.as_bytes().to_vec())));
}

#[tokio::test]
async fn several_matches_are_refused_with_their_lines_or_all_replaced() {
    let scene = Scene::new(&[("a.rs", CODE)]);
    let text = scene.refused(Edit, json!({"path": "a.rs", "old": "    call(", "new": "    run("})).await;
    assert!(text.contains("`old` occurs 2 times, at lines 3, 8: give more"), "{text}");
    assert_eq!(scene.text("a.rs"), CODE);
    let all = json!({"path": "a.rs", "old": "    call(", "new": "    run(", "replace_all": true});
    assert_eq!(scene.said(Edit, all).await, "edited a.rs, in 2 places: lines 3, 8");
    assert_eq!(scene.text("a.rs"), CODE.replace("call", "run"));
}

#[tokio::test]
async fn a_loose_match_is_replaced_with_the_files_indentation_and_said() {
    let scene = Scene::new(&[("a.rs", CODE)]);
    let loose = json!({"path": "a.rs", "old": "let a = 1;\ncall( a );", "new": "let a = 4;\nif a {\n  call(a);\n}"});
    // Spaces inside of a line differ, but not where there were none.
    let text = scene.refused(Edit, loose).await;
    assert!(text.contains("The nearest lines are:\n     2\t    let a = 1;\n     3\t    call(a);\n"), "{text}");

    let loose = json!({"path": "a.rs", "old": "let a  = 1;\ncall(a);", "new": "let a = 4;\nif a {\n  call(a);\n}"});
    let text = scene.said(Edit, loose).await;
    assert!(text.contains("matched only loosely"), "{text}");
    assert!(
        text.contains("Lines 2 to 3 were replaced; they were:\n     2\t    let a = 1;\n     3\t    call(a);\n"),
        "{text}"
    );
    let wanted = CODE.replace("    call(a);\n", "    if a {\n      call(a);\n    }\n").replace("a = 1", "a = 4");
    assert_eq!(scene.text("a.rs"), wanted);
}

#[tokio::test]
async fn a_loose_match_keeps_line_ends_and_takes_off_what_is_too_much() {
    let scene = Scene::new(&[("dos.txt", "a\r\n\tb\r\nc"), ("end.txt", "x\n  y")]);
    scene.said(Edit, json!({"path": "dos.txt", "old": "a\n\tb\n", "new": "a\n\tb2\n\tb3\n"})).await;
    assert_eq!(scene.text("dos.txt"), "a\r\n\tb2\r\n\tb3\r\nc");
    scene.said(Edit, json!({"path": "end.txt", "old": "    x\n      y", "new": "    x\n      z"})).await;
    assert_eq!(scene.text("end.txt"), "x\n  z");
}

#[tokio::test]
async fn several_loose_matches_are_refused() {
    let scene = Scene::new(&[("a.txt", "  x\ny\n    x\n")]);
    let text = scene.refused(Edit, json!({"path": "a.txt", "old": "\tx", "new": "z"})).await;
    assert!(text.contains("matches loosely 2 times, at lines 1, 3"), "{text}");
    assert_eq!(scene.text("a.txt"), "  x\ny\n    x\n");
}

#[tokio::test]
async fn where_nothing_matches_the_nearest_lines_are_shown() {
    let scene = Scene::new(&[("a.rs", CODE)]);
    let old = "fn two() {\n    let b = 7;\n    call(b, 1);\n}";
    let text = scene.refused(Edit, json!({"path": "a.rs", "old": old, "new": "x"})).await;
    let nearest = "     6\tfn two() {\n     7\t    let b = 2;\n     8\t    call(b);\n     9\t}\n";
    assert!(text.ends_with(nearest), "{text}");
    let text = scene.refused(Edit, json!({"path": "a.rs", "old": "struct Nowhere;", "new": "x"})).await;
    assert!(text.ends_with("read the file again"), "{text}");
    let text = scene.refused(Edit, json!({"path": "b.rs", "old": "x", "new": "y"})).await;
    assert_eq!(text, "b.rs does not exist: make it with `write`");
    assert_eq!(scene.text("a.rs"), CODE);
}

#[tokio::test]
async fn a_loose_match_without_one_rule_for_its_indentation_is_replaced_as_it_was_given() {
    let scene = Scene::new(&[("a.txt", "  b\n      c\n")]);
    scene.said(Edit, json!({"path": "a.txt", "old": "b\n  c", "new": "b2\n  c2"})).await;
    assert_eq!(scene.text("a.txt"), "b2\n  c2\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_edits_at_a_time_none_is_lost() {
    let text: String = (10..90).map(|number| format!("line {number}\n")).collect();
    let scene = std::sync::Arc::new(Scene::new(&[("a.txt", &text)]));
    let edits = (10..90).map(|number| {
        let scene = std::sync::Arc::clone(&scene);
        let edit = json!({"path": "a.txt", "old": format!("line {number}"), "new": format!("done {number}")});
        tokio::spawn(async move { scene.said(Edit, edit).await })
    });
    for edit in edits.collect::<Vec<_>>() {
        edit.await.unwrap();
    }
    assert_eq!(scene.text("a.txt"), text.replace("line", "done"));
}
