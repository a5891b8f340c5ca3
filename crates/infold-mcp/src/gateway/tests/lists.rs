//! Lists in pages, within bounds.

use super::*;
use crate::gateway::{ListKind, Listed};

/// Lists tools of a server that answers with these pages, one after another.
async fn listed(pages: Vec<Value>) -> Result<Listed, LinkError> {
    let (link, mut played, _) = begun().await;
    let count = pages.len();
    let (listed, ()) = tokio::join!(link.list(ListKind::Tools), async {
        for (at, page) in pages.into_iter().enumerate() {
            let (id, params) = played.expect("tools/list").await;
            assert_eq!(params.get("cursor").is_some(), at > 0);
            played.answer(&id, page).await;
        }
    });
    let mut rest = String::new();
    link.close().await;
    assert_eq!(played.lines.read_line(&mut rest).await.unwrap(), 0, "more than {count} pages were asked for: {rest}");
    listed
}

fn tools(names: &[&str], next: Option<&str>) -> Value {
    let tools: Vec<Value> = names.iter().map(|name| json!({ "name": name, "odd": { "field": [1] } })).collect();
    json!({ "tools": tools, "nextCursor": next })
}

#[tokio::test]
async fn all_pages_are_one_list_and_odd_entries_are_left_out() {
    let mut second = tools(&["b"], None);
    second["tools"].as_array_mut().unwrap().extend([json!(7), json!({ "name": "big", "x": "y".repeat(300) })]);
    let listed = listed(vec![tools(&["a"], Some("2")), second]).await.unwrap();
    assert_eq!(listed.items.iter().map(|item| &item["name"]).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(listed.items[0]["odd"], json!({ "field": [1] }), "nothing of an entry is lost");
    assert_eq!(
        listed.problems,
        ["an entry is not an object and was left out", "big has 321 bytes, the limit is 200: it was left out"]
    );
}

#[tokio::test]
async fn a_list_without_end_has_an_end() {
    let endless = vec![tools(&["a"], Some("1")), tools(&["b"], Some("2")), tools(&["c"], Some("3"))];
    let listed_all = listed(endless).await.unwrap();
    assert_eq!((listed_all.items.len(), listed_all.problems[0].as_str()), (3, "only the first 3 pages are used"));

    let again = listed(vec![tools(&["a"], Some("1")), tools(&["b"], Some("1"))]).await.unwrap();
    assert_eq!(again.problems, ["the server sends the same page again and again"]);

    let many = listed(vec![tools(&["a", "b", "c", "d", "e", "f", "g"], Some("1"))]).await.unwrap();
    assert_eq!((many.items.len(), many.problems[0].as_str()), (5, "only the first 5 entries are used"));
}

#[tokio::test]
async fn nonsense_in_a_list_counts_too() {
    let numbers = json!({ "tools": [1, 2, 3, 4, 5, 6, 7, 8, 9], "nextCursor": "1" });
    let listed = listed(vec![numbers]).await.unwrap();
    assert_eq!((listed.items.len(), listed.problems.len()), (0, 6));
    assert_eq!(listed.problems[5], "only the first 5 entries are used");
}

#[tokio::test]
async fn an_answer_that_is_no_list_is_an_error() {
    let error = listed(vec![json!({ "tools": "none" })]).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server does not speak MCP as expected: its answer to tools/list has no list \"tools\""
    );
}

#[tokio::test]
async fn a_server_without_such_a_list_has_an_empty_one() {
    let (link, mut played, _) = begun().await;
    let (listed, ()) = tokio::join!(link.list(ListKind::Prompts), async {
        let (id, _) = played.expect("prompts/list").await;
        played.send(json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "no" } })).await;
    });
    assert_eq!(listed, Ok(Listed::default()));
}
