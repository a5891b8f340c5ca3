//! The rules as data: those that are built in hold together, and those of others are read.

use std::sync::Arc;

use proptest::strategy::{Strategy, ValueTree};
use proptest::string::bytes_regex;
use proptest::test_runner::TestRunner;

use super::super::rules::{Rule, RuleForm};
use super::super::{MatchVerdict, RuleSet, RulesBase, RulesError};
use super::canaries::filled;
use super::{scrubber, shape, token};

/// How many strings of a rule's form are tried. Chance gives some of them too little entropy, or the look of a word.
const TRIES: usize = 200;

/// Texts for rules that ask for more than a generated string has.
const EXAMPLES: [(&str, &str); 9] = [
    ("directory-entry-password", "new DirectoryEntry(\"LDAP://dc\", \"admin\", \"Gr4vel-Moth\")"),
    ("database-connect-password", "mysql_connect(\"localhost\", \"root\", \"Gr4vel-Moth\")"),
    ("cisco-config-secret", "enable secret 5 Gr4vel-Moth\n"),
    ("pgpass-password", "db.internal:5432:shop:app:Gr4vel-Moth\n"),
    ("worded-bare-password", "password = gravelmoth\n"),
    ("curl-cookie", "curl -b 'sid=q1w2e3r4t5y6u7i8o9p0' https://a.example"),
    ("netrc-password", "machine a.example login ann password Gr4vel-Moth\n"),
    ("dockerfile-password", "ENV DB_PASSWORD Gr4vel-Moth\n"),
    ("user-and-password", "user = 'ann'\npassword = 'open sesame'"),
];

/// Strings of a rule's form, each where the rule looks for it.
fn samples(rule: &Rule) -> impl Iterator<Item = String> {
    let strings = bytes_regex(&format!("(?-u){}", generable(rule.pattern.text())));
    let mut runner = TestRunner::deterministic();
    let keyword = rule.keywords.first().cloned().unwrap_or_default();
    let form = rule.form;
    (0..TRIES).filter_map(move |_| {
        let value = strings.as_ref().ok()?.new_tree(&mut runner).ok()?.current();
        let printable = |byte: u8| char::from(if matches!(byte, b' '..=b'~') { byte } else { b'a' + byte % 26 });
        let value: String = value.into_iter().map(printable).collect();
        Some(match form {
            RuleForm::Named { .. } => format!("{keyword} = \"{value}\"\n{keyword}: {value}\n"),
            RuleForm::Near { .. } => format!("{keyword} {value} "),
            RuleForm::Token { .. }
            | RuleForm::Word { .. }
            | RuleForm::Anywhere { .. }
            | RuleForm::Special(_)
            | RuleForm::Known => format!("\n{value} "),
        })
    })
}

/// The pattern without what strings cannot be made from: repetitions without an end, and edges.
fn generable(pattern: &str) -> String {
    let mut bounded = String::new();
    let mut rest = pattern;
    while let Some(at) = rest.find(",}") {
        let digits = rest[..at].bytes().rev().take_while(u8::is_ascii_digit).count();
        let least: usize = rest[at - digits..at].parse().unwrap();
        bounded.push_str(&format!("{},{}}}", &rest[..at], least + 4));
        rest = &rest[at + 2..];
    }
    bounded.push_str(rest);
    bounded.replace("(?:$|", "(?:").replace("|$)", ")").replace("(?:^|", "(?:").replace(r"\b", "")
}

#[test]
fn every_rule_finds_what_has_its_form() {
    let rules = RuleSet::built_in().unwrap();
    let mut idle = Vec::new();
    for index in 0..rules.len() {
        let rule = rules.rule(index);
        if matches!(rule.form, RuleForm::Special(_)) {
            continue;
        }
        let finds = |text: String| {
            let explained = scrubber().explain(&text).unwrap();
            explained.iter().any(|one| one.mask.rule == rule.id && one.verdict == MatchVerdict::Taken)
        };
        let examples = EXAMPLES.iter().filter(|(id, _)| *id == rule.id).map(|(_, text)| (*text).to_owned());
        if !examples.chain(samples(rule)).any(finds) {
            idle.push(rule.id.as_str());
        }
    }
    assert_eq!(idle, [""; 0]);
}

#[test]
fn a_file_of_gitleaks_is_read_and_searched_for_in_its_way() {
    let file = r#"
        title = "mine"
        [allowlist]
        regexes = ['''^acme_[0]{8}$''']
        paths = ['''node_modules''']
        [[rules]]
        id = "acme-token"
        description = "A token of Acme"
        regex = '''(?i)\b(acme_[a-f0-9]{8})\b'''
        keywords = ["acme_"]
        entropy = 2
        [[rules.allowlists]]
        regexTarget = "line"
        regexes = ['''# fine''']
        [[rules.allowlists]]
        stopwords = ["beef"]
        [[rules]]
        id = "braces"
        description = "Go takes a lone brace for a brace"
        regex = '''magic{([a-z0-9]{6})}'''
        [[rules]]
        id = "only-a-path"
        path = '''\.p12$'''
    "#;
    let rules = RuleSet::read(&[file]).unwrap();
    assert_eq!(rules.names().map(|(id, _)| id).collect::<Vec<_>>(), ["acme-token", "braces"]);
    let scrubber = scrubber().with_rules(Arc::new(rules));
    let shaped = |text: &str| shape(&scrubber.scrub(text).unwrap());
    assert_eq!(shaped("a acme_1a2b3c4d b"), "a [SECRET:acme-token:#] b");
    assert_eq!(shaped("magic{ab12cd}"), "magic{[SECRET:braces:#]}");
    let token = token();
    for text in ["a acme_1a2b3c4d # fine", "acme_00000000", "acme_1abeef4d", "xacme_1a2b3c4d", token.as_str()] {
        assert_eq!(shaped(text), text);
    }
}

#[test]
fn a_rule_that_cannot_be_used_is_named() {
    let read = |rule: &str| RuleSet::read(&[&format!("[[rules]]\nid = \"mine\"\n{rule}")]).map(drop).unwrap_err();
    let reason = |rule: &str| match read(rule) {
        RulesError::Unusable { id, reason } => {
            assert_eq!(id, "mine");
            reason
        }
        other @ (RulesError::Unreadable { .. } | RulesError::KnownValues { .. }) => panic!("{other}"),
    };
    assert_eq!(reason("regex = '('"), "its pattern is none");
    assert_eq!(reason("token = 'abc'"), "it has no `keywords`");
    assert_eq!(reason("names = ['abc']"), "it has no `value`");
    assert_eq!(reason("word = 'ab'\nkeywords = ['ab']"), "the keyword \"ab\" has fewer than 3 bytes");
    assert_eq!(
        reason("word = 'abc'\ntoken = 'abc'\nkeywords = ['abc']"),
        "it has more than one of token, word, names, near, regex and special"
    );
    assert!(matches!(RuleSet::read(&["[[rules]]\nid = 3"]), Err(RulesError::Unreadable { .. })));
    assert!(matches!(RuleSet::read(&["[[rules]]\nid = \"A b\"\nregex = 'x'"]), Err(RulesError::Unusable { .. })));
}

#[test]
fn a_field_that_no_rule_has_is_named_with_its_rule() {
    let error = |file: &str| RuleSet::read(&[file]).map(drop).unwrap_err().to_string();
    let of_rule = |rule: &str| error(&format!("[[rules]]\nregex = 'x(y)'\n{rule}\n"));
    for (fields, named) in [
        ("entropyy = 9\nid = 'mine'", "unknown field `entropyy`"),
        ("id = 'mine'\nalow = ['x']", "unknown field `alow`"),
        ("id = 'mine'\n[[rules.allowlists]]\nregexs = ['x']", "unknown field `regexs`"),
        (
            "id = 'mine'\n[[rules.allowlists]]\ncondition = 'XOR'",
            "`condition` is \"xor\", and has to be \"and\" or \"or\"",
        ),
        ("id = 'mine'\n[[rules.allowlists]]\nregexTarget = 'file'", "`regexTarget` is \"file\""),
        ("id = 'mine'\nsecretGroup = 7", "`secretGroup` is 7, and the last group of its pattern is 1"),
        ("id = 'mine'\nback = 7", "it has `back`, which rules of its form do not use"),
    ] {
        let error = of_rule(fields);
        assert!(error.starts_with("rule \"mine\" cannot be used: ") && error.contains(named), "{error}");
    }
    assert!(error("[[rule]]\nid = 'mine'").contains("unknown field `rule`"));
    assert!(error("[allowlist]\nstopword = ['x']").contains("unknown field `stopword`"));
    assert_eq!(
        error("[[rules]]\nid = 'mine'\nkeywords = ['abc']"),
        "rule \"mine\" cannot be used: it has none of token, word, names, near and regex"
    );
}

#[test]
fn every_field_of_gitleaks_is_read() {
    let file = r#"
        title = "mine"
        description = "all that gitleaks documents"
        minVersion = "v8.25.0"
        [extend]
        useDefault = true
        disabledRules = ["generic-api-key"]
        [[allowlists]]
        description = "of one rule"
        targetRules = ["acme"]
        commits = ["0a1b2c"]
        paths = ['x']
        [[rules]]
        id = "acme"
        description = "whole"
        regex = 'acme-(a)?([0-9]{6})'
        secretGroup = 2
        path = '\.py$'
        entropy = 1.5
        tags = ["acme"]
        keywords = ["acme"]
        [[rules.required]]
        id = "acme-host"
        withinLines = 3
        withinColumns = 4
        [[rules.allowlists]]
        description = "two"
        condition = "AND"
        regexTarget = "match"
        regexes = ['x']
        stopwords = ["y"]
        [[rules]]
        id = "acme-host"
        regex = 'acme\.example'
        skipReport = true
        [[rules]]
        id = "of-the-base"
        [rules.allowlist]
        regexes = ['x']
        [[rules]]
        id = "no-group"
        regex = 'x(y)z'
        secretGroup = 0
    "#;
    assert_eq!(RuleSet::check(file), Ok(RulesBase::GitleaksDefault));
    let rules = RuleSet::read(&[file]).unwrap();
    assert_eq!(rules.names().map(|(id, _)| id).collect::<Vec<_>>(), ["acme", "no-group"]);
    let scrubbed = scrubber().with_rules(Arc::new(rules)).scrub("acme-139402 xyz").unwrap();
    assert_eq!(shape(&scrubbed), "acme-[SECRET:acme:#] x[SECRET:no-group:#]z");
    assert_eq!(RuleSet::check("[extend]\npath = 'base.toml'"), Ok(RulesBase::OtherFile));
}

#[test]
fn a_checked_rule_compiles_and_can_match_at_its_keyword() {
    let check = |rule: &str| {
        let checked = RuleSet::check(&format!("[[rules]]\nid = \"mine\"\nkeywords = [\"acme_\"]\n{rule}"));
        checked.map(drop).map_err(|error| error.to_string())
    };
    let error = check("regex = '(?:[a-z]{900}){900}'").unwrap_err();
    assert!(error.starts_with("rule \"mine\" cannot be used: its pattern is too large"), "{error}");
    for idle in ["token = 'key_[a-z]{8}'", "word = '[0-9]{4}acme_'", "token = '^ acme_'", "word = 'acme-[a-z]+'"] {
        let error = check(idle).unwrap_err();
        assert!(error.contains("begins with the keyword \"acme_\"") && error.contains("`back`"), "{idle}: {error}");
    }
    for good in [
        "token = 'acme_[a-z]{8}'",
        "token = 'ACME_[a-z]{8}'",
        "word = '(?i)acme_[a-z]{8}'",
        "word = '\\bacme_[a-z]{8}'",
        "word = '(?m)^acme_[a-z]{8}'",
        "token = '[a-z]{4}_[0-9]{8}'",
        "token = 'acm'",
        "token = '[0-9]{4}acme_[a-z]+'\nback = 4",
        "regex = '[0-9]{4}acme_[a-z]+'",
    ] {
        assert_eq!(check(good), Ok(()), "{good}");
    }
}

#[test]
fn the_rules_that_are_built_in_pass_the_check_of_others() {
    for file in RuleSet::built_in_files() {
        assert_eq!(RuleSet::check(file), Ok(RulesBase::None));
    }
}

#[test]
fn values_that_are_allowed_stay_and_values_that_are_known_go() {
    let own = || RuleSet::read(RuleSet::built_in_files()).unwrap();
    let allowed = scrubber().with_rules(Arc::new(own().with_allowed(vec![token()])));
    assert_eq!(allowed.scrub(&token()).unwrap().as_str(), token());
    assert_eq!(allowed.scrub(&format!("{}x", token())).unwrap().secrets(), 1);

    let known = own().with_known(&["open sesame".to_owned(), "ab".to_owned()]).unwrap();
    assert!(!format!("{known:?}").contains("sesame"));
    let known = scrubber().with_rules(Arc::new(known));
    let shaped = |text: &str| shape(&known.scrub(text).unwrap());
    assert_eq!(shaped("say open sesame, ab"), "say [SECRET:known-value:#], ab");
    assert_eq!(shaped("say open%20sesame"), "say [SECRET:known-value:#]");
    assert_eq!(shaped("say Open Sesame"), "say Open Sesame");
}

#[test]
fn a_find_and_a_miss_are_explained() {
    let explained = |text: &str| {
        let all = scrubber().explain(text).unwrap();
        all.into_iter().map(|one| (one.mask.rule, one.verdict)).collect::<Vec<_>>()
    };
    assert!(explained(&token()).contains(&("github-pat".to_owned(), MatchVerdict::Taken)));
    let masked = format!("ghp_{}", "x".repeat(36));
    assert!(!explained(&masked).iter().any(|(_, verdict)| *verdict == MatchVerdict::Taken));
    assert!(explained("ghp_{x36}").is_empty());
    assert!(
        explained("password = config.db1.password").contains(&("bare-password".to_owned(), MatchVerdict::OtherLook))
    );
}

#[test]
fn an_explanation_says_what_scrubbing_does() {
    let explained = |text: &str| {
        let all = scrubber().explain(text).unwrap();
        all.into_iter().map(|one| (one.mask.rule, one.verdict, one.taken_as)).collect::<Vec<_>>()
    };
    // No rule matches into a placeholder or across one.
    assert_eq!(explained("password = '[SECRET:github-pat:7f3a2c]'"), []);
    // The key id is a word of its own once the token before it is gone.
    let uncovered = explained(&filled("lsv2_pt_{h32}_{h10}AKIA{u16}"));
    let key_id = "aws-access-key-id".to_owned();
    assert!(uncovered.contains(&(key_id.clone(), MatchVerdict::Taken, Some(key_id))), "{uncovered:?}");
    // One rule leaves what another takes.
    let own = RuleSet::read(RuleSet::built_in_files()).unwrap().with_known(&["config.db1.password".to_owned()]);
    let scrubber = scrubber().with_rules(Arc::new(own.unwrap()));
    let explained = scrubber.explain("password = config.db1.password").unwrap();
    let bare = explained.iter().find(|one| one.mask.rule == "bare-password").unwrap();
    assert_eq!((bare.verdict, bare.taken_as.as_deref()), (MatchVerdict::OtherLook, Some("known-value")));
}
