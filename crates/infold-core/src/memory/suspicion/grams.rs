//! Takes a text apart into what the model weighs: hashed words, pairs of words and pieces of words, and the rules that match.

use super::fold::folded;
use super::rules::matched_rules;

/// How many different hashes there are.
pub const GRAMS: usize = 1 << 14;
/// Characters of a text that count, those of a window, and those from one window's start to the next.
const TEXT_CHARS_MAX: usize = 6_000;
const WINDOW_CHARS: usize = 1_500;
const STEP_CHARS: usize = 1_000;
/// What a gram would count if it were the only one, beside 1 for a rule.
const GRAM_VALUE: f32 = 0.425;
/// Lengths of the pieces of words, in characters.
const PIECES: [usize; 2] = [3, 4];

/// What the model weighs of one window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowFeatures {
    /// The hashes of its words, pairs and pieces, in order and each once.
    pub grams: Vec<u16>,
    /// The rules that match, by their places in [`super::rule_names`].
    pub rules: Vec<usize>,
}

impl WindowFeatures {
    /// What each gram counts: less where there are many, but not so much less that a short request is lost among other words.
    pub fn gram_value(&self) -> f32 {
        GRAM_VALUE / (self.grams.len().max(1) as f32).sqrt().sqrt()
    }
}

/// The windows of a text; at least one.
pub fn windows(text: &str) -> Vec<WindowFeatures> {
    let end = text.char_indices().nth(TEXT_CHARS_MAX).map_or(text.len(), |(at, _)| at);
    let folded = folded(&text[..end]);
    let starts: Vec<usize> = folded.char_indices().map(|(at, _)| at).collect();
    let place = |char_at: usize| starts.get(char_at).copied().unwrap_or(folded.len());
    let later = starts.len().saturating_sub(WINDOW_CHARS).div_ceil(STEP_CHARS);
    let window = |number: usize| &folded[place(number * STEP_CHARS)..place(number * STEP_CHARS + WINDOW_CHARS)];
    (0..=later).map(|number| features(window(number))).collect()
}

fn features(window: &str) -> WindowFeatures {
    let words: Vec<&str> =
        window.split(|c: char| !(c.is_alphabetic() || c == '\'')).map(|word| word.trim_matches('\'')).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let mut grams: Vec<u16> = words.iter().map(|word| hash(&[word])).collect();
    grams.extend(words.windows(2).map(|pair| hash(&[pair[0], " ", pair[1]])));
    for word in &words {
        let edged: Vec<char> = ['^'].into_iter().chain(word.chars()).chain(['$']).collect();
        let pieces = PIECES.into_iter().flat_map(|length| edged.windows(length));
        grams.extend(pieces.map(|piece| hash(&["#", &piece.iter().collect::<String>()])));
    }
    grams.sort_unstable();
    grams.dedup();
    WindowFeatures { grams, rules: matched_rules(window) }
}

/// FNV-1a of the parts, folded into the range of hashes.
fn hash(parts: &[&str]) -> u16 {
    let bytes = parts.iter().flat_map(|part| part.bytes());
    let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    ((hash ^ (hash >> 14) ^ (hash >> 28)) as usize % GRAMS) as u16
}
