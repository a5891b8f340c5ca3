//! A session's branches, drawn as a tree.
//!
//! Each branch has its symbol and what it is for; below that its state, tokens, time and why it
//! ended; and the head of what it handed back. Symbols and words say everything that colour says.

use std::collections::{BTreeMap, BTreeSet};

use super::style::{Style, Tone, columns};
use super::view::{BranchView, Mark, SessionView};
use super::words::{ago, duration, fitted, one_line, thousands};

const BAR_CELLS: u64 = 10;
/// Columns of an id that are shown: enough to tell the branches of a session apart.
const ID_CHARS: usize = 11;

/// The session as text.
pub fn draw(session: &SessionView, now_ms: u64, style: &Style) -> String {
    let mut lines = head(session, now_ms, style);
    let pen = Pen { children: by_parent(&session.branches), now_ms, style };
    pen.children(None, "", &mut lines);
    lines.push(String::new());
    lines.push(totals(session, style));
    lines.join("\n") + "\n"
}

fn head(session: &SessionView, now_ms: u64, style: &Style) -> Vec<String> {
    let dot = style.either(" · ", ", ");
    let mut about = vec![session.state.clone()];
    about.extend(session.project.as_ref().map(|project| format!("project {project}")));
    about.extend(session.forked_from.as_ref().map(|parent| format!("forked from {parent}")));
    about.push(format!("last activity {}", ago(now_ms, session.active_at_ms)));
    let title = format!("{}  {}", style.tone(Tone::Strong, &session.id), style.tone(Tone::Faint, &about.join(dot)));
    let (used, limit) = (session.main_tokens, session.limit_tokens);
    let main = format!(
        "main  {} {} of {} tokens{dot}{}",
        style.tone(fullness(used, limit, 50, 70), &style.bar(used, limit, BAR_CELLS)),
        thousands(used),
        thousands(limit),
        session.health,
    );
    vec![title, main]
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

fn totals(session: &SessionView, style: &Style) -> String {
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
    let (folded, saved) = (thousands(session.folded_tokens), thousands(session.saved_tokens));
    format!("{}\n{folded} tokens folded away{dot}{saved} saved", parts.join(dot))
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

/// What drawing a branch needs to know besides the branch.
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
            lines.push(format!("{}{}", self.faint_lines(&below, rail), self.facts(branch, lead)));
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
        let room = style.width.saturating_sub(columns(lead) + 2 + 2 + columns(&id)).max(16);
        let description = fitted(&one_line(&branch.description), room, style);
        format!(
            "{}{} {}  {}",
            style.tone(Tone::Faint, lead),
            style.tone(branch.mark.tone(), branch.mark.symbol(style)),
            description,
            style.tone(Tone::Faint, &id),
        )
    }

    /// State, tokens, time and reason. Where that is too wide, the bar goes: it repeats the figures.
    fn facts(&self, branch: &BranchView, lead: usize) -> String {
        let style = self.style;
        let (used, budget) = (branch.used_tokens, branch.budget_tokens);
        let figures = format!("{}/{}", thousands(used), thousands(budget));
        let bar = style.bar(used, budget, BAR_CELLS);
        let mut rest = vec![self.time(branch)];
        if branch.generation > 1 {
            rest.push(format!("opened {} times", branch.generation));
        }
        rest.extend(branch.reason.clone());

        let dot = style.either(" · ", ", ");
        let rest = rest.join(dot);
        let word = branch.mark.word();
        let width = lead + columns(&format!("{word}{dot}{bar} {figures}{dot}{rest}"));
        let word = style.tone(branch.mark.tone(), word);
        if width > style.width {
            return format!("{word}{dot}{figures}{dot}{rest}");
        }
        let bar = style.tone(fullness(used, budget, 80, 100), &bar);
        format!("{word}{dot}{bar} {figures}{dot}{rest}")
    }

    fn time(&self, branch: &BranchView) -> String {
        match branch.ended_at_ms {
            Some(ended_at_ms) => duration(ended_at_ms.saturating_sub(branch.opened_at_ms)),
            None => format!(
                "{}, {} left",
                duration(self.now_ms.saturating_sub(branch.opened_at_ms)),
                duration(branch.deadline_ms.saturating_sub(self.now_ms))
            ),
        }
    }

    fn message(&self, branch: &BranchView, below: &str, rail: &str) -> Option<String> {
        let message = one_line(branch.message.as_deref()?);
        if message.is_empty() {
            return None;
        }
        let arrow = self.style.either("→ ", "> ");
        let lead = columns(below) + columns(rail) + columns(arrow);
        let room = self.style.width.saturating_sub(lead).max(16);
        let text = fitted(&message, room, self.style);
        Some(format!("{}{arrow}{text}", self.faint_lines(below, rail)))
    }
}

#[cfg(test)]
mod tests;
