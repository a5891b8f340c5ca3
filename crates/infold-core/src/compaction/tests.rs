//! Compactions as text: a thread goes in, the start of the new one comes out.

mod asking;
mod breaker;
mod hostile;
mod laws;
mod summaries;

use std::collections::BTreeSet;

use super::*;
use crate::Family;
use crate::transcript::{CallOutcome, HeldContent, ItemPosition, Kind, Voice};

fn counter() -> Counter {
    Counter::new(Family::Gpt)
}

const RULES: CompactionRules = CompactionRules {
    target_tokens: 1_000,
    receipt_tokens: 0,
    keep: KeepBounds {
        recent_turns_min: 2,
        recent_turns_max: 2,
        recent_results_min: 1,
        recent_results_max: 1,
        long_messages: 100,
    },
    summary: SummaryBounds {
        words_chars_max: 4_000,
        model_words_chars_max: 2_000,
        notes_chars_max: 500,
        files_max: 20,
        commands_max: 20,
        branches_max: 4,
    },
};

/// A thread of a test: an item a line, `what tokens: text`, for a call and a result `what id tool tokens: text`. In a
/// text, `⏎` ends a line.
#[derive(Debug, Clone, Default)]
struct TestThread {
    items: Vec<Item>,
    item_tokens: Vec<u64>,
    pinned: Vec<usize>,
    branches: Vec<BranchSoFar>,
    notes: String,
    earlier: Option<SummaryFacts>,
}

impl TestThread {
    fn of(text: &str) -> Self {
        let mut thread = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (head, said) = line.split_once(": ").unwrap();
            let words: Vec<&str> = head.split(' ').collect();
            let (said, word) = (said.replace('⏎', "\n"), |at: usize| words[at].to_owned());
            let kind = match words[0] {
                "user" => Kind::User { text: said, voice: Voice::Person },
                "note" => Kind::User { text: said, voice: Voice::Client },
                "model" => Kind::Assistant { text: said },
                "thought" => Kind::Reasoning { text: said, sealed_bytes: 0 },
                "summary" => Kind::Compaction { summary: Some(said), kept: Vec::new() },
                "call" => Kind::Call { id: word(1), tool: word(2), input: said },
                "result" => result(&word(1), &word(2), &said, CallOutcome::Succeeded),
                "failed" => result(&word(1), &word(2), &said, CallOutcome::Failed),
                other => panic!("what is a {other}?"),
            };
            thread.put(kind, words[words.len() - 1].parse().unwrap());
        }
        thread
    }

    fn put(&mut self, kind: Kind, tokens: u64) {
        let entry = self.items.len() as u64;
        self.items.push(Item { place: ItemPosition { entry, part: 0 }, message: entry, kind });
        self.item_tokens.push(tokens);
    }

    fn as_input(&self) -> ThreadToCompact<'_> {
        ThreadToCompact {
            items: &self.items,
            item_tokens: &self.item_tokens,
            pinned: &self.pinned,
            branches: &self.branches,
            notes: &self.notes,
            earlier: self.earlier.as_ref(),
        }
    }

    fn compact(&self, rules: &CompactionRules, words: SummariserWords<'_>) -> Result<Compaction, CompactionRefused> {
        compact(&self.as_input(), rules, words, counter())
    }

    /// The thread that a compaction leaves, as the agent would go on with it.
    fn after(&self, compaction: &Compaction) -> Self {
        let mut next = Self { earlier: Some(compaction.facts.clone()), ..Self::default() };
        for piece in &compaction.thread.pieces {
            match piece {
                ThreadPiece::Summary { text } => {
                    let kind = Kind::Compaction { summary: Some(text.clone()), kept: Vec::new() };
                    next.put(kind, counter().count(text));
                }
                ThreadPiece::Kept { item } => next.put(self.items[*item].kind.clone(), self.item_tokens[*item]),
                ThreadPiece::Reference { item, text } => {
                    let Kind::Result { id, tool, outcome, .. } = &self.items[*item].kind else { panic!("no result") };
                    next.put(result(id, tool, text, *outcome), counter().count(text));
                }
            }
        }
        next
    }
}

fn result(id: &str, tool: &str, text: &str, outcome: CallOutcome) -> Kind {
    let (id, tool, text) = (id.to_owned(), tool.to_owned(), text.to_owned());
    Kind::Result { id, tool, text, outcome, held: HeldContent::Whole }
}

/// A compaction as text, with a short name in place of each handle.
fn shown(thread: &TestThread, outcome: Result<Compaction, CompactionRefused>) -> String {
    let mut compaction = match outcome {
        Ok(compaction) => compaction,
        Err(refused) => return refused.to_string(),
    };
    let handles: Vec<String> = (1..=compaction.to_store.len()).map(|number| format!("res_{number}")).collect();
    compaction.fill_handles(&handles);
    let mut lines: Vec<String> = compaction.thread.pieces.iter().map(|piece| shown_piece(thread, piece)).collect();
    let CompactResult { before_tokens, strategies_run, before_msg_count, after_msg_count, .. } = &compaction.result;
    let target = match compaction.verdict {
        TargetVerdict::Reached => "reached".to_owned(),
        TargetVerdict::Missed(cannot_shrink) => cannot_shrink.to_string(),
    };
    lines.push(format!("{} of {before_tokens} tokens", compaction.result.after_tokens));
    lines.push(format!("{after_msg_count} of {before_msg_count} messages; {}; {target}", strategies_run.join(", ")));
    lines.join("\n")
}

fn shown_piece(thread: &TestThread, piece: &ThreadPiece) -> String {
    match piece {
        ThreadPiece::Summary { text } => format!("SUMMARY\n{text}\nEND"),
        ThreadPiece::Reference { text, .. } => format!("  {text}"),
        ThreadPiece::Kept { item } => {
            let item = &thread.items[*item];
            let said: String = item.text().chars().take(40).collect();
            match &item.kind {
                Kind::User { .. } => format!("user: {said}"),
                Kind::Assistant { .. } => format!("model: {said}"),
                Kind::Call { tool, .. } => format!("call {tool}: {said}"),
                Kind::Result { tool, .. } => format!("  result {tool}: {said}"),
                Kind::Compaction { .. } => format!("summary: {said}"),
                other => format!("{other:?}"),
            }
        }
    }
}

const SESSION: &str = r#"
    user 10: fix the bug in the parser
    thought 50: hm
    call a read 20: {"path":"src/parser.rs"}
    result a read 400: fn parse() {}
    call b shell 20: {"command":"cargo test"}
    failed b shell 900: error[E0382]: use of moved value
    call c edit 30: {"path":"src/parser.rs","old_string":"a","new_string":"b"}
    result c edit 100: edited
    model 30: It is fixed.
    user 10: now the lexer, please
    call d read 20: {"path":"src/lexer.rs"}
    result d read 300: fn lex() {}
    model 20: I see.
"#;

#[test]
fn clearing_old_results_is_enough_where_it_reaches_the_target() {
    let thread = TestThread::of(SESSION);
    insta::assert_snapshot!(shown(&thread, thread.compact(&RULES, SummariserWords::NotAsked)), @r#"
    user: fix the bug in the parser
    call read: {"path":"src/parser.rs"}
      [Old tool result stored — 13 bytes from "read". Use the "read_result" tool with ref_id="res_1" to read it.]
    call shell: {"command":"cargo test"}
      [Old tool result stored — 32 bytes from "shell". Use the "read_result" tool with ref_id="res_2" to read it.]
    call edit: {"path":"src/parser.rs","old_string":"a"
      [Old tool result stored — 6 bytes from "edit". Use the "read_result" tool with ref_id="res_3" to read it.]
    model: It is fixed.
    user: now the lexer, please
    call read: {"path":"src/lexer.rs"}
      result read: fn lex() {}
    model: I see.
    637 of 1910 tokens
    12 of 13 messages; clear_tool_results; reached
    "#);
}

#[test]
fn old_turns_become_a_summary_where_clearing_is_not_enough() {
    let thread = TestThread { notes: "check the lexer's tests".to_owned(), ..TestThread::of(SESSION) };
    let rules = CompactionRules { target_tokens: 520, ..RULES };
    assert_eq!(range_to_summarise(&thread.as_input(), &rules, counter()), Some(0..9));
    let words = SummariserWords::Said("The parser moved a value twice; it borrows now.");
    insta::assert_snapshot!(shown(&thread, thread.compact(&rules, words)), @r#"
    SUMMARY
    [The conversation so far, compacted. Its 9 items are stored: use the "read_result" tool with ref_id="res_1" to read them.]

    # What the user said, word for word
    <user>
    fix the bug in the parser
    </user>

    # Files changed
    - src/parser.rs

    # Commands
    - `cargo test`: failed: error[E0382]: use of moved value

    # Notes
    check the lexer's tests

    # Summary
    The parser moved a value twice; it borrows now.
    END
    user: now the lexer, please
    call read: {"path":"src/lexer.rs"}
      result read: fn lex() {}
    model: I see.
    488 of 1910 tokens
    5 of 13 messages; clear_tool_results, summarise; reached
    "#);
}

#[test]
fn no_summariser_is_needed_where_clearing_is_enough() {
    let thread = TestThread::of(SESSION);
    assert_eq!(range_to_summarise(&thread.as_input(), &RULES, counter()), None);
}

#[test]
fn the_oldest_turns_go_when_a_summary_is_not_enough() {
    let thread = TestThread::of(SESSION);
    let rules = CompactionRules { target_tokens: 230, ..RULES };
    insta::assert_snapshot!(shown(&thread, thread.compact(&rules, SummariserWords::NotAsked)), @r#"
    SUMMARY
    [The conversation so far, compacted. Its 12 items are stored: use the "read_result" tool with ref_id="res_1" to read them.]

    # What the user said, word for word
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
    END
    model: I see.
    155 of 1910 tokens
    2 of 13 messages; clear_tool_results, summarise, truncate; reached
    "#);
}

#[test]
fn pinned_items_stay_with_their_calls() {
    let thread = TestThread { pinned: vec![5], ..TestThread::of(SESSION) };
    let rules = CompactionRules { target_tokens: 600, ..RULES };
    insta::assert_snapshot!(shown(&thread, thread.compact(&rules, SummariserWords::NotAsked)), @r#"
    SUMMARY
    [The conversation so far, compacted. Its 10 items are stored: use the "read_result" tool with ref_id="res_1" to read them. 2 pinned items follow below, word for word.]

    # What the user said, word for word
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
    END
    call shell: {"command":"cargo test"}
      result shell: error[E0382]: use of moved value
    model: I see.
    1086 of 1910 tokens
    4 of 13 messages; clear_tool_results, summarise, truncate; The thread would have to get down to 600 tokens, and what cannot shrink takes 1,086: the last turn 20, pinned items 920, the summary 146, older turns 0
    "#);
}

#[test]
fn a_call_that_waits_for_its_result_stays_and_one_that_was_given_up_goes() {
    let thread = TestThread::of(
        r#"
        user 10: go
        call a shell 300: {"command":"sleep"}
        user 10: stop that and compact
        call b read 20: {"path":"a.rs"}
        call c compact_context 20: {}
        result b read 300: fn a() {}
    "#,
    );
    let rules = CompactionRules { target_tokens: 420, ..RULES };
    insta::assert_snapshot!(shown(&thread, thread.compact(&rules, SummariserWords::NotAsked)), @r#"
    user: go
    user: stop that and compact
    call read: {"path":"a.rs"}
    call compact_context: {}
      result read: fn a() {}
    360 of 660 tokens
    5 of 6 messages; clear_tool_results; reached
    "#);
}

#[test]
fn words_behind_a_waiting_call_do_not_part_it_from_its_result() {
    let thread = TestThread::of(
        r#"
        user 10: go
        model 500: a long answer
        user 10: on
        call a read 20: {"path":"a.rs"}
        call b compact_context 20: {}
        result a read 30: fn a() {}
        user 10: hurry up
    "#,
    );
    let rules = CompactionRules {
        target_tokens: 200,
        keep: KeepBounds { recent_turns_min: 1, recent_turns_max: 1, ..RULES.keep },
        ..RULES
    };
    let compaction = thread.compact(&rules, SummariserWords::NotAsked).unwrap();
    let kept = [2, 3, 4, 5, 6].map(|item| ThreadPiece::Kept { item });
    assert_eq!(compaction.thread.pieces[1..], kept);
}

#[test]
fn a_reference_is_not_stored_again() {
    let long = "x".repeat(300);
    let reference = crate::reference_text("read", &long, "res_old", &long);
    let mut thread = TestThread::of("user 10: go\ncall a read 20: {}");
    thread.put(result("a", "read", &reference, CallOutcome::Succeeded), 300);
    thread.put(Kind::Assistant { text: "done".to_owned() }, 5);
    let rules =
        CompactionRules { keep: KeepBounds { recent_results_min: 0, recent_results_max: 0, ..RULES.keep }, ..RULES };
    let compaction = thread.compact(&rules, SummariserWords::NotAsked).unwrap();
    assert!(compaction.to_store.is_empty());
    let ThreadPiece::Reference { text, .. } = &compaction.thread.pieces[2] else { panic!("no reference") };
    assert!(reference.starts_with(text) && text.ends_with("ref_id=\"res_old\" to read specific portions."));
}

#[test]
fn signals_say_how_much_is_kept() {
    let bounds = KeepBounds {
        recent_turns_min: 2,
        recent_turns_max: 10,
        recent_results_min: 1,
        recent_results_max: 9,
        long_messages: 26,
    };
    let signals = ConversationSignals::of(&TestThread::of(SESSION).items);
    assert_eq!((signals.error_density, signals.length), (0.25, 13));
    assert!((signals.tool_density - 8.0 / 13.0).abs() < 1e-9);
    assert_eq!(signals.kept_end(&bounds), KeptEnd { recent_turns: 6, recent_results: 4 });
    let all_fails = ConversationSignals { error_density: 1.0, ..signals };
    assert_eq!(all_fails.kept_end(&bounds), KeptEnd { recent_turns: 10, recent_results: 9 });
    let long = ConversationSignals { error_density: 0.0, tool_density: 1.0, length: 500 };
    assert_eq!(long.kept_end(&bounds), KeptEnd { recent_turns: 2, recent_results: 1 });
}

#[test]
fn a_receipt_says_what_went_where_it_is_and_how_to_get_it_back() {
    let thread = TestThread::of(SESSION);
    let rules = CompactionRules { target_tokens: 500, ..RULES };
    let mut compaction = thread.compact(&rules, SummariserWords::Failed("no answer")).unwrap();
    compaction.fill_handles(&["res_1".to_owned()]);
    insta::assert_snapshot!(compaction.receipt.text("The user can go back to the thread as it was with /rewind."), @r#"[Compacted: 1,910 tokens became 463, 13 messages became 5 (clear_tool_results, summarise). Gone: user messages (their words are in the summary) 1 (10 tokens), answers 1 (30 tokens), calls 3 (70 tokens), results 3 (1,400 tokens), reasoning 1 (50 tokens). To read it again use the "read_result" tool: the conversation before is ref_id="res_1". The user can go back to the thread as it was with /rewind.]"#);
    assert_eq!(compaction.receipt.summary_words, WordsFate::Failed { why: "no answer".to_owned() });
    let json = serde_json::to_value(&compaction.receipt).unwrap();
    assert_eq!(json["strategies_run"], serde_json::json!(["clear_tool_results", "summarise"]));
    assert_eq!(json["stored"][0]["handle"], "res_1");
    assert_eq!(serde_json::from_value::<CompactionReceipt>(json).unwrap(), compaction.receipt);
    let result = serde_json::to_value(&compaction.result).unwrap();
    let fields: BTreeSet<&str> = result.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        BTreeSet::from(["after_msg_count", "after_tokens", "before_msg_count", "before_tokens", "strategies_run"])
    );
}
