//! Markdown in, lines out.

mod laws;
mod shapes;

use ratatui::style::Modifier;
use ratatui::text::Line;

use super::{MarkdownStream, render};
use crate::highlight::Highlighter;
use crate::tones::Palette;

fn plain(lines: &[Line]) -> String {
    lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The lines of a text, without their tones.
fn shown(text: &str, width: usize) -> String {
    plain(&render(text, width, Palette::coloured(), &Highlighter::none()))
}

/// The lines of a text, with marks for tones.
fn toned(text: &str, width: usize) -> String {
    let lines = render(text, width, Palette::plain(), &Highlighter::none());
    let lines = lines.iter().map(|line| {
        let spans = line.spans.iter().map(|span| {
            let marks = [
                (Modifier::BOLD, "*"),
                (Modifier::ITALIC, "/"),
                (Modifier::UNDERLINED, "_"),
                (Modifier::CROSSED_OUT, "~"),
                (Modifier::DIM, "."),
            ];
            let set = marks.iter().filter(|(modifier, _)| span.style.add_modifier.contains(*modifier));
            let marks: String = set.map(|(_, mark)| *mark).collect();
            if marks.is_empty() { span.content.to_string() } else { format!("{marks}<{}>", span.content) }
        });
        spans.collect::<String>()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn stream(width: usize) -> MarkdownStream {
    MarkdownStream::new(width, Palette::plain(), Highlighter::none())
}

#[test]
fn a_paragraph_is_finished_by_what_comes_after_it() {
    let mut stream = stream(20);
    assert_eq!(plain(&stream.push("hello **wor")), "");
    assert_eq!(plain(&stream.tail()), "hello **wor");
    assert_eq!(plain(&stream.push("ld**\n")), "");
    assert_eq!(plain(&stream.tail()), "hello world");
    assert_eq!(plain(&stream.push("\n")), "hello world");
    assert!(stream.tail().is_empty());
    assert_eq!(plain(&stream.push("next")), "");
    assert_eq!(plain(&stream.finish()), "\nnext");
}

#[test]
fn code_is_finished_line_by_line() {
    let mut stream = stream(20);
    assert_eq!(plain(&stream.push("```rust\nfn a() {\n    b")), "```rust\nfn a() {");
    assert_eq!(plain(&stream.tail()), "    b");
    assert_eq!(plain(&stream.push("()\n``")), "    b()");
    assert_eq!(plain(&stream.push("`\nx\n\n")), "```\n\nx");
}

#[test]
fn an_item_is_finished_by_the_next_one() {
    let mut stream = stream(20);
    assert_eq!(plain(&stream.push("1. one\n2")), "");
    assert_eq!(plain(&stream.tail()), "1. one");
    assert_eq!(plain(&stream.push(". two\n   ```\n   code\n")), "1. one\n2. two\n   ```\n   code");
}

#[test]
fn what_may_become_anything_is_not_in_the_tail() {
    for partial in ["-", "#", "##", "``", "1", "12.", ">", "--", "| -"] {
        let mut stream = stream(20);
        stream.push("words\n");
        stream.push(partial);
        assert_eq!(plain(&stream.tail()), "words", "{partial}");
    }
}

#[test]
fn what_is_kept_of_a_long_text_is_bounded() {
    for line in
        ["words and more words\n", "unbroken", "- ", "> > > > > > > > > > > > > > > > ", "| a | b |\n| - | - |\n"]
    {
        let mut stream = stream(40);
        for _ in 0..10_000 {
            stream.push(line);
        }
        let kept = stream.partial.len() + format!("{:?}", stream.blocks).len();
        assert!(kept < 40_000, "{line:?}: {kept}");
    }
}
