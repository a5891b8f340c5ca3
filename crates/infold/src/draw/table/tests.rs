//! Tables as text, and how they are made to fit.

use insta::assert_snapshot;

use super::*;
use crate::draw::{Charset, Paint};

fn table() -> Table {
    let mut table = Table::new(vec![
        Column { heading: "SESSION", align: Align::Left },
        Column { heading: "MAIN", align: Align::Right },
        Column { heading: "LAST ACTIVITY", align: Align::Left },
    ]);
    table.row(vec![(Tone::Plain, "demo".into()), (Tone::Plain, "5,200".into()), (Tone::Faint, "3 min ago".into())]);
    table.row(vec![(Tone::Plain, "日本".into()), (Tone::Plain, "12".into()), (Tone::Faint, "2 d ago".into())]);
    table
}

#[test]
fn columns_that_may_go_do_so_until_the_rest_fits() {
    let headings = |width| {
        let table = table().dropped_to_fit(width, &["MAIN", "SESSION"]);
        table.columns.iter().map(|column| column.heading).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(headings(29), "SESSION MAIN LAST ACTIVITY");
    assert_eq!(headings(28), "SESSION LAST ACTIVITY");
    assert_eq!(headings(5), "LAST ACTIVITY");
}

#[test]
fn columns_line_up_by_width_and_numbers_lean_right() {
    let style = Style { paint: Paint::Plain, charset: Charset::Utf8, width: 80 };
    assert_snapshot!(table().draw(&style), @"
    SESSION   MAIN  LAST ACTIVITY
    demo     5,200  3 min ago
    日本        12  2 d ago
    ");
}

#[test]
fn a_name_is_cut_before_another_column_goes_and_further_where_none_is_left() {
    let drawn = |width| {
        let style = Style { paint: Paint::Plain, charset: Charset::Utf8, width };
        let mut table = table();
        table.row(vec![
            (Tone::Plain, "a-long-name-it-is".into()),
            (Tone::Plain, "7".into()),
            (Tone::Plain, "x".into()),
        ]);
        let table = table.cut_to_fit("SESSION", 10, &["MAIN"], &style);
        assert!(table.columns_wide() <= width, "{width}");
        (table.has("MAIN"), table.rows[2][0].1.clone())
    };
    assert_eq!(drawn(40), (true, "a-long-name-it-is".to_owned()));
    assert_eq!(drawn(32), (true, "a-long-na…".to_owned()));
    assert_eq!(drawn(31), (false, "a-long-name-it-…".to_owned()));
    assert_eq!(drawn(23), (false, "a-long-…".to_owned()));
}
