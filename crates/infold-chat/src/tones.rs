//! What a piece of text means, and how a terminal shows that.
//!
//! What must hold: only the sixteen colours that a terminal's theme defines are used, so that the theme applies, and a
//! tone never says anything that the words do not say.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Span;

/// What a piece of text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tone {
    /// In the terminal's own colour.
    Plain,
    /// What matters most.
    Strong,
    /// What matters least.
    Faint,
    /// What is infold's own, or at work.
    Accent,
    /// It went well.
    Good,
    /// It went wrong.
    Bad,
    /// It is worth a look.
    Warn,
    /// Code between words.
    Code,
    /// A line that a change adds.
    Added,
    /// A line that a change takes away.
    Removed,
    /// The heading of a part.
    Heading,
    /// The words of a link.
    Link,
    /// What the person wrote.
    Person,
    /// A word of a programming language.
    Keyword,
    /// A string in code.
    Text,
    /// A comment in code.
    Comment,
    /// A number or another constant in code.
    Number,
    /// The name of something that code defines or calls.
    Name,
}

/// How tones look on one terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette {
    paint: Paint,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Paint {
    Coloured,
    Plain,
}

impl Palette {
    /// With the colours of the terminal's theme.
    pub const fn coloured() -> Self {
        Self { paint: Paint::Coloured }
    }

    /// Without colours, for `NO_COLOR`: bold, faint, slanted and underlined text remain.
    pub const fn plain() -> Self {
        Self { paint: Paint::Plain }
    }

    /// How a tone looks.
    pub fn style(&self, tone: Tone) -> Style {
        let style = Style::new().add_modifier(modifiers(tone));
        match (self.paint, colour(tone)) {
            (Paint::Coloured, Some(colour)) => style.fg(colour),
            (Paint::Coloured, None) | (Paint::Plain, _) => style,
        }
    }

    /// A text in a tone. The text is taken as it is: clean what is not ours with [`crate::visible`] first.
    pub fn span(&self, tone: Tone, text: impl Into<String>) -> Span<'static> {
        Span::styled(text.into(), self.style(tone))
    }
}

fn colour(tone: Tone) -> Option<Color> {
    match tone {
        Tone::Plain | Tone::Strong | Tone::Faint | Tone::Comment => None,
        Tone::Accent | Tone::Heading | Tone::Code | Tone::Person => Some(Color::Cyan),
        Tone::Good | Tone::Added | Tone::Text => Some(Color::Green),
        Tone::Bad | Tone::Removed => Some(Color::Red),
        Tone::Warn | Tone::Number => Some(Color::Yellow),
        Tone::Link | Tone::Name => Some(Color::Blue),
        Tone::Keyword => Some(Color::Magenta),
    }
}

fn modifiers(tone: Tone) -> Modifier {
    match tone {
        Tone::Strong | Tone::Heading | Tone::Person => Modifier::BOLD,
        Tone::Faint | Tone::Comment => Modifier::DIM,
        Tone::Link => Modifier::UNDERLINED,
        Tone::Plain
        | Tone::Accent
        | Tone::Good
        | Tone::Bad
        | Tone::Warn
        | Tone::Code
        | Tone::Added
        | Tone::Removed
        | Tone::Keyword
        | Tone::Text
        | Tone::Number
        | Tone::Name => Modifier::empty(),
    }
}

#[cfg(test)]
mod tests;
