//! Tones keep to the theme's colours, and to none where none are wanted.

use ratatui::style::Color;

use super::{Palette, Tone};

const ALL: [Tone; 18] = [
    Tone::Plain,
    Tone::Strong,
    Tone::Faint,
    Tone::Accent,
    Tone::Good,
    Tone::Bad,
    Tone::Warn,
    Tone::Code,
    Tone::Added,
    Tone::Removed,
    Tone::Heading,
    Tone::Link,
    Tone::Person,
    Tone::Keyword,
    Tone::Text,
    Tone::Comment,
    Tone::Number,
    Tone::Name,
];

#[test]
fn only_colours_of_the_theme_are_used() {
    for tone in ALL {
        let style = Palette::coloured().style(tone);
        assert!(!matches!(style.fg, Some(Color::Rgb(..) | Color::Indexed(_))), "{tone:?}");
        assert_eq!(style.bg, None, "{tone:?}");
    }
}

#[test]
fn the_plain_palette_has_no_colour_but_keeps_emphasis() {
    for tone in ALL {
        let (plain, coloured) = (Palette::plain().style(tone), Palette::coloured().style(tone));
        assert_eq!((plain.fg, plain.bg), (None, None), "{tone:?}");
        assert_eq!(plain.add_modifier, coloured.add_modifier, "{tone:?}");
    }
}
