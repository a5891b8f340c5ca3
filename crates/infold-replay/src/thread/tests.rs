//! Tests of where requests are, what they hold, and what their answers used.

use infold_core::transcript::{Item, Kind};

use super::{Compactions, EntryRole, Thread};
use crate::tests::script::{item, session};

fn spans(thread: &Thread<'_>) -> Vec<(usize, usize)> {
    thread.requests.iter().map(|request| (request.start, request.end)).collect()
}

#[test]
fn a_request_holds_everything_since_the_latest_summary() {
    let transcript = session("gpt-5", "user a\nsays b\nuser c\nsays d\nsummary e\nuser f\nsays g\n");
    let (thread, _) = Thread::main(&transcript, Compactions::AsRecorded);
    assert_eq!(spans(&thread), [(0, 1), (0, 3), (4, 6)]);
}

#[test]
fn without_recorded_requests_there_is_one_for_each_answer() {
    let text = "user a\nmuses b\ncall 1 t {}\nresult 1 c\nsays d\n";
    let mut transcript = session("gpt-5", text);
    let recorded = spans(&Thread::main(&transcript, Compactions::AsRecorded).0);
    transcript.calls.clear();
    let (thread, _) = Thread::main(&transcript, Compactions::AsRecorded);
    assert_eq!(spans(&thread), recorded);
    assert!(thread.requests.iter().all(|request| request.output_tokens > 0));
}

#[test]
fn what_a_client_repeats_after_a_compaction_comes_after_the_summary_unsigned() {
    let mut transcript = session("gpt-5", "user a\nsays b\nsummary c\nuser d\nsays e\n");
    let repeated: Vec<Item> = vec![item("thinks x"), item("call 9 t {}"), item("result 9 y")];
    let Kind::Compaction { kept, .. } = &mut transcript.items[2].kind else { panic!("a compaction") };
    *kept = repeated;
    let (thread, _) = Thread::main(&transcript, Compactions::AsRecorded);
    let roles: Vec<EntryRole> = thread.entries.iter().map(|entry| entry.role).collect();
    assert_eq!(
        roles,
        [
            EntryRole::User,
            EntryRole::Assistant,
            EntryRole::Summary,
            EntryRole::Reasoning,
            EntryRole::Call,
            EntryRole::Result,
            EntryRole::User,
            EntryRole::Assistant
        ]
    );
    assert_eq!(spans(&thread), [(0, 1), (2, 7)]);
    assert_eq!(thread.entries[5].tool, "t", "a result has the tool of its call");
}

#[test]
fn the_base_is_the_first_prompt_less_the_first_user_text_within_bounds() {
    let base = |prompt| {
        let mut transcript = session("gpt-5", "user the*100\nsays b\n");
        transcript.calls[0].usage.fresh_tokens = prompt;
        Thread::main(&transcript, Compactions::AsRecorded).0.base_tokens
    };
    assert_eq!([base(20), base(10_100), base(90_000)], [5_000, 10_000, 60_000]);
}

#[test]
fn requests_that_were_never_counted_are_none() {
    let mut transcript = session("gpt-5", "user a\nsays b\nuser c\nsays d\n");
    transcript.calls[0].usage.fresh_tokens = 0;
    assert_eq!(spans(&Thread::main(&transcript, Compactions::AsRecorded).0), [(0, 3)]);
}

#[test]
fn a_request_past_the_end_holds_all() {
    let mut transcript = session("gpt-5", "user a\nsays b\nuser c\n");
    transcript.calls[0].first_item = 99;
    assert_eq!(spans(&Thread::main(&transcript, Compactions::AsRecorded).0), [(0, 3)]);
}

#[test]
fn after_a_compaction_only_what_came_since_is_needed() {
    let text = "user see old_name_1\nsays b\nsummary see new_name_2\ncall 1 t {\"n\": \"old_name_1 new_name_2\"}\n";
    let transcript = session("gpt-5", text);
    let (thread, _) = Thread::main(&transcript, Compactions::AsRecorded);
    assert_eq!(thread.requests[1].needs.atoms.len(), 1);
    assert_eq!(thread.requests[1].needs.atoms[0].entry, 2);
}
