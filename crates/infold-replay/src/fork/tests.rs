//! Tests of cuts, of what is needed after them, and of tails.

use infold_core::fork::Profile;
use infold_core::{Counter, Family};

use super::tail::Blocks;
use super::{ForkTrial, ForkWay};
use crate::tests::script::{item, session};

/// A session with one cut. The first result names something; request 21 uses it, and request 22 uses it again after it
/// has been shown once more.
fn long_session() -> String {
    let mut text = String::from("user go\ncall 0 a {}\nresult 0 here is far_name_9 and\\nthe line that is edited\n");
    for at in 1..20 {
        text += &format!("call {at} a {{}}\nresult {at} the*100\n");
    }
    text += "call 20 a {\"name\": \"far_name_9\", \"old_string\": \"the line that is edited\"}\n";
    text += "result 20 near_name_8 and far_name_9\n";
    text += "call 21 a {\"name\": \"near_name_8 far_name_9\"}\nresult 21 nothing\nsays done\n";
    text
}

fn table(ways: Vec<ForkWay>) -> super::ForkTable {
    let mut trial = ForkTrial::new(ways);
    trial.add(&session("gpt-5", &long_session()), |_| {});
    trial.finish()
}

#[test]
fn a_child_needs_what_was_seen_before_the_cut_and_not_since() {
    let ways = vec![ForkWay::Tail { chars: 1_000_000 }, ForkWay::Tail { chars: 1_000 }, ForkWay::Tail { chars: 0 }];
    let table = table(ways);
    assert_eq!(table.cuts, 1);
    let recalls: Vec<(f64, f64)> = table.rows.iter().map(|row| (row.recall_percent, row.line_recall_percent)).collect();
    assert_eq!(recalls, [(100.0, 100.0), (0.0, 0.0), (0.0, 0.0)]);
}

#[test]
fn a_tail_as_large_has_no_more_tokens_than_the_other_way() {
    let profile = ForkWay::Profile { profile: Profile::Seed, char_budget: 3_000 };
    let table = table(vec![profile, ForkWay::TailAsLarge { way: 0 }]);
    assert!(table.rows[1].tokens <= table.rows[0].tokens);
    assert!(table.rows[1].tokens > 0.9 * table.rows[0].tokens);
    assert_eq!(table.rows[0].label, "profile seed, 3k characters");
    assert_eq!(table.rows[1].label, "plain tail as large as: profile seed, 3k characters");
}

#[test]
fn a_short_session_has_no_cut() {
    let mut trial = ForkTrial::new(vec![ForkWay::Tail { chars: 10 }]);
    trial.add(&session("gpt-5", "user go\nsays done\n"), |_| {});
    let table = trial.finish();
    assert_eq!((table.cuts, table.rows[0].tokens), (0, 0.0));
}

#[test]
fn tails_are_ends() {
    let items: Vec<_> = ["user äöü", "says second\\nthird"].into_iter().map(item).collect();
    let blocks = Blocks::of(&items);
    let whole = blocks.tail_of_chars(2, 1_000);
    for chars in 0..=whole.chars().count() {
        let tail = blocks.tail_of_chars(2, chars);
        assert!(whole.ends_with(&tail));
        assert_eq!(tail.chars().count(), chars);
    }
    let counter = Counter::new(Family::Gpt);
    assert_eq!(blocks.tail_of_tokens(2, 2, counter), "third\n");
    assert_eq!(blocks.tail_of_tokens(2, 1_000, counter), whole);
}
