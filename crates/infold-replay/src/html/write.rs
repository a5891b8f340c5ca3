//! Writes text and numbers for the page.

/// Escapes text of unknown origin for an element or a quoted attribute. Control characters, and characters that change
/// the direction of writing, are replaced by a visible one, so that a name cannot disguise itself.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if is_deceptive(c) => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}

/// The JSON of a value, escaped for a script element.
pub(super) fn json(value: &impl serde::Serialize) -> String {
    // A value that cannot be written as JSON cannot be drawn either; the page then draws nothing.
    let json = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// Text without deceptive characters, not escaped yet.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(|c| if is_deceptive(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// A number of tokens with about three digits and a unit.
pub(super) fn tokens(count: f64) -> String {
    match count {
        count if count >= 999_500_000.0 => format!("{:.2}B", count / 1e9),
        count if count >= 99_950_000.0 => format!("{:.0}M", count / 1e6),
        count if count >= 999_500.0 => format!("{:.1}M", count / 1e6),
        count if count >= 99_950.0 => format!("{:.0}k", count / 1e3),
        count if count >= 1_000.0 => format!("{:.1}k", count / 1e3),
        count => format!("{count:.0}"),
    }
}

/// An amount in dollars.
pub(super) fn money(amount: f64) -> String {
    if amount >= 1_000.0 {
        format!("${}", infold_core::grouped(amount.round() as u64))
    } else {
        format!("${amount:.2}")
    }
}

/// A percentage without its sign, or a dash if there is none.
pub(super) fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.1}"))
}

/// The share of a part in a whole, in percent; 100 if the whole is nothing.
pub(super) fn of(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 100.0 }
}
