//! A log that is kept short, and one that has what nobody will finish.

use async_nats::HeaderMap;
use async_nats::jetstream::{self, stream};
use infold_core::Command;
use infold_testkit::nats::NATS_USER;

use super::machines;
use crate::cluster::base::Trimmed;
use crate::cluster::publish::{CHAIN, ChainKey, PART};
use crate::cluster::{ClusterAccess, ClusterSettings, apply};
use crate::tests::{append_of, fresh, load_of, settings, shared_cluster};
use crate::{EndedBranches, KEY_FILE, Store};

pub(super) async fn context(settings: &ClusterSettings) -> jetstream::Context {
    let ClusterAccess::Password { password, .. } = &settings.access else { panic!("a password is set") };
    let options = async_nats::ConnectOptions::with_user_and_password(NATS_USER.to_owned(), password.clone());
    jetstream::new(options.connect(&settings.servers).await.unwrap())
}

async fn seen(context: &jetstream::Context, name: &str) -> stream::State {
    context.get_stream(name).await.unwrap().cached_info().state.clone()
}

pub(super) async fn start_sessions(store: &Store, name: &str, count: usize) {
    for number in 0..count {
        let name = format!("{name}-{number}");
        store.append(append_of(&fresh(&name), &Command::Start, 10)).await.unwrap();
    }
}

#[tokio::test]
async fn a_long_log_is_trimmed_and_machines_begin_anew_from_a_base() {
    let Some((one, two, first, second)) = machines() else { return };
    let shared = shared_cluster(one.path()).unwrap();
    let context = context(&shared).await;
    assert_eq!(first.trim_log().await.unwrap(), Trimmed::Nothing);
    start_sessions(&first, "a", 40).await;
    assert!(matches!(first.trim_log().await.unwrap(), Trimmed::Based { .. }));
    assert_eq!(seen(&context, &shared.stream).await.first_sequence, 1, "the log is kept as far as the base before");
    // One that was away while the log went on twice as far as it keeps.
    let known = second.shared_digest().await.unwrap();
    drop(second);
    start_sessions(&first, "b", 60).await;
    let Trimmed::Based { applied } = first.trim_log().await.unwrap() else { panic!("no base was made") };
    start_sessions(&first, "c", 60).await;
    assert!(matches!(first.trim_log().await.unwrap(), Trimmed::Based { .. }));
    start_sessions(&first, "d", 5).await;
    assert_eq!(seen(&context, &shared.stream).await.first_sequence, applied);
    assert_eq!(first.trim_log().await.unwrap(), Trimmed::Nothing, "little was written since");

    let settings = crate::StoreSettings { cluster: Some(shared.clone()), ..settings() };
    let digest = first.shared_digest().await.unwrap();
    let back = Store::open(&two.path().join("infold.db"), &settings).unwrap();
    assert_ne!(known, digest);
    assert_eq!(back.shared_digest().await.unwrap(), digest);
    let new = tempfile::TempDir::new().unwrap();
    std::fs::copy(one.path().join(KEY_FILE), new.path().join(KEY_FILE)).unwrap();
    let new = Store::open(&new.path().join("infold.db"), &settings).unwrap();
    assert_eq!(new.shared_digest().await.unwrap(), digest);
    new.append(append_of(&fresh("last"), &Command::Start, 10)).await.unwrap();
    for store in [&first, &back] {
        assert!(store.load(load_of("last", EndedBranches::Nothing)).await.unwrap().is_some());
    }
    // Of the bases the newest alone is kept.
    let bases = seen(&context, &format!("{}_BASE", shared.stream)).await;
    assert!(bases.messages < 10, "{bases:?}");
}

#[tokio::test]
async fn a_base_that_somebody_else_wrote_is_refused() {
    let Some((one, _two, first, _second)) = machines() else { return };
    let shared = shared_cluster(one.path()).unwrap();
    start_sessions(&first, "a", 40).await;
    first.trim_log().await.unwrap();
    let context = context(&shared).await;
    let subject = format!("{}.base", shared.subject_prefix);
    context.publish(subject, "{}".into()).await.unwrap().await.unwrap();
    let error = first.trim_log().await.unwrap_err();
    assert!(error.to_string().contains("did not write"), "{error}");
}

#[tokio::test]
async fn a_base_beside_a_new_log_is_refused() {
    let Some((one, two, first, second)) = machines() else { return };
    let shared = shared_cluster(one.path()).unwrap();
    drop((first, second));
    context(&shared).await.delete_stream(&shared.stream).await.unwrap();
    for name in ["infold.db", "infold.db-wal", "infold.db-shm"] {
        let _ = std::fs::remove_file(two.path().join(name));
    }
    let settings = crate::StoreSettings { cluster: Some(shared.clone()), ..settings() };
    let Err(error) = Store::open(&two.path().join("infold.db"), &settings) else { panic!("it was opened") };
    let error = error.to_string();
    assert!(error.contains("which is another log's") && error.contains("nats stream rm"), "{error}");
}

#[tokio::test]
async fn a_log_of_barriers_gets_one_base_and_an_index_that_is_behind_gives_none() {
    let Some((one, _two, first, _second)) = machines() else { return };
    let shared = shared_cluster(one.path()).unwrap();
    let context = context(&shared).await;
    start_sessions(&first, "a", 40).await;
    assert!(matches!(first.trim_log().await.unwrap(), Trimmed::Based { .. }));
    let barriers = async || {
        for _ in 0..200 {
            first.load(load_of("a-0", EndedBranches::Nothing)).await.unwrap();
        }
    };
    barriers().await;
    assert!(matches!(first.trim_log().await.unwrap(), Trimmed::Based { .. }));
    assert_eq!(first.trim_log().await.unwrap(), Trimmed::Nothing);
    barriers().await;
    assert!(matches!(first.trim_log().await.unwrap(), Trimmed::Based { .. }));
    let log = seen(&context, &shared.stream).await;
    assert!(log.messages < 300, "barriers go with the entries before them: {log:?}");

    let pieces = seen(&context, &format!("{}_BASE", shared.stream)).await.messages;
    let bases = first.inner.cluster.as_ref().unwrap().bases.get().unwrap();
    assert_eq!(first.publish_base(bases, log.last_sequence + 1, 0).await.unwrap(), None);
    assert_eq!(seen(&context, &format!("{}_BASE", shared.stream)).await.messages, pieces);
}

#[tokio::test]
async fn an_entry_that_its_machine_never_finished_stops_nobody() {
    let Some((one, _two, first, second)) = machines() else { return };
    start_sessions(&first, "a", 1).await;
    let shared = shared_cluster(one.path()).unwrap();
    let position = first.read(apply::position).await.unwrap();
    // A machine is killed after the first of two parts.
    let head = "0123456789abcdef 1 2";
    let chain = ChainKey::of(first.secret()).after(&position.chain, head, b"half");
    let mut headers = HeaderMap::new();
    headers.insert(PART, head);
    headers.insert(CHAIN, blake3::Hash::from_bytes(chain).to_hex().as_str());
    let subject = format!("{}.log", shared.subject_prefix);
    context(&shared).await.publish_with_headers(subject, headers, "half".into()).await.unwrap().await.unwrap();

    start_sessions(&second, "b", 2).await;
    start_sessions(&first, "c", 2).await;
    assert!(first.load(load_of("b-1", EndedBranches::Nothing)).await.unwrap().is_some());
    assert!(second.load(load_of("c-1", EndedBranches::Nothing)).await.unwrap().is_some());
    assert_eq!(first.shared_digest().await.unwrap(), second.shared_digest().await.unwrap());
}
