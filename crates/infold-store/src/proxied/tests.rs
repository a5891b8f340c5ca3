//! Decisions about model requests, stored and read back, and how long they stay.

use infold_core::view::{Anchor, BlockKey, ForcedFold, Note, Reason, Replacement, Restart, ScriptedCall, ScrubbedJson};
use infold_core::{BlobId, Owner, Thread};
use tempfile::TempDir;

use super::{CountedCall, Edits, NewDecisions};
use crate::tests::{
    append_of, branch_id, fold_command, fresh, key, load_of, loaded, open_command, open_store, scrubbed,
};
use crate::{Append, EndedBranches, NewBlob, Revision, Store, Sweep};

fn rewrite(content: u8, sent: &str) -> Replacement {
    Replacement {
        content: BlockKey([content; 16]),
        sent: ScrubbedJson::stored(sent.to_owned()),
        reason: Reason::Offloaded,
    }
}

fn endings() -> Vec<ForcedFold> {
    let ending =
        |number, place| ForcedFold { branch: branch_id(number), generation: 1, place, result: "so far".to_owned() };
    vec![
        ending(1, Anchor::After { call: "toolu_9".to_owned() }),
        ending(2, Anchor::Before { block: BlockKey([5; 16]) }),
    ]
}

fn restarts() -> Vec<Restart> {
    let after = Anchor::After { call: "toolu_9".to_owned() };
    let before = Anchor::Before { block: BlockKey([5; 16]) };
    let restart = |root, from: Option<&str>, place| Restart { root, from: from.map(str::to_owned), place };
    vec![
        restart(None, None, before),
        restart(Some(Thread::Main), Some("toolu_1"), after.clone()),
        restart(Some(Thread::Branch(branch_id(1))), None, after),
    ]
}

/// One decision of every kind, or a few.
fn sample() -> NewDecisions {
    NewDecisions {
        rewrites: vec![("toolu_1".to_owned(), rewrite(1, r#""short""#))],
        endings: endings(),
        notes: vec![Note { after: "toolu_1".to_owned(), text: "a note".to_owned() }],
        restarts: restarts(),
        answers: vec![(BlockKey([6; 16]), "answered ".repeat(1_000)), (BlockKey([7; 16]), "ok".to_owned())],
        continued: vec![BlockKey([8; 16])],
        scripted: scripted(),
        counted: Vec::new(),
        to_lighten: vec![Thread::Branch(branch_id(1)), Thread::Main],
        lightened: Vec::new(),
        edits: Edits::Yes,
    }
}

/// Calls that two scripts made in turn.
fn scripted() -> Vec<(String, ScriptedCall)> {
    let call = |run_by: &str, tool: &str, answer: &str| {
        let call = ScriptedCall { tool: tool.to_owned(), arguments: "{}".to_owned(), answer: answer.to_owned() };
        (run_by.to_owned(), call)
    };
    vec![
        call("call_2", "branch_create", &"opened ".repeat(1_000)),
        call("call_1", "branch_create", "opened"),
        call("call_2", "branch_return", "returned"),
    ]
}

/// Stores decisions in a session, which is made if it is not there yet.
async fn save(store: &Store, name: &str, new_decisions: NewDecisions) {
    let session = match store.load(load_of(name, EndedBranches::Nothing)).await.unwrap() {
        Some(loaded) => loaded.session,
        None => fresh(name),
    };
    let number = session.opened + 1;
    store.append(Append { new_decisions, ..append_of(&session, &open_command(number), 10) }).await.unwrap();
    let session = loaded(store, name, EndedBranches::Nothing).await.session;
    store.append(append_of(&session, &fold_command(number, "done"), 11)).await.unwrap();
}

#[tokio::test]
async fn what_was_decided_reads_back_in_another_process() {
    let folder = TempDir::new().unwrap();
    let (one, other) = (open_store(&folder), open_store(&folder));
    assert!(other.proxied(key("s")).await.unwrap().is_none());
    save(&one, "s", sample()).await;

    let found = other.proxied(key("s")).await.unwrap().unwrap();
    let wanted = sample();
    assert_eq!(found.decisions.rewrites, wanted.rewrites);
    assert_eq!((found.decisions.endings, found.decisions.notes), (wanted.endings, wanted.notes));
    assert_eq!((found.decisions.restarts, found.decisions.answers), (wanted.restarts, wanted.answers));
    assert_eq!(found.decisions.continued, wanted.continued);
    assert_eq!(found.decisions.scripted, wanted.scripted, "in their order");
    assert_eq!(found.decisions.to_lighten, wanted.to_lighten);
    assert_eq!((found.decisions.has_edited, found.decisions.appends), (true, 1));
    assert_eq!(found.session.branches.len(), 1, "ended branches are there too");
    assert_eq!(other.revision(key("s")).await.unwrap(), Some(Revision { version: 4, appends: 1 }));
}

#[tokio::test]
async fn what_was_decided_for_a_content_stays_and_long_bytes_come_back_as_they_were() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let rewrites = |content, sent: &str| NewDecisions {
        rewrites: vec![("toolu_1".to_owned(), rewrite(content, sent))],
        ..NewDecisions::default()
    };
    let long = format!("{:?}", "näh\\n ".repeat(1_000));
    save(&store, "s", rewrites(1, &long)).await;
    save(&store, "s", rewrites(1, "\"another\"")).await;
    let found = store.proxied(key("s")).await.unwrap().unwrap().decisions;
    assert_eq!(found.rewrites, [("toolu_1".to_owned(), rewrite(1, &long))]);
    assert!(!found.has_edited);

    let rescued = Replacement { reason: Reason::Rescued, ..rewrite(1, "\"moved out\"") };
    let rescue = NewDecisions { rewrites: vec![("toolu_1".to_owned(), rescued.clone())], ..NewDecisions::default() };
    save(&store, "s", rescue).await;
    let found = store.proxied(key("s")).await.unwrap().unwrap().decisions;
    assert_eq!(found.rewrites, [("toolu_1".to_owned(), rescued)], "a rescue decides again");

    save(&store, "s", rewrites(2, "\"for another content\"")).await;
    let found = store.proxied(key("s")).await.unwrap().unwrap().decisions;
    assert_eq!(found.rewrites, [("toolu_1".to_owned(), rewrite(2, "\"for another content\""))]);
}

#[tokio::test]
async fn a_thread_that_is_to_be_lightened_is_known_until_it_was() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    save(&store, "s", sample()).await;
    let again = NewDecisions { to_lighten: vec![Thread::Main], ..NewDecisions::default() };
    save(&store, "s", again).await;
    let done = NewDecisions { lightened: vec![Thread::Main], ..NewDecisions::default() };
    save(&store, "s", done).await;
    let found = store.proxied(key("s")).await.unwrap().unwrap().decisions;
    assert_eq!(found.to_lighten, [Thread::Branch(branch_id(1))], "asked for twice, and done once");
    assert_eq!(found.appends, 3);
}

#[tokio::test]
async fn an_ending_stays_at_the_place_that_was_stored_first() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    save(&store, "s", sample()).await;
    let at_another_place = ForcedFold { place: Anchor::After { call: "toolu_99".to_owned() }, ..endings()[0].clone() };
    save(&store, "s", NewDecisions { endings: vec![at_another_place], ..NewDecisions::default() }).await;
    assert_eq!(store.proxied(key("s")).await.unwrap().unwrap().decisions.endings, endings());
}

#[tokio::test]
async fn a_call_that_was_counted_is_found_again() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let plain = CountedCall { call: [1; 16], content: [2; 16], offloaded: None };
    let offloaded = CountedCall {
        call: [3; 16],
        content: [4; 16],
        offloaded: Some((BlobId::mint([9; 16]), "a reference".to_owned())),
    };
    save(&store, "s", NewDecisions { counted: vec![plain.clone(), offloaded.clone()], ..NewDecisions::default() })
        .await;
    let mut load = load_of("s", EndedBranches::Nothing);
    load.counted = vec![[1; 16], [2; 16], [3; 16]];
    assert_eq!(store.load(load).await.unwrap().unwrap().counted, [plain, offloaded]);
}

#[tokio::test]
async fn decisions_and_the_blobs_they_name_stay_as_long_as_the_archive_and_go_together() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    let blob = NewBlob {
        id: BlobId::mint([1; 16]),
        tool_name: scrubbed("shell"),
        content: scrubbed("a long result"),
        branch: None,
    };
    let append = Append { new_decisions: sample(), blobs: vec![blob], ..append_of(&fresh("s"), &open_command(1), 10) };
    store.append(append).await.unwrap();
    let session = loaded(&store, "s", EndedBranches::Nothing).await.session;
    store.append(append_of(&session, &fold_command(1, "done"), 20)).await.unwrap();
    store.store_prefix(key("s"), [1; 32]).await.unwrap();

    let sweep = Sweep { active_before_ms: 1000, ended_before_ms: 0, sessions_max: 10 };
    assert_eq!(store.sweep(sweep).await.unwrap().sessions, 0);
    assert!(store.blob(Owner::local(), BlobId::mint([1; 16])).await.unwrap().is_some());
    assert_eq!(store.sweep(Sweep { ended_before_ms: 1000, ..sweep }).await.unwrap().sessions, 1);
    assert!(store.blob(Owner::local(), BlobId::mint([1; 16])).await.unwrap().is_none());
    assert!(store.proxied(key("s")).await.unwrap().is_none());
    let connection = rusqlite::Connection::open(store.path()).unwrap();
    for table in [
        "proxied",
        "rewrites",
        "endings",
        "notes",
        "restarts",
        "answers",
        "heard",
        "scripted",
        "counted",
        "to_lighten",
        "chains",
        "blob_contents",
    ] {
        let sql = format!("SELECT count(*) FROM {table}");
        assert_eq!(connection.query_row(&sql, [], |row| row.get::<_, u64>(0)).unwrap(), 0, "{table}");
    }
}

#[tokio::test]
async fn a_conversation_is_known_by_its_longest_beginning_and_only_to_its_owner() {
    let folder = TempDir::new().unwrap();
    let store = open_store(&folder);
    assert!(!store.store_prefix(key("s"), [1; 32]).await.unwrap(), "nothing is stored of it");
    for name in ["s", "t"] {
        let number = u64::from(name.as_bytes()[0]);
        store.append(append_of(&fresh(name), &open_command(number), 10)).await.unwrap();
    }
    assert!(store.store_prefix(key("s"), [1; 32]).await.unwrap());
    assert!(store.store_prefix(key("t"), [2; 32]).await.unwrap());
    let of = async |owner: Owner, digests: &[[u8; 32]]| {
        store.find_by_prefix(owner, digests.to_vec()).await.unwrap().map(|id| id.to_string())
    };
    assert_eq!(of(Owner::local(), &[[1; 32], [2; 32], [3; 32]]).await.as_deref(), Some("t"));
    assert_eq!(of(Owner::local(), &[[1; 32], [3; 32]]).await.as_deref(), Some("s"));
    assert_eq!(of(Owner::local(), &[[3; 32]]).await, None);
    assert_eq!(of(Owner::from_subject("mallory"), &[[1; 32]]).await, None);

    for number in 10..200 {
        store.store_prefix(key("s"), [number; 32]).await.unwrap();
    }
    assert_eq!(of(Owner::local(), &[[1; 32]]).await, None, "old ones go");
    assert_eq!(of(Owner::local(), &[[199; 32]]).await.as_deref(), Some("s"));
    assert_eq!(of(Owner::local(), &[[2; 32]]).await.as_deref(), Some("t"), "those of others stay");
}
