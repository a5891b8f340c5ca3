//! The rules: which strings are secrets, and where they are looked for. They are data, in the TOML files beside this one
//! and in files that a user names.
//!
//! Every rule has words that call for it: a text without them costs one pass for all rules together. A rule's pattern
//! is tried where its word occurs and nowhere else, so that a rule costs nothing where it does not apply. Only rules in
//! gitleaks' form, which say nothing of where their word is in a match, are searched for in the whole text.

mod allow;
mod check;
mod keywords;
mod read;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use aho_corasick::AhoCorasick;
use keywords::Keywords;
use regex_automata::meta::{BuildError, Regex};
use regex_automata::util::syntax;

pub(super) use allow::{AllowList, Found};
pub use read::{RulesBase, RulesError};

use super::look::SecretLook;

/// No rule's id is longer, so that a placeholder's length is bounded.
pub(super) const ID_BYTES_MAX: usize = 64;

/// Fewest bytes of a value that is a secret wherever it is.
pub const KNOWN_BYTES_MIN: usize = 6;
/// Most bytes of working memory that one pattern's search may take.
const PATTERN_CACHE_BYTES_MAX: usize = 256 << 10;
/// Most bytes that one compiled pattern may take, so that a user's rule cannot take all memory.
const PATTERN_BYTES_MAX: usize = 4 << 20;

/// The files that are built in, from specific to general: if two rules find the same span, the earlier names it.
const BUILT_IN: [&str; 6] = [
    include_str!("rules/code.toml"),
    include_str!("rules/cloud.toml"),
    include_str!("rules/ai.toml"),
    include_str!("rules/payments.toml"),
    include_str!("rules/services.toml"),
    include_str!("rules/general.toml"),
];

/// How one kind of secret is recognised.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) id: String,
    pub(super) description: String,
    /// The words that call for it, in lower case. None: it is always called for.
    pub(super) keywords: Vec<String>,
    pub(super) form: RuleForm,
    pub(super) entropy_min_bits: f32,
    pub(super) look: SecretLook,
    pub(super) allow: Vec<AllowList>,
    pub(super) pattern: Pattern,
}

/// Where a rule's pattern is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleForm {
    /// Where its keyword is: the token's own prefix says what it is.
    Token { back: usize, reach: usize },
    /// The same, if it is a word of its own: its form may occur inside of something longer.
    Word { back: usize, reach: usize },
    /// Where a value is assigned to a name with the keyword in it.
    Named { name: NamePart, quotes: Quotes, reach: usize },
    /// Up to a few bytes behind the keyword, as a word of its own.
    Near { reach: usize },
    /// Anywhere in a text that has the keyword: gitleaks' form.
    Anywhere { group: Option<usize> },
    /// Found by code of its own, which the keyword calls for.
    Special(SpecialForm),
    /// A value that settings name.
    Known,
}

/// Which part of a name the keyword has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum NamePart {
    /// Any part.
    Any,
    /// The last one: `api_token` is a token, `token_count` is none.
    Last,
}

/// Whether a value has to be in quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Quotes {
    /// It may be, or not.
    Any,
    /// It has to be.
    Needed,
    /// It has to be, behind a sign that only assigns: not as the next of several arguments.
    Assigned,
    /// It may not be, and is behind a sign that only assigns.
    None,
}

/// The forms that a pattern cannot describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SpecialForm {
    /// From the BEGIN to the END line of a private key.
    PrivateKey,
    /// The values of a cookie header.
    Cookies,
    /// The values in a secret of Kubernetes.
    KubernetesSecret,
    /// The values in columns whose head is the name of a secret.
    Table,
}

/// A pattern that is compiled when it is first needed.
#[derive(Debug)]
pub(super) struct Pattern {
    text: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    pub(super) fn new(text: String) -> Self {
        Self { text, compiled: OnceLock::new() }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The compiled pattern, or `None` if it is no pattern at all. Rules are read only if theirs can be parsed.
    pub(super) fn regex(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| compile(&self.text)).as_ref()
    }
}

/// How patterns are read: for bytes, without Unicode. Tokens are ASCII, and this is an order of magnitude faster.
fn syntax_config() -> syntax::Config {
    syntax::Config::new().unicode(false).utf8(false)
}

/// Whether a text is a pattern. This is much quicker than compiling it.
fn is_pattern(text: &str) -> bool {
    syntax::parse_with(text, &syntax_config()).is_ok()
}

/// How many groups a pattern has, or 0 if it is none.
fn groups(pattern: &str) -> usize {
    syntax::parse_with(pattern, &syntax_config()).map_or(0, |parsed| parsed.properties().explicit_captures_len())
}

/// Compiles a pattern.
pub(super) fn compile(pattern: &str) -> Option<Regex> {
    build(pattern).ok()
}

fn build(pattern: &str) -> Result<Regex, Box<BuildError>> {
    Regex::builder()
        .syntax(syntax_config())
        .configure(
            Regex::config()
                .utf8_empty(false)
                .hybrid_cache_capacity(PATTERN_CACHE_BYTES_MAX)
                .nfa_size_limit(Some(PATTERN_BYTES_MAX)),
        )
        .build(pattern)
        .map_err(Box::new)
}

/// Rules that are used together.
pub struct RuleSet {
    rules: Vec<Rule>,
    known: Option<KnownValues>,
    /// What is no secret, whichever rule finds it.
    allow: Vec<AllowList>,
    keywords: Keywords,
    /// The rules that every text calls for.
    always: Vec<usize>,
}

/// Values that are secrets wherever they are. They are never printed.
struct KnownValues {
    search: AhoCorasick,
    rule: usize,
}

impl fmt::Debug for RuleSet {
    /// Leaves out the values that are known, so that they do not end in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuleSet").field("rules", &self.rules.len()).finish_non_exhaustive()
    }
}

impl RuleSet {
    /// The rules that are built in.
    pub fn built_in() -> Option<Arc<Self>> {
        static RULES: OnceLock<Option<Arc<RuleSet>>> = OnceLock::new();
        RULES.get_or_init(|| Self::read(&BUILT_IN).ok().map(Arc::new)).clone()
    }

    /// The files of the rules that are built in.
    pub fn built_in_files() -> &'static [&'static str] {
        &BUILT_IN
    }

    /// Reads rules from TOML files, infold's own or gitleaks'. Earlier files are more specific than later ones.
    ///
    /// # Errors
    ///
    /// Where a file is no TOML, or a rule in it cannot be used.
    pub fn read(files: &[&str]) -> Result<Self, RulesError> {
        let read = read::read(files)?;
        let mut keywords: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut always = Vec::new();
        for (index, rule) in read.rules.iter().enumerate() {
            if rule.keywords.is_empty() {
                always.push(index);
            }
            for keyword in &rule.keywords {
                keywords.entry(keyword.clone()).or_default().push(index);
            }
        }
        let keywords = Keywords::new(keywords.into_iter());
        Ok(Self { rules: read.rules, known: None, allow: read.allow, keywords, always })
    }

    /// Checks a file of rules more thoroughly than reading it does: every pattern is compiled, and has to be able to match
    /// where it is tried. Says what the file builds on.
    ///
    /// # Errors
    ///
    /// Where the file is no TOML, or a rule in it cannot be used.
    pub fn check(file: &str) -> Result<RulesBase, RulesError> {
        let read = read::read(&[file])?;
        read.rules.iter().try_for_each(check::check)?;
        Ok(read.base)
    }

    /// The same rules, for which these values are no secrets.
    #[must_use]
    pub fn with_allowed(mut self, values: Vec<String>) -> Self {
        self.allow.push(AllowList::of_values(values));
        self
    }

    /// The same rules, and these values are secrets wherever they are. Those that are shorter than [`KNOWN_BYTES_MIN`]
    /// are left out: ordinary words are as short.
    ///
    /// # Errors
    ///
    /// Where the values are too many or too long to be searched for.
    pub fn with_known(mut self, values: &[String]) -> Result<Self, RulesError> {
        let values: Vec<&String> = values.iter().filter(|value| value.len() >= KNOWN_BYTES_MIN).collect();
        let search = AhoCorasick::new(values).map_err(|error| RulesError::KnownValues { reason: error.to_string() })?;
        self.known = Some(KnownValues { search, rule: self.rules.len() });
        self.rules.push(Rule {
            id: "known-value".to_owned(),
            description: "Value that settings name".to_owned(),
            keywords: Vec::new(),
            form: RuleForm::Known,
            entropy_min_bits: 0.0,
            look: SecretLook::Any,
            allow: Vec::new(),
            pattern: Pattern::new(String::new()),
        });
        Ok(self)
    }

    /// The places of known values in a text, which may overlap, with the rule that is named for them.
    pub(super) fn known<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = (Range<usize>, usize)> {
        let found = move |known: &'a KnownValues| {
            known.search.find_overlapping_iter(text).map(move |hit| (hit.start()..hit.end(), known.rule))
        };
        self.known.iter().flat_map(found)
    }

    /// The rules, each with its index.
    pub(super) fn rule(&self, index: usize) -> &Rule {
        &self.rules[index]
    }

    /// What each rule is called, in order, with its description.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rules.iter().map(|rule| (rule.id.as_str(), rule.description.as_str()))
    }

    /// How many rules there are.
    pub(super) fn len(&self) -> usize {
        self.rules.len()
    }

    pub(super) fn always(&self) -> &[usize] {
        &self.always
    }

    /// Calls `found` with the place of every keyword in a text, and the rules that it calls for.
    pub(super) fn each_call<E>(
        &self,
        text: &[u8],
        found: impl FnMut(Range<usize>, &[usize]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.keywords.each(text, found)
    }

    /// Whether this is no secret, whichever rule found it.
    pub(super) fn allows(&self, rule: &Rule, found: &Found<'_>) -> bool {
        self.allow.iter().chain(&rule.allow).any(|list| list.allows(found))
    }
}

/// Whether a text is formed like a rule's id: parts of letters and digits between hyphens. The bounds keep a secret from
/// passing as an id.
pub(super) fn is_id(id: &[u8]) -> bool {
    const PART_BYTES_MAX: usize = 18;
    const DIGITS_MAX: usize = 4;
    let digits = id.iter().filter(|byte| byte.is_ascii_digit()).count();
    let is_part = |part: &[u8]| {
        (1..=PART_BYTES_MAX).contains(&part.len())
            && part.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    id.len() <= ID_BYTES_MAX && digits <= DIGITS_MAX && id.split(|&byte| byte == b'-').all(is_part)
}
