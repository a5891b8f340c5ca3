//! `infold settings`: lists the settings in force, and where each value came from.

use std::fmt::Write;

use serde_json::{Value, json};

use super::Invocation;
use crate::cli::SettingsArgs;
use crate::draw::{Align, Column, Table, Tone};
use crate::output::Form;
use crate::settings::{DEFAULT_TOML, Entry, LookedAt, Origin};

/// Prints the settings in force, or the commented defaults.
pub fn run(args: &SettingsArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let output = &invocation.output;
    if args.default {
        return Ok(output.text(DEFAULT_TOML)?);
    }
    match output.form {
        Form::Text => Ok(output.text(&text(invocation))?),
        Form::Json => output.json(&as_json(invocation)),
    }
}

/// The entries. That of the data folder shows the path that is really used, even if the setting is empty.
fn entries(invocation: &Invocation) -> Vec<Entry> {
    let mut entries = invocation.in_force.entries.clone();
    if let (Some(entry), Some(folder)) = (entries.first_mut(), invocation.in_force.data_folder()) {
        debug_assert_eq!(entry.key, "data");
        entry.value = folder.display().to_string().into();
    }
    entries
}

fn text(invocation: &Invocation) -> String {
    let heading = |heading, align| Column { heading, align };
    let mut table =
        Table::new(vec![heading("KEY", Align::Left), heading("VALUE", Align::Left), heading("FROM", Align::Left)]);
    for entry in entries(invocation) {
        let tone = if entry.origin == Origin::Default { Tone::Faint } else { Tone::Strong };
        table.row(vec![(Tone::Plain, entry.key.clone()), (tone, entry.shown()), (tone, entry.origin.to_string())]);
    }
    let mut text = table.draw(&invocation.output.style);
    text.push('\n');
    for file in &invocation.in_force.files {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{}: {}", file.layer, file_status(file));
    }
    text
}

fn file_status(file: &LookedAt) -> String {
    match (&file.path, file.is_read()) {
        (Some(path), true) => path.display().to_string(),
        (Some(path), false) => format!("{} (does not exist)", path.display()),
        (None, _) => "none".to_owned(),
    }
}

fn as_json(invocation: &Invocation) -> Value {
    let settings: Vec<Value> = entries(invocation)
        .iter()
        .map(|entry| {
            json!({
                "key": entry.key,
                "value": entry.shown_json(),
                "layer": entry.origin.layer(),
                "from": entry.origin.to_string(),
            })
        })
        .collect();
    let files: Vec<Value> = invocation
        .in_force
        .files
        .iter()
        .map(|file| json!({"layer": file.layer, "path": file.path, "read": file.is_read()}))
        .collect();
    json!({"settings": settings, "files": files})
}
