//! `infold top` on a terminal: draws, waits for a key, a signal or a second to pass, and draws again.
//!
//! What must hold: however it ends, the terminal is as it was before. Signals end it in the ordinary way,
//! and a panic restores the terminal before it prints anything.

use std::io::Stdout;
use std::time::Duration;

use anyhow::Context;
use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures::StreamExt;
use infold_core::SessionId;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::style::{Color, Modifier, Style as Look};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Paragraph;

use super::frame::{FrameChoice, FrameSize, frame};
use super::{TopSource, TopView, load};
use crate::commands::sessions::now_ms;
use crate::draw::{Paint, Spans, Style, Tone};
use crate::parts;
use crate::signals::Stops;

/// The text of the line at the bottom.
const KEYS: &str = "q quits, up and down select a session, s shows servers";

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyAction {
    Quit,
    Up,
    Down,
    Servers,
    None,
}

/// The terminal while it is drawn on. It is restored when this is dropped.
struct Screen(Terminal<CrosstermBackend<Stdout>>);

impl Screen {
    fn take() -> anyhow::Result<Self> {
        // This also makes a panic restore the terminal first.
        Ok(Self(ratatui::try_init().context("cannot draw on the terminal")?))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Draws a frame every `every`, until the user quits or a signal comes.
pub async fn run(source: &TopSource<'_>, every: Duration, style: &Style) -> anyhow::Result<()> {
    let mut stops = Stops::catch()?;
    let mut view = load(source, now_ms()).await.map_err(parts::command_error)?;
    let mut screen = Screen::take()?;
    let mut keys = EventStream::new();
    let mut choice = FrameChoice::first();
    let mut ticks = tokio::time::interval(every);
    loop {
        draw(&mut screen, &view, &choice, style)?;
        tokio::select! {
            () = stops.next() => return Ok(()),
            _ = ticks.tick() => view = load(source, now_ms()).await.map_err(parts::command_error)?,
            event = keys.next() => match event {
                Some(Ok(Event::Key(key))) => match action_of(key) {
                    KeyAction::Quit => return Ok(()),
                    KeyAction::Up => choice.session = next(&view, choice.session.as_ref(), KeyAction::Up),
                    KeyAction::Down => choice.session = next(&view, choice.session.as_ref(), KeyAction::Down),
                    KeyAction::Servers => choice.servers = choice.servers.other(),
                    KeyAction::None => {}
                },
                // If the terminal's size has changed, the next round draws the new one at once.
                Some(Ok(_)) => {}
                // The terminal is gone, so no key can come any more.
                Some(Err(_)) | None => return Ok(()),
            },
        }
    }
}

fn action_of(key: KeyEvent) -> KeyAction {
    if key.kind == KeyEventKind::Release {
        return KeyAction::None;
    }
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => KeyAction::Quit,
        KeyCode::Char('q') | KeyCode::Esc => KeyAction::Quit,
        KeyCode::Up | KeyCode::Char('k') => KeyAction::Up,
        KeyCode::Down | KeyCode::Char('j') => KeyAction::Down,
        KeyCode::Char('s') => KeyAction::Servers,
        _ => KeyAction::None,
    }
}

/// The session that is chosen after going up or down; above the first one, none is.
fn next(view: &TopView, chosen: Option<&SessionId>, to: KeyAction) -> Option<SessionId> {
    let at = chosen.and_then(|chosen| view.sessions.iter().position(|line| line.known.id == *chosen));
    let at = match (to, at) {
        (KeyAction::Down, None) => 0,
        (KeyAction::Down, Some(at)) => (at + 1).min(view.sessions.len().saturating_sub(1)),
        (KeyAction::Up, Some(at)) => at.checked_sub(1)?,
        (KeyAction::Up, None) | (KeyAction::Quit | KeyAction::Servers | KeyAction::None, _) => return None,
    };
    view.sessions.get(at).map(|line| line.known.id.clone())
}

fn draw(screen: &mut Screen, view: &TopView, choice: &FrameChoice, style: &Style) -> anyhow::Result<()> {
    let drawn = screen.0.draw(|on| {
        let area = on.area();
        let size = FrameSize { width: usize::from(area.width), height: usize::from(area.height).saturating_sub(1) };
        let mut lines = frame(view, choice, size, style);
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
