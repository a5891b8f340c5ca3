//! Taken apart and put together, a value is what it was.

use super::*;

#[test]
fn the_pieces_of_a_value_joined_are_the_value() {
    let json = r#" [{"type":"text", "text":"a \"b\"\u00e9", "n":[1.50,null,"x"]},
        {"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA+/=="}},"data:image/png;base64,AA=="] "#;
    let body = JsonBody::read(json.as_bytes()).unwrap();
    let JsonPieces { between, strings } = body.pieces();
    assert_eq!(between.len(), strings.len() + 1);
    let raws = strings.iter().map(|string| match string {
        StringPiece::Word { raw, .. } | StringPiece::Media { raw } | StringPiece::Text { raw, .. } => *raw,
    });
    let joined: String =
        between.iter().copied().zip(raws.chain([""])).flat_map(|(between, raw)| [between, raw]).collect();
    assert_eq!(joined, json);
    let texts: Vec<&str> = strings
        .iter()
        .filter_map(|string| match string {
            StringPiece::Text { text, .. } => Some(&**text),
            StringPiece::Word { .. } | StringPiece::Media { .. } => None,
        })
        .collect();
    assert_eq!(texts, ["a \"b\"é", "n", "x", "image/png", "data"]);
    assert_eq!(strings.iter().filter(|string| matches!(string, StringPiece::Media { .. })).count(), 2);
}
