//! A day after its last activity a session's live state is gone on every machine, and what it did is in the archive.

use std::time::Instant;

use async_nats::jetstream::stream::Stream;
use futures::TryStreamExt;
use infold_testkit::MovedClock;
use serde_json::json;

use super::machines::Machines;
use crate::support::{Database, PATIENCE, POLL, Program};

/// Opens a branch on one machine and folds it on another.
async fn work(session: &str, opener: &Program, folder: &Program) -> String {
    let branch = opener.open(session, "Search the logs").await.unwrap();
    opener.record(session, json!({"tool_name": "grep", "content": "three lines"})).await.unwrap();
    folder.fold(&branch, &format!("Found by {session}")).await.unwrap();
    branch
}

/// What other programs can watch of a session, behind its name.
async fn documents(stream: &Stream, session: &str) -> Vec<String> {
    let filter = format!("sessions.*.*.{session}.>");
    let subjects: Vec<(String, usize)> = stream.info_with_subjects(filter).await.unwrap().try_collect().await.unwrap();
    let mut about: Vec<String> =
        subjects.iter().map(|(subject, _)| subject.splitn(5, '.').nth(4).unwrap().to_owned()).collect();
    about.sort();
    about
}

/// Rows of a session in the tables of a machine's index that hold live state, and in its archive.
fn rows(program: &Program, session: &str) -> (i64, i64) {
    let index = Database::look(&program.daemon.data().join("cluster")).unwrap();
    let count = |sql: &str| index.number(&sql.replace("NAME", session)).unwrap();
    let mut live = count("SELECT count(*) FROM sessions WHERE name = 'NAME'");
    for table in ["branches", "events", "session_snapshots"] {
        live += count(&format!("SELECT count(*) FROM {table} WHERE session_id LIKE '%NAME'"));
    }
    (live, count("SELECT count(*) FROM archive WHERE session = 'NAME'"))
}

/// Waits until a session's live state is gone everywhere, and its only branch can be read from the archive of every machine.
async fn until_lapsed(programs: &[Program], stream: &Stream, session: &str, branch: &str) {
    let begun = Instant::now();
    loop {
        let found: Vec<(i64, i64)> = programs.iter().map(|program| rows(program, session)).collect();
        let watched = documents(stream, session).await;
        if found.iter().all(|found| *found == (0, 1)) && watched.is_empty() {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{session} has rows {found:?} and documents {watched:?}");
        tokio::time::sleep(POLL).await;
    }
    for program in programs {
        let kept = program.api.get(&format!("/api/v1/archive/{branch}")).await.unwrap().with_status(200).unwrap();
        assert!(kept.to_string().contains(&format!("Found by {session}")), "{kept}");
        assert_eq!(program.api.get(&format!("/api/v1/sessions/{session}")).await.unwrap().status, 404);
    }
}

/// Waits until a session has been documented up to its newest branch.
async fn until_documented(stream: &Stream, session: &str, branches: &[&str]) {
    let mut all: Vec<String> = branches.iter().map(|branch| format!("branches.{branch}")).collect();
    for about in ["branch.created", "branch.folded", "operation.completed"] {
        all.push(format!("events.{about}"));
    }
    all.push("meta.session_state".to_owned());
    all.sort();
    let begun = Instant::now();
    while documents(stream, session).await != all {
        assert!(begun.elapsed() < PATIENCE, "{session}: {:?}", documents(stream, session).await);
        tokio::time::sleep(POLL).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_after_its_last_activity_a_session_is_in_the_archive_only() {
    let Some(clock) = MovedClock::new().unwrap() else { return };
    let Some(mut machines) = Machines::start(2, |setup| clock.given_to(setup)).await else { return };
    let programs = machines.programs().await;
    let (one, other) = (&programs[0], &programs[1]);
    let context = async_nats::jetstream::new(machines.cluster.client().await.unwrap());
    let stream = context.get_stream("INFOLD_STATE").await.unwrap();

    let older = work("older", one, other).await;
    clock.set_hours(2.0).unwrap();
    let (left, touched) = (work("left", one, other).await, work("touched", other, one).await);
    for (session, branch) in [("older", &older), ("left", &left), ("touched", &touched)] {
        until_documented(&stream, session, &[branch]).await;
    }

    // 24.5 hours after the last activity of the first, and 22.5 after that of the others.
    clock.set_hours(24.5).unwrap();
    until_lapsed(&programs, &stream, "older", &older).await;
    assert!(programs.iter().all(|program| rows(program, "left").0 > 0 && rows(program, "touched").0 > 0));
    let again = work("touched", one, one).await;
    until_documented(&stream, "touched", &[&touched, &again]).await;

    // The session was used 2 hours ago: what is 24.5 hours old in it stays with it.
    clock.set_hours(26.5).unwrap();
    until_lapsed(&programs, &stream, "left", &left).await;
    until_documented(&stream, "touched", &[&touched, &again]).await;
    for program in &programs {
        assert_eq!(program.api.get("/api/v1/sessions/touched").await.unwrap().status, 200);
        assert_eq!(rows(program, "touched").1, 0);
    }
}
