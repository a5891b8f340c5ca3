//! Clients clear results, those of our own tools too. What was hidden stays hidden.

use super::text::*;
use crate::transcript::CLEARED;
use crate::view::RequestKind::{Side, Turn};
use crate::view::{PlanAction, StoredDecisions};

const OPEN: &str = "
    user: fix the bug
    think: one
    call branch_create {description: find it} -> br_1 inherit
    think: two
    call read_file {path: a.rs} -> a
    ";

/// What is stored once a transcript was planned.
fn remembered(said: &[TestBlock]) -> StoredDecisions {
    let mut known = known().open(1, "so far").0;
    for action in plan_of(said, Turn, &known).actions {
        if let PlanAction::Remember(answers) = action {
            known.answers.extend(answers);
        }
    }
    assert!(plan_of(said, Turn, &known).actions.iter().all(|action| !matches!(action, PlanAction::Remember(_))));
    known
}

/// The same transcript with another text as the result of a call.
fn with_result(said: &[TestBlock], cleared: &str, now: &str) -> Vec<TestBlock> {
    let mut said = said.to_vec();
    for said in &mut said {
        if let What::Result { call, text, .. } = &mut said.what
            && call == cleared
        {
            *text = now.to_owned();
        }
    }
    said
}

fn shown(said: &[TestBlock], known: &StoredDecisions) -> String {
    view(said, &plan_of(said, Turn, known))
}

#[test]
fn an_opening_that_was_cleared_is_still_one() {
    let folded = format!("{OPEN}\ncall branch_return {{branch: br_1, message: done}} -> ok\nthink: three");
    let folded = format!("{folded}\ncall read_file {{path: b.rs}} -> b");
    for text in [OPEN, &folded] {
        let said = transcript(text);
        let known = remembered(&said);
        for now in [CLEARED, "", "{\"branch_id\":\"br_"] {
            let cleared = with_result(&said, "c1", now);
            assert_eq!(shown(&cleared, &known), shown(&said, &known));
            assert!(plan_of(&cleared, Turn, &known).open == plan_of(&said, Turn, &known).open);
        }
        assert_ne!(shown(&with_result(&said, "c1", CLEARED), &StoredDecisions::default()), shown(&said, &known));
    }
}

#[test]
fn a_return_that_was_cleared_is_still_one() {
    let said = transcript(&format!("{OPEN}\ncall branch_return {{message: done}} -> ok"));
    // Its call names no branch: only the answer does.
    let answer = format!("{{\"success\":true,\"message\":\"done\",\"branch_id\":\"{}\"}}", branch(1));
    let said = with_result(&said, "c3", &answer);
    let known = remembered(&said);
    assert!(shown(&said, &known).ends_with("c1 -> [branch br_1 returned] / done"));
    assert_eq!(shown(&with_result(&said, "c3", CLEARED), &known), shown(&said, &known));
}

#[test]
fn a_rollback_that_was_cleared_is_still_one() {
    let text = format!(
        "{OPEN}\ncall branch_return {{branch: br_1, message: done}} -> ok\ncall context_rollback {{branch: br_1}} -> ok"
    );
    let said = transcript(&text);
    let known = remembered(&said);
    let cleared = with_result(&said, "c4", CLEARED);
    assert_eq!(plan_of(&cleared, Turn, &known).open, [branch(1)]);
    assert!(plan_of(&cleared, Turn, &StoredDecisions::default()).open.is_empty());
}

#[test]
fn a_stored_answer_is_not_taken_for_another_one() {
    let said = transcript(OPEN);
    let known = remembered(&said);
    // A refusal is an answer of its own.
    let refused = with_result(&said, "c1", "{\"code\":\"too_deep\",\"status\":409}");
    assert!(plan_of(&refused, Turn, &known).open.is_empty());
    // Another call has the same id.
    let mut other = with_result(&said, "c1", CLEARED);
    for said in &mut other {
        if let What::Call { arguments, .. } = &mut said.what {
            *arguments = "{\"description\":\"something else\"}".to_owned();
        }
    }
    assert!(plan_of(&other, Turn, &known).open.is_empty());
}

#[test]
fn only_turns_of_the_loop_are_remembered() {
    let said = transcript(&format!("{OPEN}\nuser: what is this about?"));
    assert!(plan_of(&said, Side, &known().0).actions.is_empty());
}
