//! Which pattern a name fits, and which window a model has.

use super::*;

#[test]
fn patterns_fit_whole_names() {
    assert!(fits_model("claude-*", "claude-opus-5"));
    assert!(fits_model("*", ""));
    assert!(fits_model("gpt-*-mini", "gpt-5-mini"));
    assert!(fits_model("gpt-5", "gpt-5"));
    assert!(!fits_model("gpt-5", "gpt-5-mini"));
    assert!(!fits_model("*mini", "gpt-5-minimal"));
    assert!(!fits_model("claude-*", "my-claude-1"));
}

#[test]
fn an_answer_to_more_than_a_window_holds_proves_a_larger_one() {
    let claude = ModelWindow { model: "claude-*".to_owned(), tokens: 200_000, largest_tokens: 1_000_000 };
    let windows = ModelWindows { default_tokens: 32_768, models: vec![claude] };
    let proven = |model: &str, tokens: u64| windows.proven_tokens(model, windows.tokens_of(model), tokens);
    assert_eq!(proven("claude-opus-4-6", 199_999), 200_000);
    assert_eq!(proven("claude-opus-4-6", 346_000), 1_000_000);
    assert_eq!(proven("local", 50_000), 50_000, "more than anybody knew of");
}
