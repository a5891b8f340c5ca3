//! Reads rules from TOML: infold's own form, which says where a pattern is tried, and gitleaks' form, which does not.
//!
//! What a rule cannot be used for is an error that names the file's rule, and so is a field that no rule has. What
//! gitleaks has and text has not, such as paths and commits, is left out: a rule that only looks at paths is no rule here,
//! and neither is one that gitleaks does not report.

mod entry;

use serde::Deserialize;

use super::allow::{AllowCondition, AllowList, AllowTarget};
use super::keywords::KEYWORD_BYTES_MIN;
use super::{ID_BYTES_MAX, NamePart, Pattern, Quotes, Rule, RuleForm, groups, is_id, is_pattern};
use entry::{AllowEntry, RuleEntry, RuleFile};

/// Most bytes that a match has if a rule does not say so.
const REACH_UNSET: usize = 512;

/// Why rules could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    /// A file is no TOML, or has other fields than rules have.
    #[error("the rules cannot be read: {reason}")]
    Unreadable {
        /// What the parser says.
        reason: String,
    },
    /// The values that settings name cannot be searched for.
    #[error("the known values cannot be searched for: {reason}; name fewer in scrub.known_files")]
    KnownValues {
        /// What the search says of their number or length.
        reason: String,
    },
    /// One rule cannot be used.
    #[error("rule {id:?} cannot be used: {reason}")]
    Unusable {
        /// The rule's id.
        id: String,
        /// What is wrong with it, and what to do.
        reason: String,
    },
}

/// Rules of all files, with what is no secret for any of them.
pub(super) struct ReadRules {
    pub(super) rules: Vec<Rule>,
    pub(super) allow: Vec<AllowList>,
    pub(super) base: RulesBase,
}

/// What a file in gitleaks' form builds on. infold does not read that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RulesBase {
    /// Nothing: all of its rules are in the file.
    None,
    /// The rules that come with gitleaks.
    GitleaksDefault,
    /// Another file.
    OtherFile,
}

/// Reads all files.
pub(super) fn read(files: &[&str]) -> Result<ReadRules, RulesError> {
    let mut all = ReadRules { rules: Vec::new(), allow: Vec::new(), base: RulesBase::None };
    for text in files {
        let file: RuleFile = toml::from_str(text).map_err(|error| blamed(text, &error))?;
        let base = file.base();
        for entry in file.allowlist.into_iter().chain(file.allowlists) {
            all.allow.extend(entry.list("allowlist")?);
        }
        for entry in file.rules {
            all.rules.extend(entry.rule(base)?);
        }
        if base != RulesBase::None {
            all.base = base;
        }
    }
    Ok(all)
}

/// The error of a file that could not be read, with the id of the rule that is at fault if it is one.
fn blamed(text: &str, error: &toml::de::Error) -> RulesError {
    let unusable = |entry: &toml::Value| {
        let error = RuleEntry::deserialize(entry.clone()).err()?;
        Some(RulesError::Unusable { id: entry.get("id")?.as_str()?.to_owned(), reason: error.message().to_owned() })
    };
    let blamed = |file: toml::Table| file.get("rules")?.as_array()?.iter().find_map(unusable);
    let unreadable = || RulesError::Unreadable { reason: error.to_string() };
    toml::from_str(text).ok().and_then(blamed).unwrap_or_else(unreadable)
}

impl RuleFile {
    fn base(&self) -> RulesBase {
        match &self.extend {
            Some(extend) if extend.path.is_some() || extend.url.is_some() => RulesBase::OtherFile,
            Some(extend) if extend.use_default => RulesBase::GitleaksDefault,
            Some(_) | None => RulesBase::None,
        }
    }
}

impl RuleEntry {
    /// The rule, or nothing if it only looks at paths, is not reported, or only changes one of its file's base.
    fn rule(self, base: RulesBase) -> Result<Option<Rule>, RulesError> {
        if self.skip_report {
            return Ok(None);
        }
        let Some((form, pattern, words)) = self.form()? else {
            if self.path.is_none() && base == RulesBase::None {
                return Err(self.unusable("it has none of token, word, names, near and regex".to_owned()));
            }
            return Ok(None);
        };
        if let Some(field) = self.stray_field(&form) {
            return Err(self.unusable(format!("it has `{field}`, which rules of its form do not use")));
        }
        if !is_id(self.id.as_bytes()) {
            let reason = format!(
                "an id has at most {ID_BYTES_MAX} bytes: small letters, at most four digits, and hyphens between"
            );
            return Err(self.unusable(reason));
        }
        let Some(pattern) = usable(&pattern) else {
            return Err(self.unusable("its pattern is none".to_owned()));
        };
        if let RuleForm::Anywhere { group: Some(group) } = form
            && group > groups(&pattern)
        {
            let groups = groups(&pattern);
            return Err(
                self.unusable(format!("`secretGroup` is {group}, and the last group of its pattern is {groups}"))
            );
        }
        let mut keywords: Vec<String> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
        if let Some(short) = keywords.iter().find(|word| word.len() < KEYWORD_BYTES_MIN) {
            if !matches!(form, RuleForm::Anywhere { .. }) {
                return Err(self.unusable(format!("the keyword {short:?} has fewer than {KEYWORD_BYTES_MIN} bytes")));
            }
            // So short a keyword is in almost every text: the rule is tried on all of them.
            keywords.clear();
        }
        let mut allow = Vec::new();
        if !self.allow.is_empty() {
            allow.push(AllowList::of(&self.id, &self.allow)?);
        }
        for entry in self.allowlist.into_iter().chain(self.allowlists) {
            allow.extend(entry.list(&self.id)?);
        }
        Ok(Some(Rule {
            id: self.id,
            description: self.description,
            keywords,
            form,
            entropy_min_bits: self.entropy,
            look: self.look,
            allow,
            pattern: Pattern::new(pattern),
        }))
    }

    /// The form, its pattern, and the words that call for it.
    fn form(&self) -> Result<Option<(RuleForm, String, Vec<String>)>, RulesError> {
        let back = self.back.unwrap_or(0);
        let reach = self.reach.unwrap_or(REACH_UNSET);
        let keywords = self.keywords.clone();
        let value = || self.value.clone().ok_or_else(|| self.unusable("it has no `value`".to_owned()));
        let mut forms = Vec::new();
        if let Some(pattern) = &self.token {
            forms.push((RuleForm::Token { back, reach }, pattern.clone(), keywords.clone()));
        }
        if let Some(pattern) = &self.word {
            forms.push((RuleForm::Word { back, reach }, pattern.clone(), keywords.clone()));
        }
        if let Some(names) = &self.names {
            let name = self.name_part.unwrap_or(NamePart::Any);
            let quotes = self.quotes.unwrap_or(Quotes::Any);
            forms.push((RuleForm::Named { name, quotes, reach }, value()?, names.clone()));
        }
        if let Some(words) = &self.near {
            forms.push((RuleForm::Near { reach }, value()?, words.clone()));
        }
        if let Some(pattern) = &self.regex {
            // To gitleaks, the group 0 is none that was chosen.
            let group = self.secret_group.filter(|group| *group > 0);
            forms.push((RuleForm::Anywhere { group }, pattern.clone(), keywords.clone()));
        }
        if let Some(special) = self.special {
            forms.push((RuleForm::Special(special), String::new(), keywords));
        }
        if forms.len() > 1 {
            let reason = "it has more than one of token, word, names, near, regex and special".to_owned();
            return Err(self.unusable(reason));
        }
        let needs_keywords = |form: &RuleForm| !matches!(form, RuleForm::Anywhere { .. });
        match forms.pop() {
            Some((form, _, words)) if words.is_empty() && needs_keywords(&form) => {
                Err(self.unusable("it has no `keywords`".to_owned()))
            }
            form => Ok(form),
        }
    }

    /// A field that means something only for rules of another form.
    fn stray_field(&self, form: &RuleForm) -> Option<&'static str> {
        let is_token = matches!(form, RuleForm::Token { .. } | RuleForm::Word { .. });
        let is_named = matches!(form, RuleForm::Named { .. });
        let is_near = matches!(form, RuleForm::Near { .. });
        let fields = [
            ("secretGroup", self.secret_group.is_some(), matches!(form, RuleForm::Anywhere { .. })),
            ("value", self.value.is_some(), is_named || is_near),
            ("name-part", self.name_part.is_some(), is_named),
            ("quotes", self.quotes.is_some(), is_named),
            ("back", self.back.is_some(), is_token),
            ("reach", self.reach.is_some(), is_token || is_named || is_near),
        ];
        fields.into_iter().find(|(_, is_there, is_used)| *is_there && !is_used).map(|(field, ..)| field)
    }

    fn unusable(&self, reason: String) -> RulesError {
        RulesError::Unusable { id: self.id.clone(), reason }
    }
}

impl AllowList {
    /// A list of patterns on the secret itself.
    pub(super) fn of(id: &str, patterns: &[String]) -> Result<Self, RulesError> {
        Ok(Self {
            target: AllowTarget::Secret,
            condition: AllowCondition::One,
            patterns: allowing(id, patterns)?,
            words: Vec::new(),
            values: Vec::new(),
        })
    }

    /// A list of values, compared whole.
    pub(super) fn of_values(values: Vec<String>) -> Self {
        Self {
            target: AllowTarget::Secret,
            condition: AllowCondition::One,
            patterns: Vec::new(),
            words: Vec::new(),
            values,
        }
    }
}

impl AllowEntry {
    /// The list, or nothing if it asks for what text has not.
    fn list(self, id: &str) -> Result<Option<AllowList>, RulesError> {
        let unusable = |reason: String| RulesError::Unusable { id: id.to_owned(), reason };
        let condition = match self.condition.to_ascii_lowercase().as_str() {
            "and" | "&&" => AllowCondition::All,
            "" | "or" | "||" => AllowCondition::One,
            other => return Err(unusable(format!("`condition` is {other:?}, and has to be \"and\" or \"or\""))),
        };
        let asks_elsewhere = !self.paths.is_empty() || !self.commits.is_empty() || !self.target_rules.is_empty();
        if (asks_elsewhere && condition == AllowCondition::All) || !self.target_rules.is_empty() {
            return Ok(None);
        }
        let target = match self.regex_target.as_str() {
            "match" => AllowTarget::Match,
            "line" => AllowTarget::Line,
            "" | "secret" => AllowTarget::Secret,
            other => {
                let reason = format!("`regexTarget` is {other:?}, and has to be \"secret\", \"match\" or \"line\"");
                return Err(unusable(reason));
            }
        };
        let words = self.stopwords.iter().map(|word| word.to_ascii_lowercase()).collect();
        let patterns = allowing(id, &self.regexes)?;
        Ok(Some(AllowList { target, condition, patterns, words, values: Vec::new() }))
    }
}

fn allowing(id: &str, patterns: &[String]) -> Result<Vec<Pattern>, RulesError> {
    let unusable = |pattern: &String| RulesError::Unusable {
        id: id.to_owned(),
        reason: format!("its allow pattern {pattern:?} is not one"),
    };
    patterns.iter().map(|text| usable(text).map(Pattern::new).ok_or_else(|| unusable(text))).collect()
}

/// The pattern as it can be compiled. Go takes a brace that counts nothing for a brace; here it has to be escaped.
fn usable(pattern: &str) -> Option<String> {
    if is_pattern(pattern) {
        return Some(pattern.to_owned());
    }
    let mut escaped = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern;
    while let Some(at) = rest.find(['\\', '{', '}']) {
        let (before, from) = rest.split_at(at);
        escaped.push_str(before);
        let taken = match from.as_bytes() {
            [b'\\', ..] => from.chars().take(2).map(char::len_utf8).sum(),
            [b'{', ..] => count_bytes(from),
            _ => 0,
        };
        if taken == 0 {
            escaped.push('\\');
        }
        let (whole, behind) = from.split_at(taken.max(1));
        escaped.push_str(whole);
        rest = behind;
    }
    escaped.push_str(rest);
    is_pattern(&escaped).then_some(escaped)
}

/// How long the count in braces is that a text begins with, or 0 if it begins with none.
fn count_bytes(text: &str) -> usize {
    let Some(end) = text.find('}') else { return 0 };
    let inner = &text[1..end];
    let is_count = inner.starts_with(|first: char| first.is_ascii_digit())
        && inner.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
    if is_count { end + 1 } else { 0 }
}
