//! What is held in memory of sessions stays within its bounds.

use super::*;

fn session(name: usize) -> SessionId {
    SessionId::parse(&format!("s{name}")).expect("a name")
}

fn use_it(sessions: &SessionCaches, name: usize, contents: usize) {
    let slot = sessions.of(&Owner::local(), &session(name));
    let mut state = SessionCache::default();
    let key = |at: usize| BlockKey((at as u128).to_le_bytes());
    state.clean.extend((0..contents).map(key));
    sessions.weigh(&slot, &state);
}

#[test]
fn the_number_of_sessions_is_bounded_and_the_oldest_go() {
    let sessions = SessionCaches::new(3, usize::MAX);
    (0..10).for_each(|name| use_it(&sessions, name, 0));
    assert_eq!(sessions.len(), 3);
    let held = sessions.held.lock().expect("nobody panics");
    assert!((7..10).all(|name| held.slots.contains_key(&(Owner::local(), session(name)))));
}

#[test]
fn bytes_are_bounded_over_all_sessions() {
    let sessions = SessionCaches::new(100, 64 * 1024);
    (0..50).for_each(|name| use_it(&sessions, name, 1_000));
    assert!(sessions.len() < 4, "{}", sessions.len());
}

#[test]
fn one_that_is_in_use_stays() {
    let sessions = SessionCaches::new(1, usize::MAX);
    let mine = sessions.of(&Owner::local(), &session(1));
    use_it(&sessions, 2, 0);
    use_it(&sessions, 3, 0);
    assert!(Arc::ptr_eq(&mine, &sessions.of(&Owner::local(), &session(1))));
}

#[tokio::test]
async fn a_place_in_the_queue_is_taken_at_once_and_held() {
    let slot = SessionSlot::default();
    let place = slot.queue_up();
    assert!(slot.cache.try_lock().is_err(), "it is there before anybody waits for it");
    drop(place.reached().await);

    let other = slot.cache.lock().await;
    let place = slot.queue_up();
    drop(other);
    assert!(slot.cache.try_lock().is_err(), "whoever comes later does not get in between");
    drop(place.reached().await);
    assert!(slot.cache.try_lock().is_ok());

    let other = slot.cache.lock().await;
    drop(slot.queue_up());
    drop(other);
    assert!(slot.cache.try_lock().is_ok(), "a place that is given up keeps nobody waiting");
}

#[test]
fn of_answers_to_the_same_request_the_longest_is_counted() {
    let slot = SessionSlot::default();
    let (first, second) = ([1; 32], [2; 32]);
    assert_eq!(slot.uncounted(first, 30), Some(30), "one that broke off");
    assert_eq!(slot.uncounted(first, 200), Some(170), "the same again, whole");
    assert_eq!(slot.uncounted(first, 200), None);
    assert_eq!(slot.uncounted(first, 50), None);
    assert_eq!(slot.uncounted(first, 201), Some(1));
    assert_eq!(slot.uncounted(second, 0), Some(0), "another one");
}
