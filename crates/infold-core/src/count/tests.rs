//! Counting: figures, families, and the shape of the pieces.

use proptest::prelude::*;

use super::pieces::{PIECE_BYTES_MAX, Pieces};
use super::{Counter, Family};

fn vocabulary_count(text: &str) -> u64 {
    tiktoken::get_encoding(super::VOCABULARY).unwrap().count(text) as u64
}

#[test]
fn empty_text_has_no_tokens() {
    for family in Family::ALL {
        assert_eq!(Counter::new(family).count(""), 0);
    }
}

#[test]
fn each_family_has_its_factor_and_rounds_up() {
    // Ten words, one token each in the vocabulary.
    let text = "the the the the the the the the the the";
    assert_eq!(vocabulary_count(text), 10);
    let counts = Family::ALL.map(|family| Counter::new(family).count(text));
    assert_eq!(counts, [10, 11, 16]);
    assert_eq!(Family::ALL.map(|family| Counter::new(family).count("the")), [1, 2, 2]);
}

#[test]
fn each_family_has_its_cost_per_call() {
    assert_eq!(Family::ALL.map(|family| Counter::new(family).per_call_tokens()), [24, 84, 60]);
}

#[test]
fn a_calibrated_counter_counts_as_its_provider_was_seen_to() {
    let text = "the ".repeat(1_000);
    let plain = Counter::new(Family::Claude);
    let calibrated = Counter::calibrated(Family::Claude, 1_200);
    assert_eq!(calibrated.count(&text), plain.count(&text) * 12 / 10);
    assert_eq!(calibrated.per_call_tokens(), 101);
    assert_eq!(calibrated.scaled(Counter::vocabulary_tokens(&text)), calibrated.count(&text));
    assert_eq!(Counter::calibrated(Family::Claude, 1_000), plain);
}

#[test]
fn families_are_read_as_they_are_written() {
    for family in Family::ALL {
        assert_eq!(family.to_string().parse(), Ok(family));
    }
    let error = "gemini".parse::<Family>().unwrap_err();
    assert_eq!(error.to_string(), "unknown token family \"gemini\": use gpt, claude or claude-new");
}

#[test]
fn a_models_name_shows_its_family() {
    let of = Family::of_model;
    for gpt in ["gpt-5.5", "gpt-5.3-codex-spark", "o3", "qwen3-coder", "gemini-3-pro", ""] {
        assert_eq!(of(gpt), Family::Gpt, "{gpt}");
    }
    for old in [
        "claude-opus-4-6",
        "claude-opus-4-5-20251101",
        "claude-sonnet-4-5-20250929",
        "claude-opus-4-20250514",
        "claude-3-5-sonnet-20241022",
        "claude-3-haiku-20240307",
        "anthropic/claude-sonnet-4.6",
        "us.anthropic.claude-opus-4-6-v1:0",
        "claude-opus-4-6[1m]",
    ] {
        assert_eq!(of(old), Family::Claude, "{old}");
    }
    for new in [
        "claude-opus-4-7",
        "Claude-Opus-4-7",
        "anthropic/claude-opus-4.7",
        "claude-opus-4-10",
        "claude-opus-5",
        "claude-sonnet-5",
        "claude-fable-5",
        "claude-opus-5-20270101",
        "us.anthropic.claude-opus-5-v1:0",
        "opus",
        "sonnet",
    ] {
        assert_eq!(of(new), Family::ClaudeNew, "{new}");
    }
}

#[test]
fn hostile_text_is_counted_in_pieces_of_bounded_size() {
    let megabyte = 1 << 20;
    for text in [
        "a".repeat(megabyte),
        " ".repeat(megabyte),
        "\n".repeat(megabyte),
        "=".repeat(megabyte),
        "漢".repeat(megabyte / 3),
        "😀".repeat(megabyte / 4),
        "a\u{301}".repeat(megabyte / 3),
    ] {
        let pieces: Vec<&str> = Pieces::of(&text).collect();
        assert!(pieces.iter().all(|piece| !piece.is_empty() && piece.len() <= PIECE_BYTES_MAX));
        // Few pieces, too: a cut leaves at most one character's bytes unused.
        assert!(pieces.len() <= text.len() / (PIECE_BYTES_MAX - 4) + 1);
        assert_eq!(pieces.concat(), text);
    }
}

#[test]
fn cutting_ordinary_text_changes_no_count() {
    let prose = "It was late, and the 3rd build (of 12) had failed.\n\n";
    let code = "fn main() {\n    let path = \"a/b/c.rs\";\n\tif x >= 10 { y /= 2; }\n}\n";
    let listing = "src/main.rs:40:    // why not\nsrc/lib.rs:7:\tpub use a::{b, c};\r\n";
    for text in [prose, code, listing] {
        let text = text.repeat(400);
        assert!(Pieces::of(&text).count() > 1);
        assert_eq!(Counter::new(Family::Gpt).count(&text), vocabulary_count(&text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn pieces_are_the_text_whatever_it_is(words in prop::collection::vec("\\PC{0,40}[ \n\t]{0,3}", 0..300)) {
        let text = words.concat();
        let pieces: Vec<&str> = Pieces::of(&text).collect();
        prop_assert!(pieces.iter().all(|piece| piece.len() <= PIECE_BYTES_MAX));
        prop_assert_eq!(pieces.concat(), text);
    }

    #[test]
    fn safe_cuts_change_no_count(lines in prop::collection::vec("[a-zA-Z0-9 .,;:/'\"(){}=+\\-\t]{0,60}\n", 150..250)) {
        let text = lines.concat();
        prop_assert_eq!(Counter::new(Family::Gpt).count(&text), vocabulary_count(&text));
    }
}
