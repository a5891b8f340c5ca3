//! Claims, and tables in their places.

use infold_replay::{ForkRow, ForkTable};

use super::claims::of_forks;
use super::*;

fn table(gain: f64) -> ForkTable {
    let row = |recall_percent: f64, line_recall_percent: f64| ForkRow {
        label: "a way".to_owned(),
        tokens: 30_000.0,
        recall_percent,
        line_recall_percent,
    };
    let (tail, recall) = (row(80.0, 70.0), row(80.0 + gain, 70.0 + 2.0 * gain));
    ForkTable { cuts: 1, rows: vec![row(70.0, 40.0), row(70.0, 40.0), recall.clone(), tail.clone(), recall, tail] }
}

#[test]
fn a_gain_that_is_too_small_is_a_claim_missed() {
    assert!(of_forks(&table(5.0), &[(2, 3), (4, 5)]).is_empty());
    assert_eq!(
        of_forks(&table(3.5), &[(2, 3), (4, 5)]),
        ["a way against a way: edit lines gains 7.0 points, 8 are claimed"; 2]
    );
}

#[test]
fn a_table_takes_the_place_between_its_marks() {
    let text = "before\n<!-- forks: made by `cargo xtask measure` -->\nold\n<!-- end of forks -->\nafter\n";
    assert_eq!(
        put_between(text, "forks", "| new |\n\n").unwrap(),
        "before\n<!-- forks: made by `cargo xtask measure` -->\n| new |\n<!-- end of forks -->\nafter\n"
    );
    assert!(put_between("no marks", "forks", "").is_err());
}
