//! Words for numbers, times and long texts.

use unicode_width::UnicodeWidthChar;

use super::style::{Style, columns};

const SECOND_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// A number with commas: `18,500`.
pub fn thousands(number: u64) -> String {
    infold_core::grouped(number)
}

/// The same for a number that may be below zero.
pub fn signed(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", thousands(number.unsigned_abs()))
}

/// A number in at most five characters: `942`, `18.5k`, `1.24M`.
pub fn short(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..99_950 => format!("{:.1}k", number as f64 / 1_000.0),
        99_950..999_500 => format!("{:.0}k", number as f64 / 1_000.0),
        999_500.. => format!("{:.2}M", number as f64 / 1_000_000.0),
    }
}

/// Millionths of a dollar as people write them: `$4.12`, `$0.0313`.
pub fn money(micros: u64) -> String {
    const DOLLAR_MICROS: u64 = 1_000_000;
    let dollars = micros as f64 / DOLLAR_MICROS as f64;
    match micros {
        0 => "$0".to_owned(),
        1..50 => "<$0.0001".to_owned(),
        50..DOLLAR_MICROS => format!("${dollars:.4}"),
        DOLLAR_MICROS.. => format!("${dollars:.2}"),
    }
}

/// A span of time in its two largest units: `2 min 5 s`.
pub fn duration(span_ms: u64) -> String {
    let pair = |large: u64, large_name: &str, small: u64, small_name: &str| {
        let (whole, rest) = (span_ms / large, span_ms % large / small);
        if rest == 0 { format!("{whole} {large_name}") } else { format!("{whole} {large_name} {rest} {small_name}") }
    };
    match span_ms {
        0..SECOND_MS => format!("{span_ms} ms"),
        SECOND_MS..MINUTE_MS => format!("{} s", span_ms / SECOND_MS),
        MINUTE_MS..HOUR_MS => pair(MINUTE_MS, "min", SECOND_MS, "s"),
        HOUR_MS..DAY_MS => pair(HOUR_MS, "h", MINUTE_MS, "min"),
        DAY_MS.. => pair(DAY_MS, "d", HOUR_MS, "h"),
    }
}

/// How long ago something was: `3 min ago`. Clocks of two processes differ a little, so a moment in
/// the future counts as now.
pub fn ago(now_ms: u64, then_ms: u64) -> String {
    let span_ms = now_ms.saturating_sub(then_ms);
    match span_ms {
        0..SECOND_MS => "just now".to_owned(),
        SECOND_MS..MINUTE_MS => format!("{} s ago", span_ms / SECOND_MS),
        MINUTE_MS..HOUR_MS => format!("{} min ago", span_ms / MINUTE_MS),
        HOUR_MS..DAY_MS => format!("{} h ago", span_ms / HOUR_MS),
        DAY_MS.. => format!("{} d ago", span_ms / DAY_MS),
    }
}

/// A text on one line, without characters that could control the terminal or change the direction of writing.
pub fn one_line(text: &str) -> String {
    let visible = text.chars().map(|c| if is_steering(c) { ' ' } else { c });
    visible.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_steering(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Breaks a text between words into lines of at most `columns_max` columns. A word that is longer than a line is cut.
pub fn wrapped(text: &str, columns_max: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(word) <= columns_max => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.chars().take(columns_max).collect()),
        }
    }
    lines
}

/// Joins parts of a sentence with `between`, in lines of at most `columns_max` columns. Lines are broken between parts;
/// a part that is longer than a line is broken between its words.
pub fn packed(parts: &[String], between: &str, columns_max: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if columns(line) + columns(between) + columns(part) <= columns_max => {
                line.push_str(between);
                line.push_str(part);
            }
            Some(_) | None if columns(part) <= columns_max => lines.push(part.clone()),
            Some(_) | None => lines.extend(wrapped(part, columns_max)),
        }
    }
    lines
}

/// A text cut to `columns_max` columns, with dots at the end if it was cut.
pub fn fitted(text: &str, columns_max: usize, style: &Style) -> String {
    if columns(text) <= columns_max {
        return text.to_owned();
    }
    let more = style.either("…", "...");
    let room = columns_max.saturating_sub(columns(more));
    let mut cut = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        cut.push(c);
    }
    format!("{}{more}", cut.trim_end())
}

#[cfg(test)]
mod tests;
