//! Draws which lessons recorded work would have been given.

use std::fmt::Write as _;

use super::{MemoryReplay, PlayedWork, ReplayTotals};
use crate::draw::{Style, Tone, fitted, one_line, thousands};

/// Pieces of work that are drawn; the JSON has all of them.
const WORKS_MAX: usize = 40;
/// Fewest columns for a title.
const TITLE_COLUMNS_MIN: usize = 20;

/// Draws the work that would have been given lessons, session by session, and the totals.
pub fn draw(replay: &MemoryReplay, style: &Style) -> String {
    let mut text = String::new();
    let helped: Vec<&PlayedWork> = replay.works.iter().filter(|work| !work.given.is_empty()).collect();
    let mut session = "";
    for work in helped.iter().take(WORKS_MAX) {
        if work.session != session {
            session = &work.session;
            // Writing into a string cannot fail.
            let _ = writeln!(text, "{}", style.tone(Tone::Strong, session));
        }
        let room = style.width.saturating_sub(2).max(TITLE_COLUMNS_MIN);
        let _ = writeln!(text, "  {}", fitted(&one_line(&work.description), room, style));
        for given in &work.given {
            let (tone, mark) = match (given.shared_files.is_empty(), work.files == 0 || !given.has_files) {
                (false, _) => (Tone::Good, used_mark(style)),
                (true, true) => (Tone::Faint, "?"),
                (true, false) => (Tone::Warn, other_mark(style)),
            };
            let room = style.width.saturating_sub(6).max(TITLE_COLUMNS_MIN);
            let _ = writeln!(text, "    {} {}", style.tone(tone, mark), fitted(&one_line(&given.title), room, style));
        }
    }
    if helped.len() > WORKS_MAX {
        let _ = writeln!(text, "and {} more: --json shows all", helped.len() - WORKS_MAX);
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&totals(replay, style));
    text
}

/// The mark of a lesson that has a file which the work went on to use.
fn used_mark(style: &Style) -> &'static str {
    style.either("✓", "+")
}

/// The mark of a lesson that has only other files.
fn other_mark(style: &Style) -> &'static str {
    style.either("–", "-")
}

fn totals(replay: &MemoryReplay, style: &Style) -> String {
    let (used, other) = (used_mark(style), other_mark(style));
    let ReplayTotals { sessions, without_folder, works, lessons, helped, given, related, apart, unjudged, tokens } =
        replay.totals;
    let mut text = format!(
        "{} of {}; {} learnt\n",
        counted(works, "piece of work", "pieces of work"),
        counted(sessions, "session", "sessions"),
        counted(lessons, "lesson", "lessons"),
    );
    if without_folder > 0 {
        let sessions = counted(without_folder, "session names", "sessions name");
        let _ = writeln!(text, "{sessions} no folder: what they teach is taken for one project's");
    }
    if given == 0 {
        text.push_str("nothing that was learnt had to do with what came later\n");
        return text;
    }
    let each = tokens / helped.max(1) as u64;
    let _ = write!(
        text,
        "{} would have been given lessons: {} in all, {} tokens each time\n\
         {used} with a file that the work went on to use: {related}; {other} with other files only: {apart}; ? without files to \
         compare: {unjudged}\n",
        counted(helped, "piece", "pieces"),
        thousands(given as u64),
        thousands(each),
    );
    text
}

fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{} {}", thousands(count as u64), if count == 1 { one } else { several })
}
