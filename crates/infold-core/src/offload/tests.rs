//! Reading back parts of an offloaded text: pages by bytes, lines by number, lines that match.

use super::*;

#[test]
fn pages_add_up_to_the_text_and_never_cut_a_character() {
    let text = "añb漢c🦀d".repeat(7);
    for limit in 1..9 {
        let (mut at, mut read) = (0, String::new());
        loop {
            let page = page(&text, at, limit);
            read.push_str(&page.content);
            match page.next_offset {
                Some(next) => at = next,
                None => break,
            }
        }
        assert_eq!(read, text, "limit {limit}");
    }
}

#[test]
fn a_page_past_the_end_is_empty() {
    assert_eq!(page("abc", 10, 5), ResultPage { content: String::new(), offset: 3, next_offset: None });
}

#[test]
fn lines_carry_their_numbers_and_stop_at_the_limit() {
    assert_eq!(lines("a\nb\nc\nd", 2, 3, 100).content, "2:b\n3:c\n");
    let cut = lines(&"x".repeat(50), 1, 1, 10);
    assert_eq!((cut.content.as_str(), cut.next_offset), (format!("1:xxxxxxxx{CUT}").as_str(), None));
    let stopped = lines("aaaa\nbbbb", 1, 2, 8);
    assert_eq!((stopped.content.as_str(), stopped.next_offset), ("1:aaaa\n", Some(2)));
    assert_eq!(lines("a", 5, 2, 100).content, "");
}

#[test]
fn matches_show_their_surroundings_once() {
    let pattern = regex::Regex::new("b|c").unwrap();
    assert_eq!(matches("a\nb\nc\nd\ne", &pattern, 1, 1, 100).content, "1-a\n2:b\n3:c\n4-d\n");
    assert_eq!(matches("", &pattern, 1, 1, 100).content, "");
}

#[test]
fn numbers_are_grouped() {
    assert_eq!([grouped(7), grouped(1234), grouped(1_234_567)], ["7", "1,234", "1,234,567"]);
}

#[test]
fn a_search_goes_on_from_the_line_it_stopped_at() {
    let pattern = regex::Regex::new("hit").unwrap();
    let text = "hit\n".repeat(30);
    let (mut first, mut found) = (1, 0);
    loop {
        let page = matches(&text, &pattern, first, 0, 20);
        found += page.content.lines().count();
        match page.next_offset {
            Some(next) => first = next,
            None => break,
        }
    }
    assert_eq!(found, 30);
}

#[test]
fn a_pattern_without_a_match_says_so_and_what_to_try() {
    let text = "one\nTwo\nthree\n".repeat(400);
    let hint = |pattern: &str, first: usize| no_match(&text, &regex::Regex::new(pattern).unwrap(), first);
    assert_eq!(
        hint("two", 1),
        "[No line of 1,200 matches \"two\". With capital and small letters taken for the same, 400 would, the first is \
         line 2: put (?i) before the pattern.]"
    );
    assert_eq!(
        hint("one", 1_200),
        "[No line from line 1200 on, of 1,200, matches \"one\". Line 1198 does: leave start_line out, or begin earlier.]"
    );
    assert!(hint("four", 1).contains("Try a shorter pattern"), "{}", hint("four", 1));
}

#[test]
fn of_a_long_line_the_parts_around_matches_are_shown_and_where_the_next_one_is() {
    let records = |count: usize| (0..count).map(|at| format!("{{\"id\":{at},\"name\":\"é\"}},")).collect::<String>();
    let text = format!("first\n[{}{{\"id\":7,\"status\":\"failed\"}},{}]", records(900), records(900));
    let pattern = regex::Regex::new("failed").unwrap();
    let page = matches(&text, &pattern, 1, 0, 4_096);
    assert!(page.content.starts_with("2:…") && page.content.ends_with("…\n"), "{}", page.content);
    assert!(page.content.contains("\"status\":\"failed\"") && page.content.len() < 400, "{}", page.content);
    assert_eq!(page.next_offset, None);

    let page = matches(&text, &regex::Regex::new("\"id\":").unwrap(), 1, 0, 1_000);
    assert!(page.content.len() <= 1_000, "{}", page.content.len());
    let (_, offset) = page.content.rsplit_once("more places in this line: the next is at offset ").unwrap();
    let offset: usize = offset.trim_end_matches("]\n").parse().unwrap();
    assert!(text[offset..].starts_with("\"id\":") && page.content.contains(&text[offset - 60..offset - 40]));
}
