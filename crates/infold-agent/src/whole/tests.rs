//! A whole session as a transcript.

use infold_core::record::Usage;
use infold_core::transcript::{Item, Kind};
use infold_core::{BranchId, Thread};

use super::transcript;
use crate::record::SessionRecord;
use crate::{SpokenBy, ThreadEntry};

fn texts(items: &[Item]) -> Vec<&str> {
    items
        .iter()
        .filter_map(|item| match &item.kind {
            Kind::User { text, .. } | Kind::Assistant { text } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn branches_are_subtasks_of_their_calls_and_what_was_gone_back_from_is_left_out() {
    let (main, branch) = (Thread::Main, BranchId::from_stored("br_1".to_owned()));
    let user = |text: &str, by| ThreadEntry::user(text, by);
    let answer = |thread: &Thread, text: &str| SessionRecord::Answered {
        thread: thread.clone(),
        entries: vec![ThreadEntry::Assistant { text: text.to_owned() }],
        usage: Usage::default(),
    };
    let said = |text| SessionRecord::Said { thread: Thread::Main, entries: vec![user(text, SpokenBy::Person)] };
    let start = vec![user("inherited", SpokenBy::Person), user("the brief", SpokenBy::Agent)];
    let records = [
        said("first"),
        answer(&main, "wrong"),
        SessionRecord::Rewound { to: 1 },
        answer(&main, "right"),
        SessionRecord::Opened { thread: main.clone(), call: "c1".to_owned(), branch: branch.clone(), start },
        answer(&Thread::Branch(branch), "in the branch"),
        said("second"),
    ];
    let transcript = transcript("s", (1..).zip(records).collect());
    assert_eq!(texts(&transcript.items), ["first", "right", "second"]);
    assert_eq!(transcript.subtasks.len(), 1);
    assert_eq!(transcript.subtasks[0].call, "c1");
    assert_eq!(texts(&transcript.subtasks[0].items), ["the brief", "in the branch"]);
}
