//! `infold rules`: lists what counts as a secret, and explains what became of a text.
//!
//! An explanation has places, rules and reasons, and never the text itself.

use std::path::PathBuf;
use std::sync::Arc;

use infold_core::{ExplainedMatch, MatchVerdict, RuleSet, ScrubError, Scrubber};
use serde_json::{Value, json};

use super::Invocation;
use super::places::Places;
use super::scrub::reading;
use crate::draw::{Align, Column, Table, Tone, thousands};
use crate::failure::{Refused, tell};
use crate::help;
use crate::output::Form;
use crate::scrub_rules;
use crate::telemetry;

/// Arguments of `rules`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "Without a command all rules are listed. Rules come from the setting scrub.rules: those that are built in, and \
         files of your own in gitleaks' form or in infold's. A rule of infold's form has an id, a description, keywords, \
         and one of `token` (a pattern that begins with a keyword), `word` (the same as a word of its own), `names` with \
         `value` (what is assigned to a name), `near` with `value`, or `regex`; `entropy`, `look` and `allow` narrow it.",
        "What is explained is what `infold scrub` does: a match that one rule leaves may be taken by another.",
    ],
    &[
        ("infold rules", "list all rules"),
        ("infold rules explain < build.log", "what was taken for a secret, and what was not"),
        ("infold rules test github-pat notes.txt", "what one rule makes of a file"),
        ("infold --set 'scrub.rules=[\"built-in\",\"/home/me/rules.toml\"]' rules test my-rule notes.txt", ""),
    ],
))]
pub struct RulesArgs {
    #[command(subcommand)]
    command: Option<RulesCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum RulesCommand {
    /// List all rules
    List,
    /// Say what one rule makes of a text
    Test {
        /// The rule's id
        #[arg(value_name = "RULE")]
        rule: String,
        /// A file; without one, standard input
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Say what is taken out of a text, and why other things are not
    Explain {
        /// A file; without one, standard input
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

/// Lists or explains.
pub fn run(args: &RulesArgs, invocation: &Invocation) -> anyhow::Result<()> {
    telemetry::log_only(&invocation.logging());
    let settings = &invocation.in_force.settings.scrub;
    let own = scrub_rules::load(settings, &invocation.surroundings)?;
    let rules = own.or_else(RuleSet::built_in).ok_or(ScrubError::Missing)?;
    match &args.command {
        None | Some(RulesCommand::List) => list(&rules, invocation),
        Some(RulesCommand::Test { rule, file }) => {
            if !rules.names().any(|(id, _)| id == rule) {
                return Err(Refused::new(format!("there is no rule {rule:?}"))
                    .hint("`infold rules` lists them")
                    .into());
            }
            let text = reading::text_to_search(file.as_deref(), settings.max_bytes)?;
            explain(&text, Some(rule), rules, invocation)
        }
        Some(RulesCommand::Explain { file }) => {
            let text = reading::text_to_search(file.as_deref(), settings.max_bytes)?;
            explain(&text, None, rules, invocation)
        }
    }
}

fn list(rules: &RuleSet, invocation: &Invocation) -> anyhow::Result<()> {
    let output = &invocation.output;
    match output.form {
        Form::Json => {
            let rules: Vec<Value> =
                rules.names().map(|(id, description)| json!({"id": id, "description": description})).collect();
            output.json(&json!({ "rules": rules }))
        }
        Form::Text => {
            let heading = |heading| Column { heading, align: Align::Left };
            let mut table = Table::new(vec![heading("RULE"), heading("WHAT IT FINDS")]);
            for (id, description) in rules.names() {
                table.row(vec![(Tone::Plain, id.to_owned()), (Tone::Plain, description.to_owned())]);
            }
            Ok(output.text(&table.draw(&output.style))?)
        }
    }
}

/// Prints what became of everything that a rule's pattern matched.
fn explain(text: &str, only: Option<&str>, rules: Arc<RuleSet>, invocation: &Invocation) -> anyhow::Result<()> {
    let bytes_max = invocation.in_force.settings.scrub.max_bytes;
    let scrubber = Scrubber::new([0; 32]).with_max_bytes(bytes_max).with_rules(rules);
    let mut explained = scrubber.explain(text)?;
    explained.retain(|one| only.is_none_or(|rule| one.mask.rule == rule));
    let mut places = Places::new(text);
    let output = &invocation.output;
    match output.form {
        Form::Json => {
            let found: Vec<Value> = explained.iter().map(|one| as_json(one, &mut places)).collect();
            output.json(&json!({ "matches": found }))
        }
        Form::Text if explained.is_empty() => {
            tell("note", "no rule's pattern matches anything in this text");
            Ok(())
        }
        Form::Text => {
            let heading = |heading, align| Column { heading, align };
            let mut table = Table::new(vec![
                heading("PLACE", Align::Left),
                heading("BYTES", Align::Right),
                heading("RULE", Align::Left),
                heading("VERDICT", Align::Left),
            ]);
            for one in &explained {
                let (line, column) = places.of(one.mask.span.start);
                table.row(vec![
                    (Tone::Plain, format!("{line}:{column}")),
                    (Tone::Plain, thousands(one.mask.span.len() as u64)),
                    (Tone::Plain, one.mask.rule.clone()),
                    (Tone::Plain, outcome(one)),
                ]);
            }
            Ok(output.text(&table.draw(&output.style))?)
        }
    }
}

fn as_json(explained: &ExplainedMatch, places: &mut Places<'_>) -> Value {
    let (line, column) = places.of(explained.mask.span.start);
    json!({
        "line": line,
        "column": column,
        "bytes": explained.mask.span.len(),
        "rule": explained.mask.rule,
        "taken": explained.taken_as.is_some(),
        "taken_as": explained.taken_as,
        "reason": outcome(explained),
    })
}

/// What scrubbing does with a match, and why.
fn outcome(explained: &ExplainedMatch) -> String {
    match (why_left(explained.verdict), &explained.taken_as) {
        (None, _) => "taken: it is a secret".to_owned(),
        (Some(why), None) => format!("left: {why}"),
        (Some(why), Some(rule)) => format!("taken as {rule}; this rule alone leaves it: {why}"),
    }
}

/// Why a rule leaves what its pattern matched, if it does.
fn why_left(verdict: MatchVerdict) -> Option<String> {
    let why = match verdict {
        MatchVerdict::Taken => return None,
        MatchVerdict::LittleEntropy { bits } => {
            return Some(format!("{bits:.1} bits of entropy for each byte are too few for this rule"));
        }
        MatchVerdict::Example => "it is an example or a mask",
        MatchVerdict::OtherLook => "it looks like a word, a name, a path or code",
        MatchVerdict::Allowed => "an allow list has it",
        MatchVerdict::PartOfWord => "it is part of a longer word",
        MatchVerdict::OpenName => "its name says that it is no secret",
    };
    Some(why.to_owned())
}
