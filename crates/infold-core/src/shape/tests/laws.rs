//! What holds for any text.

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

fn said() -> impl Strategy<Value = Mentions> {
    "[a-zA-Z_ ]{0,60}".prop_map(|words| {
        let mut mentions = Mentions::default();
        mentions.say(&words);
        mentions
    })
}

/// The lines that an excerpt shows, without its own words.
fn shown_lines(excerpt: &str) -> Vec<&str> {
    let Some(rest) = excerpt.strip_prefix("Lines of it:\n") else { return Vec::new() };
    let ends = ["\nNames: ", "\nFound: "];
    let lines = ends.iter().fold(rest, |rest, end| rest.rsplit_once(end).map_or(rest, |(lines, _)| lines));
    lines.split('\n').filter(|line| *line != "…" && !line.starts_with("… line ")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_excerpt_is_within_its_bounds_and_always_the_same(
        text in text(), mentions in said(), lines in 0usize..4_000, names in 0usize..3_000,
    ) {
        let rules = ShapeRules { lines_chars_max: lines, names_chars_max: names, ..rules() };
        let chars = text.chars().count();
        let made = excerpt(&of("tool", &text), &mentions, &rules);
        let bound = lines.min(chars / 3) + names.min(chars / 4) + "Lines of it:\n\nFound: \nNames: ".len();
        prop_assert!(made.chars().count() <= bound, "{} of {bound}", made.chars().count());
        prop_assert_eq!(made, excerpt(&of("tool", &text), &mentions, &rules));
    }

    #[test]
    fn every_line_shown_is_a_line_of_the_text(text in text(), mentions in said()) {
        let bare = |line: &'_ str| line.split_once('→').map_or(String::new(), |(_, line)| line.to_owned());
        let lines: std::collections::HashSet<String> =
            text.split('\n').flat_map(|line| [line.to_owned(), bare(line)]).collect();
        for line in shown_lines(&shaped(&text, &mentions)) {
            let is_part = match (line.strip_prefix('…'), line.strip_suffix('…')) {
                _ if lines.contains(line) => true,
                (Some(end), _) => lines.iter().any(|whole| whole.ends_with(end)),
                (_, Some(front)) => lines.iter().any(|whole| whole.starts_with(front)),
                (None, None) => false,
            };
            prop_assert!(is_part, "{line:?}");
        }
    }

    #[test]
    fn the_end_survives(text in text(), last in "[a-z]{5,40}") {
        let text = format!("{text}\n{}\n{last}", "plain words\n".repeat(60));
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn of_a_file_that_was_shown_before_no_more_is_shown_than_of_another(text in text(), shown in 0usize..300) {
        let numbered: String = text.lines().enumerate().map(|(at, line)| format!("{:>5}→{line}\n", at + 1)).collect();
        let mut mentions = Mentions::default();
        mentions.show(&numbered.lines().take(shown).collect::<Vec<_>>().join("\n"));
        let made = shaped(&numbered, &mentions);
        let bound = rules().lines_chars_max + rules().names_chars_max + 100;
        prop_assert!(made.chars().count() <= bound.min(numbered.chars().count() * 5 / 4 + 100), "{}", made.chars().count());
        prop_assert_eq!(made, shaped(&numbered, &mentions));
    }
}
