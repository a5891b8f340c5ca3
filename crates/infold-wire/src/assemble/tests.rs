//! Tests of what is taken back, what belongs together, and what compactions keep: entries in, words out.

use infold_core::transcript::{CallOutcome, HeldContent, Item, ItemPosition, Kind, Voice};

use super::{KEPT_BYTES_MAX, fill_in_kept, together, without_given_up};
use crate::form::Format;
use crate::numbers::EntryGroup;
use crate::reader::{Entry, KeptEntries, Undo};

fn entry(kind: Kind) -> Entry {
    Entry { items: vec![Item { place: ItemPosition { entry: 1, part: 0 }, message: 0, kind }], ..Entry::default() }
}

fn prompt(id: &str, parent: &str) -> Entry {
    let said = entry(Kind::User { text: id.to_owned(), voice: Voice::Person });
    Entry { is_prompt: true, ..linked(said, id, parent) }
}

fn answer(id: &str, parent: &str) -> Entry {
    linked(entry(Kind::Assistant { text: id.to_owned() }), id, parent)
}

fn linked(entry: Entry, id: &str, parent: &str) -> Entry {
    let parent = if parent.is_empty() { None } else { Some(parent.to_owned()) };
    Entry { id: Some(id.to_owned()), parent, ..entry }
}

fn call(answer: &str, id: &str) -> Entry {
    let kind = Kind::Call { id: id.to_owned(), tool: "Read".to_owned(), input: format!("call {id}") };
    Entry { group: EntryGroup::Answer(answer.to_owned()), ..entry(kind) }
}

fn result(id: &str) -> Entry {
    let (outcome, held) = (CallOutcome::Unsaid, HeldContent::Whole);
    let kind = Kind::Result { id: id.to_owned(), tool: String::new(), text: format!("result {id}"), outcome, held };
    Entry { group: EntryGroup::Results, ..entry(kind) }
}

fn compaction(id: &str, kept: KeptEntries) -> Entry {
    let kind = Kind::Compaction { summary: Some(id.to_owned()), kept: Vec::new() };
    Entry { kept, ..linked(entry(kind), id, "") }
}

fn undoing(turns: usize) -> Entry {
    Entry { undoes: Undo::Turns(turns), ..Entry::default() }
}

/// The words of all items, with those that compactions keep in brackets.
fn words(entries: &[Entry]) -> String {
    let word = |item: &Item| match &item.kind {
        Kind::Compaction { kept, .. } => {
            let kept: Vec<&str> = kept.iter().map(Item::text).collect();
            format!("{}[{}]", item.text(), kept.join(" "))
        }
        _ => item.text().to_owned(),
    };
    entries.iter().flat_map(|entry| &entry.items).map(word).collect::<Vec<_>>().join(", ")
}

fn alive(entries: Vec<Entry>) -> Vec<Entry> {
    without_given_up(entries, Format::ClaudeCode).0
}

fn not_undone(entries: Vec<Entry>) -> Vec<Entry> {
    without_given_up(entries, Format::Codex).0
}

#[test]
fn a_compaction_that_the_person_went_back_to_before_is_left_out_and_one_that_kept_the_way_is_not() {
    let compacted = |kept| Entry { kept, ..linked(compaction("s1", KeptEntries::Nothing), "s1", "a2") };
    let entries = |kept: KeptEntries, parent: &str| {
        let before = vec![prompt("p1", ""), answer("a1", "p1"), prompt("p2", "a1"), answer("a2", "p2")];
        let after = vec![compacted(kept), prompt("p3", "s1"), prompt("p4", parent)];
        [before, after].concat()
    };
    assert_eq!(words(&alive(entries(KeptEntries::Nothing, "a1"))), "p1, a1, p4");
    assert_eq!(words(&alive(entries(KeptEntries::Nothing, "s1"))), "p1, a1, p2, a2, s1[], p4");
    let kept = KeptEntries::These(vec!["a2".to_owned()]);
    assert_eq!(words(&alive(entries(kept, "a2"))), "p1, a1, p2, a2, s1[], p4");
}

#[test]
fn a_branch_that_begins_with_a_turn_off_the_way_to_the_end_is_left_out() {
    let entries =
        vec![prompt("p1", ""), answer("a1", "p1"), prompt("p2", "a1"), answer("a2", "p2"), prompt("p3", "a1")];
    assert_eq!(words(&alive(entries)), "p1, a1, p3");
}

#[test]
fn a_branch_of_answers_stays_and_an_entry_that_appears_twice_counts_once() {
    let entries =
        vec![prompt("p1", ""), answer("a1", "p1"), answer("a2", "p1"), answer("a1", "p1"), prompt("p2", "a2")];
    assert_eq!(words(&alive(entries)), "p1, a1, a2, p2");
}

#[test]
fn turns_are_taken_back_from_what_is_left_each_time() {
    let turn = |id: &str| [prompt(id, ""), answer(&format!("{id}!"), "")];
    let mut entries: Vec<Entry> = ["one", "two", "three"].iter().flat_map(|id| turn(id)).collect();
    entries.push(undoing(1));
    entries.extend(turn("four"));
    entries.push(undoing(2));
    entries.extend(turn("five"));
    entries.push(undoing(0));
    assert_eq!(words(&not_undone(entries.clone())), "one, one!, five, five!");
    entries.push(undoing(usize::MAX));
    assert_eq!(words(&not_undone(entries)), "");
}

#[test]
fn pieces_of_an_answer_come_together_and_a_result_never_comes_before_its_call() {
    let entries = vec![result("c2"), call("m1", "c1"), result("c1"), call("m1", "c2"), call("m2", "c3"), result("c4")];
    assert_eq!(words(&together(entries)), "call c1, call c2, result c2, result c1, call c3, result c4");
}

#[test]
fn every_compaction_keeps_what_it_names_of_what_was_before_it() {
    let named = |ids: &[&str]| KeptEntries::These(ids.iter().map(|id| (*id).to_owned()).collect());
    let mut entries = vec![
        prompt("p1", ""),
        answer("a1", ""),
        compaction("s1", KeptEntries::From("a1".to_owned())),
        prompt("p2", ""),
        compaction("s2", KeptEntries::From("p1".to_owned())),
        compaction("s3", named(&["p2", "p1", "s1", "p3", "gone"])),
        compaction("s4", KeptEntries::From("p3".to_owned())),
        prompt("p3", ""),
    ];
    fill_in_kept(&mut entries, KEPT_BYTES_MAX);
    assert_eq!(words(&entries), "p1, a1, s1[a1], p2, s2[p1 a1 p2], s3[p1 p2], s4[], p3");
}

#[test]
fn where_compactions_repeat_too_much_the_earlier_ones_stay_empty() {
    let mut entries = vec![prompt("p1", "")];
    entries.extend((0..4).map(|at| compaction(&format!("s{at}"), KeptEntries::From("p1".to_owned()))));
    // There is room for the entries that the last two compactions look at, and for the one item that each keeps.
    fill_in_kept(&mut entries, (4 + 3 + 2) * size_of::<Item>() + 2 * "p1".len());
    assert_eq!(words(&entries), "p1, s0[], s1[], s2[p1], s3[p1]");
}
