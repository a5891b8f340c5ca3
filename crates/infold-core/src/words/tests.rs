//! What texts are taken apart into, and what holds for any text.

use proptest::prelude::*;

use super::*;

/// The words of a text; one that is a whole of others in brackets.
fn check(text: &str) -> String {
    let shown = |word: &SearchWord| match word.extent {
        WordExtent::Part => word.text.clone(),
        WordExtent::Whole => format!("({})", word.text),
    };
    words(text).iter().map(shown).collect::<Vec<_>>().join(" ")
}

#[test]
fn names_are_split_where_their_spelling_changes() {
    assert_eq!(check("create_issue list-repos fs.read"), "creat issu list repo fs read");
    assert_eq!(check("createIssue"), "creat issu (createissu)");
    assert_eq!(check("getHTTPUser"), "get http user (gethttpus)");
    assert_eq!(check("HTML"), "html");
    assert_eq!(check("A"), "");
}

#[test]
fn what_is_written_in_one_is_found_in_one_and_in_parts() {
    assert_eq!(check("GitHub"), "git hub (github)");
    assert_eq!(check("github"), "github");
    assert_eq!(check("s3 mp3 H264"), "3 (s3) mp 3 (mp3) h 264 (h264)");
}

#[test]
fn several_of_an_abbreviation_are_one_word() {
    assert_eq!(check("URLs PDFs"), "url pdf");
    assert_eq!(check("IDs"), "id");
    assert_eq!(check("UserIDsList"), "user id list (useridslist)");
}

#[test]
fn what_says_nothing_is_left_out() {
    assert_eq!(check("Please use the user's own file."), "user own file");
    assert_eq!(check("--- ?!. ''"), "");
}

#[test]
fn scripts_without_spaces_give_pairs() {
    assert_eq!(check("検索する"), "検索 索す する");
    assert_eq!(check("搜"), "搜");
    assert_eq!(check("用bing搜索"), "用 bing 搜索");
}

#[test]
fn letters_of_other_scripts_stay_together() {
    assert_eq!(check("Tìm chuyến ĐI"), "tìm chuyến đi");
    assert_eq!(check("Größe"), "größe");
    assert_eq!(check("поискФайлов"), "поиск файлов (поискфайлов)");
}

#[test]
fn very_long_words_are_data() {
    assert_eq!(check(&format!("key {} end", "abc9".repeat(100))), format!("kei {}end", "abc 9 ".repeat(100)));
    assert_eq!(check(&format!("key {} end", "a".repeat(65))), "kei end");
}

#[test]
fn words_that_are_left_out_are_in_order_and_none_is_there_twice() {
    assert!(LEFT_OUT.is_sorted_by(|a, b| a < b));
}

proptest! {
    #[test]
    fn any_text_gives_words_without_blanks_and_not_more_than_it_has_characters(text in ".{0,200}") {
        let words = words(&text);
        prop_assert!(words.len() <= 2 * text.chars().count());
        for word in words {
            prop_assert!(!word.text.is_empty() && !word.text.contains(char::is_whitespace), "{:?}", word);
        }
    }

    #[test]
    fn texts_with_something_between_them_give_the_words_of_both(a in "\\PC{0,60}", b in "\\PC{0,60}") {
        prop_assert_eq!(words(&format!("{a} {b}")), [words(&a), words(&b)].concat());
    }
}
