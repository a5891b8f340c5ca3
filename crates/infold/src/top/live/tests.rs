//! What keys do, and which session they choose.

use infold_core::record::{RequestTotals, SessionOverview};
use infold_engine::ListedSession;

use super::*;
use crate::top::{Rates, SessionLine};

fn view(names: &[&str]) -> TopView {
    let line = |name: &&str| SessionLine {
        known: ListedSession {
            id: SessionId::parse(name).unwrap(),
            live: None,
            totals: None,
            overview: SessionOverview::default(),
        },
        short_id: (*name).to_owned(),
        context_tokens: 0,
        window_tokens: 1,
        rates: Rates::default(),
    };
    TopView {
        now_ms: 0,
        sessions: names.iter().map(line).collect(),
        requests: Vec::new(),
        servers: Vec::new(),
        memories: infold_engine::MemoryCounts::default(),
        totals: RequestTotals::default(),
        rates: Rates::default(),
    }
}

#[test]
fn up_and_down_go_through_the_sessions_and_back_to_all() {
    let view = view(&["a", "b"]);
    let mut chosen = None;
    let mut seen = Vec::new();
    for to in [KeyAction::Down, KeyAction::Down, KeyAction::Down, KeyAction::Up, KeyAction::Up, KeyAction::Up] {
        chosen = next(&view, chosen.as_ref(), to);
        seen.push(chosen.as_ref().map_or("all".to_owned(), ToString::to_string));
    }
    assert_eq!(seen, ["a", "b", "b", "a", "all", "all"]);
    assert_eq!(next(&self::view(&[]), None, KeyAction::Down), None);
}

#[test]
fn keys_that_end_it_are_those_that_people_try() {
    let press = |code, modifiers| action_of(KeyEvent::new(code, modifiers));
    assert_eq!(press(KeyCode::Char('q'), KeyModifiers::NONE), KeyAction::Quit);
    assert_eq!(press(KeyCode::Esc, KeyModifiers::NONE), KeyAction::Quit);
    assert_eq!(press(KeyCode::Char('c'), KeyModifiers::CONTROL), KeyAction::Quit);
    assert_eq!(press(KeyCode::Char('c'), KeyModifiers::NONE), KeyAction::None);
    assert_eq!(press(KeyCode::Down, KeyModifiers::NONE), KeyAction::Down);
}

#[test]
fn without_colour_nothing_is_styled() {
    for tone in [Tone::Plain, Tone::Strong, Tone::Faint, Tone::Good, Tone::Busy, Tone::Warn, Tone::Bad] {
        assert_eq!(look(tone, Paint::Plain), Look::default());
    }
    assert_ne!(look(Tone::Bad, Paint::Colour), Look::default());
}
