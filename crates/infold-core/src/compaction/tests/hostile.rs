//! Threads and summarisers that other systems failed on.

use super::*;

fn with_target(target_tokens: u64) -> CompactionRules {
    CompactionRules { target_tokens, ..RULES }
}

#[test]
fn a_summariser_that_writes_more_than_it_replaces_changes_nothing_for_the_worse() {
    let thread = TestThread::of(SESSION);
    let rules = with_target(500);
    let mechanical = thread.compact(&rules, SummariserWords::NotAsked).unwrap();
    let long = "and then ".repeat(50_000);
    let grown = thread.compact(&rules, SummariserWords::Said(&long)).unwrap();
    assert_eq!(grown.thread, mechanical.thread);
    assert_eq!(grown.receipt.summary_words, WordsFate::TooLong { chars: 449_999, chars_max: 2_000 });
}

#[test]
fn words_that_eat_up_what_the_summary_frees_are_left_out() {
    let thread = TestThread::of("user 60: go\nmodel 60: one\nuser 10: on\nmodel 10: two\nuser 10: on\nmodel 10: three");
    let words = "much to say ".repeat(60);
    let compaction = thread.compact(&with_target(90), SummariserWords::Said(&words)).unwrap();
    assert!(matches!(compaction.receipt.summary_words, WordsFate::NoRoom { .. }), "{:?}", compaction.receipt);
    assert!(compaction.result.after_tokens < compaction.result.before_tokens);
}

#[test]
fn an_empty_answer_leaves_the_mechanical_summary() {
    let thread = TestThread::of(SESSION);
    let compaction = thread.compact(&with_target(500), SummariserWords::Said("  ")).unwrap();
    assert_eq!(compaction.receipt.summary_words, WordsFate::Empty);
    assert_eq!(compaction.verdict, TargetVerdict::Reached);
}

#[test]
fn one_huge_result_in_the_last_turn_becomes_a_reference() {
    let thread = TestThread::of("user 10: go\ncall a shell 10: {}\nresult a shell 900000: x");
    insta::assert_snapshot!(shown(&thread, thread.compact(&RULES, SummariserWords::NotAsked)), @r#"
    user: go
    call shell: {}
      [Old tool result stored — 1 bytes from "shell". Use the "read_result" tool with ref_id="res_1" to read it.]
    80 of 900020 tokens
    3 of 3 messages; clear_tool_results, truncate; reached
    "#);
}

#[test]
fn a_last_turn_that_cannot_shrink_is_named() {
    let thread = TestThread::of("user 10: go\nmodel 300: one\nuser 9000: all of this\nmodel 20: two");
    insta::assert_snapshot!(shown(&thread, thread.compact(&RULES, SummariserWords::NotAsked)), @r#"
    SUMMARY
    [The conversation so far, compacted. Its 2 items are stored: use the "read_result" tool with ref_id="res_1" to read them.]

    # What the user said, word for word
    <user>
    go
    </user>
    END
    user: all of this
    model: two
    9100 of 9330 tokens
    3 of 4 messages; clear_tool_results, truncate; The thread would have to get down to 1,000 tokens, and what cannot shrink takes 9,100: the last turn 9,020, pinned items 0, the summary 80, older turns 0
    "#);
}

#[test]
fn a_single_turn_without_results_is_refused() {
    let thread = TestThread::of("user 9000: all of this\nmodel 20: two");
    insta::assert_snapshot!(shown(&thread, thread.compact(&RULES, SummariserWords::NotAsked)), @"compacting did not shrink the thread, so nothing was changed: 9,020 tokens would be 9,020, and the receipt 0. The thread would have to get down to 1,000 tokens, and what cannot shrink takes 9,020: the last turn 9,020, pinned items 0, the summary 0, older turns 0");
}

#[test]
fn nothing_at_all_is_refused() {
    let thread = TestThread::default();
    assert!(thread.compact(&RULES, SummariserWords::NotAsked).is_err());
    assert_eq!(range_to_summarise(&thread.as_input(), &RULES, counter()), None);
    assert_eq!(last_turn_tokens(&[], &[], counter()), 0);
}

#[test]
fn a_thread_without_any_words_of_the_user_has_a_summary_too() {
    let thread = TestThread::of(
        r#"
        call a read 300: {"path":"a.rs"}
        result a read 30: x
        call b read 300: {"path":"b.rs"}
        result b read 30: x
        call c read 20: {"path":"c.rs"}
        result c read 30: x
    "#,
    );
    insta::assert_snapshot!(shown(&thread, thread.compact(&with_target(150), SummariserWords::NotAsked)), @r#"
    SUMMARY
    [The conversation so far, compacted. Its 4 items are stored: use the "read_result" tool with ref_id="res_1" to read them.]

    # Files read
    - a.rs
    - b.rs
    END
    call read: {"path":"c.rs"}
      result read: x
    123 of 710 tokens
    3 of 6 messages; clear_tool_results, summarise, truncate; reached
    "#);
}

#[test]
fn a_thread_far_beyond_its_window_gets_down_to_its_target() {
    let mut thread = TestThread::default();
    for number in 0..300 {
        let words = format!("message {number}: {}", "some words of the user ".repeat(20));
        thread.put(Kind::User { text: words, voice: Voice::Person }, 110);
        thread.put(Kind::Assistant { text: "answer".to_owned() }, 4_000);
    }
    let compaction = thread.compact(&with_target(5_000), SummariserWords::Failed("it did not fit")).unwrap();
    assert_eq!(compaction.verdict, TargetVerdict::Reached);
    let ThreadPiece::Summary { text } = &compaction.thread.pieces[0] else { panic!("no summary") };
    assert!(text.contains("message 0: ") && text.contains("message 298: "));
    assert!(compaction.to_store[0].text.contains("message 150: "));
}

#[test]
fn a_summary_gets_shorter_and_shorter_until_it_fits() {
    let mut thread = TestThread::default();
    for number in 0..50 {
        let words = format!("message {number}: {}", "some words of the user ".repeat(20));
        thread.put(Kind::User { text: words, voice: Voice::Person }, 110);
        thread.put(Kind::Assistant { text: "answer".to_owned() }, 50);
    }
    let compaction = thread.compact(&with_target(280), SummariserWords::Said("It is about words.")).unwrap();
    assert_eq!(compaction.verdict, TargetVerdict::Reached, "{}", compaction.result.after_tokens);
    assert!(matches!(compaction.receipt.summary_words, WordsFate::NoRoom { .. }), "{:?}", compaction.receipt);
}

#[test]
fn a_huge_result_does_not_count_as_a_floor() {
    let thread = TestThread::of("user 10: go\ncall a shell 10: {}\nthought 5: hm\nresult a shell 900000: x");
    let tokens = last_turn_tokens(&thread.items, &thread.item_tokens, counter());
    assert!((20..100).contains(&tokens), "{tokens}");
}

#[test]
fn ids_that_are_used_again_keep_their_own_results() {
    let thread = TestThread::of(
        r#"
        user 10: go
        call a read 300: {"path":"a.rs"}
        result a read 30: one
        call a read 20: {"path":"b.rs"}
        result a read 30: two
        model 5: done
    "#,
    );
    let compaction = thread.compact(&with_target(170), SummariserWords::NotAsked).unwrap();
    let kept: Vec<&ThreadPiece> = compaction.thread.pieces[1..].iter().collect();
    assert_eq!(kept, [3, 4, 5].map(|item| ThreadPiece::Kept { item }).iter().collect::<Vec<_>>());
}
