//! What comes from the store: shaped results, notes, restarts.

use insta::assert_snapshot;

use super::text::*;
use crate::view::RequestKind::Turn;
use crate::view::{Edit, Note, PlanAction, Reason, Replacement, Restart, ScrubbedJson};
use crate::{EndReason, Thread};

const TEXT: &str = "
    user: go
    think: one
    call read_file {path: a.rs} -> long
    + call read_file {path: b.rs} -> short
    + client: a reminder
    think: two
    call read_file {path: c.rs} -> c
    ";

fn rewritten(mut stored: Stored, call: &str, content: &str, sent: &str) -> Stored {
    let rewrite = Replacement {
        content: block_key(content),
        sent: ScrubbedJson::stored(sent.to_owned()),
        reason: Reason::Offloaded,
    };
    stored.0.rewrites.insert(call.to_owned(), rewrite);
    stored
}

#[test]
fn a_rewrite_is_sent_for_ever() {
    let stored = rewritten(known(), "c1", "long", "\"a reference\"");
    assert_snapshot!(check_with(TEXT, Turn, &stored), @r#"
    user: go
    think: one
    call read_file (c1)
    call read_file (c2)
      c1 => "a reference"
      c2 -> short
    client: a reminder
    think: two
    call read_file (c3)
      c3 -> c
    "#);
    let plan = plan_of(&transcript(TEXT), Turn, &stored.0);
    assert_eq!(plan.edits, [Edit { reason: Reason::Offloaded, blocks: 1 }]);
}

#[test]
fn the_client_clears_or_changes_a_result_itself() {
    let stored = rewritten(known(), "c1", "what it was when it was seen", "\"a reference\"");
    assert!(plan_of(&transcript(TEXT), Turn, &stored.0).edits.is_empty());
}

#[test]
fn a_rewrite_holds_in_whatever_thread_a_result_is_shown() {
    let text = "
        user: go
        call ToolSearch {query: x} -> loads read_result
        call branch_create {description: x} -> br_1
        ";
    let stored = rewritten(known(), "c1", "loads read_result", "\"shorter\"");
    assert_snapshot!(check_with(text, Turn, &stored), @r#"
    infold in entry 0: (brief of br_1: x)
    call ToolSearch (c1)
      c1 => "shorter"
    ! adopt br_1 below main
    "#);
}

#[test]
fn what_was_decided_is_not_new() {
    let stored = rewritten(known(), "c3", "c", "\"c\"");
    assert!(plan_of(&transcript(TEXT), Turn, &stored.0).unseen.is_empty());
    assert_eq!(plan_of(&transcript(TEXT), Turn, &known().0).unseen.len(), 1);
}

#[test]
fn a_note_comes_after_all_results_of_its_round() {
    let mut stored = known();
    stored.0.notes =
        vec![Note { after: "c1".into(), text: "noted".into() }, Note { after: "c3".into(), text: "last".into() }];
    assert_snapshot!(check_with(TEXT, Turn, &stored), @"
    user: go
    think: one
    call read_file (c1)
    call read_file (c2)
      c1 -> long
      c2 -> short
    client: a reminder
    infold: noted
    think: two
    call read_file (c3)
      c3 -> c
    infold: last
    ");

    // The same holds where each result is an entry of its own.
    let mut said = transcript(TEXT);
    said.iter_mut().enumerate().for_each(|(at, said)| said.entry = at);
    let flat = view(&said, &plan_of(&said, Turn, &stored.0));
    assert!(flat.contains("  c1 -> long\n  c2 -> short\ninfold: noted\nclient: a reminder"), "{flat}");
}

fn restart_after(call: &str) -> Restart {
    Restart { root: Some(Thread::Main), from: None, place: after(call) }
}

#[test]
fn reasoning_in_front_of_a_restart_goes() {
    let mut stored = known();
    stored.0.restarts = vec![restart_after("c2")];
    assert_snapshot!(check_with(TEXT, Turn, &stored), @"
    user: go
    call read_file (c1)
    call read_file (c2)
      c1 -> long
      c2 -> short
    client: a reminder
    think: two
    call read_file (c3)
      c3 -> c
    ");
}

#[test]
fn a_restart_behind_words_is_where_they_were_said() {
    let text = "
        user: go
        think: one
        call read_file {path: a.rs} -> a
        think: two
        says: done
        user: more
        ";
    let mut stored = known();
    stored.0.restarts.extend(plan_of(&transcript(text), Turn, &known().0).restart_here);
    let text = format!("{text}\nthink: three\nsays: yes\nuser: and now?");
    assert_snapshot!(check_with(&text, Turn, &stored), @"
    user: go
    call read_file (c1)
      c1 -> a
    says: done
    user: more
    think: three
    says: yes
    user: and now?
    ");
}

#[test]
fn a_client_that_goes_back_to_before_a_restart_makes_another_one() {
    let mut stored = known();
    let restart = Restart { from: Some("c2".into()), ..restart_after("c9") };
    stored.0.restarts = vec![restart.clone()];
    let said = transcript(TEXT);
    let plan = plan_of(&said, Turn, &stored.0);
    assert!(!view(&said, &plan).contains("think:"), "all of it was made on other bytes");
    let place = after("c3");
    assert_eq!(plan.actions, [PlanAction::Restart(Restart { place: place.clone(), ..restart.clone() })]);

    // Once that is stored, no action is left, and reasoning that is made later stays.
    stored.0.restarts.push(Restart { place, ..restart });
    let longer = format!("{TEXT}\nthink: later\ncall read_file {{path: d.rs}} -> d");
    let view = check_with(&longer, Turn, &stored);
    assert!(view.contains("think: later") && !view.contains("think: two") && !view.contains('!'), "{view}");

    // A client that goes back to before the first change finds everything unchanged.
    stored.0.restarts = vec![Restart { from: Some("c8".into()), ..restart_after("c9") }];
    let view = check_with(TEXT, Turn, &stored);
    assert!(view.contains("think: one") && view.contains("think: two") && !view.contains('!'), "{view}");
}

#[test]
fn a_restart_in_an_isolated_branch_leaves_its_parent_alone() {
    let text = "
        user: go
        think: one
        call branch_create {description: x} -> br_1
        think: two
        call read_file {path: a.rs} -> a
        think: three
        call read_file {path: b.rs} -> b
        ";
    let mut stored = known();
    stored.0.restarts = vec![Restart { root: Some(Thread::Branch(branch(1))), ..restart_after("c2") }];
    assert_snapshot!(check_with(text, Turn, &stored), @"
    infold in entry 0: (brief of br_1: x)
    call read_file (c2)
      c2 -> a
    think: three
    call read_file (c3)
      c3 -> b
    ! adopt br_1 below main
    ");
    let text = format!("{text}\ncall branch_return {{branch: br_1, message: done}} -> ok");
    assert_snapshot!(check_with(&text, Turn, &stored), @"
    user: go
    think: one
    call branch_create (c1)
      c1 -> [branch br_1 returned] / done
    ");
    // A branch that inherits begins with its parent's view, so the restart concerns the parent too.
    let text = text.replace("-> br_1", "-> br_1 inherit");
    assert_snapshot!(check_with(&text, Turn, &stored), @"
    user: go
    call branch_create (c1)
      c1 -> [branch br_1 returned] / done
    ");
}

#[test]
fn whether_results_can_be_read_back() {
    let said = transcript("user: go\ncall ToolSearch {query: x} -> loads mcp__infold__read_result");
    assert!(plan_of(&said, Turn, &known().0).reads_results);
    let said = transcript("user: go\ncall ToolSearch {query: x} -> loads other");
    assert!(!plan_of(&said, Turn, &known().0).reads_results);
    // A branch loaded it and folded: its parent's model cannot call it.
    let said = transcript(
        "
        user: go
        call branch_create {description: x} -> br_1
        call ToolSearch {query: x} -> loads mcp__infold__read_result
        call branch_return {branch: br_1, message: done} -> ok
        ",
    );
    assert!(!plan_of(&said, Turn, &known().0).reads_results);
}

#[test]
fn one_that_waits_may_run_out_of_time() {
    let text = "
        user: go
        call branch_create {description: first} -> br_1
        + call branch_create {description: second} -> br_2
        call read_file {path: a.rs} -> a
        ";
    let stored = known().open(1, "").ended(2, EndReason::TimedOut, "nothing yet");
    assert_snapshot!(check_with(text, Turn, &stored), @"
    infold in entry 0: (brief of br_1: first)
    call read_file (c3)
      c3 -> a
    ! end br_2 after c3
    ");
    let stored = stored.ending(2, 1, after("c3"), "nothing yet");
    let text = format!("{text}\ncall branch_return {{branch: br_1, message: one}} -> ok");
    assert_snapshot!(check_with(&text, Turn, &stored), @"
    user: go
    call branch_create (c1)
    call branch_create (c2)
      c1 -> [branch br_1 returned] / one
      c2 -> [branch br_2 was cut short: timed out] / nothing yet
    ");
}

#[test]
fn each_generation_has_its_own_end() {
    let text = "
        user: go
        call branch_create {description: x} -> br_1
        call read_file {path: a.rs} -> a
        user: stop
        call context_rollback {branch: br_1} -> ok
        call read_file {path: b.rs} -> b
        user: stop
        ";
    let stored = known().with(1, 2, crate::view::BranchState::Open { partial: "second".into() });
    let stored = stored.ending(1, 1, before_person(text, "stop", 1), "first");
    assert_snapshot!(check_with(text, Turn, &stored), @"
    user: go
    call branch_create (c1)
      c1 -> [branch br_1 was cut short: interrupted] / second
    infold: [What was said before the branch was opened again. It has been told.]
    user: stop
    user: stop
    ! interrupt br_1 before user: stop
    ");

    // The same words ended both generations. Each is found where it was said.
    let ended = crate::view::BranchState::Ended { reason: EndReason::Interrupted, result: "second".into() };
    let stored = stored.with(1, 2, ended).ending(1, 2, before_person(text, "stop", 2), "second");
    let view = check_with(&format!("{text}\ncall read_file {{path: c.rs}} -> c"), Turn, &stored);
    assert!(view.contains("c1 -> [branch br_1 was cut short: interrupted] / second"), "{view}");
    let gone_back = "
        user: go
        call branch_create {description: x} -> br_1
        call read_file {path: a.rs} -> a
        user: stop
        call read_file {path: c.rs} -> c
        ";
    let view = check_with(gone_back, Turn, &stored);
    assert!(view.contains("c1 -> [branch br_1 was cut short] / first"), "{view}");
}

#[test]
fn the_same_words_of_a_client_are_distinguished() {
    let text = "
        user: go
        call branch_create {description: x} -> br_1
        call read_file {path: a.rs} -> a
        says: is that all?
        client: go on
        says: there is more
        client: go on
        ";
    let stored = known().ended(1, EndReason::TimedOut, "so far");
    let actions = plan_of(&transcript(text), Turn, &stored.0).actions;
    let ends = actions.into_iter().find_map(|action| match action {
        PlanAction::End { place, .. } => Some(place),
        _ => None,
    });
    let stored = stored.ending(1, 1, ends.expect("it ended by force"), "so far");
    assert_snapshot!(check_with(text, Turn, &stored), @"
    user: go
    call branch_create (c1)
      c1 -> [branch br_1 was cut short: timed out] / so far
    client: go on
    client: go on
    ");
}

#[test]
fn what_was_said_before_a_restart_goes_with_a_branch_that_is_opened_again() {
    let text = "
        user: go
        think: one
        call branch_create {description: x} -> br_1 inherit
        think: two
        call read_file {path: a.rs} -> a
        call branch_return {branch: br_1, message: done} -> ok
        think: three
        call context_rollback {branch: br_1} -> ok
        think: four
        call read_file {path: b.rs} -> b
        ";
    let mut stored = known().with(1, 2, crate::view::BranchState::Open { partial: String::new() });
    assert!(check_with(text, Turn, &stored).contains("think: two"));
    // The parent restarted when the branch was over.
    stored.0.restarts = vec![restart_after("c3")];
    let view = check_with(text, Turn, &stored);
    assert!(!view.contains("think: one") && !view.contains("think: two") && view.contains("think: four"), "{view}");
}
