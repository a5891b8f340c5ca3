//! What a summary says, whatever a model writes.

use std::collections::BTreeSet;

use super::*;

fn facts(text: &str) -> SummaryFacts {
    let mut facts = SummaryFacts::default();
    facts.add(&TestThread::of(text).items, &BTreeSet::new());
    facts
}

fn frame() -> SummaryFrame<'static> {
    SummaryFrame { handle: "res_1", items: 12, pinned: 0, branches: &[], notes: "" }
}

#[test]
fn tools_of_several_agents_say_which_files_and_commands_there_were() {
    let facts = facts(
        r#"
        user 1: go
        call a Read 1: {"file_path":"/w/a.rs"}
        result a Read 1: fn a
        call b Edit 1: {"file_path":"/w/a.rs","old_string":"a","new_string":"b"}
        result b Edit 1: ok
        call c apply_patch 1: {"input":"*** Begin Patch\n*** Update File: src/b.rs\n+x\n*** Add File: c.rs\n+y\n*** End Patch"}
        result c apply_patch 1: ok
        call d Bash 1: {"command":"cargo   build"}
        result d Bash 1: Exit code 101⏎   Compiling x⏎error: no such crate⏎help: y
        call e exec_command 1: {"cmd":"ls -l"}
        result e exec_command 1: Process exited with code 0
        call f search 1: {"path":"src","pattern":"x"}
        result f search 1: none
        call g list 1: {"path":"src"}
        result g list 1: a.rs
        call h read 1: {"path":"d.rs"}
        result h read 1: fn d
        call i write 1: {"path":"e.rs","content":"fn e"}
        failed i write 1: refused
        call j shell 1: {"command":"cargo test"}
        failed j shell 1: the sandbox denied it
        call k shell 1: {"command":"cargo   test"}
        result k shell 1: ok
    "#,
    );
    insta::assert_snapshot!(mechanical_summary(&facts, &frame(), &RULES.summary), @r#"
    [The conversation so far, compacted. Its 12 items are stored: use the "read_result" tool with ref_id="res_1" to read them.]

    # What the user said, word for word
    <user>
    go
    </user>

    # Files changed
    - /w/a.rs
    - src/b.rs
    - c.rs

    # Files read
    - d.rs

    # Commands
    - `cargo build`: exit code 101: error: no such crate
    - `ls -l`: exit code 0
    - `cargo test`: done
    "#);
}

#[test]
fn open_branches_and_notes_are_in_it() {
    let branch = |id: &str, so_far: &str| BranchSoFar {
        id: id.to_owned(),
        description: "find the leak".to_owned(),
        so_far: so_far.to_owned(),
    };
    let branches = [branch("br_1", "it is in\nthe pool"), branch("br_2", ""), branch("br_3", "x")];
    let frame = SummaryFrame { branches: &branches, notes: "remember the port", pinned: 2, ..frame() };
    let bounds = SummaryBounds { branches_max: 2, ..RULES.summary };
    insta::assert_snapshot!(mechanical_summary(&SummaryFacts::default(), &frame, &bounds), @r#"
    [The conversation so far, compacted. Its 12 items are stored: use the "read_result" tool with ref_id="res_1" to read them. 2 pinned items follow below, word for word.]

    # Open branches
    - br_1: find the leak. So far: it is in the pool
    - br_2: find the leak. So far: nothing
    [also open: br_3]

    # Notes
    remember the port
    "#);
}

#[test]
fn the_users_words_keep_their_first_message_and_the_latest() {
    let words: String = (0..10).map(|number| format!("user 1: {}{number}\n", "word ".repeat(20))).collect();
    let bounds = SummaryBounds { words_chars_max: 800, ..RULES.summary };
    let summary = mechanical_summary(&facts(&words), &frame(), &bounds);
    assert!(summary.contains(&format!("{}0\n", "word ".repeat(20))));
    assert!(summary.contains(&format!("{}9\n", "word ".repeat(20))));
    assert!(!summary.contains(&format!("{}3\n", "word ".repeat(20))));
    assert!(summary.contains("earlier messages left out here: in what is stored]"), "{summary}");
}

#[test]
fn one_message_beyond_the_bound_is_cut_and_says_so() {
    let facts = facts(&format!("user 1: {}", "é".repeat(5_000)));
    let summary = mechanical_summary(&facts, &frame(), &SummaryBounds { words_chars_max: 1_000, ..RULES.summary });
    assert_eq!(summary.matches('é').count(), 940);
    assert!(summary.contains("[4,060 more characters are stored]"));
}

#[test]
fn a_models_words_are_beside_the_facts_or_the_reason_is_given() {
    let bounds = MergeBounds { words_chars_max: 100, tokens_max: 60 };
    let merge = |words| merge_summary("facts", words, &bounds, counter());
    assert_eq!(merge(SummariserWords::Said(" it works \n")).text, "facts\n\n# Summary\nit works");
    assert_eq!(merge(SummariserWords::Said("it works")).words, WordsFate::Used);
    let long = "far too long ".repeat(20);
    let left_out = [
        (SummariserWords::Said(" \n"), WordsFate::Empty),
        (SummariserWords::NotAsked, WordsFate::NotAsked),
        (SummariserWords::Failed("429"), WordsFate::Failed { why: "429".to_owned() }),
        (SummariserWords::Said(&long), WordsFate::TooLong { chars: 259, chars_max: 100 }),
    ];
    for (words, fate) in left_out {
        assert_eq!(merge(words), MergedSummary { text: "facts".to_owned(), words: fate });
    }
    let tight = MergeBounds { words_chars_max: 100, tokens_max: 5 };
    let merged = merge_summary("facts", SummariserWords::Said("one two three four"), &tight, counter());
    assert!(matches!(merged.words, WordsFate::NoRoom { tokens_max: 5, .. }), "{merged:?}");
}

#[test]
fn a_second_compaction_still_has_what_the_first_one_knew() {
    let thread = TestThread::of(SESSION);
    let rules = CompactionRules { target_tokens: 500, ..RULES };
    let first = thread.compact(&rules, SummariserWords::Said("The parser borrows now.")).unwrap();
    let mut next = thread.after(&first);
    for kind in TestThread::of(SESSION).items.into_iter().map(|item| item.kind) {
        next.put(kind, 100);
    }
    let second = next.compact(&rules, SummariserWords::Failed("no answer")).unwrap();
    insta::assert_snapshot!(shown(&next, Ok(second)), @r#"
    SUMMARY
    [The conversation so far, compacted. Its 17 items are stored: use the "read_result" tool with ref_id="res_1" to read them.]

    # What the user said, word for word
    <user>
    fix the bug in the parser
    </user>
    <user>
    now the lexer, please
    </user>
    <user>
    fix the bug in the parser
    </user>
    <user>
    now the lexer, please
    </user>

    # Files changed
    - src/parser.rs

    # Files read
    - src/lexer.rs

    # Commands
    - `cargo test`: failed: error[E0382]: use of moved value

    # Summary
    The parser borrows now.
    END
    model: I see.
    270 of 1773 tokens
    2 of 18 messages; clear_tool_results, summarise, truncate; reached
    "#);
}
