//! A list over the whole screen: everything that happened, to be unfolded; or sessions and points, to be chosen from. The
//! conversation is below it as it was, and goes on meanwhile.

use std::collections::BTreeSet;
use std::io::Stdout;

use anyhow::Context;
use crossterm::ExecutableCommand;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use infold_chat::tones::Tone;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::text::{Line, Text};
use ratatui::widgets::Paragraph;

use super::items::{Folding, Shape};

/// What the list is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverlayKind {
    /// Looking at what happened.
    Transcript,
    /// Choosing a session.
    Sessions,
    /// Choosing a point to go back to.
    Points,
}

/// What a key did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverlayOutcome {
    /// The list stays.
    Stay,
    /// It is closed.
    Close,
    /// An entry was chosen.
    Chosen {
        /// The entry, from 0.
        entry: usize,
        /// Whether it was chosen with `k`: files stay as they are.
        keeps_files: bool,
    },
}

/// A list over the whole screen.
pub struct Overlay {
    /// What it is for.
    pub kind: OverlayKind,
    title: String,
    selected: usize,
    unfolded: BTreeSet<usize>,
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

/// The lines of an entry.
pub type EntryLines<'a> = &'a dyn Fn(usize, &Shape, Folding) -> Vec<Line<'static>>;

impl Overlay {
    /// Opens one, with the last entry selected in a transcript, else the first.
    pub fn open(kind: OverlayKind, title: impl Into<String>, count: usize) -> anyhow::Result<Self> {
        std::io::stdout().execute(EnterAlternateScreen).context("cannot draw on the terminal")?;
        let mut terminal = Terminal::new(CrosstermBackend::new(std::io::stdout()))?;
        terminal.clear()?;
        let selected = if kind == OverlayKind::Transcript { count.saturating_sub(1) } else { 0 };
        Ok(Self { kind, title: title.into(), selected, unfolded: BTreeSet::new(), terminal })
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent, count: usize) -> OverlayOutcome {
        let page = 10;
        let last = count.saturating_sub(1);
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') => return OverlayOutcome::Close,
            KeyCode::Char('c' | 'o') if key.modifiers.contains(KeyModifiers::CONTROL) => return OverlayOutcome::Close,
            KeyCode::Up => self.selected = self.selected.saturating_sub(1),
            KeyCode::Down => self.selected = (self.selected + 1).min(last),
            KeyCode::PageUp => self.selected = self.selected.saturating_sub(page),
            KeyCode::PageDown => self.selected = (self.selected + page).min(last),
            KeyCode::Home => self.selected = 0,
            KeyCode::End => self.selected = last,
            KeyCode::Left | KeyCode::Right => {}
            KeyCode::Enter | KeyCode::Char(' ') if self.kind == OverlayKind::Transcript => {
                let was_unfolded = self.unfolded.remove(&self.selected);
                self.unfolded.extend((!was_unfolded).then_some(self.selected));
            }
            KeyCode::Enter if count > 0 => {
                return OverlayOutcome::Chosen { entry: self.selected, keeps_files: false };
            }
            KeyCode::Char('k') if self.kind == OverlayKind::Points && count > 0 => {
                return OverlayOutcome::Chosen { entry: self.selected, keeps_files: true };
            }
            _ => {}
        }
        OverlayOutcome::Stay
    }

    /// Draws the entries around the one that is selected. Only those that can be seen are made.
    pub fn draw(&mut self, count: usize, shape: &Shape, entry: EntryLines<'_>) -> anyhow::Result<()> {
        let size = self.terminal.size()?;
        let rows = usize::from(size.height).saturating_sub(2).max(1);
        let whole = Shape { width: usize::from(size.width).max(1), ..shape.clone() };
        let shape = &whole.narrower(2);
        let lines_of = |at: usize| {
            let folding = if self.unfolded.contains(&at) { Folding::Unfolded } else { Folding::Folded };
            let mut lines = entry(at, shape, folding);
            while lines.first().is_some_and(|line| line.width() == 0) {
                lines.remove(0);
            }
            lines
        };
        // The selected entry is in view: from its first line on, or as far down as the screen goes.
        let mut shown: Vec<Line<'static>> = Vec::new();
        let mut at = self.selected.min(count.saturating_sub(1));
        let mark = |lines: Vec<Line<'static>>, is_selected: bool| -> Vec<Line<'static>> {
            let bar = if is_selected { "▌ " } else { "  " };
            let marked = lines.into_iter().map(|mut line| {
                line.spans.insert(0, shape.palette.span(Tone::Accent, bar));
                line
            });
            marked.collect()
        };
        if count > 0 {
            shown = mark(lines_of(at), true);
            shown.truncate(rows);
            let mut above = at;
            while shown.len() < rows && above > 0 {
                above -= 1;
                let mut lines = mark(lines_of(above), false);
                let room = rows - shown.len();
                let over = lines.len().saturating_sub(room);
                lines.drain(..over);
                lines.append(&mut shown);
                shown = lines;
                if shown.len() * 2 > rows {
                    break;
                }
            }
            while shown.len() < rows && at + 1 < count {
                at += 1;
                shown.extend(mark(lines_of(at), false));
            }
            shown.truncate(rows);
        }
        let keys = match self.kind {
            OverlayKind::Transcript => "up and down select, Enter unfolds, Esc closes",
            OverlayKind::Sessions => "up and down select, Enter goes there, Esc closes",
            OverlayKind::Points => "up and down select, Enter goes back, k goes back and keeps files, Esc closes",
        };
        let mut lines = vec![whole.fitted(&[(Tone::Heading, format!("{} ({count})", self.title))])];
        shown.resize(rows, Line::default());
        lines.extend(shown);
        lines.push(whole.fitted(&[(Tone::Faint, keys.to_owned())]));
        let drawn = self.terminal.draw(|on| on.render_widget(Paragraph::new(Text::from(lines)), on.area()));
        drawn.context("cannot draw on the terminal").map(drop)
    }

    /// Draws everything anew with the next frame: the size has changed.
    pub fn resized(&mut self) -> anyhow::Result<()> {
        self.terminal.autoresize()?;
        Ok(self.terminal.clear()?)
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        // The terminal may be gone; whatever is below is drawn anew.
        drop(std::io::stdout().execute(LeaveAlternateScreen));
    }
}
