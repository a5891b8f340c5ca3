//! What branches teach.

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::{Operation, Scrubbed};

const REPORT: &str = "Let me sum up.\nThe snapshot tests fail because `tests/fixtures.rs` is older than the schema. \
    Run `just fixtures` before them; nothing else needs to be changed in src/schema.rs.";

fn ended(reason: EndReason, said: &str) -> EndedBranch<'_> {
    EndedBranch {
        description: "Find out why\nthe snapshots fail",
        prompt: "The snapshots fail.",
        reason,
        said,
        operations: 5,
    }
}

fn operation(tool: &str, arguments: &str, result: &str) -> Operation {
    let [tool, arguments, result] = [tool, arguments, result].map(|text| Scrubbed::composed(text.to_owned()));
    Operation { tool, call_id: None, arguments, result, blob: None, tokens: 1 }
}

fn work() -> BranchWork {
    BranchWork::of(&[
        operation("Read", r#"{"file_path": "tests/fixtures.rs"}"#, "…"),
        operation(
            "Bash",
            r#"{"command": "cargo test --snapshots"}"#,
            "Exit code 101\nrunning 1 test\nerror: 1 test failed",
        ),
        operation("mcp__files__edit_file", r#"{"path": "src/schema.rs", "new_string": "x"}"#, "ok"),
        operation("Bash", r#"{"command": "just  fixtures"}"#, "done"),
        operation("exec_command", r#"{"cmd": "cargo test"}"#, "Process exited with code 0\nok"),
    ])
}

fn shown(distilled: Result<DistilledDraft, NoLesson>) -> String {
    match distilled {
        Ok(DistilledDraft { draft, files, commands }) => {
            let kind = draft.kind.map_or("", MemoryKind::as_str);
            let files: Vec<String> = files.iter().map(|(path, used)| format!("{path} {used:?}")).collect();
            format!("{kind}: {}\n{}\n{}\n{}", draft.title, draft.lesson, files.join(", "), commands.join(", "))
        }
        Err(none) => format!("none: {}", none.as_str()),
    }
}

#[test]
fn a_success_teaches_what_its_report_says_with_files_and_commands() {
    assert_snapshot!(shown(distil(&ended(EndReason::Returned, REPORT), &work())), @r"
    works: Find out why the snapshots fail
    The snapshot tests fail because `tests/fixtures.rs` is older than the schema. Run `just fixtures` before them; nothing else needs to be changed in src/schema.rs.
    `cargo test --snapshots` failed (error: 1 test failed), then `cargo test` worked.
    src/schema.rs Edited, tests/fixtures.rs Read
    just fixtures, cargo test
    ");
}

#[test]
fn a_failure_teaches_what_was_tried_and_how_it_ended() {
    let reported = ended(EndReason::ReportedFailure, "There is no way to build the fixtures here.");
    assert_snapshot!(shown(distil(&reported, &BranchWork::default())), @r"
    fails: Find out why the snapshots fail
    This was tried and did not work.
    Asked: The snapshots fail.
    Said at the end: There is no way to build the fixtures here.
    ");
    let exhausted = ended(EndReason::BudgetExhausted, "");
    assert_snapshot!(shown(distil(&exhausted, &work())), @r"
    fails: Find out why the snapshots fail
    This was tried and not finished: budget exhausted.
    Asked: The snapshots fail.
    Run last: `cargo test --snapshots`, `just fixtures`, `cargo test`
    src/schema.rs Edited, tests/fixtures.rs Read
    cargo test --snapshots, just fixtures, cargo test
    ");
}

#[test]
fn what_says_too_little_teaches_nothing() {
    let none = |reason, said, operations, work: &BranchWork| {
        distil(&EndedBranch { operations, ..ended(reason, said) }, work).map_err(NoLesson::as_str).unwrap_err()
    };
    let nothing = BranchWork::default();
    assert_eq!(none(EndReason::Returned, "Done. All tests pass.", 9, &work()), "too little said");
    let vague = "It must always be done so because otherwise it fails, and nobody needs to use anything else for it.";
    assert_eq!(none(EndReason::Returned, vague, 9, &nothing), "nothing named");
    assert_eq!(none(EndReason::ReportedFailure, "No.", 9, &nothing), "too little said");
    assert_eq!(none(EndReason::ParentReturning, REPORT, 2, &work()), "too little work");
    assert_eq!(none(EndReason::Interrupted, REPORT, 9, &work()), "such an end");
    assert!(distil(&ended(EndReason::ParentReturning, REPORT), &work()).is_ok());
    assert!(distil(&ended(EndReason::Returned, REPORT), &nothing).is_ok(), "a file that is only named is enough");
}

proptest! {
    #[test]
    fn every_lesson_is_within_the_bounds_of_lessons(
        said in "\\PC{0,3000}", prompt in "\\PC{0,600}", commands in prop::collection::vec("\\PC{1,300}", 0..5),
        reason in prop::sample::select(vec![EndReason::Returned, EndReason::ReportedFailure, EndReason::SessionEndTimeout]),
    ) {
        let run = |command: &String| RunCommand { command: command.clone(), failure: None };
        let work = BranchWork { commands: commands.iter().map(run).collect(), ..BranchWork::default() };
        let branch = EndedBranch { description: "a task", prompt: &prompt, reason, said: &said, operations: 5 };
        if let Ok(made) = distil(&branch, &work) {
            prop_assert!(made.draft.clean().is_ok(), "{:?}", made.draft);
            prop_assert!(made.files.len() <= Lesson::FILES_MAX && made.commands.len() <= Lesson::COMMANDS_MAX);
        }
    }
}
