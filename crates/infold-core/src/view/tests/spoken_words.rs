//! What people and clients say while a branch works: it stays where it is, and is in the parent when that goes on.

use insta::assert_snapshot;

use super::text::*;
use crate::view::RequestKind::Turn;
use crate::view::{LastAnswer, StoredDecisions, TranscriptStart, ViewRequest, plan};

const OPEN: &str = "
    user: fix the bug
    call branch_create {description: find it} -> br_1
";
const RETURN: &str = "call branch_return {branch: br_1, message: it is in a.rs} -> ok";

#[test]
fn what_is_typed_beside_results_is_shown_to_the_branch_and_then_to_its_parent() {
    let text =
        format!("{OPEN}\ncall bash {{command: sleep}} -> rejected\n+ client: [interrupted]\n+ user: do it otherwise");
    assert_snapshot!(check(&text), @"
    infold in entry 0: (brief of br_1: find it)
    call bash (c2)
      c2 -> rejected
    client: [interrupted]
    user: do it otherwise
    ");
    assert_snapshot!(check(&format!("{text}\n{RETURN}")), @"
    user: fix the bug
    call branch_create (c1)
      c1 -> [branch br_1 returned] / it is in a.rs
    client: [interrupted]
    user: do it otherwise
    ");
}

#[test]
fn what_was_put_into_results_is_shown_to_the_parent_too() {
    let text = format!("{OPEN}\ncall read {{path: a.rs}} -> a ~client: rules of the folder ~user: and hurry");
    assert_snapshot!(check(&text), @"
    infold in entry 0: (brief of br_1: find it)
    call read (c2)
      c2 -> a ~rules of the folder ~and hurry
    ");
    assert_snapshot!(check(&format!("{text}\n{RETURN}")), @"
    user: fix the bug
    call branch_create (c1)
      c1 -> [branch br_1 returned] / it is in a.rs
    infold: rules of the folder
    infold: and hurry
    ");
}

#[test]
fn words_inside_of_our_own_answers_are_not_lost_with_them() {
    let text = "
        user: fix the bug
        call branch_create {description: find it} -> br_1 ~client: a notice ~user: and hurry
    ";
    assert_snapshot!(check(text), @"
    infold in entry 0: (brief of br_1: find it)
    infold: and hurry
    ");
    let returned = "call branch_return {branch: br_1, message: done} -> ok ~user: well done";
    assert_snapshot!(check(&format!("{text}\n{returned}")), @"
    user: fix the bug
    call branch_create (c1)
      c1 -> [branch br_1 returned] / done /  / a notice /  / and hurry
    infold: well done
    ");
}

#[test]
fn what_a_client_says_again_and_again_is_carried_over_once_and_what_a_person_says_each_time() {
    let text = format!(
        "{OPEN}\ncall read {{path: a}} -> a ~client: be brief\n+ user: go on\n\
         call read {{path: b}} -> b ~client: be brief\n+ user: go on\n{RETURN}"
    );
    assert_snapshot!(check(&text), @"
    user: fix the bug
    call branch_create (c1)
      c1 -> [branch br_1 returned] / it is in a.rs
    infold: be brief
    user: go on
    user: go on
    ");
}

#[test]
fn what_was_said_two_branches_deep_reaches_the_main_thread() {
    let text = format!(
        "{OPEN}\ncall branch_create {{description: deeper}} -> br_2\ncall read {{path: a}} -> a\n+ user: mind the gap\n\
         call branch_return {{branch: br_1, message: both}} -> ok"
    );
    assert_snapshot!(check(&text), @"
    user: fix the bug
    call branch_create (c1)
      c1 -> [branch br_1 returned] / both
    user: mind the gap
    ");
}

#[test]
fn behind_an_answer_that_broke_off_the_branch_goes_on() {
    let text = format!("{OPEN}\ncall read {{path: a}} -> a\nsays: I will now\nuser: Resume where you stopped.");
    let said = transcript(&text);
    let blocks = blocks(&said);
    let broken = ViewRequest { last_answer: LastAnswer::BrokeOff, ..request(&blocks, Turn, &[]) };
    let mut known = known().open(1, "so far").0;
    let planned = plan(&broken, &known, &key(), &scrubber());
    assert_snapshot!(view(&said, &planned), @"
    infold in entry 0: (brief of br_1: find it)
    call read (c2)
      c2 -> a
    says: I will now
    user: Resume where you stopped.
    ");
    // The decision is stored: in the next request the words are earlier ones, and the branch is still open.
    let continued = planned.actions.iter().find_map(|action| match action {
        crate::view::PlanAction::Continue(place) => Some(*place),
        _ => None,
    });
    known.continued.extend(continued);
    let next = format!("{text}\ncall read {{path: b}} -> b");
    assert_snapshot!(check_with(&next, Turn, &Stored(known)), @"
    infold in entry 0: (brief of br_1: find it)
    call read (c2)
      c2 -> a
    says: I will now
    user: Resume where you stopped.
    call read (c3)
      c3 -> b
    ");
    // A person who speaks behind a whole answer is answered on the parent.
    assert_snapshot!(check(&text), @"
    user: fix the bug
    call branch_create (c1)
      c1 -> [branch br_1 was cut short: interrupted]
    user: Resume where you stopped.
    ");
}

#[test]
fn behind_a_summary_branches_have_what_the_client_says_there() {
    let text = "
        user: This session is being continued
        says: done so far
        file: what stood in a.rs
        client: the project's rules
        + user: go on
        system: the environment
        call read {path: a} -> a ~client: not in front any more
        call branch_create {description: find it} -> br_1
    ";
    let said = transcript(text);
    let blocks = blocks(&said);
    let compacted = ViewRequest { beginning: TranscriptStart::Summary, ..request(&blocks, Turn, &[]) };
    assert_snapshot!(view(&said, &plan(&compacted, &StoredDecisions::default(), &key(), &scrubber())), @"
    infold in entry 0: (brief of br_1: find it)
    client: the project's rules
    system: the environment
    ");
}

#[test]
fn what_a_client_shows_of_a_file_is_not_the_branchs() {
    let text = "
        client: rules
        + file: what stood in a.rs
        + user: fix @a.rs
        call branch_create {description: find it} -> br_1
    ";
    assert_snapshot!(check(text), @"
    client: rules
    infold in entry 0: (brief of br_1: find it)
    ");
}
