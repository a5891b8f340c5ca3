//! What a session was given of memories and what was learnt from it, in a few lines.

use super::style::{Style, Tone, columns};
use super::view::{MemoriesView, MemoryView};
use super::words::{fitted, one_line, packed, thousands};

/// Memories that are listed of those that were given, and of those that were learnt.
const LISTED_MAX: usize = 10;
/// Fewest columns for a title.
const TITLE_COLUMNS_MIN: usize = 12;

/// Draws a line of figures and the memories below it; empty if there is nothing.
pub fn memories(view: &MemoriesView, style: &Style) -> String {
    let count = |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let learnt = view.learnt_memories.len();
    let mut parts = Vec::new();
    if view.given > 0 {
        let given = count(view.given, "memory", "memories");
        let branches = count(view.branches, "branch", "branches");
        parts.push(format!("{given} given to {branches}, {} tokens", thousands(view.tokens)));
    }
    parts.extend((learnt > 0).then(|| format!("{} learnt", count(learnt, "lesson", "lessons"))));
    if view.waiting > 0 {
        let wait = if view.waiting == 1 { "waits" } else { "wait" };
        parts.push(format!("{} {wait} for you: `infold memory review`", view.waiting));
    }
    let mut lines = packed(&parts, style.either(" · ", ", "), style.width);
    lines.extend(listed("given", &view.given_memories, style));
    lines.extend(listed("learnt", &view.learnt_memories, style));
    lines.into_iter().map(|line| line + "\n").collect()
}

fn listed(word: &str, memories: &[MemoryView], style: &Style) -> Vec<String> {
    let lead = format!("  {word:<6}  ");
    let mut lines: Vec<String> = memories.iter().take(LISTED_MAX).map(|memory| line(&lead, memory, style)).collect();
    if memories.len() > LISTED_MAX {
        let more = format!("{lead}{} more", memories.len() - LISTED_MAX);
        lines.push(style.tone(Tone::Faint, &more));
    }
    lines
}

fn line(lead: &str, memory: &MemoryView, style: &Style) -> String {
    let about = match memory.about.is_empty() {
        true => String::new(),
        false => format!("  ({})", memory.about.join(", ")),
    };
    let room = style.width.saturating_sub(columns(lead) + columns(&memory.id) + 2 + columns(&about));
    let title = memory.title.as_deref().map_or_else(|| "forgotten since".to_owned(), one_line);
    let title = fitted(&title, room.max(TITLE_COLUMNS_MIN), style);
    let (lead, about) = (style.tone(Tone::Faint, lead), style.tone(Tone::Faint, &about));
    format!("{lead}{}  {title}{about}", memory.id)
}
