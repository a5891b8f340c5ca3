//! The profile as text: a transcript goes in, the child's context comes out.

mod properties;

use insta::assert_snapshot;

use super::*;
use crate::transcript::{CallOutcome, HeldContent, ItemPosition, Voice};

/// Wide enough for everything in a small test, and for the legend.
const WIDE_CHARS: usize = 100_000;

/// An item as this profile shows it if nothing is left out; `None` if it is not shown.
fn whole_block(item: Item) -> Option<String> {
    let mut window = Window::new(usize::MAX);
    window.push(item);
    let piece = in_order(&window).pop()?;
    let alone = if matches!(piece.link, Link::Result { .. }) { Alone::No } else { Alone::Yes };
    Some(piece.heading(alone) + &piece.text)
}

fn item(kind: Kind) -> Item {
    Item { place: ItemPosition::default(), message: 0, kind }
}

fn person(text: &str) -> Item {
    item(Kind::User { text: text.to_owned(), voice: Voice::Person })
}

fn model(text: &str) -> Item {
    item(Kind::Assistant { text: text.to_owned() })
}

fn summary(text: &str) -> Item {
    item(Kind::Compaction { summary: Some(text.to_owned()), kept: Vec::new() })
}

fn call(id: &str, tool: &str, input: &str) -> Item {
    item(Kind::Call { id: id.to_owned(), tool: tool.to_owned(), input: input.to_owned() })
}

fn result(id: &str, tool: &str, text: &str) -> Item {
    let (id, tool, text) = (id.to_owned(), tool.to_owned(), text.to_owned());
    item(Kind::Result { id, tool, text, outcome: CallOutcome::Unsaid, held: HeldContent::Whole })
}

/// A call and its result.
fn exchange(id: &str, tool: &str, input: &str, text: &str) -> [Item; 2] {
    [call(id, tool, input), result(id, tool, text)]
}

fn fork(budget_chars: usize, items: impl IntoIterator<Item = Item>) -> RecallContext {
    let mut recall = Recall::new(budget_chars);
    items.into_iter().enumerate().for_each(|(at, item)| recall.push(Item { message: at as u64, ..item }));
    recall.finish()
}

/// The context without the legend.
fn shown(budget_chars: usize, items: impl IntoIterator<Item = Item>) -> String {
    let context = fork(budget_chars, items).context;
    context.strip_prefix(LEGEND).unwrap_or(&context).trim_start().to_owned()
}

/// Lines of a file with numbers, unlike those of any other file.
fn file(name: &str, lines: usize) -> String {
    (1..=lines).map(|line| format!("{line:>6}→\tlet {name}_{line} = {name}();\n")).collect()
}

#[test]
fn what_fits_is_shown_in_order_with_each_result_under_its_call() {
    let items = vec![
        person("fix the bug"),
        item(Kind::Reasoning { text: "hm".to_owned(), sealed_bytes: 0 }),
        model("I look at both."),
        call("c1", "Read", r#"{"file_path":"/src/a.rs","offset":10}"#),
        call("c2", "Bash", r#"{"command":"git status","timeout":1000}"#),
        result("c1", "Read", "    10→fn a() {\n    11→}"),
        item(Kind::Result {
            id: "c2".to_owned(),
            tool: "Bash".to_owned(),
            text: "not a repository".to_owned(),
            outcome: CallOutcome::Failed,
            held: HeldContent::Whole,
        }),
        call("c3", "Edit", r#"{"file_path":"/src/a.rs","old_string":"fn a() {\n}","new_string":""}"#),
    ];
    assert_snapshot!(fork(WIDE_CHARS, items).context, @"
    (…: left out here, or standing elsewhere in this text. …[N chars]: so much left out. →: what the call gave. Of older line numbers every fifth is kept.)

    [User]
    fix the bug

    [Assistant]
    I look at both.

    Read(file_path: /src/a.rs, offset: 10)
    →
    10→fn a() {
    11→}

    Bash(timeout: 1000)
    command:
    git status
    → failed
    not a repository

    Edit(file_path: /src/a.rs)
    old_string:
    fn a() {
    }
    new_string:
    → …
    ");
}

#[test]
fn parameters_that_are_no_object_are_shown_as_they_are() {
    let patch = "*** Begin Patch\n-old\n+new";
    let items = vec![
        call("c1", "apply_patch", patch),
        call("c2", "ping", ""),
        call("c3", "todo", r#"{"list":[{"what":"a b","done":true},{"what":"c","done":null}]}"#),
    ];
    assert_snapshot!(shown(WIDE_CHARS, items), @"
    apply_patch()
    *** Begin Patch
    -old
    +new
    → …

    ping()
    → …

    todo()
    what:
    a b
    done: true
    what: c
    done: null
    → …
    ");
}

#[test]
fn a_line_is_shown_once_and_where_it_was_used_last() {
    let read = "first line of the file\nsecond line of the file\nthird line of the file\n}";
    let items = [
        exchange("c1", "Read", r#"{"path":"a"}"#, read),
        exchange("c2", "Read", r#"{"path":"a"}"#, &format!("{read}\nand a new one")),
    ];
    assert_snapshot!(shown(WIDE_CHARS, items.into_iter().flatten()), @"
    Read(path: a)
    →
    …

    Read(path: a)
    →
    first line of the file
    second line of the file
    third line of the file
    }
    and a new one
    ");
}

#[test]
fn a_few_short_known_lines_are_shown_again_rather_than_marked() {
    let items = [
        exchange("c1", "Read", r#"{"path":"a"}"#, "alpha\n    return\n}\nbeta"),
        exchange("c2", "Read", r#"{"path":"b"}"#, "gamma\n    return\n}\ndelta"),
    ];
    assert_snapshot!(shown(WIDE_CHARS, items.into_iter().flatten()), @"
    Read(path: a)
    →
    alpha
        return
    }
    beta

    Read(path: b)
    →
    gamma
        return
    }
    delta
    ");
}

#[test]
fn indentation_stays_and_makes_lines_differ() {
    let items = [
        exchange("c1", "Read", r#"{"path":"a"}"#, "        let the_same_words_in_two_places = here();"),
        exchange("c2", "Read", r#"{"path":"b"}"#, "    let the_same_words_in_two_places = here();"),
    ];
    let shown = shown(WIDE_CHARS, items.into_iter().flatten());
    assert!(shown.contains("\n        let the") && shown.contains("\n    let the"), "{shown}");
}

#[test]
fn of_old_line_numbers_every_fifth_stays() {
    let old = exchange("c0", "Read", r#"{"path":"a"}"#, &file("old", 11));
    let since = (1..=21).flat_map(|at| exchange(&format!("c{at}"), "Ping", "{}", "pong"));
    assert_snapshot!(shown(WIDE_CHARS, old.into_iter().chain(since)).split("\n\n").next().unwrap(), @"
    Read(path: a)
    →
    1→	let old_1 = old();
    	let old_2 = old();
    	let old_3 = old();
    	let old_4 = old();
    5→	let old_5 = old();
    	let old_6 = old();
    	let old_7 = old();
    	let old_8 = old();
    	let old_9 = old();
    10→	let old_10 = old();
    	let old_11 = old();
    ");
}

#[test]
fn digits_in_other_output_are_left_alone() {
    let numstat = "12\t3\tsrc/a.rs\n7\t1\tsrc/b.rs";
    let old = exchange("c0", "Bash", r#"{"command":"git diff --numstat"}"#, numstat);
    let since = (1..=21).flat_map(|at| exchange(&format!("c{at}"), "Ping", "{}", "pong"));
    assert!(shown(WIDE_CHARS, old.into_iter().chain(since)).contains(numstat));
}

#[test]
fn a_look_at_a_file_outlasts_other_output() {
    let noise: String = (0..200).map(|at| format!("running the test number {at} of the suite\n")).collect();
    let items = [
        exchange("c1", "Read", r#"{"path":"a"}"#, &file("wanted", 100)),
        exchange("c2", "Bash", r#"{"command":"make"}"#, &noise),
        exchange("c3", "Bash", r#"{"command":"cd /x && cat b.rs"}"#, &file("also", 100)),
    ];
    let shown = shown(9_000, items.into_iter().flatten());
    assert!(shown.contains("let wanted_100") && shown.contains("let also_100"), "{shown}");
    assert!(!shown.contains("number 150"), "{shown}");
}

#[test]
fn of_what_finds_no_room_the_lines_with_new_names_stay() {
    let mut log: String = (0..400).map(|_| "nothing to see in this line at all, nor in the next\n").collect();
    log.push_str("wrote target/report_file.json\n");
    let items = [
        exchange("c1", "Bash", r#"{"command":"make"}"#, &log),
        exchange("c2", "Read", r#"{"path":"a"}"#, &file("wanted", 150)),
    ];
    let shown = shown(7_000, items.into_iter().flatten());
    assert!(shown.contains("…\nwrote target/report_file.json\n…[20"), "{shown}");
}

#[test]
fn a_call_without_its_result_says_how_long_that_was() {
    let log = "the same words over and over ".repeat(200);
    let items = exchange("c1", "Bash", r#"{"command":"make"}"#, &log);
    assert_snapshot!(shown(6_000, items), @"
    Bash(command: make)
    → …[5800 chars]
    ");
}

#[test]
fn what_came_before_a_summary_can_still_be_shown() {
    let items = exchange("c1", "Read", r#"{"path":"a"}"#, "fn before_the_summary() {}").into_iter().chain([
        person("old words"),
        summary("an older summary"),
        model("ok"),
        summary("what happened so far"),
    ]);
    let forked = fork(WIDE_CHARS, items);
    assert_snapshot!(forked.context.strip_prefix(LEGEND).unwrap(), @"


    Read(path: a)
    →
    fn before_the_summary() {}

    [User]
    old words

    …
    [Assistant]
    ok

    [Summary of the conversation before]
    what happened so far
    ");
    assert_eq!(forked.stats.summary_message, Some(5));
}

#[test]
fn the_persons_words_outlast_everything_within_a_quarter() {
    let words: Vec<Item> = (0..10).map(|at| person(&format!("{at} {}", "please ".repeat(50)))).collect();
    let flood = (0..200).flat_map(|at| exchange(&format!("c{at}"), "Read", "{}", &file(&format!("f{at}"), 50)));
    let shown = shown(20_000, words.into_iter().chain(flood));
    assert!((0..10).all(|at| shown.contains(&format!("[User]\n{at} please"))), "{shown}");
}

#[test]
fn words_longer_than_their_share_keep_their_beginning() {
    let shown = shown(4_000, [person("older"), person(&"long ".repeat(10_000))]);
    assert!(shown.starts_with("…\n[User]\nlong long") && shown.ends_with(" chars]"), "{shown}");
    assert!(count(&shown) <= 1_000);
}

#[test]
fn a_result_whose_call_is_gone_names_its_tool() {
    assert_snapshot!(shown(WIDE_CHARS, [result("c9", "Read", "words")]), @"
    [Result: Read]
    words
    ");
}

#[test]
fn a_cleared_result_is_shown_if_the_recording_has_it() {
    let cleared = |text: &str| {
        let (id, tool, text) = ("c1".to_owned(), "Read".to_owned(), text.to_owned());
        [
            call("c1", "Read", "{}"),
            item(Kind::Result { id, tool, text, outcome: CallOutcome::Unsaid, held: HeldContent::Cleared }),
        ]
    };
    assert!(shown(WIDE_CHARS, cleared("what it was")).contains("what it was"));
    assert!(shown(WIDE_CHARS, cleared("")).contains(crate::transcript::CLEARED));
}

#[test]
fn an_image_leaves_a_note() {
    let image = item(Kind::Other { name: "image".to_owned(), json: "{}".repeat(1_000) });
    assert_eq!(shown(WIDE_CHARS, [image]), "[image: left out]");
}

#[test]
fn no_items_give_no_context() {
    assert_eq!(fork(WIDE_CHARS, []).context, "");
    assert_eq!(fork(0, [person("hello"), model("hello")]).context, "");
}

#[test]
fn the_preamble_says_what_was_done() {
    let log = "the same words over and over ".repeat(4_000);
    let items = [summary("so far")].into_iter().chain(exchange("c1", "Bash", "{}", &log)).chain([model("done")]);
    let stats = fork(5_000, items).stats;
    assert_snapshot!(build_recall_preamble(&stats, 5_000), @"
    You are working with forked context from a parent agent session.
    Context processing applied:
    - Compaction summary included (messages before compaction shown where they are worth their room)
    - Tool results: 0 full, 1 in part, 0 left out; a line that occurs several times is shown once
    - Something of every message preserved
    If you need complete file contents or detailed results, re-read the files directly.
    ");
}

#[test]
fn a_block_is_an_item_with_nothing_left_out() {
    let input = r#"{"path":"a","text":"two words"}"#;
    assert_eq!(whole_block(call("c1", "Write", input)).unwrap(), "Write(path: a)\ntext:\ntwo words");
    assert_eq!(whole_block(result("c1", "Write", "ok")).unwrap(), "→\nok");
    assert_eq!(whole_block(person("hello")).unwrap(), "[User]\nhello");
    assert_eq!(whole_block(item(Kind::System { text: "rules".to_owned() })), None);
}

#[test]
fn parameters_whose_letters_are_escaped_stay_as_they_are() {
    let call = |input: &str| Kind::Call { id: "1".to_owned(), tool: "Bash".to_owned(), input: input.to_owned() };
    let shown = |input: &str| whole_block(item(call(input))).unwrap();
    assert!(shown(r#"{"command":"echo \u0067hp_x"}"#).contains(r"\u0067hp_x"));
    assert!(shown(r#"{"command":"echo \u001b[0m a"}"#).contains("\u{1b}[0m"));
}
