//! What a terminal can show, and the few tones that are used.

use unicode_width::UnicodeWidthStr;

/// Whether text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// With escape sequences.
    Colour,
    /// Without any escape sequences.
    Plain,
}

/// Which characters to draw with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    /// Box characters and symbols.
    Utf8,
    /// Nothing beyond ASCII in what infold itself draws.
    Ascii,
}

/// How a piece of text is emphasised. A tone never says anything that the words do not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// In the terminal's own colour.
    Plain,
    /// Bold: what matters most.
    Strong,
    /// Dimmed: what matters least.
    Faint,
    /// Green: it went well.
    Good,
    /// Cyan: it is at work, or was changed.
    Busy,
    /// Yellow: it is worth a look.
    Warn,
    /// Red: it went wrong.
    Bad,
}

/// How to draw for one terminal, file or pipe.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    pub paint: Paint,
    pub charset: Charset,
    /// Columns that a line may take.
    pub width: usize,
}

impl Style {
    /// The text with the escape sequences of a tone, or as it is if there is no colour.
    pub fn tone(&self, tone: Tone, text: &str) -> String {
        let code = match (self.paint, tone) {
            (Paint::Plain, _) | (Paint::Colour, Tone::Plain) => return text.to_owned(),
            (Paint::Colour, Tone::Strong) => "1",
            (Paint::Colour, Tone::Faint) => "2",
            (Paint::Colour, Tone::Good) => "32",
            (Paint::Colour, Tone::Busy) => "36",
            (Paint::Colour, Tone::Warn) => "33",
            (Paint::Colour, Tone::Bad) => "31",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// Joins pieces into a line, without blanks at its end.
    pub fn line(&self, spans: &[(Tone, String)]) -> String {
        let is_blank = |(_, text): &&(Tone, String)| text.trim_end().is_empty();
        let kept = spans.len() - spans.iter().rev().take_while(is_blank).count();
        let mut line: String = spans[..kept].iter().map(|(tone, text)| self.tone(*tone, text)).collect();
        line.truncate(line.trim_end().len());
        line
    }

    /// The first text, or the second if only ASCII may be used.
    pub fn either(&self, utf8: &'static str, ascii: &'static str) -> &'static str {
        match self.charset {
            Charset::Utf8 => utf8,
            Charset::Ascii => ascii,
        }
    }

    /// A bar that is filled by `part` of `whole`. It is full only if nothing is left.
    pub fn bar(&self, part: u64, whole: u64, cells: u64) -> String {
        let nearest = (part.min(whole) * cells + whole / 2).checked_div(whole).unwrap_or(0);
        let filled = if part < whole { nearest.min(cells - 1) } else { nearest };
        let (full, empty) = (self.either("█", "#"), self.either("░", "."));
        (0..cells).map(|cell| if cell < filled { full } else { empty }).collect()
    }
}

/// Columns that a text takes on a terminal.
pub fn columns(text: &str) -> usize {
    text.width()
}
