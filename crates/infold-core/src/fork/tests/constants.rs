//! One test for each constant: its value, and that behaviour follows it.

use super::*;

/// A text of this length that no pattern is found in.
fn plain(chars: usize) -> String {
    "漢".repeat(chars)
}

fn graduated(count: usize, tool: &str, input: &str, text: &str) -> Graduated {
    apply_graduated_truncation(group_messages(calls(count, tool, input, text)))
}

/// Characters of the texts, without the markers of what was cut.
fn kept_chars(texts: &[&str]) -> Vec<usize> {
    texts.iter().map(|text| text.chars().filter(|char| *char == '漢').count()).collect()
}

/// Two messages whose context has this length.
fn context_of(chars: usize) -> Vec<Message> {
    let old = "[User]\nold\n\n[User]\n".len();
    group_messages([user(0, "old"), user(1, &plain(chars - old))])
}

#[test]
fn fork_char_budget() {
    assert_eq!(FORK_CHAR_BUDGET, 200_000);
    let many = |chars: usize| {
        let text = plain(chars / 100 - "[User]\n\n\n".len());
        let mut items: Vec<Item> = (0..100).map(|at| user(at, &text)).collect();
        items[0] = user(0, &(text + "漢漢"));
        group_messages(items)
    };
    let fits = enforce_character_budget(many(FORK_CHAR_BUDGET), &ForkLimits::default());
    assert_eq!((fits.context.chars().count(), fits.removed_messages), (FORK_CHAR_BUDGET, 0));
    let over = enforce_character_budget(many(FORK_CHAR_BUDGET + 100), &ForkLimits::default());
    assert_eq!((over.context.chars().count(), over.removed_messages), (198_097, 1));
}

#[test]
fn fork_char_no_removal() {
    assert_eq!(FORK_CHAR_NO_REMOVAL, 120_000);
    assert_eq!(ForkLimits::default().char_no_removal, FORK_CHAR_NO_REMOVAL);
    let limits = ForkLimits { char_budget: 50_000, char_no_removal: FORK_CHAR_NO_REMOVAL };
    let below = enforce_character_budget(context_of(FORK_CHAR_NO_REMOVAL), &limits);
    assert_eq!((below.context.chars().count(), below.removed_messages), (FORK_CHAR_NO_REMOVAL, 0));
    let above = enforce_character_budget(context_of(FORK_CHAR_NO_REMOVAL + 1), &limits);
    assert!(above.context.chars().count() <= 50_000);
}

#[test]
fn a_budget_that_is_set_scales_the_threshold_below_it() {
    let limits = ForkLimits::with_char_budget(100_000);
    assert_eq!(limits, ForkLimits { char_budget: 100_000, char_no_removal: 60_000 });
    assert_eq!(ForkLimits::with_char_budget(FORK_CHAR_BUDGET), ForkLimits::default());
}

#[test]
fn fork_tier1_count() {
    assert_eq!(FORK_TIER1_COUNT, 5);
    let graduated = graduated(6, "Read", "", &plain(9_000));
    assert_eq!(kept_chars(&results(&graduated.messages)), [3_000, 9_000, 9_000, 9_000, 9_000, 9_000]);
}

#[test]
fn fork_tier2_count() {
    assert_eq!(FORK_TIER2_COUNT, 10);
    let graduated = graduated(17, "Read", "", &plain(9_000));
    let expected = [vec![500; 2], vec![3_000; 10], vec![9_000; 5]].concat();
    assert_eq!(kept_chars(&results(&graduated.messages)), expected);
    assert_eq!(graduated.tier_distribution, TierDistribution { tier1: 5, tier2: 10, tier3: 2 });
}

#[test]
fn fork_tier2_limit() {
    assert_eq!(FORK_TIER2_LIMIT, 3_000);
    let at = graduated(6, "Read", "", &plain(FORK_TIER2_LIMIT));
    assert_eq!((at.truncated_results, results(&at.messages)[0]), (0, plain(FORK_TIER2_LIMIT).as_str()));
    let over = graduated(6, "Read", "", &plain(FORK_TIER2_LIMIT + 1));
    let expected = plain(FORK_TIER2_LIMIT) + "\n...[truncated 1 chars]...";
    assert_eq!((over.truncated_results, results(&over.messages)[0]), (1, expected.as_str()));
}

#[test]
fn fork_tier3_limit() {
    assert_eq!(FORK_TIER3_LIMIT, 500);
    let at = graduated(16, "Read", "", &plain(FORK_TIER3_LIMIT));
    assert_eq!((at.truncated_results, results(&at.messages)[0]), (0, plain(FORK_TIER3_LIMIT).as_str()));
    let over = graduated(16, "Read", "", &plain(FORK_TIER3_LIMIT + 7));
    let expected = plain(FORK_TIER3_LIMIT) + "\n...[truncated 7 chars]...";
    assert_eq!((over.truncated_results, results(&over.messages)[0]), (1, expected.as_str()));
}

#[test]
fn fork_params_tier1() {
    assert_eq!(FORK_PARAMS_TIER1, 500);
    let at = graduated(1, "Read", &plain(FORK_PARAMS_TIER1), "");
    assert_eq!(params(&at.messages), [plain(FORK_PARAMS_TIER1)]);
    let over = graduated(5, "Read", &plain(FORK_PARAMS_TIER1 + 1), "");
    assert_eq!(params(&over.messages)[0], plain(FORK_PARAMS_TIER1) + "\n...[truncated 1 chars]...");
}

#[test]
fn fork_params_tier2() {
    assert_eq!(FORK_PARAMS_TIER2, 200);
    let graduated = graduated(6, "Read", &plain(300), "");
    assert_eq!(kept_chars(&params(&graduated.messages)), [200, 300, 300, 300, 300, 300]);
}

#[test]
fn fork_params_tier3() {
    assert_eq!(FORK_PARAMS_TIER3, 100);
    let graduated = graduated(16, "Read", &plain(150), "");
    assert_eq!(kept_chars(&params(&graduated.messages)), [vec![100], vec![150; 15]].concat());
}

#[test]
fn fork_head_ratio() {
    assert_eq!(FORK_HEAD_RATIO, 0.8);
    let cut = truncate(&("h".repeat(400) + &"m".repeat(1_000)), FORK_TIER3_LIMIT, Method::HeadTail).unwrap();
    let (head, _) = cut.split_once("\n...[truncated 900 chars]...\n").unwrap();
    assert_eq!(head, "h".repeat(400));
}

#[test]
fn fork_tail_ratio() {
    assert_eq!(FORK_TAIL_RATIO, 0.2);
    let cut = truncate(&("m".repeat(5_000) + &"t".repeat(600)), FORK_TIER2_LIMIT, Method::HeadTail).unwrap();
    let (_, tail) = cut.split_once("\n...[truncated 2600 chars]...\n").unwrap();
    assert_eq!(tail, "t".repeat(600));
}

#[test]
fn fork_error_patterns() {
    let patterns = ["error", "Error", "ERROR", "failed", "FAILED", "exception", "traceback"];
    assert_eq!(FORK_ERROR_PATTERNS, patterns);
    for pattern in patterns {
        assert_eq!(Method::for_result("Read", &format!("…x{pattern}y…")), Method::HeadTail, "{pattern}");
    }
    // Capitals make a difference.
    for other in ["Failed", "Exception", "err", "eRROR", "trace back", ""] {
        assert_eq!(Method::for_result("Read", other), Method::HeadOnly, "{other}");
    }
}

#[test]
fn fork_head_tail_keywords() {
    assert_eq!(FORK_HEAD_TAIL_KEYWORDS, ["bash", "pty", "exec"]);
    // The terminals of Claude Code, OpenCode and Codex among them.
    for tool in ["bash", "Bash", "BashOutput", "pty_read", "exec_command", "mcp__box__execute"] {
        assert_eq!(Method::for_result(tool, ""), Method::HeadTail, "{tool}");
    }
    for tool in ["Read", "grep", "webfetch", ""] {
        assert_eq!(Method::for_result(tool, ""), Method::HeadOnly, "{tool}");
    }
}
