//! Which models a pattern is for, and how many tokens they take.

use super::*;

#[test]
fn patterns_fit_whole_names() {
    assert!(fits("claude-*", "claude-opus-5"));
    assert!(fits("*", ""));
    assert!(fits("gpt-*-mini", "gpt-5-mini"));
    assert!(fits("gpt-5", "gpt-5"));
    assert!(!fits("gpt-5", "gpt-5-mini"));
    assert!(!fits("*mini", "gpt-5-minimal"));
    assert!(!fits("claude-*", "my-claude-1"));
}

fn windows() -> Windows {
    let window = |model: &str, tokens, largest_tokens| Window { model: model.to_owned(), tokens, largest_tokens };
    Windows {
        default_tokens: 32_768,
        models: vec![window("claude-opus-*", 200_000, 1_000_000), window("claude-*", 100_000, 100_000)],
    }
}

#[test]
fn the_first_pattern_that_fits_counts() {
    assert_eq!(windows().of("claude-opus-4-6"), 200_000);
    assert_eq!(windows().largest_of("claude-opus-4-6"), 1_000_000);
    assert_eq!(windows().of("claude-haiku"), 100_000);
    assert_eq!((windows().of("local"), windows().largest_of("local")), (32_768, 32_768));
}

#[test]
fn an_answer_to_more_than_a_window_holds_proves_a_larger_one() {
    let proven = |model: &str, tokens: u64| windows().proven_by(model, windows().of(model), tokens);
    assert_eq!(proven("claude-opus-4-6", 199_999), 200_000);
    assert_eq!(proven("claude-opus-4-6", 346_000), 1_000_000);
    assert_eq!(proven("local", 50_000), 50_000, "more than anybody knew of");
}
