//! `infold top` on a terminal: draws, waits for a key, a signal or a second to pass, and draws again.
//!
//! What must hold: however it ends, the terminal is as it was. Signals end it in the ordinary way, and a
//! panic puts the terminal back before it says anything.

use std::io::Stdout;
use std::time::Duration;

use anyhow::Context;
use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures::StreamExt;
use infold_control::ContextRoom;
use infold_core::SessionId;
use infold_engine::Engine;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::style::{Color, Modifier, Style as Look};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Paragraph;

use super::frame::{Size, frame};
use super::{TopView, load};
use crate::commands::sessions::now_ms;
use crate::draw::{Paint, Spans, Style, Tone};
use crate::parts;
use crate::signals::Stops;

/// The line at the bottom.
const KEYS: &str = "q quits, up and down select a session";

/// What a key leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Move {
    Quit,
    Up,
    Down,
    None,
}

/// Puts the terminal back when it goes.
struct Screen(Terminal<CrosstermBackend<Stdout>>);

impl Screen {
    fn take() -> anyhow::Result<Self> {
        // This also makes a panic put the terminal back first.
        Ok(Self(ratatui::try_init().context("cannot draw on the terminal")?))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Draws until somebody has seen enough.
pub async fn run(engine: &Engine, room: &ContextRoom, every: Duration, style: &Style) -> anyhow::Result<()> {
    let mut stops = Stops::catch()?;
    let mut view = load(engine, room, now_ms()).await.map_err(parts::told)?;
    let mut screen = Screen::take()?;
    let mut keys = EventStream::new();
    let mut chosen: Option<SessionId> = None;
    let mut ticks = tokio::time::interval(every);
    loop {
        draw(&mut screen, &view, chosen.as_ref(), style)?;
        tokio::select! {
            () = stops.next() => return Ok(()),
            _ = ticks.tick() => view = load(engine, room, now_ms()).await.map_err(parts::told)?,
            event = keys.next() => match event {
                Some(Ok(Event::Key(key))) => match meant(key) {
                    Move::Quit => return Ok(()),
                    Move::Up => chosen = next(&view, chosen.as_ref(), Move::Up),
                    Move::Down => chosen = next(&view, chosen.as_ref(), Move::Down),
                    Move::None => {}
                },
                // A change of size is drawn in the next round, which is now.
                Some(Ok(_)) => {}
                // Nobody can press a key any more.
                Some(Err(_)) | None => return Ok(()),
            },
        }
    }
}

fn meant(key: KeyEvent) -> Move {
    if key.kind == KeyEventKind::Release {
        return Move::None;
    }
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Move::Quit,
        KeyCode::Char('q') | KeyCode::Esc => Move::Quit,
        KeyCode::Up | KeyCode::Char('k') => Move::Up,
        KeyCode::Down | KeyCode::Char('j') => Move::Down,
        _ => Move::None,
    }
}

/// The session that a move leads to; above the first one none is chosen.
fn next(view: &TopView, chosen: Option<&SessionId>, to: Move) -> Option<SessionId> {
    let at = chosen.and_then(|chosen| view.sessions.iter().position(|line| line.known.id == *chosen));
    let at = match (to, at) {
        (Move::Down, None) => 0,
        (Move::Down, Some(at)) => (at + 1).min(view.sessions.len().saturating_sub(1)),
        (Move::Up, Some(at)) => at.checked_sub(1)?,
        (Move::Up, None) | (Move::Quit | Move::None, _) => return None,
    };
    view.sessions.get(at).map(|line| line.known.id.clone())
}

fn draw(screen: &mut Screen, view: &TopView, chosen: Option<&SessionId>, style: &Style) -> anyhow::Result<()> {
    let drawn = screen.0.draw(|on| {
        let area = on.area();
        let size = Size { width: usize::from(area.width), height: usize::from(area.height).saturating_sub(1) };
        let mut lines = frame(view, chosen, size, style);
        lines.resize(size.height, Vec::new());
        lines.push(vec![(Tone::Faint, KEYS.to_owned())]);
        let lines: Vec<Line<'_>> = lines.iter().map(|line| shown(line, style.paint)).collect();
        on.render_widget(Paragraph::new(Text::from(lines)), area);
    });
    drawn.context("cannot draw on the terminal").map(drop)
}

fn shown(line: &Spans, paint: Paint) -> Line<'_> {
    Line::from_iter(line.iter().map(|(tone, text)| Span::styled(text.as_str(), look(*tone, paint))))
}

fn look(tone: Tone, paint: Paint) -> Look {
    match (paint, tone) {
        (Paint::Plain, _) | (Paint::Colour, Tone::Plain) => Look::default(),
        (Paint::Colour, Tone::Strong) => Look::default().add_modifier(Modifier::BOLD),
        (Paint::Colour, Tone::Faint) => Look::default().add_modifier(Modifier::DIM),
        (Paint::Colour, Tone::Good) => Look::default().fg(Color::Green),
        (Paint::Colour, Tone::Busy) => Look::default().fg(Color::Cyan),
        (Paint::Colour, Tone::Warn) => Look::default().fg(Color::Yellow),
        (Paint::Colour, Tone::Bad) => Look::default().fg(Color::Red),
    }
}

#[cfg(test)]
mod tests;
