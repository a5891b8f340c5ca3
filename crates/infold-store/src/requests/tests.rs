//! Rows of requests in a real database.

use infold_core::record::{AnswerEnd, Timing, TokenBreakdown, Usage};
use infold_core::view::RequestKind;
use infold_core::{Scrubbed, Thread};
use tempfile::TempDir;

use super::*;
use crate::tests::settings_in;

fn store(folder: &TempDir) -> Store {
    Store::open(&folder.path().join("infold.db"), &settings_in(folder)).unwrap()
}

fn named(session: &str) -> SessionId {
    SessionId::parse(session).unwrap()
}

fn request(owner: &Owner, session: &str, at_ms: u64) -> NewRequest {
    let record = RequestRecord {
        session: named(session),
        agent: None,
        thread: Thread::Main,
        at_ms,
        api: Scrubbed::fixed("messages"),
        model: Scrubbed::fixed("m"),
        window_tokens: None,
        kind: RequestKind::Turn,
        client: None,
        wanted: TokenBreakdown { user_tokens: 100, ..TokenBreakdown::default() },
        sent: TokenBreakdown { user_tokens: 40, ..TokenBreakdown::default() },
        edits: Vec::new(),
        usage: Some(Usage { fresh_tokens: 40, output_tokens: 2, ..Usage::default() }),
        estimated: None,
        miss: None,
        cost_micros: None,
        wanted_cost_micros: None,
        timing: Timing::default(),
        status: Some(200),
        end: AnswerEnd::Completed,
        warnings: Vec::new(),
    };
    NewRequest { owner: owner.clone(), record: Box::new(record), label: SessionLabel::default() }
}

fn query(owner: &Owner, session: Option<&str>, selection: RequestSelection, limit: usize) -> RequestQuery {
    RequestQuery { owner: owner.clone(), session: session.map(named), selection, limit }
}

async fn times(store: &Store, query: RequestQuery) -> Vec<u64> {
    store.requests(query).await.unwrap().iter().map(|row| row.record.at_ms).collect()
}

#[tokio::test]
async fn requests_are_read_on_from_a_place_or_from_the_newest_back() {
    let folder = TempDir::new().unwrap();
    let (store, mine, other) = (store(&folder), Owner::local(), Owner::from_subject("other"));
    let rows = (1..=5).map(|at| request(&mine, "s", at)).chain([request(&mine, "t", 6), request(&other, "s", 7)]);
    store.insert_requests(rows.collect(), Vec::new(), 100).await.unwrap();

    let all = store.requests(query(&mine, None, RequestSelection::After(0), 100)).await.unwrap();
    assert_eq!(all.len(), 6);
    assert!(all.is_sorted_by_key(|row| row.id));
    assert_eq!(times(&store, query(&mine, Some("s"), RequestSelection::After(all[2].id), 100)).await, [4, 5]);
    assert_eq!(times(&store, query(&mine, Some("s"), RequestSelection::After(0), 2)).await, [1, 2]);
    assert_eq!(times(&store, query(&mine, Some("s"), RequestSelection::Newest, 2)).await, [4, 5]);
    assert_eq!(times(&store, query(&other, None, RequestSelection::Newest, 9)).await, [7]);
    assert_eq!(store.request(mine.clone(), all[0].id).await.unwrap().unwrap().record.at_ms, 1);
    assert_eq!(store.request(other, all[0].id).await.unwrap(), None);
    assert_eq!(store.request(mine, u64::MAX).await.unwrap(), None);
}

#[tokio::test]
async fn a_session_keeps_its_newest_rows_and_the_sum_of_all() {
    let folder = TempDir::new().unwrap();
    let (store, owner) = (store(&folder), Owner::local());
    store.insert_requests(vec![request(&owner, "quiet", 0)], Vec::new(), 3).await.unwrap();
    for at in 1..=10 {
        store.insert_requests(vec![request(&owner, "s", at)], Vec::new(), 3).await.unwrap();
    }
    assert_eq!(times(&store, query(&owner, Some("s"), RequestSelection::After(0), 100)).await, [8, 9, 10]);
    assert_eq!(times(&store, query(&owner, Some("quiet"), RequestSelection::After(0), 100)).await, [0]);

    let totals = store.request_totals(owner.clone(), None).await.unwrap();
    assert_eq!(totals.iter().map(|(session, _)| session.as_str()).collect::<Vec<_>>(), ["s", "quiet"]);
    let totals = totals[0].1;
    assert_eq!((totals.requests, totals.saved_tokens(), totals.usage.output_tokens), (10, 600, 20));
    let one = store.request_totals(owner, Some(named("quiet"))).await.unwrap();
    assert_eq!((one.len(), one[0].1.requests), (1, 1));
}

#[tokio::test]
async fn what_is_past_its_time_goes_and_places_are_not_used_again() {
    let folder = TempDir::new().unwrap();
    let (store, owner) = (store(&folder), Owner::local());
    store.insert_requests(vec![request(&owner, "old", 10), request(&owner, "new", 90)], Vec::new(), 9).await.unwrap();
    let newest = store.requests(query(&owner, None, RequestSelection::Newest, 1)).await.unwrap()[0].id;
    assert_eq!(store.sweep_requests(50).await.unwrap(), 1);
    assert_eq!(times(&store, query(&owner, None, RequestSelection::After(0), 9)).await, [90]);
    assert_eq!(store.request_totals(owner.clone(), None).await.unwrap().len(), 1);

    store.sweep_requests(1_000).await.unwrap();
    store.insert_requests(vec![request(&owner, "next", 2_000)], Vec::new(), 9).await.unwrap();
    let row = store.requests(query(&owner, None, RequestSelection::Newest, 1)).await.unwrap().remove(0);
    assert!(row.id > newest);
}

#[tokio::test]
async fn what_was_learnt_of_counting_is_there_after_a_restart() {
    let folder = TempDir::new().unwrap();
    let learnt = |per_mille| StoredCalibration { family: "claude".to_owned(), per_mille, samples: 3, at_ms: 9 };
    let first = store(&folder);
    first.insert_requests(Vec::new(), vec![learnt(1_100)], 9).await.unwrap();
    first.insert_requests(Vec::new(), vec![learnt(1_200)], 9).await.unwrap();
    drop(first);
    let again = store(&folder);
    assert_eq!(again.calibrations().await.unwrap(), [learnt(1_200)]);
    assert_eq!(again.calibrations_now().unwrap(), [learnt(1_200)]);
}

#[tokio::test]
async fn what_requests_show_of_a_session_is_stored_with_their_sums_and_names_are_found_by_how_they_begin() {
    let folder = TempDir::new().unwrap();
    let (store, owner) = (store(&folder), Owner::local());
    let mut first = request(&owner, "5b24-one", 1);
    first.label.first_words = Some(Scrubbed::fixed("fix it"));
    let mut next = request(&owner, "5b24-one", 2);
    next.label.first_words = Some(Scrubbed::fixed("something else"));
    store.insert_requests(vec![first], Vec::new(), 9).await.unwrap();
    store.insert_requests(vec![next, request(&owner, "5b24-two", 3)], Vec::new(), 9).await.unwrap();

    let found = store.session_requests(owner.clone(), None).await.unwrap();
    assert_eq!(found.iter().map(|each| each.session.as_str()).collect::<Vec<_>>(), ["5b24-two", "5b24-one"]);
    assert_eq!(found[1].overview.first_words.as_ref().unwrap().as_str(), "fix it");
    assert_eq!((found[1].totals.requests, found[0].overview.first_words.clone()), (2, None));

    let begins = |prefix: &str| store.session_names(owner.clone(), prefix.to_owned(), 9);
    assert_eq!(begins("5b24").await.unwrap(), [named("5b24-one"), named("5b24-two")]);
    assert_eq!(begins("5b24-t").await.unwrap(), [named("5b24-two")]);
    assert_eq!(begins("b24").await.unwrap(), Vec::<SessionId>::new());
}
