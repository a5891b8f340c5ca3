//! What goes into scrubbed JSON, and what does not.

use super::*;

fn text_of(json: Option<ScrubbedJson>) -> Option<String> {
    json.map(|json| String::from_utf8(json.bytes().to_vec()).unwrap())
}

#[test]
fn strings_that_did_not_change_keep_their_spelling_and_others_are_written_anew() {
    let (same, other) = (Scrubbed::fixed("é/"), Scrubbed::fixed("say \"x\""));
    let strings = [
        JsonString::Scrubbed { raw: r#""\u00e9\/""#, text: &same },
        JsonString::Scrubbed { raw: r#""a secret""#, text: &other },
        JsonString::Media(r#""data:image/png;base64,AAb+/9==""#),
    ];
    let between = ["[ ", ",", " , ", ",-1.5e+3,true, null]"];
    let wanted = r#"[ "\u00e9\/","say \"x\"" , "data:image/png;base64,AAb+/9==",-1.5e+3,true, null]"#;
    assert_eq!(text_of(ScrubbedJson::put_together(&between, &strings)).as_deref(), Some(wanted));
}

#[test]
fn nothing_else_gets_in() {
    let text = Scrubbed::fixed("x");
    let string = [JsonString::Scrubbed { raw: "\"x\"", text: &text }];
    for between in [&["[", ",\"ghp_\"]"][..], &["[ghp_", "]"], &["[", "]", "]"], &["["], &[]] {
        assert_eq!(ScrubbedJson::put_together(between, &string), None, "{between:?}");
    }
    for raw in ["\"ghp_abc\"", "\"two words\"", "\"data:text/plain,abc\"", "no quotes"] {
        assert_eq!(ScrubbedJson::put_together(&["", ""], &[JsonString::Media(raw)]), None, "{raw}");
    }
}
