//! The comparison can fail, and says where.

use infold_testkit::TempFolder;

use super::{Group, Names, Pair, first_difference};

fn pair<'a>(before: &'a str, after: &'a str) -> Pair<&'a [u8]> {
    Pair { before: before.as_bytes(), after: after.as_bytes() }
}

#[test]
fn what_differs_is_counted_and_kept() {
    let folder = TempFolder::new().unwrap();
    let mut group = Group::new("tried", folder.path()).unwrap();
    let mut names: Pair<Names> = Pair::default();
    group.compare("one/1", &mut names, pair("same", "same")).unwrap();
    assert!(group.is_same());
    group.compare("one/2", &mut names, pair("a sentence.", "a Sentence.")).unwrap();
    assert!(!group.is_same());
    assert_eq!(group.line().split_whitespace().collect::<Vec<_>>(), ["tried", "2", "1", "1"]);
    let kept = |side: &str| std::fs::read_to_string(folder.path().join(format!("tried/one_2.{side}"))).unwrap();
    assert_eq!((kept("before"), kept("after")), ("a sentence.".to_owned(), "a Sentence.".to_owned()));
}

#[test]
fn other_ids_are_no_difference_and_an_id_in_the_place_of_another_is_one() {
    let folder = TempFolder::new().unwrap();
    let mut group = Group::new("tried", folder.path()).unwrap();
    let id = |digit: char| format!("res_0000000{digit}-0000-4000-8000-000000000000");
    let (one, two, three) = (id('1'), id('2'), id('3'));
    let mut names: Pair<Names> = Pair::default();
    group.compare("first", &mut names, pair(&one, &two)).unwrap();
    assert!(group.is_same());
    group.compare("again", &mut names, pair(&one, &three)).unwrap();
    assert!(!group.is_same(), "the after side names another one now");
}

#[test]
fn values_are_compared_in_any_order_of_fields() {
    let folder = TempFolder::new().unwrap();
    let mut group = Group::new("tried", folder.path()).unwrap();
    let mut names: Pair<Names> = Pair::default();
    group.compare_values("same", &mut names, pair(r#"{"a":1,"b":2}"#, r#"{"b":2, "a":1}"#)).unwrap();
    assert!(group.is_same());
    group.compare_values("other", &mut names, pair(r#"{"a":1}"#, r#"{"a":1.01}"#)).unwrap();
    assert!(!group.is_same());
}

#[test]
fn the_first_difference_is_shown_with_its_line() {
    let shown = first_difference(b"one\ntwo three\nfour", b"one\ntwo Three\nfive");
    assert_eq!(shown, "  line 2, byte 8:\n  - two three\n  + two Three");
}
