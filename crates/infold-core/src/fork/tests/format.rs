//! What the child reads: headings, preamble and statistics.

use super::*;

#[test]
fn every_item_has_a_heading_that_says_who_speaks() {
    let failed = Kind::Result {
        id: "b".to_owned(),
        tool: String::new(),
        text: "no such file".to_owned(),
        outcome: CallOutcome::Failed,
        held: HeldContent::Whole,
    };
    let items = [
        item(0, Kind::System { text: "You are an agent.".to_owned() }),
        user(1, "fix the bug"),
        item(1, Kind::User { text: "Today is Monday.".to_owned(), voice: Voice::Client }),
        item(1, Kind::Other { name: "image".to_owned(), json: "{\"data\":\"…\"}".to_owned() }),
        reasoning(2, "Where might it be?"),
        assistant(2, "I will look."),
        call(2, "a", "bash", "{\"command\":\"ls\"}"),
        result(3, "a", "bash", "a.rs\nb.rs"),
        item(3, failed),
        item(4, Kind::Clearing { calls: vec!["a".to_owned()] }),
        assistant(5, ""),
    ];
    insta::assert_snapshot!(format_messages_as_context(&group_messages(items)), @r#"
    [User]
    fix the bug

    [Added by the client]
    Today is Monday.

    [image: left out]

    [Assistant]
    I will look.

    [Tool call]
    bash({"command":"ls"})

    [Tool result: bash]
    a.rs
    b.rs

    [Tool result, failed]
    no such file
    "#);
}

#[test]
fn nothing_is_an_empty_context() {
    assert_eq!(format_messages_as_context(&[]), "");
    assert_eq!(format_messages_as_context(&group_messages([reasoning(0, "hm")])), "");
}

#[test]
fn the_preamble_has_the_lines_of_the_requirement() {
    let stats = ProcessingStats {
        original_count: 90,
        final_count: 40,
        total_chars: 1_000,
        removed_messages: 0,
        compaction_detected: false,
        compaction_slice_index: -1,
        truncated_results: 0,
        tier_distribution: TierDistribution { tier1: 5, tier2: 10, tier3: 25 },
        head_tail_applied: 0,
    };
    insta::assert_snapshot!(build_fork_preamble(&stats, &ForkLimits::default()), @"
    You are working with forked context from a parent agent session.
    Context processing applied:
    - No compaction detected
    - Tool results: 5 full, 10 truncated to 3000 chars, 25 truncated to 500 chars
    - All messages preserved
    If you need complete file contents or detailed results, re-read the files directly.
    ");
    let cut = ProcessingStats { removed_messages: 12, compaction_detected: true, ..stats };
    insta::assert_snapshot!(build_fork_preamble(&cut, &ForkLimits::default()), @"
    You are working with forked context from a parent agent session.
    Context processing applied:
    - Compaction summary included (messages before compaction removed)
    - Tool results: 5 full, 10 truncated to 3000 chars, 25 truncated to 500 chars
    - 12 oldest messages removed to fit 200000 char budget
    If you need complete file contents or detailed results, re-read the files directly.
    ");
}

#[test]
fn the_statistics_have_the_fields_of_the_requirement() {
    let stats = fork([calls(16, "Bash", "{}", &"x".repeat(600)), vec![compaction(40, None)]].concat()).stats;
    insta::assert_snapshot!(serde_json::to_string_pretty(&stats).unwrap(), @r#"
    {
      "originalCount": 33,
      "finalCount": 33,
      "totalChars": 10231,
      "removedMessages": 0,
      "compactionDetected": false,
      "compactionSliceIndex": -1,
      "truncatedResults": 1,
      "tierDistribution": {
        "tier1": 5,
        "tier2": 10,
        "tier3": 1
      },
      "headTailApplied": 1
    }
    "#);
}

#[test]
fn profiles_have_names() {
    assert_eq!(("seed".parse(), "recall".parse()), (Ok(Profile::Seed), Ok(Profile::Recall)));
    let unknown = "best".parse::<Profile>().unwrap_err();
    assert_eq!(unknown.to_string(), "there is no fork profile `best`: use `seed` or `recall`");
}

#[test]
fn the_childs_message_ends_with_what_it_is_to_do() {
    let forked = Forked { preamble: "About.".to_owned(), ..fork(vec![user(0, "hello")]) };
    insta::assert_snapshot!(forked.message(Some("Go on.")), @"
    About.

    [User]
    hello

    Go on.
    ");
    insta::assert_snapshot!(Forked { context: String::new(), ..forked }.message(None), @"About.");
}
