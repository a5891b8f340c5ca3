//! The store on a real database in a temporary folder.

use std::path::Path;

use infold_core::{
    BlobId, BranchId, Claims, Command, Counter, Decision, Family, IdKey, Open, Owner, Principal, ProjectHash,
    ReturnOutcome, Rules, Scrubbed, Scrubber, Session, SessionId, Thread, decide,
};
use infold_testkit::documented_limits;
use infold_testkit::nats::{NATS_USER, run_tests_on_nats, shared_server, tests_are_on_nats};
use tempfile::TempDir;

use super::*;

pub(crate) fn settings() -> StoreSettings {
    StoreSettings {
        synchronous: Synchronous::Full,
        busy_timeout_ms: 5_000,
        readers_max: 2,
        cluster: None,
        checkpoint_pages: 1000,
    }
}

pub(crate) fn settings_in(folder: &TempDir) -> StoreSettings {
    StoreSettings { cluster: cluster_in(folder.path()), ..settings() }
}

/// The cluster that databases in a folder are indexes of: none, or, when the tests run on NATS, a log that is the folder's
/// own.
pub(crate) fn cluster_in(folder: &Path) -> Option<ClusterSettings> {
    if tests_are_on_nats() { shared_cluster(folder) } else { None }
}

/// A log of the folder's own, on the server that all tests share.
pub(crate) fn shared_cluster(folder: &Path) -> Option<ClusterSettings> {
    let server = shared_server()?;
    let name = blake3::hash(folder.as_os_str().as_encoded_bytes()).to_hex()[..16].to_owned();
    Some(ClusterSettings {
        servers: vec![server.url.clone()],
        access: ClusterAccess::Password { user: NATS_USER.to_owned(), password: server.password.clone() },
        ca_file: None,
        client_certificate: None,
        stream: format!("T{name}"),
        subject_prefix: format!("t.{name}"),
        documents_prefix: format!("d.{name}"),
        replicas: 1,
        create: CreateStream::IfAbsent,
        trim_bytes: 4_096,
        attempt_ms: 2_000,
        timeout_ms: 15_000,
    })
}

pub(crate) fn scrubbed(text: &str) -> Scrubbed {
    Scrubber::new([7; 32]).scrub(text).unwrap()
}

pub(crate) fn branch_id(number: u64) -> BranchId {
    BranchId::mint(number.to_be_bytes(), &IdKey::derive(&[1; 32]))
}

pub(crate) fn key(name: &str) -> SessionKey {
    SessionKey { owner: Owner::local(), id: SessionId::parse(name).unwrap() }
}

pub(crate) fn open_command(number: u64) -> Command {
    Command::Open(Box::new(Open {
        id: branch_id(number),
        parent: Some(Thread::Main),
        description: scrubbed("look"),
        prompt: None,
        budget_tokens: None,
        timeout_s: None,
        claims: Claims::default(),
        isolation: infold_core::Isolation::Isolated,
        memories: infold_core::memory::OpeningMemories::Nothing,
        work_place: None,
        start: infold_core::Start::AtOnce,
        rate_mark_ms: None,
    }))
}

pub(crate) fn fold_command(number: u64, message: &str) -> Command {
    Command::Fold { branch: Some(branch_id(number)), message: scrubbed(message), outcome: ReturnOutcome::Completed }
}

fn decision(session: &Session, command: &Command, now_ms: u64) -> Decision {
    let (limits, counter) = (documented_limits(), Counter::new(Family::Gpt));
    decide(session, std::slice::from_ref(command), Rules { limits: &limits, counter: &counter }, now_ms).unwrap()
}

pub(crate) fn append_of(session: &Session, command: &Command, now_ms: u64) -> Append {
    Append {
        decided_on: session.version,
        at_ms: now_ms,
        decision: Arc::new(decision(session, command, now_ms)),
        blobs: Vec::new(),
        new_decisions: NewDecisions::default(),
        lessons: None,
        shown: None,
        reply: None,
        place: ProjectSlot::Any,
        room: Room { open_max: 100, fair_share_percent: None },
    }
}

pub(crate) fn load_of(name: &str, ended: EndedBranches) -> Load {
    Load {
        target: Target::Session(key(name)),
        ended,
        rate_back: 5,
        reply_key: Some("k".to_owned()),
        counted: Vec::new(),
    }
}

pub(crate) async fn loaded(store: &Store, name: &str, ended: EndedBranches) -> Loaded {
    store.load(load_of(name, ended)).await.unwrap().unwrap()
}

pub(crate) fn fresh(name: &str) -> Session {
    Session::new(Principal::local().owner, SessionId::parse(name).unwrap(), 0)
}

/// Marks all ends as learnt from: sessions with ends that are not do not lapse.
pub(crate) async fn learn_nothing(store: &Store) {
    let OutboxBatch { from, to, .. } = store.outbox(100).await.unwrap();
    store.learn(LearnStep { from, to, writes: Vec::new(), memories_max: 0, at_ms: 0 }).await.unwrap();
}

pub(crate) fn open_store(folder: &TempDir) -> Store {
    Store::open(&folder.path().join("infold.db"), &settings_in(folder)).unwrap()
}

#[tokio::test]
async fn what_was_appended_reads_back_from_another_process() {
    let folder = TempDir::new().unwrap();
    let (writer, reader) = (open_store(&folder), open_store(&folder));
    let append = append_of(&fresh("s"), &open_command(1), 10);
    let expected = append.decision.after.clone();
    writer.append(append).await.unwrap();
    assert_eq!(loaded(&reader, "s", EndedBranches::Nothing).await.session, expected);
    assert_eq!(writer.secret(), reader.secret());
}

#[tokio::test]
async fn an_append_decided_on_an_older_version_is_refused_and_leaves_nothing() {
    let folder = TempDir::new().unwrap();
    let (one, other) = (open_store(&folder), open_store(&folder));
    one.append(append_of(&fresh("s"), &open_command(1), 10)).await.unwrap();
    let stale = append_of(&fresh("s"), &open_command(2), 10);
    assert_eq!(other.append(stale).await, Err(StoreError::Moved));
    let health = one.health().await.unwrap();
    assert_eq!((health.open_branches, health.events), (1, 3));
}

#[tokio::test]
async fn a_refused_append_does_not_spoil_the_others_in_its_group() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let good = (1..=20).map(|number| append_of(&fresh(&format!("s{number}")), &open_command(number), 10));
    let mut stale = append_of(&fresh("t"), &open_command(99), 10);
    stale.decided_on = 7;
    let mut waiting: Vec<_> = good
        .map(|append| {
            tokio::spawn({
                let store = store.clone();
                async move { store.append(append).await }
            })
        })
        .collect();
    waiting.push(tokio::spawn({
        let store = store.clone();
        async move { store.append(stale).await }
    }));
    let mut outcomes = Vec::new();
    for task in waiting {
        outcomes.push(task.await.unwrap());
    }
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 20);
    assert_eq!(store.health().await.unwrap().sessions, 20);
}

#[tokio::test]
async fn the_branch_that_is_one_too_many_for_the_instance_is_refused() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    store.append(append_of(&fresh("a"), &open_command(1), 10)).await.unwrap();
    let mut second = append_of(&fresh("b"), &open_command(2), 10);
    second.room.open_max = 1;
    assert_eq!(store.append(second).await, Err(StoreError::InstanceFull { open_max: 1 }));
    let session = loaded(&store, "a", EndedBranches::Nothing).await.session;
    store.append(append_of(&session, &fold_command(1, "done"), 20)).await.unwrap();
    assert_eq!(store.health().await.unwrap().open_branches, 0);
}

#[tokio::test]
async fn ended_branches_are_loaded_only_when_asked_for() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    store.append(append_of(&fresh("s"), &open_command(1), 10)).await.unwrap();
    let session = loaded(&store, "s", EndedBranches::Nothing).await.session;
    store.append(append_of(&session, &fold_command(1, "done"), 20)).await.unwrap();
    assert!(loaded(&store, "s", EndedBranches::Nothing).await.session.branches.is_empty());
    let session = loaded(&store, "s", EndedBranches::Branch(branch_id(1))).await.session;
    assert_eq!(session.branches[&branch_id(1)].end.as_ref().unwrap().result.as_str(), "done");
}

#[tokio::test]
async fn the_fifth_opening_back_is_found_by_its_place() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let mut session = fresh("s");
    for number in 1..=6 {
        let append = append_of(&session, &open_command(number), 1000 * number);
        session = append.decision.after.clone();
        store.append(append).await.unwrap();
    }
    assert_eq!(loaded(&store, "s", EndedBranches::Nothing).await.rate_mark_ms, Some(2000));
}

#[tokio::test]
async fn a_reply_is_stored_once() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let reply = Reply { key: "k".to_owned(), fingerprint: [3; 32], answer: "{}".to_owned() };
    let mut append = append_of(&fresh("s"), &open_command(1), 10);
    append.reply = Some(reply.clone());
    store.append(append).await.unwrap();
    let found = loaded(&store, "s", EndedBranches::Nothing).await;
    assert_eq!(found.reply, Some(reply.clone()));
    let mut again = append_of(&found.session, &open_command(2), 20);
    again.reply = Some(reply);
    assert_eq!(store.append(again).await, Err(StoreError::Moved));
}

#[tokio::test]
async fn blobs_are_compressed_shared_and_kept_from_others() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let content = scrubbed(&"one line of a long log\n".repeat(10_000));
    let mut session = fresh("s");
    for number in 1..=2u8 {
        let mut append = append_of(&session, &open_command(u64::from(number)), 10);
        append.blobs.push(NewBlob {
            id: BlobId::mint([number; 16]),
            tool_name: scrubbed("shell"),
            content: content.clone(),
            branch: None,
        });
        session = append.decision.after.clone();
        store.append(append).await.unwrap();
    }
    let found = store.blob(Owner::local(), BlobId::mint([2; 16])).await.unwrap().unwrap();
    assert_eq!(found.content, content.as_str());
    let foreign = store.blob(Owner::from_subject("mallory"), BlobId::mint([2; 16])).await.unwrap();
    assert!(foreign.is_none());
    let connection = rusqlite::Connection::open(store.path()).unwrap();
    let (count, bytes): (u64, u64) = connection
        .query_row("SELECT count(*), sum(length(content)) FROM blob_contents", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    assert_eq!(count, 1);
    assert!(bytes < 10_000, "{bytes} bytes are not compressed");
}

#[tokio::test]
async fn a_lapsed_session_goes_and_its_trajectories_stay_until_their_time() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    store.append(append_of(&fresh("s"), &open_command(1), 10)).await.unwrap();
    let sweep = Sweep { active_before_ms: 1000, ended_before_ms: 0, sessions_max: 10 };
    assert_eq!(store.sweep(sweep).await.unwrap(), Swept::default(), "a session with open branches stays");

    let session = loaded(&store, "s", EndedBranches::Nothing).await.session;
    store.append(append_of(&session, &fold_command(1, "done"), 20)).await.unwrap();
    let live = store.trajectory(Owner::local(), branch_id(1), None).await.unwrap().unwrap();
    learn_nothing(&store).await;
    assert_eq!(store.sweep(sweep).await.unwrap(), Swept { sessions: 1, archived: 0 });
    assert!(store.load(load_of("s", EndedBranches::All)).await.unwrap().is_none());
    let archived = store.trajectory(Owner::local(), branch_id(1), None).await.unwrap().unwrap();
    assert_eq!((archived.steps.len(), &archived.steps), (3, &live.steps));
    assert_eq!(store.newest_event().await.unwrap(), 4, "events do not begin again");
    let late = Sweep { ended_before_ms: 1000, ..sweep };
    assert_eq!(store.sweep(late).await.unwrap(), Swept { sessions: 0, archived: 1 });
    assert!(store.trajectory(Owner::local(), branch_id(1), None).await.unwrap().is_none());
}

#[tokio::test]
async fn what_was_rescued_stays_as_long_as_the_archive() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let name = format!("{}one", infold_core::SessionId::RESCUED);
    let mut session = fresh(&name);
    for (command, at_ms) in [(open_command(1), 10), (fold_command(1, "done"), 20)] {
        let append = append_of(&session, &command, at_ms);
        session = append.decision.after.clone();
        store.append(append).await.unwrap();
    }
    let sweep = Sweep { active_before_ms: 1000, ended_before_ms: 0, sessions_max: 10 };
    assert_eq!(store.sweep(sweep).await.unwrap(), Swept::default());
    let late = Sweep { ended_before_ms: 1000, ..sweep };
    assert_eq!(store.sweep(late).await.unwrap().sessions, 1);
}

#[tokio::test]
async fn of_two_new_sessions_for_one_project_the_first_is_current() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let project = ProjectHash::of("/p");
    let in_project = |name: &str, number| {
        let mut session = fresh(name);
        session.project = Some(project.clone());
        Append { place: ProjectSlot::Current, ..append_of(&session, &open_command(number), 10) }
    };
    store.append(in_project("first", 1)).await.unwrap();
    assert_eq!(store.append(in_project("second", 2)).await, Err(StoreError::Moved));
    let target = Target::Project(Owner::local(), project);
    let load = Load { target, ..load_of("x", EndedBranches::Nothing) };
    assert_eq!(store.load(load).await.unwrap().unwrap().session.id.as_str(), "first");
}

#[tokio::test]
async fn the_feed_goes_on_from_where_a_reader_left() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    store.append(append_of(&fresh("a"), &open_command(1), 10)).await.unwrap();
    store.append(append_of(&fresh("b"), &open_command(2), 11)).await.unwrap();
    let query = FeedQuery { owner: Owner::local(), session: None, after: 0, limit: 4 };
    let first = store.events(query.clone()).await.unwrap();
    let rest = store.events(FeedQuery { after: first[3].id, ..query.clone() }).await.unwrap();
    assert_eq!((first.len(), rest.len()), (4, 2));
    let of_b = FeedQuery { session: Some(SessionId::parse("b").unwrap()), ..query.clone() };
    assert_eq!(store.events(of_b).await.unwrap().len(), 3);
    let foreign = FeedQuery { owner: Owner::from_subject("mallory"), ..query };
    assert!(store.events(foreign).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_snapshot_replaces_the_one_before() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    store.append(append_of(&fresh("s"), &open_command(1), 10)).await.unwrap();
    for token_count in [5, 3] {
        let snapshot = Snapshot { messages: "[]".to_owned(), token_count };
        store.save_snapshot(key("s"), snapshot).await.unwrap();
    }
    assert_eq!(store.snapshot(key("s")).await.unwrap().unwrap().token_count, 3);
}

#[test]
fn a_database_of_a_newer_infold_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("infold.db");
    drop(Store::open(&path, &settings()).unwrap());
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let Err(error) = Store::open(&path, &settings()) else { panic!("opened") };
    assert!(matches!(error, StoreError::TooNew { found: 99, .. }));
}

#[cfg(unix)]
#[test]
fn database_files_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().unwrap();
    let _store = open_store(&folder);
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", file.path());
    }
}

#[tokio::test]
async fn each_generation_of_a_branch_reads_back_as_it_was_live_and_lapsed() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let mut session = fresh("s");
    let rollback = Command::RollBack { to: branch_id(1) };
    let commands = [open_command(1), fold_command(1, "first"), rollback, fold_command(1, "second")];
    for (at_ms, command) in (10..).zip(&commands) {
        let append = append_of(&session, command, at_ms);
        session = append.decision.after.clone();
        store.append(append).await.unwrap();
    }
    let read = async |generation| {
        let found = store.trajectory(Owner::local(), branch_id(1), generation).await.unwrap().unwrap();
        (found.archived.generation, found.archived.branch.end.unwrap().result.into_string(), found.steps.len())
    };
    let live = [read(Some(1)).await, read(None).await];
    assert_eq!(live, [(1, "first".to_owned(), 3), (2, "second".to_owned(), 5)]);
    let query = ArchiveQuery { owner: Owner::local(), session: None, offset: 0, limit: 10 };
    assert_eq!(store.archive(query.clone()).await.unwrap().len(), 1);

    learn_nothing(&store).await;
    store.sweep(Sweep { active_before_ms: 1000, ended_before_ms: 0, sessions_max: 10 }).await.unwrap();
    assert_eq!([read(Some(1)).await, read(None).await], live);
    assert_eq!(store.archive(query).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_sessions_log_reads_back_whole_unless_it_is_too_long() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    store.append(append_of(&fresh("s"), &open_command(1), 10)).await.unwrap();
    let session = loaded(&store, "s", EndedBranches::All).await.session;
    store.append(append_of(&session, &fold_command(1, "done"), 20)).await.unwrap();
    store.append(append_of(&fresh("t"), &open_command(2), 10)).await.unwrap();

    let log = store.log(key("s"), 1 << 20).await.unwrap().unwrap();
    let names: Vec<_> = log.iter().map(infold_core::Event::name).collect();
    assert_eq!(names, ["session.started", "branch.created", "branch.activated", "branch.folded"]);
    assert_eq!(store.event(key("s"), 4).await.unwrap().as_ref(), log.last());
    assert_eq!(store.event(key("s"), 5).await.unwrap(), None);
    assert_eq!(store.log(key("s"), 100).await.unwrap(), None);
    assert_eq!(store.log(key("nobody"), 100).await.unwrap(), Some(Vec::new()));
}

#[tokio::test]
async fn an_amended_result_is_the_one_that_the_archive_shows() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let mut session = fresh("s");
    let cut_short = Command::CutShort { branch: branch_id(1), reason: infold_core::EndReason::Interrupted };
    for (at_ms, command) in (10..).zip(&[open_command(1), cut_short, fold_command(1, "after all")]) {
        let append = append_of(&session, command, at_ms);
        session = append.decision.after.clone();
        store.append(append).await.unwrap();
    }
    let read = async || {
        let found = store.trajectory(Owner::local(), branch_id(1), None).await.unwrap().unwrap();
        (
            found.archived.branch.status.as_str(),
            found.archived.branch.end.unwrap().result.into_string(),
            found.steps.len(),
        )
    };
    let live = read().await;
    assert_eq!(live, ("failed", "after all".to_owned(), 4));
    learn_nothing(&store).await;
    store.sweep(Sweep { active_before_ms: 1000, ended_before_ms: 0, sessions_max: 10 }).await.unwrap();
    assert_eq!(read().await, live);
}

#[test]
fn a_database_of_the_first_schema_is_migrated_and_keeps_its_secret() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("infold.db");
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch(include_str!("schema.sql")).unwrap();
    old.execute("INSERT INTO instance (id, secret) VALUES (1, ?1)", [[3; 32]]).unwrap();
    old.pragma_update(None, "user_version", 1).unwrap();
    drop(old);
    assert_eq!(*Store::open(&path, &settings()).unwrap().secret(), [3; 32]);
    assert_eq!(std::fs::read(folder.path().join(KEY_FILE)).unwrap(), [3; 32]);
}

#[test]
fn all_of_these_hold_on_nats_too() {
    run_tests_on_nats("all_of_these_hold_on_nats_too").unwrap();
}
