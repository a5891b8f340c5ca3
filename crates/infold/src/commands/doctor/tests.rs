//! What `infold doctor` prints, and when a key is good.

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
fn a_key_is_good_when_it_is_whole_and_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(checks::key(folder.path()), Finding::Note(_)));

    let file = folder.path().join(infold_store::KEY_FILE);
    let mode = |mode| std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    std::fs::write(&file, [7; infold_store::KEY_BYTES]).unwrap();
    mode(0o600);
    assert!(matches!(checks::key(folder.path()), Finding::Good(_)));
    mode(0o640);
    assert!(matches!(checks::key(folder.path()), Finding::Bad { hint, .. } if hint.starts_with("chmod 600 ")));
    mode(0o600);
    std::fs::write(&file, "short").unwrap();
    assert!(matches!(checks::key(folder.path()), Finding::Bad { what, .. } if what.ends_with("has 5 bytes, not 32")));
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
