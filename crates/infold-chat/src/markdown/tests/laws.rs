//! Laws: pieces are as good as the whole, and no line is too wide.

use proptest::prelude::*;
use ratatui::text::Line;

use super::super::{MarkdownStream, render};
use crate::highlight::Highlighter;
use crate::tones::Palette;

/// Lines that mean something in Markdown, so that blocks of all kinds come together.
fn any_text() -> impl Strategy<Value = String> {
    let begin = proptest::sample::select(vec![
        "",
        "",
        "",
        "- ",
        "  - ",
        "    ",
        "1. ",
        "7) ",
        "> ",
        ">> ",
        "# ",
        "### ",
        "```",
        "```rust",
        "~~~",
        "---",
        "===",
        "***",
        "| ",
        "|-|-|",
        "|---|",
        "| a | b |",
        "\t",
        "   ",
        "<div>",
        "[a]: b",
        "- [ ] ",
        "*   ",
        "+",
    ]);
    let words = prop_oneof![
        Just(String::new()),
        "[a-c ]{0,20}",
        "[a-c*_`~\\[\\]()<>|&;#:!\\\\ ]{0,20}",
        "[漢字é👍\u{301}\u{200d}\u{1b}\u{202e}\t\r a]{0,12}",
        "\\PC{0,20}",
    ];
    let end = proptest::sample::select(vec!["\n", "\n", "\n", "\n\n", "\r\n", "  \n", "|\n", ""]);
    let line = (begin, words, end).prop_map(|(begin, words, end)| format!("{begin}{words}{end}"));
    proptest::collection::vec(line, 0..14).prop_map(|lines| lines.concat())
}

fn pieces(text: &str, cuts: &[usize]) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (characters.len() + 1)).collect();
    cuts.extend([0, characters.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| characters[pair[0]..pair[1]].iter().collect()).collect()
}

fn streamed(pieces: &[String], width: usize, palette: Palette) -> Vec<Line<'static>> {
    let mut stream = MarkdownStream::new(width, palette, Highlighter::none());
    let mut lines = Vec::new();
    for piece in pieces {
        lines.extend(stream.push(piece));
        assert!(stream.tail().iter().all(|line| line.width() <= width));
    }
    lines.extend(stream.finish());
    lines
}

fn check(text: &str, cuts: &[usize], width: usize) -> Result<(), TestCaseError> {
    for palette in [Palette::coloured(), Palette::plain()] {
        let whole = render(text, width, palette, &Highlighter::none());
        prop_assert_eq!(streamed(&pieces(text, cuts), width, palette), whole.clone());
        for line in &whole {
            prop_assert!(line.width() <= width, "{} columns: {line:?}", line.width());
            let is_clean = |c: char| !c.is_control() && !('\u{202a}'..='\u{202e}').contains(&c);
            prop_assert!(line.to_string().chars().all(is_clean), "{line:?}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn pieces_are_as_good_as_the_whole(
        text in any_text(),
        cuts in proptest::collection::vec(any::<usize>(), 0..12),
        width in 1_usize..50,
    ) {
        check(&text, &cuts, width)?;
    }

    #[test]
    fn no_letter_is_lost(text in any_text(), width in 4_usize..50) {
        let lines = render(&text, width, Palette::coloured(), &Highlighter::none());
        let shown: String = lines.iter().map(ToString::to_string).collect();
        let count = |text: &str| text.chars().filter(|c| ['a', 'b', 'c'].contains(c)).count();
        // A title of a link, or an entity, may say it differently.
        if !text.contains(['&', '[', '<']) && !text.contains("```") && !text.contains("~~~") {
            prop_assert!(count(&shown) >= count(&text), "{shown:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn long_lines_and_long_blocks_are_cut_in_the_same_places(
        line in "[a-c*`\\- ]{1,60}",
        repeated in 200_usize..2_000,
        end in proptest::sample::select(vec!["", "\n", "\n\n"]),
        begin in proptest::sample::select(vec!["", "- ", "> ", "```\n", "|a|\n|-|\n", "    "]),
        cuts in proptest::collection::vec(any::<usize>(), 0..6),
    ) {
        let text = format!("{begin}{}", format!("{line}{end}").repeat(repeated));
        check(&text, &cuts, 40)?;
    }
}
