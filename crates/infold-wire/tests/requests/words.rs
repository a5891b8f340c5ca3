//! Whose words are in a request, and words that are replaced or quoted.

use std::sync::Arc;

use infold_core::view::ViewPiece;
use infold_wire::request::Api;
use insta::assert_snapshot;

use super::{sent, shape};

#[test]
fn the_form_of_words_in_a_message_shows_whose_they_are() {
    let body = r#"{"messages":[{"role":"user","content":[
        {"type":"text","text":"<system-reminder>\nResult of calling the Read tool:\n1\tfn\n</system-reminder>\n"},
        {"type":"text","text":"<command-name>/review</command-name>\n<command-args>the parser</command-args>"},
        {"type":"text","text":"fix @a.rs"},
        {"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]},
        {"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"went\n\n<system-reminder>\nThe user sent a new message while you were working:\nhurry\n</system-reminder>\n\n<system-reminder>\nrules\n</system-reminder>"}]}]}"#;
    assert_snapshot!(shape(Api::Messages, body), @r"
    0 attachment: <system-reminder>
    Result of calling the Read tool:
    1	fn
    </system-reminder>

    0 person: <command-name>/review</command-name>
    <command-args>the parser</command-args>
    0 person: fix @a.rs
    0 person: 
    1 call t1 Bash: {}
    2 result t1 155 bytes and Person's words and Client's words: went

    <system-reminder>
    The user sent a new message while you were working:
    hurry
    </system-reminder>

    <system-reminder>
    rules
    </system-reminder>
    ");
}

#[test]
fn codex_says_whose_words_the_parts_of_a_message_are() {
    let body = r#"{"input":[{"type":"message","role":"user","content":[
        {"type":"input_text","text":"plain words of a new kind"},{"type":"input_text","text":"<b>typed</b>"}],
        "internal_chat_message_metadata_passthrough":{"content_item_kinds":["hooks.feedback","user.text"]}}]}"#;
    assert_snapshot!(shape(Api::Responses, body), @"
    0 client: plain words of a new kind
    0 person: <b>typed</b>
    ");
}

#[test]
fn words_are_replaced_in_their_place_and_results_are_quoted_as_words() {
    let body = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"token abc","cache_control":{"type":"ephemeral"}},{"type":"text","text":"go"}]},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"went\n\n<system-reminder>\nrules\n</system-reminder>"}]}]}"#;
    let pieces = [
        ViewPiece::Words { block: 0, text: "token ***".to_owned() },
        ViewPiece::Keep(1),
        ViewPiece::Quote { block: 3, json: None, head: "[What Bash gave]".to_owned() },
        ViewPiece::Quote { block: 3, json: Some(Arc::from(&b"\"some of it\""[..])), head: "[Bash]".to_owned() },
    ];
    assert_snapshot!(sent(Api::Messages, body, &pieces), @r#"
    {"role":"user","content":[{"type":"text","text":"token ***","cache_control":{"type":"ephemeral"}},{"type":"text","text":"go"}]}
    {"role":"user","content":[{"type":"text","text":"[What Bash gave]\nwent"}]}
    {"role":"user","content":[{"type":"text","text":"[Bash]\nsome of it"}]}
    "#);
}
