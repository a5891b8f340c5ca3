//! Pieces of work in transcripts that are put together here.

use infold_core::transcript::{CallOutcome, Client, HeldContent, Item, ItemPosition, Kind, Subtask, Transcript, Voice};

use super::{RecordedWork, WorkEnd};

fn items(kinds: Vec<Kind>) -> Vec<Item> {
    let item = |(kind, entry): (Kind, u64)| Item { place: ItemPosition { entry, part: 0 }, message: entry, kind };
    kinds.into_iter().zip(1..).map(item).collect()
}

fn call(id: &str, tool: &str, input: &str) -> Kind {
    Kind::Call { id: id.to_owned(), tool: tool.to_owned(), input: input.to_owned() }
}

fn result(id: &str, text: &str, outcome: CallOutcome) -> Kind {
    let (id, text) = (id.to_owned(), text.to_owned());
    Kind::Result { id, tool: String::new(), text, outcome, held: HeldContent::Whole }
}

fn asks(text: &str) -> Kind {
    Kind::User { text: text.to_owned(), voice: Voice::Person }
}

fn transcript(kinds: Vec<Kind>, subtasks: Vec<Subtask>) -> Transcript {
    Transcript { client: Client::ClaudeCode, session: None, items: items(kinds), calls: Vec::new(), subtasks }
}

#[test]
fn work_of_another_agent_is_a_piece_with_the_calls_that_were_recorded_of_it() {
    let work =
        vec![asks("Find it."), call("r", "Read", r#"{"file_path":"a.rs"}"#), result("r", "fn a", CallOutcome::Unsaid)];
    let kinds = vec![
        asks("Fix the bug."),
        call("t", "Task", r#"{"description":"Find the bug","prompt":"Find it."}"#),
        call("u", "Agent", r#"{"prompt":"Look\nelsewhere."}"#),
        result("t", "It is in a.rs.", CallOutcome::Succeeded),
        result("u", "It broke.", CallOutcome::Failed),
    ];
    let works = RecordedWork::of(&transcript(kinds, vec![Subtask { call: "t".to_owned(), items: items(work) }]));
    let shown: Vec<_> = works
        .iter()
        .map(|work| (work.description.as_str(), work.report.as_str(), work.end, work.calls.len(), work.ends.entry))
        .collect();
    assert_eq!(
        shown,
        [("Find the bug", "It is in a.rs.", WorkEnd::Returned, 1, 4), ("Look", "It broke.", WorkEnd::Failed, 0, 5),]
    );
    assert_eq!(works[0].calls[0].result, "fn a");
}

#[test]
fn a_branch_is_a_piece_with_the_lessons_that_its_agent_wrote() {
    let returns = r#"{"message":"Done.","failed":true,"lessons":[{"title":"T","lesson":"L"}]}"#;
    let kinds = vec![
        call("o", "mcp__infold__branch_create", r#"{"description":"Outer"}"#),
        call("i", "mcp__infold__branch_create", r#"{"description":"Inner"}"#),
        call("b", "Bash", r#"{"command":"ls"}"#),
        call("ir", "mcp__infold__branch_return", returns),
    ];
    let works = RecordedWork::of(&transcript(kinds, Vec::new()));
    let shown: Vec<_> = works.iter().map(|work| (work.description.as_str(), work.end, work.calls.len())).collect();
    assert_eq!(shown, [("Outer", WorkEnd::Unfinished, 1), ("Inner", WorkEnd::Failed, 1)]);
    assert_eq!(works[1].lessons[0].lesson, "L");
}

#[test]
fn a_session_without_sub_tasks_is_one_piece() {
    let kinds = vec![
        asks("Fix the bug in a.rs.\nIt is old."),
        call("e", "Edit", r#"{"file_path":"a.rs"}"#),
        result("e", "done", CallOutcome::Succeeded),
        Kind::Assistant { text: "It is fixed.".to_owned() },
    ];
    let works = RecordedWork::of(&transcript(kinds, Vec::new()));
    assert_eq!(works.len(), 1);
    assert_eq!((works[0].description.as_str(), works[0].report.as_str()), ("Fix the bug in a.rs.", "It is fixed."));
    assert_eq!(RecordedWork::of(&transcript(vec![call("e", "Edit", "{}")], Vec::new())), []);
}
