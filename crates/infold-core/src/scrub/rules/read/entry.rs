//! What files of rules say, field by field: infold's fields and gitleaks'. Any other field is an error.
//!
//! Fields that begin with an underscore are gitleaks' and say nothing about text.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::super::{NamePart, Quotes, SpecialForm};
use crate::scrub::look::SecretLook;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RuleFile {
    #[serde(default)]
    pub(super) rules: Vec<RuleEntry>,
    pub(super) allowlist: Option<AllowEntry>,
    #[serde(default)]
    pub(super) allowlists: Vec<AllowEntry>,
    pub(super) extend: Option<ExtendEntry>,
    #[serde(rename = "title")]
    _title: Option<IgnoredAny>,
    #[serde(rename = "description")]
    _description: Option<IgnoredAny>,
    #[serde(rename = "minVersion")]
    _min_version: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ExtendEntry {
    pub(super) path: Option<String>,
    pub(super) url: Option<String>,
    #[serde(default)]
    pub(super) use_default: bool,
    #[serde(rename = "disabledRules")]
    _disabled_rules: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RuleEntry {
    pub(super) id: String,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) keywords: Vec<String>,
    pub(super) token: Option<String>,
    pub(super) word: Option<String>,
    pub(super) names: Option<Vec<String>>,
    pub(super) near: Option<Vec<String>>,
    pub(super) value: Option<String>,
    pub(super) regex: Option<String>,
    pub(super) special: Option<SpecialForm>,
    pub(super) secret_group: Option<usize>,
    #[serde(rename = "name-part")]
    pub(super) name_part: Option<NamePart>,
    pub(super) quotes: Option<Quotes>,
    pub(super) back: Option<usize>,
    pub(super) reach: Option<usize>,
    #[serde(default)]
    pub(super) entropy: f32,
    #[serde(default)]
    pub(super) look: SecretLook,
    #[serde(default)]
    pub(super) allow: Vec<String>,
    pub(super) allowlist: Option<AllowEntry>,
    #[serde(default)]
    pub(super) allowlists: Vec<AllowEntry>,
    pub(super) path: Option<String>,
    #[serde(default)]
    pub(super) skip_report: bool,
    #[serde(rename = "tags")]
    _tags: Option<IgnoredAny>,
    #[serde(rename = "required")]
    _required: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct AllowEntry {
    #[serde(default)]
    pub(super) condition: String,
    #[serde(default)]
    pub(super) regex_target: String,
    #[serde(default)]
    pub(super) regexes: Vec<String>,
    #[serde(default)]
    pub(super) stopwords: Vec<String>,
    #[serde(default)]
    pub(super) paths: Vec<String>,
    #[serde(default)]
    pub(super) commits: Vec<String>,
    #[serde(default)]
    pub(super) target_rules: Vec<String>,
    #[serde(rename = "description")]
    _description: Option<IgnoredAny>,
}
