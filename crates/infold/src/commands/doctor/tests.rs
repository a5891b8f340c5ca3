//! What doctor prints.

use insta::assert_snapshot;

use super::*;
use crate::draw::{Charset, Paint};

fn checks() -> Vec<Check> {
    vec![
        Check { name: "settings", finding: Finding::Good("52 settings".to_owned()) },
        Check { name: "token", finding: Finding::Note("not there yet".to_owned()) },
        Check { name: "data folder", finding: Finding::bad("open to others", "chmod 700 /data") },
    ]
}

#[test]
fn each_check_says_what_it_saw_and_what_to_do() {
    let style = |charset| Style { paint: Paint::Plain, charset, width: 80 };
    assert_snapshot!(text(&checks(), &style(Charset::Utf8)), @"
    ✓ settings     52 settings
    • token        not there yet
    ✗ data folder  open to others
                   hint: chmod 700 /data
    ");
    assert_snapshot!(text(&checks(), &style(Charset::Ascii)), @"
    ok settings     52 settings
    -- token        not there yet
    !! data folder  open to others
                    hint: chmod 700 /data
    ");
    assert!(!all_well(&checks()));
    assert!(all_well(&checks()[..2]));
}
