//! Tests of conversations that are flattened into one text.

use super::*;

const TEXT: &str = "Here is the conversation so far:\n\n<conversation>\n[User]: fix the bug\n\n[Assistant]: Looking.\n\
    [Assistant tool call]: infold_branch_create({\"description\":\"look\"})\n[Tool result]: {\"branch_id\":\"br_1\"}\n\n\
    [Assistant]: Reading.\n[Assistant tool call]: read({\"filePath\":\"a.rs\"})\n[Tool result]: fn main() {}\n\n\
    second line\n\n</conversation>\n\nCreate a summary.";

#[test]
fn all_blocks_kept_are_the_text_as_it_was() {
    let flat = FlattenedConversation::read(TEXT).unwrap();
    let pieces: Vec<ViewPiece> = (0..flat.blocks().len()).map(ViewPiece::Keep).collect();
    assert_eq!(flat.write(&pieces), TEXT);
}

#[test]
fn calls_of_ours_are_read_with_what_they_gave() {
    let flat = FlattenedConversation::read(TEXT).unwrap();
    let blocks = flat.blocks();
    assert_eq!(blocks.len(), 8);
    let BlockKind::Call(call) = &blocks[2].kind else { panic!("{blocks:?}") };
    assert_eq!((&*call.tool, call.arguments.as_deref()), ("infold_branch_create", Some("{\"description\":\"look\"}")));
    let BlockKind::Result(result) = &blocks[3].kind else { panic!("{blocks:?}") };
    assert_eq!((&result.call, result.text.as_deref()), (&call.id, Some("{\"branch_id\":\"br_1\"}")));
    let BlockKind::Result(result) = &blocks[6].kind else { panic!("{blocks:?}") };
    assert_eq!(result.text, None);
}

#[test]
fn what_is_left_out_is_gone_and_what_is_said_instead_is_there() {
    let flat = FlattenedConversation::read(TEXT).unwrap();
    let instead = ViewPiece::Text { block: 3, text: "it is in a.rs".to_owned() };
    let text = flat.write(&[ViewPiece::Keep(0), ViewPiece::Keep(1), ViewPiece::Keep(2), instead, ViewPiece::Keep(7)]);
    assert!(text.contains("[Tool result]: it is in a.rs\n\n</conversation>\n\nCreate"), "{text}");
    assert!(!text.contains("fn main"), "{text}");
}

#[test]
fn other_texts_tell_no_conversation() {
    for text in ["", "<conversation>\n", "fix the bug", "<conversation>\nnothing\n</conversation>"] {
        assert!(FlattenedConversation::read(text).is_none(), "{text}");
    }
}
