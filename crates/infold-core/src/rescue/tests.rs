//! Rescues as text: the sizes of a context's pieces go in, what becomes of each piece comes out.

mod laws;

use super::*;

/// Reads a context: a piece a line, `what tokens`, for a call `call id tokens/short`.
pub(super) fn pieces(text: &str) -> Vec<RescuePiece> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .zip(1..)
        .map(|(line, entry)| piece(line, entry))
        .collect()
}

fn piece(line: &str, entry: u64) -> RescuePiece {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (tokens, short_tokens) = match words[words.len() - 1].split_once('/') {
        Some((tokens, short)) => (tokens.parse().unwrap(), Some(short.parse().unwrap())),
        None => (words[words.len() - 1].parse().unwrap(), None),
    };
    let id = words[1].to_owned();
    let part = match words[0] {
        "user" => RescuePart::Person,
        "summary" => RescuePart::Summary,
        "client" => RescuePart::Client,
        "model" => RescuePart::Model,
        "thought" => RescuePart::Reasoning,
        "call" => RescuePart::Call { id, tool: "Read".to_owned(), short_tokens },
        "result" => RescuePart::Result { id, tool: "Read".to_owned(), short_tokens, speaks: Speaks::Tool },
        "answer" => RescuePart::Result { id, tool: "AskUserQuestion".to_owned(), short_tokens, speaks: Speaks::Person },
        other => panic!("what is a {other}?"),
    };
    RescuePiece { place: ItemPosition { entry, part: 0 }, message: entry, tokens, part }
}

/// The context with what becomes of each piece, and the size of what is left.
fn check(room_tokens: u64, text: &str) -> String {
    let pieces = pieces(text);
    match plan(&pieces, RescueRoom { tokens: room_tokens, receipt_tokens: 0 }) {
        Err(refused) => refused.to_string(),
        Ok(plan) => {
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            let shown = lines.zip(&plan.fates).map(|(line, fate)| match fate {
                Fate::Kept => line.to_owned(),
                Fate::Offloaded => format!("{line} -> reference"),
                Fate::Shortened => format!("{line} -> shortened"),
                Fate::Dropped(why) => format!("{line} -> gone ({why:?})"),
            });
            let shown: Vec<String> = shown.collect();
            format!("{}\n{} of {}", shown.join("\n"), plan.after_tokens, plan.before_tokens)
        }
    }
}

const SESSION: &str = "
    user 100
    thought 50
    call a 20
    result a 400/40
    call b 20
    result b 900/40
    model 30
    user 100
    call c 300/60
    result c 200/40
    model 30
";

#[test]
fn what_fits_stays_and_only_reasoning_goes() {
    insta::assert_snapshot!(check(2_100, SESSION), @r"
    user 100
    thought 50 -> gone (Reasoning)
    call a 20
    result a 400/40
    call b 20
    result b 900/40
    model 30
    user 100
    call c 300/60
    result c 200/40
    model 30
    2100 of 2150
    ");
}

#[test]
fn the_largest_result_is_offloaded_first_and_no_more_than_needed() {
    insta::assert_snapshot!(check(1_300, SESSION), @r"
    user 100
    thought 50 -> gone (Reasoning)
    call a 20
    result a 400/40
    call b 20
    result b 900/40 -> reference
    model 30
    user 100
    call c 300/60
    result c 200/40
    model 30
    1240 of 2150
    ");
}

#[test]
fn the_newest_results_stay_while_older_ones_are_enough() {
    insta::assert_snapshot!(check(1_200, "
        user 100
        call a 20
        result a 300/30
        call b 20
        result b 290/30
        call c 20
        result c 500/30
        model 20
    "), @r"
    user 100
    call a 20
    result a 300/30 -> reference
    call b 20
    result b 290/30
    call c 20
    result c 500/30
    model 20
    1000 of 1270
    ");
}

#[test]
fn inputs_are_shortened_when_results_are_not_enough() {
    insta::assert_snapshot!(check(600, SESSION), @r"
    user 100
    thought 50 -> gone (Reasoning)
    call a 20
    result a 400/40 -> reference
    call b 20
    result b 900/40 -> reference
    model 30
    user 100
    call c 300/60 -> shortened
    result c 200/40 -> reference
    model 30
    480 of 2150
    ");
}

#[test]
fn the_oldest_exchanges_go_when_nothing_else_helps_and_what_fits_is_put_back() {
    insta::assert_snapshot!(check(450, SESSION), @r"
    user 100
    thought 50 -> gone (Reasoning)
    call a 20 -> gone (Exchange)
    result a 400/40 -> gone (Exchange)
    call b 20
    result b 900/40 -> reference
    model 30
    user 100
    call c 300/60 -> shortened
    result c 200/40 -> reference
    model 30
    420 of 2150
    ");
}

#[test]
fn what_cannot_shrink_is_named() {
    insta::assert_snapshot!(check(200, SESSION), @"200 tokens are left for the transcript, and what has to stay needs 230: the user's turns 200, summaries of what was compacted before 0, the last exchange 30, the receipt 0");
}

#[test]
fn calls_and_results_that_have_lost_each_other_go() {
    insta::assert_snapshot!(check(1_000, "
        user 10
        result x 10
        call a 10
        call a 10
        result a 10
        call z 10
        user 10
    "), @r"
    user 10
    result x 10 -> gone (Unpaired)
    call a 10 -> gone (Unpaired)
    call a 10
    result a 10
    call z 10 -> gone (Unpaired)
    user 10
    40 of 70
    ");
}

#[test]
fn a_person_who_speaks_between_a_call_and_its_result_parts_nothing() {
    insta::assert_snapshot!(check(100, "
        user 10
        call a 40
        user 10
        result a 60
        client 5
        user 10
        model 20
    "), @r"
    user 10
    call a 40 -> gone (Exchange)
    user 10
    result a 60 -> gone (Exchange)
    client 5 -> gone (Exchange)
    user 10
    model 20
    50 of 155
    ");
}

#[test]
fn what_the_client_said_goes_last() {
    insta::assert_snapshot!(check(100, "
        user 40
        client 30
        client 90
        model 20
        user 20
        model 10
    "), @r"
    user 40
    client 30
    client 90 -> gone (Client)
    model 20 -> gone (Exchange)
    user 20
    model 10
    100 of 210
    ");
}

#[test]
fn inputs_keep_their_keys_and_lose_the_middle_of_long_texts() {
    let long: String = "é".repeat(2_000);
    let input = serde_json::json!({"file_path": "a.rs", "edits": [{"new_string": long}], "count": 3}).to_string();
    let short = shorten_input(&input, "whole: infold result res_1").unwrap();
    let value: serde_json::Value = serde_json::from_str(&short).unwrap();
    assert_eq!(value["file_path"], "a.rs");
    assert_eq!(value["count"], 3);
    let text = value["edits"][0]["new_string"].as_str().unwrap();
    assert_eq!(text.chars().filter(|c| *c == 'é').count(), 400);
    assert!(text.contains("[1600 characters left out; whole: infold result res_1]"), "{text}");
}

#[test]
fn inputs_that_are_no_json_are_cut_and_short_ones_are_left() {
    assert_eq!(shorten_input(r#"{"command":"ls"}"#, "x"), None);
    assert_eq!(shorten_input("42", "x"), None);
    let patch = format!("*** Begin Patch\n{}", "+ line\n".repeat(300));
    assert!(shorten_input(&patch, "x").unwrap().starts_with("*** Begin Patch\n+ line\n"));
}

#[test]
fn a_receipt_names_what_was_moved_and_where_it_is() {
    let pieces = pieces(SESSION);
    let plan = plan(&pieces, RescueRoom { tokens: 450, receipt_tokens: 0 }).unwrap();
    let mut receipt = Receipt::of(&pieces, &plan);
    for moved in receipt.offloaded.iter_mut().chain(&mut receipt.shortened) {
        moved.handle = format!("res_{}", moved.piece);
    }
    let words = ReceiptWords { purpose: Purpose::Fitting, reader: "infold result", original: "old.jsonl" };
    insta::assert_snapshot!(receipt.text(words, 1), @r"
    [infold rescue: receipt]
    This session no longer fitted its context window, so infold made this shorter copy of it: 2150 tokens became 420. All 2 messages of the user that it still held are here, word for word.
    - tool results moved out of the context, with a reference in place of each: 2 (1100 tokens)
      - Read b: 900 tokens, res_5
      - and 1 more
    - inputs of tool calls shortened, each with a note where it is whole: 1 (300 tokens)
      - Read c: 300 tokens, res_8
    - oldest exchanges left out: 1 (420 tokens; Read x1)
    - blocks of reasoning removed: 1 (50 tokens)
    To read what was moved: call infold's tool read_result with the ref_id, or run `infold result REF` in a shell (--lines A-B, --grep RE for a part).
    The original is unchanged: old.jsonl
    ");
}

#[test]
fn a_receipt_of_a_copy_without_reasoning_says_nothing_of_windows() {
    let words = ReceiptWords { purpose: Purpose::WithoutReasoning, reader: "infold result", original: "old.jsonl" };
    let receipt = Receipt { reasoning: Tally { count: 2, tokens: 0 }, ..Receipt::default() };
    insta::assert_snapshot!(receipt.text(words, 1), @"
    [infold rescue: receipt]
    This session was begun through infold and goes on without it, so infold made this copy of it without its reasoning. It held no message of the user.
    - blocks of reasoning removed: 2 (0 tokens)
    The original is unchanged: old.jsonl
    ");
}

#[test]
fn a_receipt_does_not_vouch_for_lines_that_could_not_be_read() {
    let words = ReceiptWords { purpose: Purpose::Fitting, reader: "infold result", original: "old.jsonl" };
    let said = |unread_lines| Receipt { unread_lines, ..Receipt::default() }.text(words, 1);
    assert!(!said(0).contains("could not be read"));
    assert!(said(1).contains(" 1 line of the original could not be read and may have held more of them."));
    assert!(said(2).contains(" 2 lines of the original could not be read"));
}

#[test]
fn a_persons_answer_to_a_tool_stays_however_little_room_there_is() {
    insta::assert_snapshot!(check(330, "
        user 100
        call a 20
        answer a 80
        call b 20
        result b 400/40
        call c 20
        result c 300/40
        model 50
    "), @"
    user 100
    call a 20
    answer a 80
    call b 20 -> gone (Exchange)
    result b 400/40 -> gone (Exchange)
    call c 20
    result c 300/40 -> reference
    model 50
    310 of 990
    ");
    let text = "
        user 100
        answer a 80
        call b 20
        answer b 10
        model 5
    ";
    let pieces = pieces(text);
    let receipt = Receipt::of(&pieces, &plan(&pieces, RescueRoom { tokens: 500, receipt_tokens: 0 }).unwrap());
    assert_eq!((receipt.user_messages, receipt.user_answers_lost), (2, 1));
    let words = ReceiptWords { purpose: Purpose::Fitting, reader: "infold result", original: "old.jsonl" };
    assert!(
        receipt.text(words, 1).contains(" 1 answer of the user to tools went with calls that are not in the original.")
    );
}

#[test]
fn a_message_of_the_user_in_several_pieces_counts_once() {
    let mut pieces = pieces("user 1\nuser 2\nuser 3\nmodel 1");
    pieces[1].message = pieces[0].message;
    let plan = plan(&pieces, RescueRoom { tokens: 500, receipt_tokens: 0 }).unwrap();
    assert_eq!(Receipt::of(&pieces, &plan).user_messages, 2);
}
