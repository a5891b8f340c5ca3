//! Checks rules that infold's authors did not write: that each pattern compiles, and that it can match where it is tried.
//!
//! Compiling takes much longer than reading, so the rules that are built in are checked by a test instead.

use std::collections::BTreeSet;

use regex_automata::Anchored;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::start;

use super::{PATTERN_BYTES_MAX, Rule, RuleForm, RulesError, build, syntax_config};

/// What may be before a match: nothing, or a byte of each kind that a pattern can ask about.
const BEFORE: [Option<u8>; 4] = [None, Some(b' '), Some(b'a'), Some(b'\n')];

/// Why a rule cannot be used, if it cannot.
pub(super) fn check(rule: &Rule) -> Result<(), RulesError> {
    let unusable = |reason: String| RulesError::Unusable { id: rule.id.clone(), reason };
    let allowing = rule.allow.iter().flat_map(|list| &list.patterns).map(|pattern| ("allow pattern", pattern));
    for (what, pattern) in [("pattern", &rule.pattern)].into_iter().chain(allowing) {
        build(pattern.text()).map_err(|error| match error.size_limit() {
            Some(_) => unusable(format!(
                "its {what} is too large: compiled, it takes more than {PATTERN_BYTES_MAX} bytes; lower its counts"
            )),
            None => unusable(format!("its {what} cannot be compiled: {error}")),
        })?;
    }
    match idle_keyword(rule) {
        Some(keyword) => Err(unusable(format!(
            "no match of its pattern begins with the keyword {keyword:?}, so it is never found there: say with `back` \
             how many bytes of a match come before the keyword, or use `regex` in place of `token` or `word`"
        ))),
        None => Ok(()),
    }
}

/// A keyword at which the rule's pattern is tried and can never match.
fn idle_keyword(rule: &Rule) -> Option<&str> {
    match rule.form {
        RuleForm::Token { back: 0, .. } | RuleForm::Word { back: 0, .. } => {
            let mut begins = Beginnings::new(rule.pattern.text())?;
            rule.keywords.iter().find(|keyword| !begins.may_be(keyword.as_bytes())).map(String::as_str)
        }
        RuleForm::Token { .. }
        | RuleForm::Word { .. }
        | RuleForm::Named { .. }
        | RuleForm::Near { .. }
        | RuleForm::Anywhere { .. }
        | RuleForm::Special(_)
        | RuleForm::Known => None,
    }
}

/// What the matches of a pattern begin with.
struct Beginnings {
    dfa: DFA,
    cache: Cache,
}

impl Beginnings {
    /// `None` if they cannot be found out.
    fn new(pattern: &str) -> Option<Self> {
        // States are kept by id, so the cache may not be emptied between steps.
        let config = DFA::config().skip_cache_capacity_check(true).minimum_cache_clear_count(Some(0));
        let dfa = DFA::builder()
            .configure(config)
            .syntax(syntax_config())
            .thompson(thompson::Config::new().nfa_size_limit(Some(PATTERN_BYTES_MAX)))
            .build(pattern)
            .ok()?;
        let cache = dfa.create_cache();
        Some(Self { dfa, cache })
    }

    /// Whether a match may begin with the keyword, in capitals or not, or end within it. Yes if that is unknown.
    fn may_be(&mut self, keyword: &[u8]) -> bool {
        BEFORE.iter().any(|before| self.may_be_behind(*before, keyword).unwrap_or(true))
    }

    fn may_be_behind(&mut self, before: Option<u8>, keyword: &[u8]) -> Option<bool> {
        let begin = start::Config::new().anchored(Anchored::Yes).look_behind(before);
        let mut states = BTreeSet::from([self.dfa.start_state(&mut self.cache, &begin).ok()?]);
        for byte in keyword {
            let mut next = BTreeSet::new();
            for state in states {
                for byte in [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()] {
                    next.insert(self.dfa.next_state(&mut self.cache, state, byte).ok()?);
                }
            }
            if next.iter().any(|state| state.is_match() || state.is_quit()) {
                return Some(true);
            }
            next.retain(|state| !state.is_dead());
            states = next;
        }
        Some(!states.is_empty())
    }
}
