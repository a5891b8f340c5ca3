//! A line as bytes for the terminal: its text, and the commands for its styles.
//!
//! What must hold: a line ends in the terminal's own style, blanks that nobody can see are not at its end, and no
//! character of its text steers the terminal, whoever made the line.

use std::borrow::Cow;

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::RESET;
use crate::clean::visible_in_line;

/// The line as the terminal will show it: with the line's own style in each span, and nothing that steers.
pub fn seen(line: &Line<'_>) -> Line<'static> {
    let seen = line.spans.iter().map(|span| {
        let text = visible_in_line(&span.content).into_owned();
        Span::styled(text, line.style.patch(span.style))
    });
    let mut spans: Vec<Span<'static>> = seen.collect();
    while let Some(last) = spans.last_mut()
        && are_blanks_unseen(&last.style)
    {
        let kept = last.content.trim_end().len();
        if kept > 0 {
            last.content = Cow::Owned(last.content[..kept].to_owned());
            break;
        }
        spans.pop();
    }
    Line::from(spans)
}

fn are_blanks_unseen(style: &Style) -> bool {
    let drawn = Modifier::REVERSED | Modifier::UNDERLINED | Modifier::CROSSED_OUT;
    style.bg.is_none_or(|colour| colour == Color::Reset) && !style.add_modifier.intersects(drawn)
}

/// Writes a line that [`seen`] made.
pub fn write_line(out: &mut String, line: &Line<'static>) {
    for span in &line.spans {
        let codes = codes(&span.style);
        if codes.is_empty() {
            out.push_str(&span.content);
        } else {
            out.push_str(&format!("\x1b[{}m{}{RESET}", codes.join(";"), span.content));
        }
    }
}

/// The numbers by which terminals know a style.
fn codes(style: &Style) -> Vec<String> {
    const MODIFIERS: [(Modifier, u8); 9] = [
        (Modifier::BOLD, 1),
        (Modifier::DIM, 2),
        (Modifier::ITALIC, 3),
        (Modifier::UNDERLINED, 4),
        (Modifier::SLOW_BLINK, 5),
        (Modifier::RAPID_BLINK, 6),
        (Modifier::REVERSED, 7),
        (Modifier::HIDDEN, 8),
        (Modifier::CROSSED_OUT, 9),
    ];
    let set = MODIFIERS.iter().filter(|(modifier, _)| style.add_modifier.contains(*modifier));
    let modifiers = set.map(|(_, code)| code.to_string());
    let foreground = style.fg.and_then(|colour| colour_code(colour, Layer::Foreground));
    let background = style.bg.and_then(|colour| colour_code(colour, Layer::Background));
    modifiers.chain(foreground).chain(background).collect()
}

/// What is coloured.
#[derive(Debug, Clone, Copy)]
enum Layer {
    Foreground,
    Background,
}

fn colour_code(colour: Color, layer: Layer) -> Option<String> {
    let (dark, bright, other) = match layer {
        Layer::Foreground => (30, 90, 38),
        Layer::Background => (40, 100, 48),
    };
    let code = match colour {
        Color::Reset => return None,
        Color::Black => dark,
        Color::Red => dark + 1,
        Color::Green => dark + 2,
        Color::Yellow => dark + 3,
        Color::Blue => dark + 4,
        Color::Magenta => dark + 5,
        Color::Cyan => dark + 6,
        Color::Gray => dark + 7,
        Color::DarkGray => bright,
        Color::LightRed => bright + 1,
        Color::LightGreen => bright + 2,
        Color::LightYellow => bright + 3,
        Color::LightBlue => bright + 4,
        Color::LightMagenta => bright + 5,
        Color::LightCyan => bright + 6,
        Color::White => bright + 7,
        Color::Indexed(index) => return Some(format!("{other};5;{index}")),
        Color::Rgb(red, green, blue) => return Some(format!("{other};2;{red};{green};{blue}")),
    };
    Some(code.to_string())
}
