//! The context as a bar of letters.

use infold_chat::tones::Tone;

use crate::agent::{SessionFigures, components};

/// The context as a bar of letters, one component after another, as long as the window is wide.
pub fn bar(figures: &SessionFigures, cells: usize) -> Vec<(Tone, String)> {
    let empty = |cells: usize| (Tone::Faint, "·".repeat(cells));
    let (Some((tokens, window, _)), Some(sent)) = (figures.fill(), &figures.sent) else { return vec![empty(cells)] };
    let full = (u128::from(tokens) * cells as u128).div_ceil(u128::from(window.max(1))) as usize;
    let full = full.min(cells);
    let components = components(sent);
    let whole: u64 = components.iter().map(|component| component.tokens).sum();
    let (mut spans, mut drawn, mut before) = (Vec::new(), 0, 0);
    for component in components {
        before += component.tokens;
        // To the nearest cell, so that what takes most has most.
        let until = ((u128::from(before) * full as u128 * 2 + u128::from(whole)) / u128::from(whole.max(1)) / 2) as usize;
        if until > drawn {
            spans.push((tone(component.letter), component.letter.to_string().repeat(until - drawn)));
            drawn = until;
        }
    }
    spans.push(empty(cells - drawn));
    spans
}

fn tone(letter: char) -> Tone {
    match letter {
        't' => Tone::Accent,
        'u' => Tone::Person,
        'a' => Tone::Good,
        'c' => Tone::Keyword,
        'r' => Tone::Warn,
        'h' => Tone::Link,
        _ => Tone::Plain,
    }
}

#[cfg(test)]
mod tests;
