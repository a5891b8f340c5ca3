//! What holds for the excerpt and the reference of any text.

use proptest::prelude::*;

use super::*;

/// Text in the shapes that tools give: words, names, errors, numbered lines, long lines, other scripts.
fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => "[a-zA-Z_ ./:0-9]{0,80}",
        1 => "error: [a-z ]{1,40}",
        1 => " {0,4}[0-9]{1,4}→[a-zA-Z_ (){};]{0,60}",
        1 => "[^\n]{0,40}",
        1 => "漢字🦀é{0,3}[a-zß ]{0,30}",
        1 => "[a-z_]{3,9} {0,2}".prop_map(|word| word.repeat(120)),
        1 => Just(String::new()),
    ];
    prop::collection::vec(line, 0..300).prop_map(|lines| lines.join("\n"))
}

fn spoken_words() -> impl Strategy<Value = Mentions> {
    "[a-zA-Z_ ]{0,60}".prop_map(|words| {
        let mut mentions = Mentions::default();
        mentions.say(&words);
        mentions
    })
}

/// The lines that an excerpt shows, without its own words.
fn shown_lines(excerpt: &str) -> Vec<&str> {
    let Some((_, rest)) = excerpt.split_once("Lines of it:\n") else { return Vec::new() };
    let ends = ["\nTry pattern ", "\nNames: ", "\nFound: "];
    let lines = ends.iter().fold(rest, |rest, end| rest.rsplit_once(end).map_or(rest, |(lines, _)| lines));
    lines.split('\n').filter(|line| *line != "…" && !line.starts_with("… line ")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn an_excerpt_is_within_its_bounds_and_always_the_same(
        text in text(), mentions in spoken_words(), lines in 0usize..4_000, names in 0usize..3_000,
    ) {
        let rules = ShapeRules { lines_chars_max: lines, names_chars_max: names, ..rules() };
        let chars = text.chars().count();
        let made = excerpt(&of("tool", &text), &mentions, &rules);
        let bound = (lines + names).min(chars / 3) + 1_200 + "Lines of it:\n\nFound: \nNames: \n".len() + 300;
        prop_assert!(made.chars().count() <= bound, "{} of {bound}", made.chars().count());
        prop_assert_eq!(made, excerpt(&of("tool", &text), &mentions, &rules));
    }

    #[test]
    fn a_reference_takes_less_than_a_third_and_of_what_is_very_long_less_than_a_tenth(
        text in text(), mentions in spoken_words(), times in 1usize..6, before in 0usize..2,
    ) {
        let text = text.repeat(times);
        let mut mentions = mentions;
        for arguments in ["{}", r#"{"file_path": "a.rs"}"#] {
            let result = ToolResult { tool: "Read", arguments, text: &text };
            if before == 1 {
                mentions.show_result("Read", arguments, &text);
            }
            let Shape::Offload { excerpt } = shape(&result, &mentions, &rules(), counter()) else { continue };
            let reference = reference_text("Read", &text, EXAMPLE_HANDLE, &excerpt);
            let share = if text.len() > 65_536 { 10 } else { 3 };
            prop_assert!(reference.len() * share < text.len());
            prop_assert!(counter().count(&reference) * (share as u64) < counter().count(&text));
        }
    }

    #[test]
    fn everything_up_to_its_bound_is_whole_when_it_is_first_seen(text in text(), other in text(), times in 1usize..4) {
        let text = text.repeat(times);
        let mut mentions = Mentions::default();
        mentions.show_result("Read", r#"{"file_path": "b.rs"}"#, &text);
        mentions.show_result("Bash", r#"{"command": "cat c.rs"}"#, &text);
        mentions.show_result("Read", r#"{"file_path": "a.rs"}"#, &other);
        let [file, output] = [32_768, 8_192].map(|bytes| &text[..text.floor_char_boundary(bytes)]);
        let asked = ToolResult { tool: "Read", arguments: r#"{"file_path": "d.rs"}"#, text: file };
        prop_assert!(is_whole(&asked, &mentions));
        let printed = ToolResult { tool: "Bash", arguments: r#"{"command": "make"}"#, text: output };
        prop_assert!(is_whole(&printed, &mentions));
    }

    #[test]
    fn a_file_that_is_read_again_shows_every_line_that_is_new(
        before in text(), now in text(), kept in 0usize..300,
    ) {
        let (before, now): (Vec<&str>, Vec<&str>) = (before.lines().collect(), now.lines().collect());
        // The same lines at the front, and then others.
        let now: Vec<&str> = before.iter().take(kept).chain(now.iter().take(20)).copied().collect();
        let number = |lines: &[&str]| numbered(lines.iter().map(|line| (*line).to_owned()));
        let mut mentions = Mentions::default();
        mentions.show_result("Read", PATH, &number(&before));
        let text = number(&now);
        if let Shape::Offload { excerpt } = shape(&of_file(PATH, &text), &mentions, &rules(), counter()) {
            let lost = |line: &&&str| !before.contains(line) && !excerpt.lines().any(|shown| shown.trim_end() == line.trim_end());
            let lost: Vec<&&str> = now.iter().filter(|line| line.trim().len() > 11).filter(lost).collect();
            prop_assert!(lost.is_empty() || text.len() > 32_768, "{lost:?}\n{excerpt}");
        }
    }

    #[test]
    fn every_line_shown_is_a_line_of_the_text(text in text(), mentions in spoken_words()) {
        let bare = |line: &'_ str| line.split_once('→').map_or(String::new(), |(_, line)| line.to_owned());
        let lines: std::collections::HashSet<String> =
            text.split('\n').flat_map(|line| [line.to_owned(), bare(line)]).collect();
        for line in shown_lines(&shaped(&text, &mentions)) {
            let is_part = match (line.strip_prefix('…'), line.strip_suffix('…')) {
                _ if lines.contains(line) => true,
                (Some(_), Some(_)) => {
                    let middle = line.trim_matches('…');
                    lines.iter().any(|whole| whole.contains(middle))
                }
                (Some(end), None) => lines.iter().any(|whole| whole.ends_with(end)),
                (None, Some(front)) => lines.iter().any(|whole| whole.starts_with(front)),
                (None, None) => false,
            };
            prop_assert!(is_part, "{line:?}");
        }
    }

    #[test]
    fn the_end_survives(text in text(), last in "[a-z]{5,40}") {
        let text = format!("{text}\n{}\n{last}", "plain words\n".repeat(300));
        prop_assert!(shaped(&text, &Mentions::default()).contains(&last));
    }

    #[test]
    fn the_exit_status_and_the_first_error_survive(before in 0usize..400, after in 40usize..400, code in 1u8..255) {
        let noise = |count: usize| (0..count).map(|at| format!("step {at} of the build is done\n")).collect::<String>();
        let text = format!(
            "{}{}src/a.rs:10:5: error: no field `size`\n{}process exited with code {code}\n",
            "plain words that are always there\n".repeat(60), noise(before), noise(after),
        );
        let made = shaped(&text, &Mentions::default());
        let status = format!("exited with code {code}");
        prop_assert!(made.contains("error: no field `size`") && made.contains(&status), "{made}");
    }
}

#[test]
fn one_line_of_millions_of_bytes_is_bounded() {
    for line in ["x".repeat(5_600_000), "{\"key_name\":1000},".repeat(60_000), "漢".repeat(600_000)] {
        let made = shaped(&format!("{line}the_very_end"), &Mentions::default());
        assert!(made.chars().count() <= 3_000 && made.contains("the_very_end"), "{}", made.chars().count());
    }
}

#[test]
fn millions_of_lines_are_bounded_and_their_numbers_are_right() {
    let text = format!("{}error: the last one\n", "word\n".repeat(900_000));
    let made = shaped(&text, &Mentions::default());
    assert!(made.contains("error: the last one"), "{made}");
    let first = made.lines().find_map(|line| line.strip_prefix("… line ")?.strip_suffix(':'));
    let shown = made.lines().filter(|line| *line == "word").count();
    assert_eq!(first, Some((900_001 - shown).to_string()).as_deref(), "{made}");
    assert!(shaped(&"\n".repeat(5_000_000), &Mentions::default()).is_empty());
}
