//! Plans: an editor shows the list in the agent's notes as its plan. Only lines with a box count, `- [ ]` and `- [x]`: they
//! say themselves what is done, and nothing is guessed.

use agent_client_protocol::v1::schema::{Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus};

/// Lines of a plan that are shown.
const ENTRIES_MAX: usize = 100;

/// The plan in notes; `None` if they have none.
pub fn of_notes(notes: &str) -> Option<Plan> {
    let entries: Vec<PlanEntry> = notes.lines().filter_map(entry).take(ENTRIES_MAX).collect();
    (!entries.is_empty()).then(|| Plan::new(entries))
}

fn entry(line: &str) -> Option<PlanEntry> {
    let item = line.trim_start();
    let numbered = item.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let behind = ["- ", "* ", "+ "].iter().find_map(|mark| item.strip_prefix(mark));
    let behind = behind.or_else(|| numbered.strip_prefix(". ").filter(|_| numbered.len() < item.len()))?;
    let (mark, words) = behind.trim_start().strip_prefix('[')?.split_once(']')?;
    let status = match mark {
        " " | "" => PlanEntryStatus::Pending,
        "x" | "X" => PlanEntryStatus::Completed,
        "~" | "-" | ">" | "/" => PlanEntryStatus::InProgress,
        _ => return None,
    };
    let words = words.trim();
    (!words.is_empty()).then(|| PlanEntry::new(words, PlanEntryPriority::Medium, status))
}

#[cfg(test)]
mod tests;
