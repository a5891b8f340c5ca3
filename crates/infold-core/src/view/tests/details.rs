//! Smaller cases: what is inherited, what moves, what nests.

use insta::assert_snapshot;

use super::text::*;
use crate::EndReason;
use crate::view::RequestKind::{Side, Turn};
use crate::view::{BranchState, StoredDecisions};

#[test]
fn an_inheriting_branch_begins_as_its_parent() {
    let text = "
        user: fix the bug
        think: one
        call read_file {path: a.rs} -> a
        think: two
        call branch_create {description: first} -> br_1 inherit
        + call read_file {path: b.rs} -> b
        + call branch_create {description: second} -> br_2 inherit
        + client: a reminder
        think: three
        call read_file {path: c.rs} -> c
        ";
    assert_snapshot!(check(text), @"
    user: fix the bug
    think: one
    call read_file (c1)
      c1 -> a
    think: two
    call branch_create (c2)
    call read_file (c3)
    call branch_create (c4)
      c2 -> (brief of br_1: first)
      c3 -> b
      c4 -> [branch br_2: its parent gets the answer]
    client: a reminder
    think: three
    call read_file (c5)
      c5 -> c
    ");
    assert_snapshot!(check(&format!("{text}\ncall branch_return {{branch: br_1, message: done}} -> ok")), @"
    user: fix the bug
    think: one
    call read_file (c1)
      c1 -> a
    think: two
    call branch_create (c2)
    call read_file (c3)
    call branch_create (c4)
      c2 -> [branch br_1: its parent gets the answer]
      c3 -> b
      c4 -> (brief of br_2: second)
    client: a reminder
    ");
}

#[test]
fn exchanges_that_loaded_tools_come_along_as_they_were_made() {
    assert_snapshot!(check("
        user: go
        think: one
        call ToolSearch {query: x} -> loads branch_return
        + call read_file {path: a.rs} -> a
        + call ToolSearch {query: y} -> loads read_result
        call branch_create {description: find} -> br_1
    "), @"
    infold in entry 0: (brief of br_1: find)
    call ToolSearch (c1)
    call ToolSearch (c3)
      c1 -> loads branch_return
      c3 -> loads read_result
    ");
}

#[test]
fn branches_nest() {
    let text = "
        user: fix the bug
        call branch_create {description: outer} -> br_1
        call ToolSearch {query: x} -> loads read_result
        call read_file {path: a.rs} -> a
        call branch_create {description: inner} -> br_2
        call read_file {path: b.rs} -> b
        ";
    assert_snapshot!(check(text), @"
    infold in entry 0: (brief of br_2: inner)
    call ToolSearch (c2)
      c2 -> loads read_result
    call read_file (c5)
      c5 -> b
    ");
    assert_snapshot!(check(&format!("{text}\ncall branch_return {{branch: br_2, message: deep}} -> ok")), @"
    infold in entry 0: (brief of br_1: outer)
    call ToolSearch (c2)
      c2 -> loads read_result
    call read_file (c3)
      c3 -> a
    call branch_create (c4)
      c4 -> [branch br_2 returned] / deep
    ");
    // A return of the outer branch folds what is open below it.
    assert_snapshot!(check(&format!("{text}\ncall branch_return {{branch: br_1, message: all}} -> ok")), @"
    user: fix the bug
    call branch_create (c1)
      c1 -> [branch br_1 returned] / all
    ");
}

#[test]
fn somebody_speaks_over_nested_and_waiting_branches() {
    let text = "
        user: fix the bug
        call branch_create {description: first} -> br_1
        + call branch_create {description: second} -> br_2
        call branch_create {description: inner} -> br_3
        user: stop
        ";
    let stored = known().open(1, "one").open(2, "two").open(3, "three");
    assert_snapshot!(check_with(text, Turn, &stored), @"
    user: fix the bug
    call branch_create (c1)
    call branch_create (c2)
      c1 -> [branch br_1 was cut short: interrupted] / one
      c2 -> [branch br_2 was cut short: interrupted] / two
    user: stop
    ! interrupt br_3 before user: stop
    ! interrupt br_1 before user: stop
    ! interrupt br_2 before user: stop
    ");
}

#[test]
fn an_opening_behind_a_return_moves_to_the_parent() {
    let text = "
        user: fix the bug
        call branch_create {description: first} -> br_1
        think: inside
        call branch_return {branch: br_1, message: one} -> ok
        + call branch_create {description: second} -> br_2
        + client: beside
        ";
    assert_snapshot!(check(text), @"infold in entry 0: (brief of br_2: second)");
    assert_snapshot!(check(&format!("{text}\ncall branch_return {{branch: br_2, message: two}} -> ok")), @"
    user: fix the bug
    call branch_create (c1)
      c1 -> [branch br_1 returned] / one
    call branch_create (c3)
      c3 -> [branch br_2 returned] / two
    client: beside
    ");
}

#[test]
fn an_opening_in_front_of_a_return_goes_with_it() {
    assert_snapshot!(check("
        user: fix the bug
        call branch_create {description: first} -> br_1
        call branch_create {description: second} -> br_2
        + call branch_return {branch: br_1, message: one} -> ok
        + user: well?
    "), @"
    user: fix the bug
    call branch_create (c1)
      c1 -> [branch br_1 returned] / one
    user: well?
    ");
}

#[test]
fn a_persons_words_beside_an_opening_are_for_the_branch() {
    let text = "
        user: fix the bug
        call branch_create {description: first} -> br_1
        + client: a reminder
        + user: and look at b.rs
        ";
    assert_snapshot!(check(text), @"
    infold in entry 0: (brief of br_1: first)
    user: and look at b.rs
    ");
    assert_snapshot!(check(&format!("{text}\ncall branch_return {{branch: br_1, message: one}} -> ok")), @"
    user: fix the bug
    call branch_create (c1)
      c1 -> [branch br_1 returned] / one
    client: a reminder
    user: and look at b.rs
    ");
}

#[test]
fn entries_of_one_block_give_the_same_view() {
    let text = "
        system: rules
        user: fix the bug
        call branch_create {description: first} -> br_1
        + call read_file {path: a.rs} -> a
        call read_file {path: b.rs} -> b
        ";
    let view = |text: &str| check(text).replace("infold in entry 1", "infold");
    let flat = |text: &str| check_flat(text).replace("infold in entry 1", "infold");
    assert_eq!(view(text), flat(text));
    let text = format!("{text}\ncall branch_return {{branch: br_1, message: one}} -> ok\n+ client: beside");
    assert_eq!(check(&text), check_flat(&text));
}

#[test]
fn a_failure_is_shown_as_one() {
    assert_snapshot!(check("
        user: go
        call branch_create {description: first} -> br_1
        call branch_return {branch: br_1, message: no such file} -> failed
    "), @"
    user: go
    call branch_create (c1)
      c1 -> [branch br_1 failed] / no such file
    ");
}

#[test]
fn the_other_family_of_tools_folds_too() {
    assert_snapshot!(check("
        user: go
        call infold_context_branch {description: first, prompt: do it} -> br_1
        call read_file {path: a.rs} -> a
        call infold_context_return {branch: br_1, message: done} -> ok
    "), @"
    user: go
    call infold_context_branch (c1)
      c1 -> [branch br_1 returned] / done
    ");
}

#[test]
fn an_answer_that_the_client_cut_comes_from_the_store() {
    let cut = format!(
        r#"{{"success":true,"tokens_used":5,"message":"a long …2,000 tokens cut… end","branch_id":"{}""#,
        branch(1)
    );
    let text = format!(
        "user: go\ncall branch_create {{description: x}} -> br_1\ncall branch_return {{branch: br_1}} -> {cut}"
    );
    assert_snapshot!(check_with(&text, Turn, &known().ended(1, EndReason::Returned, "a long, whole message")), @"
    user: go
    call branch_create (c1)
      c1 -> [branch br_1 returned] / a long, whole message
    ");
    assert_snapshot!(check_with(&text, Turn, &known()), @r#"
    user: go
    call branch_create (c1)
      c1 -> [branch br_1 returned] / {"success":true,"tokens_used":5,"message":"a long …2,000 tokens cut… end","branch_id":"br_1"
    "#);
    // An answer that is cleared folds only if the store has the branch as returned.
    let text = "user: go\ncall branch_create {description: x} -> br_1\ncall branch_return {branch: br_1} -> [Old tool result content cleared]";
    assert_snapshot!(check_with(text, Turn, &known().ended(1, EndReason::Returned, "a long, whole message")), @"
    user: go
    call branch_create (c1)
      c1 -> [branch br_1 returned] / a long, whole message
    ");
    assert_eq!(plan_of(&transcript(text), Turn, &StoredDecisions::default()).open, [branch(1)]);
}

#[test]
fn words_around_an_answer_do_not_matter() {
    let said = |answer: &str| transcript(&format!("user: go\ncall branch_create {{description: x}} -> {answer}"));
    let json = format!(r#"{{"branch_id":"{}","depth":1}}"#, branch(1));
    let quoted = serde_json::json!([{"type": "text", "text": json}]).to_string();
    for answer in [format!("Wall time: 0.1 {{s}} Output: {json}"), quoted, format!(" {json} ")] {
        assert_eq!(plan_of(&said(&answer), Turn, &StoredDecisions::default()).open, [branch(1)], "{answer}");
    }
}

#[test]
fn a_rollback_from_inside_discards_what_is_open() {
    let text = "
        user: go
        call branch_create {description: outer} -> br_1
        call read_file {path: a.rs} -> a
        call branch_create {description: inner} -> br_2
        call read_file {path: b.rs} -> b
        call context_rollback {branch: br_1} -> ok br_2
        ";
    assert_snapshot!(check(text), @"
    infold in entry 0: (brief of br_1: outer)
    call read_file (c2)
      c2 -> a
    call context_rollback (c5)
      c5 -> its own answer, 156 bytes
    ");
    let text = format!("{text}\ncall branch_return {{branch: br_1, message: done}} -> ok");
    assert_snapshot!(check(&text), @"
    user: go
    call branch_create (c1)
      c1 -> [branch br_1 returned] / done
    ");
}

#[test]
fn a_rollback_that_only_reports_does_nothing() {
    let report = format!(r#"{{"rolled_back_to":"{}","branches_discarded":[],"restored":false}}"#, branch(1));
    let text = format!(
        "user: go
        call branch_create {{description: first}} -> br_1
        call branch_return {{branch: br_1, message: one}} -> ok
        call context_rollback {{branch: br_1}} -> {report}"
    );
    assert_eq!(plan_of(&transcript(&text), Turn, &StoredDecisions::default()).open, []);
}

#[test]
fn a_rollback_to_one_of_several_opened_together() {
    let text = "
        user: go
        call branch_create {description: first} -> br_1
        + call branch_create {description: second} -> br_2
        call branch_return {branch: br_1, message: one} -> ok
        call branch_return {branch: br_2, message: two} -> ok
        says: hm
        user: again
        call context_rollback {branch: br_1} -> ok br_2
        call branch_return {branch: br_1, message: better} -> ok
        ";
    assert_snapshot!(check(text), @"
    user: go
    call branch_create (c1)
    call branch_create (c2)
      c1 -> [branch br_1 returned] / better
      c2 -> [branch br_2 was cut short: discarded by a rollback]
    infold: [What was said before the branch was opened again. It has been told.]
    user: again
    ");
}

#[test]
fn a_branch_that_a_rollback_discarded_does_not_come_back() {
    // The same number of items comes before both openings: only the messages that they are in distinguish them.
    let text = "
        user: go
        call branch_create {description: x} -> br_1
        says: two at a time
        says: or more
        call branch_create {description: y} -> br_2 inherit
        call context_rollback {branch: br_1} -> ok br_2
        call branch_create {description: z} -> br_3
        call branch_return {branch: br_3, message: first} -> ok
        call context_rollback {branch: br_3} -> ok
        call branch_return {branch: br_3, message: second} -> ok
        ";
    assert_snapshot!(check(text), @"
    infold in entry 0: (brief of br_1: x)
    call context_rollback (c3)
      c3 -> its own answer, 156 bytes
    call branch_create (c4)
      c4 -> [branch br_3 returned] / second
    ");
}

#[test]
fn a_side_call_behind_words_that_ended_a_branch() {
    let text = "
        user: go
        call branch_create {description: x} -> br_1
        call read_file {path: a.rs} -> a
        + client: a reminder
        user: stop
        user: what is this about?
        ";
    let stored =
        known().ended(1, EndReason::Interrupted, "so far").ending(1, 1, before_person(text, "stop", 1), "so far");
    assert_snapshot!(check_with(text, Side, &stored), @"
    user: go
    call branch_create (c1)
      c1 -> [branch br_1 was cut short: interrupted] / so far
    client: a reminder
    user: stop
    user: what is this about?
    ");
}

#[test]
fn a_rollback_finds_an_interrupted_branch_as_far_as_it_had_come() {
    let text = "
        user: fix the bug
        call branch_create {description: find it} -> br_1
        think: one
        call read_file {path: a.rs} -> a
        user: wait
        call context_rollback {branch: br_1} -> ok
        ";
    let stored = known().with(1, 2, BranchState::Open { partial: String::new() }).ending(
        1,
        1,
        before_person(text, "wait", 1),
        "so far",
    );
    assert_snapshot!(check_with(text, Turn, &stored), @"
    infold in entry 0: (brief of br_1: find it)
    think: one
    call read_file (c2)
      c2 -> a
    user: wait
    call context_rollback (c3)
      c3 -> its own answer, 115 bytes
    ");
}
