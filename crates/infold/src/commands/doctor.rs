//! `infold doctor`: whether infold can work here, and what to do where it cannot.
//!
//! It only looks: files that infold creates on first use are not created here.

mod agents;
mod checks;
mod database;
mod shared;

use serde_json::{Value, json};

use crate::draw::{Style, Tone};
use crate::failure::ChecksFailed;
use crate::output::{Form, Output};
use crate::settings::{self, FlagValues, InForce, Surroundings};

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// The check passed; the text says what was found.
    Good(String),
    /// Nothing is wrong, but the text is worth knowing.
    Note(String),
    /// The check failed.
    Bad {
        what: String,
        /// What the user can do about it.
        hint: String,
    },
}

impl Finding {
    pub fn bad(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Bad { what: what.into(), hint: hint.into() }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Good(_) => "ok",
            Self::Note(_) => "note",
            Self::Bad { .. } => "failed",
        }
    }
}

/// One check and its outcome.
#[derive(Debug, Clone)]
pub struct Check {
    /// What was checked, as it is printed.
    pub name: &'static str,
    pub finding: Finding,
}

/// Runs all checks and prints their outcomes. The command fails if a check did.
pub fn run(surroundings: &Surroundings, flags: FlagValues, output: &Output) -> anyhow::Result<()> {
    let checks = look(surroundings, flags)?;
    match output.form {
        Form::Text => output.text(&text(&checks, &output.style))?,
        Form::Json => output.json(&as_json(&checks))?,
    }
    if all_well(&checks) { Ok(()) } else { Err(ChecksFailed.into()) }
}

fn all_well(checks: &[Check]) -> bool {
    !checks.iter().any(|check| matches!(check.finding, Finding::Bad { .. }))
}

fn look(surroundings: &Surroundings, flags: FlagValues) -> anyhow::Result<Vec<Check>> {
    let in_force = match settings::gather(surroundings, flags).and_then(settings::resolve) {
        Ok(in_force) => in_force,
        Err(problems) => {
            let bad = |problem: &settings::Problem| {
                let hint = problem.hint.clone().unwrap_or_else(|| "see `infold settings --default`".to_owned());
                Check { name: "settings", finding: Finding::bad(problem.message.clone(), hint) }
            };
            return Ok(problems.iter().map(bad).collect());
        }
    };
    let mut checks = vec![Check { name: "settings", finding: checks::settings(&in_force) }];
    checks.extend(look_with(&in_force, surroundings)?);
    Ok(checks)
}

fn look_with(in_force: &InForce, surroundings: &Surroundings) -> anyhow::Result<Vec<Check>> {
    let settings = &in_force.settings;
    let Some(folder) = in_force.data_folder() else {
        let finding = Finding::bad("HOME is not set", "set --data DIR or INFOLD_DATA");
        return Ok(vec![Check { name: "data folder", finding }]);
    };
    let mut checks = vec![
        Check { name: "data folder", finding: checks::data_folder(&folder, in_force.usual_data_folder()) },
        Check { name: "free space", finding: checks::free_space(&folder) },
        Check { name: "token", finding: checks::token(&folder) },
        Check { name: "key", finding: checks::key(&folder) },
    ];
    checks.extend(database::look(&folder, settings)?);
    checks.extend(shared::look(&folder, settings).map(|finding| Check { name: "cluster", finding }));
    checks.extend([
        Check { name: "scrubber", finding: checks::scrubber(&settings.scrub, surroundings) },
        Check { name: "local callers", finding: checks::callers_user() },
        Check { name: "daemon", finding: checks::daemon(settings) },
    ]);
    let models = checks::memory_models(settings, surroundings);
    checks.extend(models.map(|finding| Check { name: "memory models", finding }));
    checks.extend(agents::look(&folder, surroundings));
    Ok(checks)
}

fn text(checks: &[Check], style: &Style) -> String {
    let name_width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for check in checks {
        let (tone, symbol) = match check.finding {
            Finding::Good(_) => (Tone::Good, style.either("✓", "ok")),
            Finding::Note(_) => (Tone::Warn, style.either("•", "--")),
            Finding::Bad { .. } => (Tone::Bad, style.either("✗", "!!")),
        };
        let symbol = style.tone(tone, symbol);
        let name = check.name;
        match &check.finding {
            Finding::Good(what) | Finding::Note(what) => {
                text.push_str(&format!("{symbol} {name:name_width$}  {what}\n"));
            }
            Finding::Bad { what, hint } => {
                let indent = " ".repeat(style.either(" ", "  ").len() + 1 + name_width + 2);
                text.push_str(&format!("{symbol} {name:name_width$}  {what}\n{indent}hint: {hint}\n"));
            }
        }
    }
    text
}

fn as_json(checks: &[Check]) -> Value {
    let each = checks.iter().map(|check| {
        let (detail, hint) = match &check.finding {
            Finding::Good(what) | Finding::Note(what) => (what, None),
            Finding::Bad { what, hint } => (what, Some(hint)),
        };
        json!({"name": check.name, "status": check.finding.word(), "detail": detail, "hint": hint})
    });
    json!({"ok": all_well(checks), "checks": each.collect::<Vec<Value>>()})
}

#[cfg(test)]
mod tests;
