//! Frames on an emulated terminal: its scrollback and its screen together have to be what was written.

use std::num::NonZeroU16;

use proptest::prelude::*;
use ratatui::layout::Size;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::InlineScreen;

/// A terminal, and the screen that writes to it.
struct Setup {
    terminal: vt100::Parser,
    screen: InlineScreen<Vec<u8>>,
    expected: Vec<String>,
}

fn non_zero(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

impl Setup {
    fn new(width: u16, height: u16, shell_lines: usize) -> Self {
        let mut terminal = vt100::Parser::new(non_zero(height), non_zero(width), 10_000);
        let expected = vec!["$".to_owned(); shell_lines];
        expected.iter().for_each(|line| terminal.process(format!("{line}\r\n").as_bytes()));
        Self { terminal, screen: InlineScreen::new(Vec::new(), Size { width, height }), expected }
    }

    fn frame(&mut self, finished: &[&str], live: &[&str], cursor: Option<(u16, u16)>) -> String {
        self.frame_of(&lines(finished), &lines(live), cursor)
    }

    fn frame_of(&mut self, finished: &[Line], live: &[Line], cursor: Option<(u16, u16)>) -> String {
        self.screen.frame(finished, live, cursor).unwrap();
        self.expected.extend(finished.iter().map(ToString::to_string));
        self.process()
    }

    /// Shows what was written, and gives it.
    fn process(&mut self) -> String {
        let written = std::mem::take(&mut self.screen.writer);
        self.terminal.process(&written);
        let written = String::from_utf8(written).unwrap();
        assert!(clears_from_starts_only(&written), "{written:?}");
        written
    }

    /// Every row that can be seen or scrolled to, without the blank ones at the end.
    fn rows(&mut self) -> Vec<String> {
        let width = self.screen.size.width;
        let screen = self.terminal.screen_mut();
        screen.set_scrollback(usize::MAX);
        let behind = screen.scrollback();
        let mut rows: Vec<String> = Vec::new();
        for offset in (1..=behind).rev() {
            screen.set_scrollback(offset);
            rows.extend(screen.rows(0, width).next());
        }
        screen.set_scrollback(0);
        rows.extend(screen.rows(0, width));
        let blank = rows.iter().rev().take_while(|row| row.is_empty()).count();
        rows.truncate(rows.len() - blank);
        rows
    }
}

/// Whether nothing is cleared but from the start of a row. Behind a full row a terminal's cursor is on the last character,
/// and what clears from there clears that; the emulator is kinder than real terminals.
fn clears_from_starts_only(written: &str) -> bool {
    let mut rest = written;
    let mut is_at_start = true;
    while let Some(character) = rest.chars().next() {
        let command = rest.strip_prefix("\x1b[").and_then(|rest| rest.find(|c: char| c.is_ascii_alphabetic()));
        match command {
            Some(end) => {
                let is_clear = matches!(&rest[end + 2..end + 3], "K" | "J");
                if is_clear && !is_at_start {
                    return false;
                }
                rest = &rest[end + 3..];
            }
            None => {
                is_at_start = character == '\r' || (is_at_start && character == '\n');
                rest = &rest[character.len_utf8()..];
            }
        }
    }
    true
}

fn lines(texts: &[&str]) -> Vec<Line<'static>> {
    texts.iter().map(|text| Line::from(Span::raw((*text).to_owned()))).collect()
}

#[test]
fn finished_lines_go_up_and_the_live_region_stays_below() {
    let mut setup = Setup::new(20, 4, 1);
    setup.frame(&[], &["> ", "status"], Some((2, 0)));
    assert_eq!(setup.rows(), ["$", "> ", "status"].map(str::trim_end));
    assert_eq!(setup.terminal.screen().cursor_position(), (1, 2));
    setup.frame(&["one", "two", "three"], &[">", "status"], None);
    assert_eq!(setup.rows(), ["$", "one", "two", "three", ">", "status"]);
    assert!(setup.terminal.screen().hide_cursor());
}

#[test]
fn a_frame_that_changes_nothing_writes_nothing() {
    let mut setup = Setup::new(20, 4, 0);
    assert_ne!(setup.frame(&["a"], &["one", "two"], Some((1, 1))), "");
    assert_eq!(setup.frame(&[], &["one", "two"], Some((1, 1))), "");
    assert_eq!(setup.frame(&[], &["one  ", "two"], Some((1, 1))), "");
}

#[test]
fn only_rows_that_changed_are_written() {
    let mut setup = Setup::new(20, 5, 0);
    setup.frame(&[], &["alpha", "beta", "gamma"], Some((0, 2)));
    let written = setup.frame(&[], &["alpha", "delta", "gamma"], Some((0, 2)));
    assert!(written.contains("delta") && !written.contains("alpha") && !written.contains("gamma"), "{written:?}");
    assert_eq!(setup.rows(), ["alpha", "delta", "gamma"]);
}

#[test]
fn a_frame_is_one_write_in_brackets_without_questions_or_places() {
    let mut setup = Setup::new(20, 5, 0);
    let written = setup.frame(&["done"], &["alpha", "beta"], Some((1, 0)));
    assert!(written.starts_with("\x1b[?2026h") && written.ends_with("\x1b[?2026l"), "{written:?}");
    assert!(!written.contains("\x1b[6n") && !written.contains('H'), "{written:?}");
}

#[test]
fn lines_as_wide_as_the_screen_do_not_wrap() {
    let mut setup = Setup::new(4, 4, 0);
    setup.frame(&["abcd", "漢字"], &["1234", "5678"], Some((3, 1)));
    setup.frame(&[], &["1234", "567x"], Some((3, 1)));
    setup.frame(&[], &["1234"], Some((3, 0)));
    assert_eq!(setup.rows(), ["abcd", "漢字", "1234"]);
}

#[test]
fn what_is_wider_or_taller_than_the_screen_is_cut() {
    let mut setup = Setup::new(4, 3, 0);
    setup.frame(&["abcdef"], &["1", "2", "3", "4", "56789"], Some((9, 4)));
    assert_eq!(setup.rows(), ["abcd", "3", "4", "5678"]);
    assert_eq!(setup.terminal.screen().cursor_position(), (2, 3));
    setup.frame(&[], &["1", "2", "3", "4", "5"], Some((0, 0)));
    assert!(setup.terminal.screen().hide_cursor());
}

#[test]
fn a_region_that_becomes_shorter_leaves_nothing_behind() {
    let mut setup = Setup::new(10, 6, 2);
    setup.frame(&[], &["a", "b", "c", "d"], None);
    setup.frame(&["done"], &["e"], None);
    assert_eq!(setup.rows(), ["$", "$", "done", "e"]);
    setup.frame(&[], &[], None);
    assert_eq!(setup.rows(), ["$", "$", "done"]);
}

#[test]
fn after_a_new_size_the_tail_and_the_region_are_there_and_nothing_was_scrolled() {
    let mut setup = Setup::new(10, 6, 0);
    setup.frame(&["1", "2", "3", "4", "5", "6"], &["live", "below"], None);
    setup.terminal.set_size(non_zero(4), non_zero(5));
    let size = Size { width: 5, height: 4 };
    let behind = setup.terminal.screen().scrollback_len();
    setup.screen.resize(size, &lines(&["3", "4", "5", "6"]), &lines(&["live", "bel", "ow"]), Some((2, 2))).unwrap();
    setup.process();
    assert_eq!(setup.terminal.screen().contents(), "6\nlive\nbel\now");
    assert_eq!(setup.terminal.screen().scrollback_len(), behind);
    assert_eq!(setup.terminal.screen().cursor_position(), (3, 2));
    setup.frame(&["7"], &["live"], None);
    assert_eq!(setup.terminal.screen().contents(), "6\n7\nlive");
}

#[test]
fn leaving_puts_the_cursor_under_the_region() {
    let mut setup = Setup::new(10, 3, 0);
    setup.frame(&["done"], &["a", "b", "c"], Some((0, 0)));
    setup.screen.suspend().unwrap();
    setup.process();
    setup.terminal.process(b"$ ls");
    assert_eq!(setup.rows(), ["done", "a", "b", "c", "$ ls"]);
    assert!(!setup.terminal.screen().hide_cursor());
}

#[test]
fn leaving_without_a_region_leaves_no_blank_line() {
    let mut setup = Setup::new(10, 3, 0);
    setup.frame(&["done"], &["a"], None);
    setup.frame(&[], &[], None);
    let written = setup.screen.leave().unwrap();
    setup.terminal.process(&written);
    setup.terminal.process(b"$");
    assert_eq!(setup.terminal.screen().contents(), "done\n$");
}

#[test]
fn after_a_break_a_new_region_begins() {
    let mut setup = Setup::new(10, 4, 0);
    setup.frame(&[], &["a", "b"], None);
    setup.screen.suspend().unwrap();
    setup.process();
    setup.terminal.process(b"$ ls\r\n");
    setup.frame(&["c"], &["a", "b"], None);
    assert_eq!(setup.rows(), ["a", "b", "$ ls", "c", "a", "b"]);
}

#[test]
fn styles_reach_the_terminal_and_end_with_their_text() {
    let mut setup = Setup::new(10, 3, 0);
    let style = Style::new().fg(Color::Red).bg(Color::LightBlue).add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
    setup.frame_of(&[Line::from(vec![Span::styled("a", style), Span::raw("b")])], &[], None);
    let cell = |column| setup.terminal.screen().cell(0, column).unwrap();
    assert_eq!((cell(0).fgcolor(), cell(0).bgcolor()), (vt100::Color::Idx(1), vt100::Color::Idx(12)));
    assert!(cell(0).bold() && cell(0).underline());
    assert_eq!((cell(1).fgcolor(), cell(1).bgcolor()), (vt100::Color::Default, vt100::Color::Default));
    assert!(!cell(1).bold());
}

#[test]
fn the_style_of_a_line_is_that_of_its_spans() {
    let mut setup = Setup::new(10, 3, 0);
    let line = Line::from("a").style(Style::new().fg(Color::Green));
    setup.frame_of(&[line], &[], None);
    assert_eq!(setup.terminal.screen().cell(0, 0).unwrap().fgcolor(), vt100::Color::Idx(2));
}

#[test]
fn nothing_in_a_line_steers_the_terminal() {
    let mut setup = Setup::new(30, 3, 0);
    let written = setup.frame(&["a\u{1b}[2Jb\u{9b}Kc\u{202e}d\r\ne"], &["x\u{7}"], None);
    setup.expected.clear();
    assert!(!written.contains("\x1b[2J") && !written.contains('\u{202e}') && !written.contains('\u{7}'));
    assert_eq!(setup.rows(), ["a␛[2Jb␛Kcd e", "x"]);
}

fn any_line() -> impl Strategy<Value = Line<'static>> {
    let text = prop_oneof!["[a-c]{0,12}", "([a-c]|漢|字|👍|e\u{301}){0,6}"];
    let span = (text, 0_u8..4).prop_map(|(text, style)| {
        let style = match style {
            0 => Style::new().fg(Color::Red),
            1 => Style::new().add_modifier(Modifier::BOLD),
            _ => Style::new(),
        };
        Span::styled(text, style)
    });
    proptest::collection::vec(span, 0..3).prop_map(Line::from)
}

type AnyFrame = (Vec<Line<'static>>, Vec<Line<'static>>, Option<(u16, u16)>);

fn any_frame() -> impl Strategy<Value = AnyFrame> {
    let finished = prop_oneof![Just(Vec::new()), proptest::collection::vec(any_line(), 0..9)];
    let live = proptest::collection::vec(any_line(), 0..8);
    (finished, live, proptest::option::of((0_u16..12, 0_u16..8)))
}

fn cut_to(line: &Line, width: u16) -> String {
    crate::wrap::cut(&line.spans, usize::from(width)).iter().map(|span| &*span.content).collect()
}

proptest! {
    #[test]
    fn after_any_frames_the_terminal_shows_what_was_finished_and_the_live_region(
        frames in proptest::collection::vec(any_frame(), 1..12),
        width in 2_u16..14,
        height in 1_u16..8,
        shell_lines in 0_usize..10,
    ) {
        let mut setup = Setup::new(width, height, shell_lines);
        let mut finished_lines = setup.expected.clone();
        for (finished, live, cursor) in frames {
            setup.frame_of(&finished, &live, cursor);
            let written = setup.frame_of(&[], &live, cursor);
            prop_assert_eq!(written, "");

            finished_lines.extend(finished.iter().map(|line| cut_to(line, width)));
            let over = live.len().saturating_sub(usize::from(height));
            let mut expected = finished_lines.clone();
            expected.extend(live[over..].iter().map(|line| cut_to(line, width)));
            while expected.last().is_some_and(String::is_empty) {
                expected.pop();
            }
            prop_assert_eq!(setup.rows(), expected);
            let place = cursor.and_then(|(_, row)| usize::from(row).checked_sub(over));
            let is_shown = place.is_some_and(|row| row < (live.len() - over).max(1));
            prop_assert_eq!(setup.terminal.screen().hide_cursor(), !is_shown);
        }
    }
}
