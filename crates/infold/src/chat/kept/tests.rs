use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn a_draft_is_there_again_until_it_is_said_and_belongs_to_its_folder() {
    let data = tempfile::tempdir().unwrap();
    let (here, there) = (Path::new("/a"), Path::new("/b"));
    let mut kept = KeptTyping::of(data.path(), here).unwrap();
    kept.save_draft("half a thought").unwrap();

    assert_eq!(KeptTyping::of(data.path(), here).unwrap().draft(), "half a thought");
    assert_eq!(KeptTyping::of(data.path(), there).unwrap().draft(), "");
    let mode = std::fs::metadata(&kept.draft).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "only the user can read it");

    kept.save_draft("").unwrap();
    assert_eq!(KeptTyping::of(data.path(), here).unwrap().draft(), "");
}

#[test]
fn history_is_kept_in_order_and_bounded() {
    let data = tempfile::tempdir().unwrap();
    let kept = KeptTyping::of(data.path(), Path::new("/a")).unwrap();
    for number in 0..HISTORY_MAX + 5 {
        kept.add_to_history(&format!("line\n{number}")).unwrap();
    }
    let history = kept.history();
    assert_eq!(history.len(), HISTORY_MAX);
    assert_eq!(history.last().unwrap(), &format!("line\n{}", HISTORY_MAX + 4));
    kept.add_to_history(&"x".repeat(HISTORY_BYTES_MAX + 1)).unwrap();
    assert_eq!(kept.history().len(), HISTORY_MAX, "a giant is not kept");
}
