//! The rules of scrubbing that settings ask for: those that are built in, files of the user's own, values that are no
//! secrets, and values that are known to be.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use infold_core::{KNOWN_BYTES_MIN, RuleSet, RulesBase};

use crate::failure::Refused;
use crate::settings::{Scrub, Surroundings};

/// What the setting `scrub.rules` calls the rules that come with infold.
const BUILT_IN: &str = "built-in";
/// The longest file of rules or of known values.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// A value of a file is a secret by itself if it is at least this long and not only a word or a number.
const MIXED_BYTES_MIN: usize = 8;
/// Parts of names whose values are secrets even if they are words, in lower case.
const SECRET_NAMES: [&str; 7] = ["pass", "secret", "token", "key", "auth", "credential", "pwd"];

/// What settings ask for.
pub struct RulesInForce {
    /// `None` if settings ask for nothing but the rules that are built in.
    pub rules: Option<Arc<RuleSet>>,
    /// What settings name and is left out, in sentences. No value is in them.
    pub warnings: Vec<String>,
}

/// Reads the rules, and logs a warning for what is left out.
pub fn load(settings: &Scrub, surroundings: &Surroundings) -> anyhow::Result<Option<Arc<RuleSet>>> {
    let in_force = read_all(settings, surroundings)?;
    in_force.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    Ok(in_force.rules)
}

/// Reads the rules, and says what is left out.
pub fn read_all(settings: &Scrub, surroundings: &Surroundings) -> anyhow::Result<RulesInForce> {
    let is_default = settings.rules == [BUILT_IN]
        && settings.allow.is_empty()
        && settings.known_variables.is_empty()
        && settings.known_files.is_empty();
    if is_default {
        return Ok(RulesInForce { rules: None, warnings: Vec::new() });
    }
    let mut warnings = Vec::new();
    let mut files: Vec<String> = Vec::new();
    for name in &settings.rules {
        if name == BUILT_IN {
            files.extend(RuleSet::built_in_files().iter().map(|file| (*file).to_owned()));
        } else {
            let text = read(name, surroundings, "scrub.rules")?;
            let base = check(name, &text)?;
            warnings.extend(missing_base(name, base, settings));
            files.push(text);
        }
    }
    let texts: Vec<&str> = files.iter().map(String::as_str).collect();
    let rules = RuleSet::read(&texts).map_err(|error| Refused::new(error.to_string()))?;
    if rules.names().next().is_none() {
        return Err(Refused::new("the files in scrub.rules have no rule, so nothing would be scrubbed")
            .hint("add a rule to them, or \"built-in\" to scrub.rules")
            .into());
    }
    let known = known_values(settings, surroundings, &mut warnings)?;
    let rules = rules.with_allowed(settings.allow.clone()).with_known(&known);
    let rules = rules.map_err(|error| Refused::new(error.to_string()))?;
    Ok(RulesInForce { rules: Some(Arc::new(rules)), warnings })
}

/// Refuses a file of rules that cannot be used, by its name. Says what it builds on.
fn check(name: &str, text: &str) -> anyhow::Result<RulesBase> {
    RuleSet::check(text).map_err(|error| {
        Refused::new(format!("the rules in {name} cannot be used: {error}"))
            .hint("mend the file, or take it out of scrub.rules; `infold rules --help` says what a rule looks like")
            .into()
    })
}

/// A warning if a file builds on rules that are not in force.
fn missing_base(name: &str, base: RulesBase, settings: &Scrub) -> Option<String> {
    match base {
        RulesBase::None => None,
        RulesBase::GitleaksDefault if settings.rules.iter().any(|name| name == BUILT_IN) => None,
        RulesBase::GitleaksDefault => Some(format!(
            "{name} extends gitleaks' own rules, which infold does not have: add \"built-in\" to scrub.rules"
        )),
        RulesBase::OtherFile => {
            Some(format!("{name} extends another file, which was not read: name that file in scrub.rules too"))
        }
    }
}

fn known_values(
    settings: &Scrub,
    surroundings: &Surroundings,
    warnings: &mut Vec<String>,
) -> anyhow::Result<Vec<String>> {
    let mut values = Vec::new();
    let mut add = |variable: &str, origin: &str, value: String| {
        if (1..KNOWN_BYTES_MIN).contains(&value.len()) {
            warnings.push(format!(
                "the value of {variable} in {origin} is not searched for: it has fewer than {KNOWN_BYTES_MIN} bytes"
            ));
        }
        values.push(value);
    };
    for variable in &settings.known_variables {
        if let Some(value) = surroundings.text(variable) {
            add(variable, "the environment", value.to_owned());
        }
    }
    for name in &settings.known_files {
        let text = read(name, surroundings, "scrub.known_files")?;
        for entry in dotenvy::from_read_iter(text.as_bytes()) {
            let (variable, value) = entry.map_err(|error| {
                Refused::new(format!("{name} is no file of NAME=VALUE lines: {}", without_values(&error)))
                    .hint("mend the file, or take it out of scrub.known_files")
            })?;
            if is_secret(&variable, &value) {
                add(&variable, name, value);
            }
        }
    }
    Ok(values)
}

/// What is wrong with a file, without the line that is: it may hold a secret.
fn without_values(error: &dotenvy::Error) -> String {
    match error {
        dotenvy::Error::LineParse(_, column) => format!("a line cannot be read from its character {column} on"),
        _ => "it cannot be read".to_owned(),
    }
}

/// Whether the value of a file's line is a secret: its name says so, or it is long and neither a word nor a number.
fn is_secret(variable: &str, value: &str) -> bool {
    let variable = variable.to_ascii_lowercase();
    let is_named = SECRET_NAMES.iter().any(|part| variable.contains(part));
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    is_named || (value.len() >= MIXED_BYTES_MIN && has_digit && has_letter && !value.contains("://localhost"))
}

/// Reads a file that a setting names. Its path is absolute or begins with `~/`.
fn read(name: &str, surroundings: &Surroundings, setting: &str) -> anyhow::Result<String> {
    let path = path(name, surroundings).ok_or_else(|| {
        Refused::new(format!("{setting} names {name:?}, which is no absolute path"))
            .hint("write the whole path, or one that begins with ~/")
    })?;
    let refused = |reason: String| Refused::new(format!("{setting} names {name}, which cannot be read: {reason}"));
    let length = fs::metadata(&path).map_err(|error| refused(error.to_string()))?.len();
    if length > FILE_BYTES_MAX {
        return Err(refused(format!("it is longer than {FILE_BYTES_MAX} bytes")).into());
    }
    Ok(fs::read_to_string(&path).map_err(|error| refused(error.to_string()))?)
}

fn path(name: &str, surroundings: &Surroundings) -> Option<PathBuf> {
    match name.strip_prefix("~/") {
        Some(rest) => Some(Path::new(surroundings.text("HOME")?).join(rest)),
        None => Some(PathBuf::from(name)).filter(|path| path.is_absolute()),
    }
}
