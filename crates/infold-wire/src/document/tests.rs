//! Tests that documents are cut at the same places, whatever chunks they come in.

use super::{DocumentPiece, ScanStep, Scanner};

/// The pieces of a document that comes in chunks of this many bytes.
fn pieces(document: &str, chunk_bytes: usize) -> Vec<String> {
    let mut scanner = Scanner::new();
    let mut pieces = Vec::new();
    let mut current = String::new();
    for chunk in document.as_bytes().chunks(chunk_bytes) {
        let mut rest = chunk;
        while !rest.is_empty() {
            match scanner.scan(rest) {
                ScanStep::More => {
                    current.push_str(&String::from_utf8_lossy(rest));
                    break;
                }
                ScanStep::End(bytes, piece) => {
                    current.push_str(&String::from_utf8_lossy(&rest[..bytes]));
                    rest = &rest[bytes..];
                    if !current.is_empty() {
                        pieces.push(described(&piece, &current));
                        current.clear();
                    }
                }
            }
        }
    }
    if !current.is_empty() {
        pieces.push(described(scanner.piece(), &current));
    }
    pieces.push(if scanner.is_done() { "whole".to_owned() } else { "cut off".to_owned() });
    pieces
}

fn described(piece: &DocumentPiece, text: &str) -> String {
    match piece {
        DocumentPiece::Between => format!("- {text}"),
        DocumentPiece::Element => format!("element {text}"),
        DocumentPiece::Member(name) => format!("{name} {text}"),
    }
}

#[test]
fn a_list_is_cut_into_its_elements() {
    let document = r#" [{"a":"]}\""}, [1,[2]] ,"te\\xt", 12.5,null] "#;
    let expected = [
        "-  [",
        r#"element {"a":"]}\""}"#,
        "- , ",
        "element [1,[2]]",
        "-  ,",
        r#"element "te\\xt""#,
        "- , ",
        "element 12.5",
        "- ,",
        "element null",
        "- ] ",
        "whole",
    ];
    for chunk_bytes in 1..=document.len() {
        assert_eq!(pieces(document, chunk_bytes), expected, "in chunks of {chunk_bytes}");
    }
}

#[test]
fn an_object_is_cut_into_its_members_and_the_elements_of_its_list() {
    let document = r#"{"info":{"messages":[1]}, "messages" : [ {"x":1} ],"n":3,"input":"text"}"#;
    let expected = [
        r#"- {"info":"#,
        r#"info {"messages":[1]}"#,
        r#"- , "messages" : [ "#,
        r#"element {"x":1}"#,
        r#"-  ],"n":"#,
        "n 3",
        r#"- ,"input":"#,
        r#"input "text""#,
        "- }",
        "whole",
    ];
    for chunk_bytes in 1..=document.len() {
        assert_eq!(pieces(document, chunk_bytes), expected, "in chunks of {chunk_bytes}");
    }
}

#[test]
fn a_document_that_is_cut_off_is_not_whole() {
    assert_eq!(pieces(r#"{"messages":[{"a":"#, 4), [r#"- {"messages":["#, r#"element {"a":"#, "cut off"]);
    assert_eq!(pieces("[1,", 9), ["- [", "element 1", "- ,", "cut off"]);
}

#[test]
fn empty_lists_have_no_elements() {
    assert_eq!(pieces(r#"{"messages":[]}"#, 3), [r#"- {"messages":[]}"#, "whole"]);
    assert_eq!(pieces("[]", 1), ["- []", "whole"]);
    assert_eq!(pieces("{}", 1), ["- {}", "whole"]);
}
