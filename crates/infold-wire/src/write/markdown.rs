//! Writes a transcript as a Markdown document for people.

use std::fmt::Write;

use infold_core::transcript::{CallOutcome, HeldContent, Item, Kind, Transcript, Voice};

use super::{Losses, Written};

/// Writes a transcript as Markdown, with headings that say who speaks. It cannot be read back.
pub fn write_markdown(transcript: &Transcript) -> Written {
    let mut text = String::new();
    let mut losses = Losses::default();
    match &transcript.session {
        Some(session) => line(&mut text, &format!("# Session {session}")),
        None => line(&mut text, "# Session"),
    }
    let mut heading = "";
    for item in &transcript.items {
        if let Kind::Reasoning { sealed_bytes, text } = &item.kind
            && *sealed_bytes > 0
            && text.is_empty()
        {
            losses.add(item, "reasoning that is sealed");
            continue;
        }
        let next = heading_of(&item.kind);
        if next != heading {
            line(&mut text, &format!("\n## {next}"));
            heading = next;
        }
        body(&mut text, item);
    }
    for subtask in &transcript.subtasks {
        line(&mut text, &format!("\n## Subtask of call {}", subtask.call));
        for item in &subtask.items {
            line(&mut text, &format!("\n### {}", heading_of(&item.kind)));
            body(&mut text, item);
        }
    }
    Written { text, losses: losses.into_list() }
}

fn heading_of(kind: &Kind) -> &'static str {
    match kind {
        Kind::System { .. } => "Instructions",
        Kind::User { voice: Voice::Person, .. } => "User",
        Kind::User { voice: Voice::Client, .. } => "Client",
        Kind::Assistant { .. } | Kind::Reasoning { .. } | Kind::Call { .. } => "Model",
        Kind::Result { .. } => "Results",
        Kind::Compaction { .. } => "Compaction",
        Kind::Clearing { .. } => "Results cleared",
        Kind::Other { .. } => "Other content",
    }
}

fn body(text: &mut String, item: &Item) {
    match &item.kind {
        Kind::System { text: words } | Kind::User { text: words, voice: Voice::Client } => fenced(text, "", words),
        Kind::User { text: words, .. } | Kind::Assistant { text: words } => line(text, &format!("\n{words}")),
        Kind::Reasoning { text: words, .. } => line(text, &format!("\n> {}", words.replace('\n', "\n> "))),
        Kind::Call { id, tool, input } => {
            line(text, &format!("\nCall of `{tool}` ({id}):"));
            fenced(text, "json", input);
        }
        Kind::Result { id, tool, text: words, outcome, held } => {
            let went = match outcome {
                CallOutcome::Unsaid => "",
                CallOutcome::Succeeded => ", succeeded",
                CallOutcome::Failed => ", failed",
            };
            let cleared = if *held == HeldContent::Cleared { ", no longer shown to the model" } else { "" };
            line(text, &format!("\nResult of `{tool}` ({id}{went}{cleared}):"));
            fenced(text, "", words);
        }
        Kind::Compaction { summary, kept } => {
            let summary = summary.as_deref().unwrap_or("The summary is sealed by the provider.");
            line(text, &format!("\n{summary}"));
            if !kept.is_empty() {
                line(text, &format!("\n{} items from before were kept.", kept.len()));
            }
        }
        Kind::Clearing { calls } => line(text, &format!("\nCalls: {}", calls.join(", "))),
        Kind::Other { name, json } => {
            line(text, &format!("\nContent of the kind `{name}`:"));
            fenced(text, "json", json);
        }
    }
}

/// Writes text between fences that are longer than any in the text.
fn fenced(text: &mut String, language: &str, words: &str) {
    let longest = words.split(|char| char != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    line(text, &format!("\n{fence}{language}\n{words}\n{fence}"));
}

fn line(text: &mut String, words: &str) {
    // Writing into a string cannot fail.
    _ = writeln!(text, "{words}");
}

#[cfg(test)]
mod tests;
