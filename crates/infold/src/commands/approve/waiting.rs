//! A tool that waits for approval, for people: what is different in it, line by line.

use infold_core::gateway::{Definition, ToolHints, Withholding};
use infold_core::strip_hostile;
use infold_engine::WaitingTool;
use serde_json::{Value, json};

use super::place;
use crate::draw::{Style, Tone, one_line, wrapped};

/// Columns of the description's lines: short enough for a change to be seen in its line.
const TEXT_COLUMNS: usize = 90;

/// Lines without a change that are shown on either side of one.
const LINES_AROUND: usize = 3;

/// What is said where two definitions look the same.
const SAME: &str = "  the difference is only in what was taken out as a secret\n";

/// The tool in JSON.
pub fn as_json(waiting: &WaitingTool) -> Value {
    json!({
        "server": waiting.server.as_str(),
        "tool": waiting.tool,
        "reason": why(waiting).words(),
        "pinned": waiting.pinned.as_ref().map(Definition::as_json),
        "offered": waiting.offered.as_json(),
        "diff": diff(waiting),
    })
}

/// The tool as text: its name, why it waits, what is different, and what to run.
pub fn as_text(waiting: &WaitingTool, style: &Style) -> String {
    let name = one_line(&place(&waiting.server, &waiting.tool));
    let diff = diff(waiting);
    let lines = diff.lines().map(|line| {
        let tone = match line.chars().next() {
            Some('+') => Tone::Good,
            Some('-') => Tone::Bad,
            Some(_) | None => Tone::Faint,
        };
        style.tone(tone, &format!("  {line}")) + "\n"
    });
    let lines: String = if diff.is_empty() { SAME.to_owned() } else { lines.collect() };
    let head = style.tone(Tone::Strong, &name);
    format!("{head} {}\n{lines}to approve it: infold approve {name}\n", why(waiting).words())
}

fn why(waiting: &WaitingTool) -> Withholding {
    match waiting.pinned {
        Some(_) => Withholding::Changed,
        None => Withholding::New,
    }
}

/// The change in the form of a patch: lines that changed, with those around them.
fn diff(waiting: &WaitingTool) -> String {
    let before = waiting.pinned.as_ref().map(written).unwrap_or_default();
    let after = written(&waiting.offered);
    let diff = similar::TextDiff::from_lines(&before, &after);
    let part = |operations: &Vec<similar::DiffOp>| -> String {
        let changes = operations.iter().flat_map(|operation| diff.iter_changes(operation));
        changes.map(|change| format!("{}{}", change.tag(), change.value())).collect()
    };
    diff.grouped_ops(LINES_AROUND).iter().map(part).collect::<Vec<_>>().join(" ...\n")
}

/// A definition in lines, in which a change is easy to see. A stranger wrote it.
fn written(definition: &Definition) -> String {
    let mut lines = Vec::new();
    lines.extend(definition.title.iter().map(|title| format!("title: {}", one_line(title))));
    let paragraphs = definition.description.lines();
    lines.extend(paragraphs.flat_map(|paragraph| wrapped(paragraph, TEXT_COLUMNS)));
    lines.extend(schema("arguments", &definition.input));
    lines.extend(definition.output.iter().flat_map(|output| schema("results", output)));
    lines.extend(hints(definition.hints));
    let text: String = lines.into_iter().map(|line| line + "\n").collect();
    strip_hostile(&text)
}

fn schema(name: &str, schema: &Value) -> Vec<String> {
    // The alternate form is JSON with one field in a line.
    format!("{name}: {schema:#}").lines().map(str::to_owned).collect()
}

fn hints(hints: ToolHints) -> impl Iterator<Item = String> {
    let hints = [
        ("only reads", hints.read_only),
        ("may destroy", hints.destructive),
        ("may be repeated", hints.idempotent),
        ("reaches the outside world", hints.open_world),
    ];
    let word = |is_so: bool| if is_so { "yes" } else { "no" };
    hints.into_iter().filter_map(move |(name, is_so)| Some(format!("{name}: {}", word(is_so?))))
}
