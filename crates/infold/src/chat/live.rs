//! The live region: what happens now, what is being typed, and the figures, in as many rows as there are.

use std::time::Instant;

use infold_chat::tones::Tone;
use infold_chat::visible_in_line;
use ratatui::text::Line;

use super::bar::bar;
use super::items::{Shape, file_diff, what};
use super::state::{AskedQuestion, ChatState, RunningBranch};
use crate::draw::{duration, money, thousands};

/// Rows of the model's unfinished words.
const COMING_ROWS: usize = 8;
/// Calls and branches that are shown.
const RUNNING_MAX: usize = 8;
/// Rows of the difference that a question shows.
const QUESTION_DIFF_ROWS: usize = 24;
/// Columns of the bar at most.
const BAR_COLUMNS_MAX: usize = 48;
/// Columns from which on the last line has everything on it.
const WIDE: usize = 100;
/// What turns while the agent is at work.
const SPINNER: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠇", "⠏", "⠋"];

/// The rows, and where the cursor is.
pub struct LiveView {
    /// The rows.
    pub lines: Vec<Line<'static>>,
    /// The column and the row of the cursor.
    pub cursor: Option<(u16, u16)>,
}

/// Draws the live region.
pub fn draw(state: &mut ChatState, rows: usize, now: Instant) -> LiveView {
    let shape = state.shape.clone();
    let shape = &shape;
    let status = status(state);
    let mut lines = Vec::new();
    let coming = state.coming();
    lines.extend(coming.iter().skip(coming.len().saturating_sub(COMING_ROWS)).cloned());
    lines.extend(running(state, now));
    for words in &state.waiting {
        lines.push(shape.fitted(&[(Tone::Warn, "  waits: ".to_owned()), (Tone::Plain, words.clone())]));
    }
    // The figures and three rows of input are there, however small the terminal is.
    let for_question = rows.saturating_sub(status.len() + 5);
    if let Some(asked) = state.questions.front() {
        lines.extend(question(asked, state.questions.len(), shape, for_question));
    }
    if let Some(hint) = &state.hint {
        lines.push(shape.fitted(&[(Tone::Faint, hint.clone())]));
    }
    lines.push(rule(shape));
    let input_rows = (rows / 3).clamp(1, 12);
    let view = state.editor.view(shape.width.saturating_sub(2).max(1), input_rows);
    let first = lines.len();
    for (at, line) in view.lines.into_iter().enumerate() {
        let mark = if at == 0 { "> " } else { "  " };
        let mut spans = vec![shape.palette.span(Tone::Person, mark)];
        spans.extend(line.spans);
        lines.push(Line::from(spans));
    }
    let (column, row) = view.cursor;
    let cursor = (column + 2, row as usize + first);
    if let Some(completion) = &state.completion {
        for (at, (word, remark)) in completion.offered.iter().enumerate() {
            let tone = if at == completion.marked { Tone::Accent } else { Tone::Faint };
            let mark = if at == completion.marked { "› " } else { "  " };
            lines.push(shape.fitted(&[
                (tone, format!("{mark}{word}")),
                (Tone::Faint, if remark.is_empty() { String::new() } else { format!("  {remark}") }),
            ]));
        }
    }
    lines.extend(status);
    let over = lines.len().saturating_sub(rows);
    lines.drain(..over);
    let row = cursor.1.checked_sub(over).and_then(|row| u16::try_from(row).ok());
    LiveView { lines, cursor: row.map(|row| (cursor.0, row)) }
}

fn rule(shape: &Shape) -> Line<'static> {
    shape.fitted(&[(Tone::Faint, "─".repeat(shape.width))])
}

/// What the agent is at.
fn running(state: &ChatState, now: Instant) -> Vec<Line<'static>> {
    let shape = &state.shape;
    let Some(since) = state.working_since else { return Vec::new() };
    let turn = (now.duration_since(since).as_millis() / 120) as usize % SPINNER.len();
    let spinner = SPINNER[turn];
    let seconds = |since: Instant| duration(now.duration_since(since).as_millis() as u64);
    let mut lines = Vec::new();
    for call in state.main_calls() {
        lines.push(shape.fitted(&[
            (Tone::Accent, format!("  {spinner} ")),
            (Tone::Strong, call.tool.clone()),
            (Tone::Plain, format!(" {}", what(&call.tool, &call.arguments))),
            (Tone::Faint, format!("  {}", seconds(call.since))),
        ]));
    }
    for branch in &state.branches {
        lines.push(branch_line(branch, state, spinner, &seconds(branch.since)));
    }
    let hidden = lines.len().saturating_sub(RUNNING_MAX);
    if hidden > 0 {
        lines.truncate(RUNNING_MAX);
        lines.push(shape.fitted(&[(Tone::Faint, format!("    and {hidden} more"))]));
    }
    if lines.is_empty() && state.stream.is_none() {
        let doing = if state.is_interrupted { "ending" } else { "thinking" };
        lines.push(shape.fitted(&[
            (Tone::Accent, format!("  {spinner} ")),
            (Tone::Faint, format!("{doing} {}  Esc interrupts", seconds(since))),
        ]));
    }
    lines
}

fn branch_line(branch: &RunningBranch, state: &ChatState, spinner: &str, took: &str) -> Line<'static> {
    let known = state.figures.branches.iter().find(|known| known.id.as_str() == branch.id);
    let used = known.map_or(0, |known| known.budget_used_tokens());
    state.shape.fitted(&[
        (Tone::Accent, format!("  {spinner} ⑂ ")),
        (Tone::Strong, branch.description.clone()),
        (Tone::Faint, format!("  {} of {}  {took}  ", thousands(used), thousands(branch.budget_tokens))),
        (Tone::Plain, branch.doing.clone()),
    ])
}

/// What somebody is asked.
fn question(asked: &AskedQuestion, count: usize, shape: &Shape, rows: usize) -> Vec<Line<'static>> {
    let question = &asked.pending.question;
    let place = question.thread.branch().map(|branch| format!(" (branch {branch})")).unwrap_or_default();
    let more = if count > 1 { format!("  1 of {count} questions") } else { String::new() };
    let replies = asked.replies();
    let mut lines = vec![rule(shape)];
    lines.push(shape.fitted(&[
        (Tone::Warn, "May it ".to_owned()),
        (Tone::Strong, question.what.clone()),
        (Tone::Warn, format!("?{place}")),
        (Tone::Faint, more),
    ]));
    lines.push(shape.fitted(&[(Tone::Faint, format!("It is asked because {}.", question.why))]));
    let left = rows.saturating_sub(lines.len() + replies.len() + 1);
    if let Some(file) = &question.edited {
        let shown = file_diff(file, shape, left.min(QUESTION_DIFF_ROWS).saturating_sub(1));
        lines.extend(shown.lines.into_iter().take(left));
    }
    for (at, (_, words)) in replies.iter().enumerate() {
        let (mark, tone) = if asked.marked == Some(at) { ("›", Tone::Accent) } else { (" ", Tone::Plain) };
        lines.push(shape.fitted(&[(tone, format!("{mark} {} {words}", at + 1))]));
    }
    lines.push(shape.fitted(&[(
        Tone::Faint,
        "A number answers. Or type what to do instead: Enter refuses with that.".to_owned(),
    )]));
    lines
}

/// The last lines: which session, and the figures.
fn status(state: &ChatState) -> Vec<Line<'static>> {
    let shape = &state.shape;
    let about = &state.about;
    let session = [&about.model, &about.approval, &about.folder, &about.short_id];
    let session: Vec<&str> = session.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    let session = visible_in_line(&session.join(" · ")).into_owned();
    let cost = (state.figures.totals.priced > 0).then(|| format!(" · {}", money(state.figures.totals.cost_micros)));
    let figures = match state.figures.fill() {
        Some((tokens, window, percent)) => {
            let cost = cost.unwrap_or_default();
            format!("{} of {} tokens, {percent} %{cost}", thousands(tokens), thousands(window))
        }
        None => "nothing sent yet".to_owned(),
    };
    let room = shape.width.saturating_sub(figures.chars().count() + 3);
    let bar_columns = if shape.width >= WIDE { room.min(shape.width / 4) } else { room.min(BAR_COLUMNS_MAX) };
    let mut line = bar(&state.figures, bar_columns);
    line.insert(0, (Tone::Faint, "[".to_owned()));
    line.push((Tone::Faint, "] ".to_owned()));
    line.push((Tone::Plain, figures));
    if shape.width >= WIDE {
        let left = shape.width.saturating_sub(columns(&line) + 2);
        line.push((Tone::Plain, "  ".to_owned()));
        line.push((Tone::Faint, session.chars().take(left).collect()));
        return vec![shape.fitted(&line)];
    }
    vec![shape.fitted(&line), shape.fitted(&[(Tone::Faint, session)])]
}

fn columns(spans: &[(Tone, String)]) -> usize {
    spans.iter().map(|(_, text)| infold_chat::wrap::columns(text)).sum()
}
