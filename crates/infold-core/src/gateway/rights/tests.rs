//! Each client's rules, in its own order.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::gateway::{OfferedTool, ServerKey, SourceClient, name_tools};

fn rules(rules: &[(&str, RightsAction)]) -> Vec<RightsRule> {
    rules.iter().map(|(pattern, action)| RightsRule { pattern: (*pattern).to_owned(), action: *action }).collect()
}

fn target<'a>(server: &'a str, tool: &'a str) -> RightsTarget<'a> {
    RightsTarget { server, tool, hints: ToolHints::default() }
}

fn verdict(source: RightsSource, server: &str, tool: &str) -> RightsVerdict {
    Rights { sources: vec![source] }.verdict(&target(server, tool))
}

const ALLOW: RightsAction = RightsAction::Allow;
const ASK: RightsAction = RightsAction::Ask;
const DENY: RightsAction = RightsAction::Deny;

#[test]
fn claude_denies_before_it_asks_and_asks_before_it_allows() {
    let cases: &[(&[(&str, RightsAction)], RightsVerdict)] = &[
        (&[], RightsVerdict::Unsaid),
        (&[("mcp__git_hub", ALLOW)], RightsVerdict::Allow),
        (&[("mcp__git_hub__*", ALLOW)], RightsVerdict::Allow),
        (&[("mcp__git_hub__get_*", ALLOW)], RightsVerdict::Allow),
        (&[("mcp__git_hub__get_issue", ALLOW), ("mcp__git_hub", ASK)], RightsVerdict::Ask),
        (&[("mcp__git_hub__get_issue", ALLOW), ("mcp__*", DENY)], RightsVerdict::Deny),
        (&[("*", ASK)], RightsVerdict::Ask),
        (&[("mcp__git_hub__get_issue(*)", DENY)], RightsVerdict::Deny),
        // Allowing patterns need a literal server.
        (&[("mcp__*", ALLOW), ("*", ALLOW), ("mcp__git*__get_issue", ALLOW)], RightsVerdict::Unsaid),
        // Rules about something else say nothing.
        (
            &[("mcp__git", DENY), ("mcp__git_hub__get", DENY), ("Bash(rm *)", DENY), ("Read", ASK)],
            RightsVerdict::Unsaid,
        ),
    ];
    for (given, expected) in cases {
        assert_eq!(
            verdict(RightsSource::Claude { rules: rules(given) }, "git.hub", "get_issue"),
            *expected,
            "{given:?}"
        );
    }
}

#[test]
fn claudes_rules_about_arguments_deny_the_call_and_ask_about_the_tool() {
    let given = rules(&[("mcp__db__query( mode : write*)", DENY), ("mcp__db__read(x:1)", ALLOW)]);
    let rights = Rights { sources: vec![RightsSource::Claude { rules: given }] };
    let query = target("db", "query");
    assert_eq!(rights.verdict(&query), RightsVerdict::Ask);
    assert_eq!(rights.verdict_of_call(&query, &json!({"mode": "write-all"})), RightsVerdict::Deny);
    assert_eq!(rights.verdict_of_call(&query, &json!({"mode": "read"})), RightsVerdict::Ask);
    assert_eq!(rights.verdict_of_call(&query, &json!({"mode": ["write"]})), RightsVerdict::Ask);
    assert_eq!(rights.verdict_of_call(&query, &json!({})), RightsVerdict::Ask);
    assert_eq!(rights.verdict(&target("db", "read")), RightsVerdict::Unsaid);
}

#[test]
fn codex_decides_by_lists_first_and_then_by_what_a_tool_says_of_itself() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let codex = |mode: ApprovalMode| RightsSource::Codex {
        enabled: Some(names(&["a", "b", "own"])),
        disabled: names(&["b"]),
        mode,
        modes: vec![("own".to_owned(), ApprovalMode::Approve)],
    };
    assert_eq!(verdict(codex(ApprovalMode::Approve), "s", "other"), RightsVerdict::Deny);
    assert_eq!(verdict(codex(ApprovalMode::Approve), "s", "b"), RightsVerdict::Deny);
    assert_eq!(verdict(codex(ApprovalMode::Prompt), "s", "own"), RightsVerdict::Allow);

    // Codex's own tests: `requires_mcp_tool_approval` and `…_for_mode`.
    let hints = |read_only, destructive, open_world| ToolHints { read_only, destructive, idempotent: None, open_world };
    let cases = [
        (hints(None, None, None), [RightsVerdict::Ask, RightsVerdict::Ask, RightsVerdict::Ask]),
        (hints(Some(false), Some(true), None), [RightsVerdict::Ask, RightsVerdict::Ask, RightsVerdict::Ask]),
        (hints(Some(true), Some(true), Some(true)), [RightsVerdict::Ask, RightsVerdict::Ask, RightsVerdict::Allow]),
        (hints(Some(true), None, Some(true)), [RightsVerdict::Allow, RightsVerdict::Ask, RightsVerdict::Allow]),
        (hints(Some(false), Some(false), Some(true)), [RightsVerdict::Ask, RightsVerdict::Ask, RightsVerdict::Ask]),
        (hints(None, Some(false), Some(false)), [RightsVerdict::Allow, RightsVerdict::Ask, RightsVerdict::Ask]),
    ];
    for (hints, expected) in cases {
        let modes = [ApprovalMode::Auto, ApprovalMode::Prompt, ApprovalMode::Writes];
        let found = modes.map(|mode| codex(mode).verdict(&RightsTarget { server: "s", tool: "a", hints }));
        assert_eq!(found, expected, "{hints:?}");
    }
}

#[test]
fn in_opencode_the_last_rule_that_fits_counts() {
    let cases: &[(&[(&str, RightsAction)], RightsVerdict)] = &[
        (&[("bash", DENY)], RightsVerdict::Unsaid),
        (&[("*", DENY), ("my_server_*", ALLOW)], RightsVerdict::Allow),
        (&[("my_server_*", ALLOW), ("*", DENY)], RightsVerdict::Deny),
        (&[("my_server_get?issue", ASK)], RightsVerdict::Ask),
        (&[("my_server_get_issue *", DENY)], RightsVerdict::Deny),
        (&[("my_server", DENY)], RightsVerdict::Unsaid),
    ];
    for (given, expected) in cases {
        let found = verdict(RightsSource::Opencode { rules: rules(given) }, "my.server", "get_issue");
        assert_eq!(found, *expected, "{given:?}");
    }
}

#[test]
fn settings_name_tools_and_the_strictest_source_counts() {
    let settings = |only: Option<&str>, given: &[(&str, RightsAction)]| RightsSource::Settings {
        only: only.map(|only| vec![only.to_owned()]),
        rules: rules(given),
    };
    assert_eq!(verdict(settings(None, &[("get_*", ALLOW), ("*_issue", ASK)]), "s", "get_issue"), RightsVerdict::Ask);
    assert_eq!(verdict(settings(Some("list_*"), &[("*", ALLOW)]), "s", "get_issue"), RightsVerdict::Deny);
    let claude = RightsSource::Claude { rules: rules(&[("mcp__s", ALLOW)]) };
    let both = Rights { sources: vec![settings(None, &[("*", ASK)]), claude] };
    assert_eq!(both.verdict(&target("s", "get")), RightsVerdict::Ask);
}

#[test]
fn only_what_says_that_it_reads_and_need_not_be_asked_about_is_in_the_reading_lane() {
    let reads = ToolHints { read_only: Some(true), ..ToolHints::default() };
    let lane = |action: Option<RightsAction>, hints: ToolHints, trust: HintTrust| {
        let given = action.map(|action| ("*", action));
        let rights = Rights { sources: vec![RightsSource::Settings { only: None, rules: rules(given.as_slice()) }] };
        rights.lane(&RightsTarget { server: "s", tool: "t", hints }, trust)
    };
    assert_eq!(lane(None, reads, HintTrust::Trusted), Some(Lane::Read));
    assert_eq!(lane(Some(ALLOW), reads, HintTrust::Trusted), Some(Lane::Read));
    assert_eq!(lane(Some(ASK), reads, HintTrust::Trusted), Some(Lane::Change));
    assert_eq!(lane(Some(DENY), reads, HintTrust::Trusted), None);
    assert_eq!(lane(None, reads, HintTrust::Ignored), Some(Lane::Change));
    assert_eq!(lane(None, ToolHints::default(), HintTrust::Trusted), Some(Lane::Change));
    let lies = ToolHints { destructive: Some(true), ..reads };
    assert_eq!(lane(Some(ALLOW), lies, HintTrust::Trusted), Some(Lane::Change));
}

#[test]
fn the_wrong_lane_is_named_with_the_right_one() {
    let server = ServerKey::new("filesystem");
    let offered = ["write_file", "read_file"].map(|tool| OfferedTool { server: &server, prefix: "filesystem__", tool });
    let names: Vec<_> = name_tools(&offered).into_iter().flatten().collect();
    assert_eq!(Lane::Change.refuse_other(&names[0]), "filesystem__write_file changes things: call it with tool_call");
    assert_eq!(Lane::Read.refuse_other(&names[1]), "filesystem__read_file only reads: call it with tool_call_read");
}

#[test]
fn clients_spell_listed_tools_in_their_own_ways() {
    let clients = [SourceClient::Claude, SourceClient::Codex, SourceClient::Opencode];
    let spelled = clients.map(|client| client.spell("servers", "github__get_issue"));
    assert_eq!(spelled, ["mcp__servers__github__get_issue", "github__get_issue", "servers_github__get_issue"]);
}

proptest! {
    #[test]
    fn patterns_fit_what_a_regular_expression_of_the_same_meaning_fits(pattern in "[ab*?]{0,8}", name in "[ab]{0,10}") {
        for (joker, one) in [(Joker::Any, "\\?"), (Joker::AnyOrOne, ".")] {
            let meaning = format!("^{}$", pattern.replace('?', one).replace('*', ".*"));
            let expected = regex::Regex::new(&meaning).unwrap().is_match(&name);
            prop_assert_eq!(fits_glob(&pattern, &name, joker), expected, "{} {}", pattern, name);
        }
    }
}
