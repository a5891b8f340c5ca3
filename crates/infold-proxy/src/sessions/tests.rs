//! What is held in memory of sessions stays within its bounds.

use super::*;

fn session(name: usize) -> SessionId {
    SessionId::parse(&format!("s{name}")).expect("a name")
}

fn use_it(sessions: &Sessions, name: usize, contents: usize) {
    let slot = sessions.of(&Owner::local(), &session(name));
    let mut state = State::default();
    let key = |at: usize| BlockKey((at as u128).to_le_bytes());
    state.clean.extend((0..contents).map(key));
    sessions.weigh(&slot, &state);
}

#[test]
fn the_number_of_sessions_is_bounded_and_the_oldest_go() {
    let sessions = Sessions::new(3, usize::MAX);
    (0..10).for_each(|name| use_it(&sessions, name, 0));
    assert_eq!(sessions.len(), 3);
    let held = sessions.held.lock().expect("nobody panics");
    assert!((7..10).all(|name| held.slots.contains_key(&(Owner::local(), session(name)))));
}

#[test]
fn bytes_are_bounded_over_all_sessions() {
    let sessions = Sessions::new(100, 64 * 1024);
    (0..50).for_each(|name| use_it(&sessions, name, 1_000));
    assert!(sessions.len() < 4, "{}", sessions.len());
}

#[test]
fn one_that_is_in_use_stays() {
    let sessions = Sessions::new(1, usize::MAX);
    let mine = sessions.of(&Owner::local(), &session(1));
    use_it(&sessions, 2, 0);
    use_it(&sessions, 3, 0);
    assert!(Arc::ptr_eq(&mine, &sessions.of(&Owner::local(), &session(1))));
}
