//! `infold memory silence` and `infold memory projects`.

use infold_engine::{ProjectRow, Silence};
use serde_json::json;

use super::{Memories, named_project};
use crate::commands::Invocation;
use crate::draw::{Align, Column, Table, Tone, one_line, thousands};
use crate::failure::tell;
use crate::output::Form;

/// Arguments of `memory silence`.
#[derive(Debug, clap::Args)]
pub struct SilenceArgs {
    /// What to leave alone: session:NAME or project:PROJECT
    scope: String,
    /// No longer leave it alone
    #[arg(long)]
    off: bool,
}

/// Arguments of `memory projects`.
#[derive(Debug, clap::Args)]
pub struct ProjectsArgs {
    /// Make one project of two: the memories of the first move to the second
    #[arg(long, num_args = 2, value_names = ["FROM", "INTO"])]
    join: Option<Vec<String>>,
}

/// Leaves a session or a project alone, or no longer.
pub fn silence(args: &SilenceArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let memories = Memories::open(invocation)?;
    let scope = match args.scope.strip_prefix("project:") {
        Some(project) => format!("project:{}", named_project(project, invocation)),
        None => args.scope.clone(),
    };
    let silence = if args.off { Silence::Off } else { Silence::On };
    let scope = memories.ask(memories.engine.silence(&memories.who, &scope, silence))?;
    let output = &invocation.output;
    match (output.form, silence) {
        (Form::Json, silence) => output.json(&json!({ "scope": scope.to_string(), "silent": silence == Silence::On })),
        (Form::Text, Silence::On) => {
            Ok(output.text(&format!("{scope}: nothing is learnt there, and nothing is shown\n"))?)
        }
        (Form::Text, Silence::Off) => Ok(output.text(&format!("{scope}: as the settings say\n"))?),
    }
}

/// Lists projects, or makes one of two.
pub fn projects(args: &ProjectsArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let memories = Memories::open(invocation)?;
    if let Some([from, into]) = args.join.as_deref() {
        let (from, into) = (named_project(from, invocation), named_project(into, invocation));
        let moved = memories.ask(memories.engine.join_projects(&memories.who, &from, &into))?;
        return match invocation.output.form {
            Form::Json => invocation.output.json(&json!({ "moved": moved })),
            Form::Text => Ok(invocation.output.text(&format!("{} memories were moved\n", thousands(moved)))?),
        };
    }
    let projects = memories.ask(memories.engine.memory_projects(&memories.who))?;
    let silenced = memories.ask(memories.engine.silenced(&memories.who))?;
    let output = &invocation.output;
    if output.form == Form::Json {
        return output.json(&infold_control::memory_projects_json(&projects, &silenced));
    }
    if projects.is_empty() {
        tell("note", "no project has memories yet");
    }
    let column = |heading, align| Column { heading, align };
    let mut table = Table::new(vec![
        column("PROJECT", Align::Left),
        column("LIVE", Align::Right),
        column("WAITING", Align::Right),
        column("NAME", Align::Left),
    ]);
    for project in &projects {
        let label = project.label.as_ref().map_or_else(|| "-".to_owned(), |label| one_line(label.as_str()));
        let label = if project.is_silenced { format!("{label} (left alone)") } else { label };
        table.row(vec![
            (Tone::Strong, project.project.as_str().to_owned()),
            (Tone::Plain, thousands(project.live)),
            (if project.waiting > 0 { Tone::Warn } else { Tone::Plain }, thousands(project.waiting)),
            (Tone::Faint, label),
        ]);
    }
    let mut text = if projects.is_empty() { String::new() } else { table.draw(&output.style) };
    silenced.iter().for_each(|scope| text.push_str(&format!("left alone: {scope}\n")));
    clones(&projects).iter().for_each(|(from, into)| {
        text.push_str(&format!("same origin: {from} and {into}; --join {from} {into} makes one project of them\n"));
    });
    Ok(output.text(&text)?)
}

/// Pairs of projects that say that they have the same origin, the one with fewer memories first.
fn clones(projects: &[ProjectRow]) -> Vec<(&str, &str)> {
    let mut pairs = Vec::new();
    for (at, project) in projects.iter().enumerate() {
        for other in projects[at + 1..].iter().filter(|other| project.clones.contains(&other.project)) {
            let (one, other) = if project.live < other.live { (project, other) } else { (other, project) };
            pairs.push((one.project.as_str(), other.project.as_str()));
        }
    }
    pairs
}
