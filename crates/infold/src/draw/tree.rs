//! A session's branches, drawn as a tree.
//!
//! Each branch has its symbol and description; below that are its state, tokens, time and why it
//! ended, and the beginning of its message. Symbols and words say everything that colour says.

use std::collections::{BTreeMap, BTreeSet};

use super::style::{Style, Tone, columns};
use super::view::{BranchView, HeadView, MainView, Mark, SessionView};
use super::words::{ago, duration, fitted, one_line, packed, thousands};

const BAR_CELLS: u64 = 10;
/// Characters of an id that are shown: enough to distinguish the branches of a session.
const ID_CHARS: usize = 11;
/// Fewest columns for a branch's description; if there are fewer, its id is left out.
const DESCRIPTION_COLUMNS_MIN: usize = 12;

/// Draws a session: its head, its branches as a tree, and the totals.
pub fn draw(session: &SessionView, now_ms: u64, style: &Style) -> String {
    let mut lines = head_lines(&session.head, now_ms, style);
    let pen = Pen { children: by_parent(&session.branches), now_ms, style };
    pen.children(None, "", &mut lines);
    lines.push(String::new());
    lines.extend(totals(session, style));
    lines.join("\n") + "\n"
}

/// Draws a session's head alone, for a session whose branches are not known.
pub fn head(session: &HeadView, now_ms: u64, style: &Style) -> String {
    head_lines(session, now_ms, style).join("\n") + "\n"
}

fn head_lines(session: &HeadView, now_ms: u64, style: &Style) -> Vec<String> {
    let dot = style.either(" · ", ", ");
    let mut about = vec![session.state.clone()];
    about.extend(session.agent.as_deref().map(one_line));
    about.extend(session.folder.as_deref().map(one_line));
    about.extend(session.project.as_ref().map(|project| format!("project {project}")));
    about.extend(session.forked_from.as_ref().map(|parent| format!("forked from {parent}")));
    about.push(format!("last activity {}", ago(now_ms, session.active_at_ms)));
    let name = style.tone(Tone::Strong, &session.id);
    let mut lines = if columns(&session.id) + 2 + columns(&about.join(dot)) <= style.width {
        vec![format!("{name}  {}", style.tone(Tone::Faint, &about.join(dot)))]
    } else {
        // An id is there to be copied, so it gets a line of its own rather than being cut.
        let about = packed(&about, dot, style.width - 2).into_iter();
        std::iter::once(name).chain(about.map(|line| style.tone(Tone::Faint, &format!("  {line}")))).collect()
    };
    lines.extend(session.first_words.as_deref().map(|words| {
        let quoted = fitted(&one_line(words), style.width.saturating_sub(2), style);
        style.tone(Tone::Faint, &format!("\"{quoted}\""))
    }));
    lines.extend(session.main.iter().flat_map(|main| main_lines(main, dot, style)));
    lines
}

/// How full the main thread is: a bar, the figures, and after or below them the notes in `about`.
fn main_lines(main: &MainView, dot: &str, style: &Style) -> Vec<String> {
    const LEAD: &str = "main  ";
    let (used, limit) = (main.used_tokens, main.limit_tokens);
    let bar = style.bar(used, limit, BAR_CELLS);
    let mut parts = vec![format!("{bar} {} of {} tokens", thousands(used), thousands(limit))];
    parts.extend(main.about.iter().map(|about| one_line(about)));
    let lines = packed(&parts, dot, style.width.saturating_sub(columns(LEAD)));
    let leads = std::iter::once(LEAD).chain(std::iter::repeat("      "));
    let painted = style.tone(fullness(used, limit, 50, 70), &bar);
    leads.zip(lines).map(|(lead, line)| format!("{lead}{}", line.replacen(&bar, &painted, 1))).collect()
}

fn fullness(part: u64, whole: u64, warn_percent: u64, bad_percent: u64) -> Tone {
    let percent = percent(part, whole);
    if percent >= bad_percent {
        Tone::Bad
    } else if percent >= warn_percent {
        Tone::Warn
    } else {
        Tone::Good
    }
}

fn percent(part: u64, whole: u64) -> u64 {
    part.saturating_mul(100).checked_div(whole).unwrap_or(0)
}

fn totals(session: &SessionView, style: &Style) -> Vec<String> {
    let count = |marks: &[Mark]| session.branches.iter().filter(|branch| marks.contains(&branch.mark)).count();
    let all = session.branches.len();
    let mut parts = vec![format!("{all} {}", if all == 1 { "branch" } else { "branches" })];
    let kinds = [
        (count(&[Mark::Created, Mark::Active]), "open"),
        (count(&[Mark::Completed]), "folded"),
        (count(&[Mark::Timeout]), "timed out"),
        (count(&[Mark::Failed]), "failed"),
        (count(&[Mark::Discarded]), "discarded"),
    ];
    parts.extend(kinds.into_iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")));
    let dot = style.either(" · ", ", ");
    if session.folded_tokens > 0 {
        let (folded, returned) = (thousands(session.folded_tokens), thousands(session.returned_tokens));
        parts.push(format!("{folded} tokens of work folded into {returned}"));
    }
    packed(&parts, dot, style.width)
}

/// The branches below each branch. One whose parent is not among them is drawn below the main
/// thread, so that none is left out.
fn by_parent(branches: &[BranchView]) -> BTreeMap<Option<&str>, Vec<&BranchView>> {
    let ids: BTreeSet<&str> = branches.iter().map(|branch| branch.id.as_str()).collect();
    let mut children = BTreeMap::<_, Vec<_>>::new();
    for branch in branches {
        let parent = branch.parent.as_deref().filter(|parent| ids.contains(parent));
        children.entry(parent).or_default().push(branch);
    }
    children
}

/// Draws branches. It holds what is needed for every one of them.
struct Pen<'a> {
    children: BTreeMap<Option<&'a str>, Vec<&'a BranchView>>,
    now_ms: u64,
    style: &'a Style,
}

impl Pen<'_> {
    fn children(&self, parent: Option<&str>, indent: &str, lines: &mut Vec<String>) {
        let Some(children) = self.children.get(&parent) else { return };
        let style = self.style;
        for (at, branch) in children.iter().enumerate() {
            let is_last = at + 1 == children.len();
            let (elbow, below) = if is_last {
                (style.either("└─ ", "`- "), "   ")
            } else {
                (style.either("├─ ", "|- "), style.either("│  ", "|  "))
            };
            let below = format!("{indent}{below}");
            let has_children = self.children.contains_key(&Some(branch.id.as_str()));
            let rail = if has_children { style.either("│  ", "|  ") } else { "   " };

            lines.push(self.title(branch, &format!("{indent}{elbow}")));
            let lead = columns(&below) + columns(rail);
            let rails = self.faint_lines(&below, rail);
            lines.extend(self.facts(branch, lead).into_iter().map(|facts| format!("{rails}{facts}")));
            lines.extend(self.message(branch, &below, rail));
            self.children(Some(&branch.id), &below, lines);
        }
    }

    fn faint_lines(&self, below: &str, rail: &str) -> String {
        self.style.tone(Tone::Faint, &format!("{below}{rail}"))
    }

    fn title(&self, branch: &BranchView, lead: &str) -> String {
        let style = self.style;
        let id: String = branch.id.chars().take(ID_CHARS).collect();
        let room = style.width.saturating_sub(columns(lead) + 2);
        let beside_id = room.saturating_sub(2 + columns(&id));
        let lead = style.tone(Tone::Faint, lead);
        let mark = style.tone(branch.mark.tone(), branch.mark.symbol(style));
        let description = one_line(&branch.description);
        if beside_id < DESCRIPTION_COLUMNS_MIN {
            return format!("{lead}{mark} {}", fitted(&description, room.max(DESCRIPTION_COLUMNS_MIN), style));
        }
        format!("{lead}{mark} {}  {}", fitted(&description, beside_id, style), style.tone(Tone::Faint, &id))
    }

    /// State, tokens, time and reason. If that is too wide, the bar is left out, because it repeats the figures. What
    /// is still too wide takes several lines.
    fn facts(&self, branch: &BranchView, lead: usize) -> Vec<String> {
        let style = self.style;
        let (used, budget) = (branch.used_tokens, branch.budget_tokens);
        let figures = format!("{}/{}", thousands(used), thousands(budget));
        let bar = style.bar(used, budget, BAR_CELLS);
        let word = branch.mark.word();
        let mut parts = vec![word.to_owned(), format!("{bar} {figures}")];
        parts.extend(self.time(branch));
        if branch.memories > 0 {
            parts.push(format!("{} {}", branch.memories, if branch.memories == 1 { "memory" } else { "memories" }));
        }
        if branch.generation > 1 {
            parts.push(format!("opened {} times", branch.generation));
        }
        parts.extend(branch.reason.clone());

        let dot = style.either(" · ", ", ");
        let room = style.width.saturating_sub(lead).max(DESCRIPTION_COLUMNS_MIN);
        if columns(&parts.join(dot)) > room {
            parts[1] = figures;
        }
        let mut lines = packed(&parts, dot, room);
        if let Some(first) = lines.first_mut() {
            let painted = style.tone(fullness(used, budget, 80, 100), &bar);
            *first = first.replacen(&bar, &painted, 1).replacen(word, &style.tone(branch.mark.tone(), word), 1);
        }
        lines
    }

    fn time(&self, branch: &BranchView) -> Vec<String> {
        match branch.ended_at_ms {
            Some(ended_at_ms) => vec![duration(ended_at_ms.saturating_sub(branch.opened_at_ms))],
            None => vec![
                duration(self.now_ms.saturating_sub(branch.opened_at_ms)),
                format!("{} left", duration(branch.deadline_ms.saturating_sub(self.now_ms))),
            ],
        }
    }

    fn message(&self, branch: &BranchView, below: &str, rail: &str) -> Option<String> {
        let message = one_line(branch.message.as_deref()?);
        if message.is_empty() {
            return None;
        }
        let arrow = self.style.either("→ ", "> ");
        let lead = columns(below) + columns(rail) + columns(arrow);
        let room = self.style.width.saturating_sub(lead).max(DESCRIPTION_COLUMNS_MIN);
        let text = fitted(&message, room, self.style);
        Some(format!("{}{arrow}{text}", self.faint_lines(below, rail)))
    }
}

#[cfg(test)]
mod tests;
