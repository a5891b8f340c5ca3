//! Tests of pairs and turns, written as text.

use infold_core::transcript::{CallOutcome, HeldContent, Item, ItemPosition, Kind, Voice};

use super::{PairRole, in_turns, paired};
use crate::write::Losses;

/// Items from words: `u` a user, `a` the model, `c1` a call, `r1` its result, `o` other content of the item before.
fn items(words: &str) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    for (entry, word) in (1..).zip(words.split_whitespace()) {
        let mut place = ItemPosition { entry, part: 0 };
        let kind = match word.split_at(1) {
            ("u", text) => Kind::User { text: text.to_owned(), voice: Voice::Person },
            ("a", text) => Kind::Assistant { text: text.to_owned() },
            ("c", id) => Kind::Call { id: id.to_owned(), tool: "t".to_owned(), input: "{}".to_owned() },
            ("r", id) => Kind::Result {
                id: id.to_owned(),
                tool: "t".to_owned(),
                text: word.to_owned(),
                outcome: CallOutcome::Unsaid,
                held: HeldContent::Whole,
            },
            _ => {
                place = items.last().unwrap().place;
                Kind::Other { name: "image".to_owned(), json: "{}".to_owned() }
            }
        };
        items.push(Item { place, message: entry, kind });
    }
    items
}

fn word(item: &Item) -> String {
    match &item.kind {
        Kind::User { text, .. } => format!("u{text}"),
        Kind::Assistant { text } => format!("a{text}"),
        Kind::Call { id, .. } => format!("c{id}"),
        Kind::Result { text, .. } => text.clone(),
        _ => "o".to_owned(),
    }
}

/// The messages that items become, and the losses, as text.
fn turns(words: &str) -> String {
    let items = items(words);
    let mut losses = Losses::default();
    let kept = paired(&items, &mut losses);
    let messages: Vec<String> = in_turns(&kept)
        .iter()
        .map(|message| {
            let role = if message.role == PairRole::Model { "model" } else { "user" };
            format!("{role}: {}", message.items.iter().map(|item| word(item)).collect::<Vec<_>>().join(" "))
        })
        .collect();
    let losses = losses.into_list().into_iter().map(|loss| format!("lost {} {}", loss.count, loss.what));
    messages.into_iter().chain(losses).collect::<Vec<_>>().join("\n")
}

#[test]
fn results_come_first_in_the_message_after_their_calls() {
    assert_eq!(turns("u1 a1 c1 c2 r1 r2 a2"), "user: u1\nmodel: a1 c1 c2\nuser: r1 r2\nmodel: a2");
    assert_eq!(turns("u1 c1 c2 r2 r1"), "user: u1\nmodel: c1 c2\nuser: r1 r2");
    assert_eq!(turns("u1 c1 u2 r1 a1"), "user: u1\nmodel: c1\nuser: r1 u2\nmodel: a1");
    assert_eq!(turns("c1 r1 u2 u3 c2 a1 r2"), "model: c1\nuser: r1 u2 u3\nmodel: c2 a1\nuser: r2");
    // Here the results of two calls that were made at once have a word of the model between them.
    assert_eq!(turns("c1 c2 r1 a1 r2"), "model: c1 c2\nuser: r1 r2\nmodel: a1");
}

#[test]
fn what_has_no_counterpart_is_left_out_and_reported() {
    assert_eq!(turns("u1 c1 a1"), "user: u1\nmodel: a1\nlost 1 calls without a result");
    assert_eq!(turns("r1 o u1"), "user: u1\nlost 1 results without a call");
    assert_eq!(turns("r1 c1 u1"), "user: u1\nlost 1 results without a call\nlost 1 calls without a result");
    assert_eq!(
        turns("c1 r1 c1 r1 u1"),
        "model: c1\nuser: r1 u1\nlost 1 calls without a result\nlost 1 results without a call"
    );
}

#[test]
fn what_a_result_shows_goes_with_it() {
    assert_eq!(turns("c1 c2 r2 o r1 u1 o"), "model: c1 c2\nuser: r1 r2 o u1 o");
}

#[test]
fn calls_and_results_without_an_id_are_no_pair() {
    let lost = "lost 1 calls without a result\nlost 1 results without a call";
    assert_eq!(turns("u c r a"), format!("user: u\nmodel: a\n{lost}"));
}
