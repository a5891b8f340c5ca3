//! Counting: figures, families, and the shape of the pieces.

use proptest::prelude::*;

use super::pieces::{PIECE_BYTES_MAX, Pieces};
use super::{Counter, Family, StreamSize, TextSize};

fn vocabulary_count(text: &str) -> u64 {
    tiktoken::get_encoding("o200k_base").unwrap().count(text) as u64
}

#[test]
fn empty_text_has_no_tokens() {
    for family in Family::ALL {
        assert_eq!(Counter::new(family).count(""), 0);
    }
}

#[test]
fn gpt_counts_by_the_vocabulary_and_claude_counts_more_the_newer_it_is() {
    // Ten words, one token each in the vocabulary.
    let words = "the the the the the the the the the the";
    assert_eq!(vocabulary_count(words), 10);
    assert_eq!(Counter::new(Family::Gpt).count(words), 10);
    let code = "pub fn tokens(&self, size: &TextSize) -> u64 { self.family.weights().thousandths(size) }\n";
    let prose = "The tokenization of extraordinary circumstances is, regrettably, more complicated than anticipated.\n";
    for text in [code, prose, "données françaises", "数据处理的结果在这里", "данные обработаны"]
    {
        let counts = Family::ALL.map(|family| Counter::new(family).count(text));
        assert!(counts[0] <= counts[1] && counts[1] < counts[2], "{text}: {counts:?}");
        assert!(counts[2] <= counts[0] * 5 / 2, "{text}: {counts:?}");
    }
}

#[test]
fn every_text_has_a_token_for_every_family() {
    for text in ["a", "A", " ", "\n", "/", "é", "漢", "😀", "a b c d e f g", "I a", "x\ny\nz"] {
        for family in Family::ALL {
            assert!(Counter::new(family).count(text) > 0, "{text:?} for {family}");
        }
    }
}

#[test]
fn a_call_has_a_frame_for_itself_and_each_argument_and_claude_reads_no_json() {
    let escaped = r#"{"text":"a\nb\nc\nd\ne\nf\ng\nh"}"#;
    let size = TextSize::of_call(escaped);
    assert_eq!((size.calls, size.arguments), (1, 1));
    assert_eq!(u64::from(size.written_tokens), vocabulary_count(escaped));
    assert_eq!(size.read_tokens, TextSize::of("text").read_tokens + TextSize::of("a\nb\nc\nd\ne\nf\ng\nh").read_tokens);
    assert!(size.read_tokens < size.written_tokens);

    let two = TextSize::of_call(r#"{"path":"a","limits":{"lines":[1,2]}}"#);
    assert_eq!((two.calls, two.arguments), (1, 2));
    let patch = "*** Begin Patch\n*** End Patch";
    assert_eq!(TextSize::of_call(patch), TextSize { calls: 1, arguments: 1, ..TextSize::of(patch) });
    for family in Family::ALL {
        let counter = Counter::new(family);
        assert!(counter.count_call("{}") > 20, "{family}");
        assert!(counter.count_call(patch) > counter.count(patch) + 20, "{family}");
    }
}

#[test]
fn sizes_add_up_and_are_counted_as_one_text() {
    let (a, b) = (TextSize::of("some words, "), TextSize::of("and more of them").as_message());
    assert_eq!((a + b).words, 6);
    assert_eq!([a, b].into_iter().sum::<TextSize>(), a + b);
    assert_eq!(Counter::new(Family::Gpt).tokens(&a), vocabulary_count("some words, "));
}

#[test]
fn a_calibrated_counter_counts_as_its_provider_was_seen_to() {
    let text = "the ".repeat(1_000);
    let plain = Counter::new(Family::Claude);
    let calibrated = Counter::calibrated(Family::Claude, 1_200);
    assert!((calibrated.count(&text)).abs_diff(plain.count(&text) * 12 / 10) <= 1);
    assert_eq!(calibrated.tokens(&TextSize::of(&text)), calibrated.count(&text));
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

    #[test]
    fn a_stream_has_the_size_of_the_whole_wherever_it_is_cut(
        texts in prop::collection::vec("\\PC{0,60}[ \n\t]{0,3}|[a-z]{1,300}|[ =\n]{1,200}|[漢字é]{1,80}", 0..40),
        cuts in prop::collection::vec(0_usize..12_000, 0..60),
    ) {
        let whole = texts.concat();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|at| whole.floor_char_boundary(at)).collect();
        cuts.extend([0, whole.len()]);
        cuts.sort_unstable();
        let mut stream = StreamSize::default();
        for ends in cuts.windows(2) {
            stream.push(&whole[ends[0]..ends[1]]);
        }
        prop_assert_eq!(stream.size(), TextSize::of(&whole));
    }
}

#[test]
fn a_stream_that_comes_letter_by_letter_is_not_a_token_each() {
    let whole = "Adding up what each delta of a stream has would be far off.\n".repeat(200);
    let mut stream = StreamSize::default();
    let mut by_delta = 0;
    for letter in whole.split_inclusive(|_| true) {
        stream.push(letter);
        by_delta += TextSize::of(letter).read_tokens;
    }
    assert_eq!(stream.size(), TextSize::of(&whole));
    assert!(by_delta > stream.size().read_tokens * 2);
}
