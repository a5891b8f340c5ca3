//! Which records a session can go back to, and what is behind them.

use infold_core::record::Usage;
use infold_core::{BranchId, Thread};
use serde_json::json;

use super::{PointKind, RewindPoint, branches_behind, points};
use crate::record::SessionRecord;
use crate::session::{AgentSession, NumberedRecord, live};
use crate::{SpokenBy, ThreadEntry};

fn said(thread: Thread, text: &str, by: SpokenBy) -> SessionRecord {
    SessionRecord::Said { thread, entries: vec![ThreadEntry::user(text, by)] }
}

fn answered(thread: Thread, entry: ThreadEntry) -> SessionRecord {
    SessionRecord::Answered { thread, entries: vec![entry], usage: Usage::default() }
}

fn words(text: &str) -> ThreadEntry {
    ThreadEntry::Assistant { text: text.to_owned() }
}

fn branch() -> BranchId {
    BranchId::from_stored("br_1".to_owned())
}

fn log() -> Vec<NumberedRecord> {
    let call = ThreadEntry::Call { id: "c1".to_owned(), tool: "branch_create".to_owned(), arguments: json!({}) };
    let opened =
        SessionRecord::Opened { thread: Thread::Main, call: "c1".to_owned(), branch: branch(), start: Vec::new() };
    let records = [
        said(Thread::Main, "do it", SpokenBy::Person),
        said(Thread::Main, "[a note]", SpokenBy::Agent),
        answered(Thread::Main, call),
        opened,
        answered(Thread::Branch(branch()), words("in the branch")),
        answered(Thread::Main, words("done")),
    ];
    (1..).zip(records).collect()
}

fn shown(points: &[RewindPoint]) -> Vec<(u64, PointKind, &str)> {
    points.iter().map(|point| (point.record, point.kind, point.words.as_str())).collect()
}

#[test]
fn a_session_can_go_back_to_where_a_person_spoke_or_the_main_thread_was_answered() {
    let points = points(&live(log()));
    let wanted =
        [(1, PointKind::Said, "do it"), (3, PointKind::Answered, "(branch_create)"), (6, PointKind::Answered, "done")];
    assert_eq!(shown(&points), wanted);
}

#[test]
fn a_branch_is_behind_every_record_before_its_opening() {
    assert_eq!(branches_behind(&live(log()), 3), [branch()]);
    assert_eq!(branches_behind(&live(log()), 4), []);
}

#[test]
fn what_was_gone_back_from_is_no_point_any_more_and_each_time_is_counted() {
    let mut log = log();
    log.push((7, SessionRecord::Rewound { to: 1 }));
    log.push((8, answered(Thread::Main, words("another way"))));
    let points = points(&live(log.clone()));
    assert_eq!(shown(&points), [(1, PointKind::Said, "do it"), (8, PointKind::Answered, "another way")]);
    let session = AgentSession::replay(log);
    assert_eq!((session.records, session.rewinds), (8, 1));
    assert_eq!(session.threads[&Thread::Main].last_words(), "another way");
}
