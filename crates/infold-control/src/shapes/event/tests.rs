//! How events look in the event stream.

use infold_core::fork::{Fork, ForkLimits, Profile};
use infold_core::{Allocation, BlobId, BranchId, EndReason, ProjectHash, SessionId, Thread};
use serde_json::{Value, json};

use super::*;

fn branch(name: &str) -> BranchId {
    BranchId::from_stored(name.to_owned())
}

/// One event of every kind, with all optional parts filled in.
fn every_kind() -> Vec<Event> {
    let operation = Operation {
        tool: Scrubbed::fixed("read_file"),
        call_id: Some(Scrubbed::fixed("call_1")),
        arguments: Scrubbed::fixed("{}"),
        result: Scrubbed::fixed("fn main"),
        blob: BlobId::parse("res_00000000-0000-4000-8000-000000000000"),
        tokens: 7,
    };
    let opening = Opening {
        branch: branch("br_2"),
        parent: Thread::Branch(branch("br_1")),
        depth: 2,
        description: Scrubbed::fixed("find it"),
        prompt: Some(Scrubbed::fixed("look everywhere")),
        injected: None,
        work_place: None,
        brief_tokens: 5,
        budget_tokens: 100,
        allocation: Allocation::Independent,
        timeout_ms: 300_000,
        isolation: infold_core::Isolation::Isolated,
        start: infold_core::Start::AtOnce,
        claims: infold_core::Claims { subject: Some("somebody".to_owned()), ..Default::default() },
    };
    let ended = Event::BranchEnded {
        branch: branch("br_1"),
        generation: 1,
        reason: EndReason::BudgetExhausted,
        result: Scrubbed::fixed("so far"),
        result_tokens: 2,
    };
    vec![
        Event::SessionStarted { project: Some(ProjectHash::of("/p")) },
        Event::BranchOpened(Box::new(opening)),
        Event::BranchActivated { branch: branch("br_1") },
        Event::OperationSeen { thread: Thread::Main, operation: Box::new(operation) },
        Event::BudgetWarning { branch: branch("br_1"), used_tokens: 80, budget_tokens: 100 },
        Event::BudgetExhausted {
            branch: branch("br_1"),
            used_tokens: 90,
            overrun_tokens: 11,
            blob: BlobId::parse("res_00000000-0000-4000-8000-000000000000"),
            budget_tokens: 100,
        },
        ended,
        Event::RolledBack { to: branch("br_1"), reopened: vec![branch("br_1")], discarded: vec![branch("br_2")] },
        Event::EndsReported { branches: vec![branch("br_1")] },
        Event::SessionEnded {},
        Event::SessionForked { origin: Box::new(origin()), prompt: Some(Scrubbed::fixed("go on")) },
        Event::Answered { thread: Thread::Main, prompt_tokens: 900, cache_read_tokens: 800, output_tokens: 40 },
        Event::Said { branch: branch("br_1"), words: Scrubbed::fixed("It is in the parser.") },
    ]
}

fn origin() -> Origin {
    let shortened = Fork::new(Profile::Recall, ForkLimits::default()).finish();
    Origin {
        parent: SessionId::parse("s").ok(),
        profile: Profile::Recall,
        preamble: Scrubbed::fixed("This is a fork."),
        blob: BlobId::mint([0; 16]),
        chars: 4,
        tokens: 1,
        stats: shortened.stats,
    }
}

fn as_json(event: &Event) -> Value {
    serde_json::to_value(EventBody::from(event)).expect("an event can be written")
}

#[test]
fn an_events_type_is_its_name_in_the_feed() {
    for event in every_kind() {
        assert_eq!(as_json(&event)["type"], event.name());
    }
}

#[test]
fn an_opening_is_shown_without_the_claims_of_who_opened_it() {
    let expected = json!({
        "type": "branch.created",
        "branch_id": "br_2",
        "parent_branch_id": "br_1",
        "depth": 2,
        "description": "find it",
        "prompt": "look everywhere",
        "budget_total": 100,
        "timeout_seconds": 300,
        "tokens": 5,
    });
    assert_eq!(as_json(&every_kind()[1]), expected);
}

#[test]
fn a_fork_is_shown_with_its_parent_and_where_its_context_is() {
    let expected = json!({
        "type": "session.forked",
        "parent_session_id": "s",
        "profile": "recall",
        "ref_id": "res_00000000-0000-4000-8000-000000000000",
        "chars": 4,
        "tokens": 1,
        "prompt": "go on",
    });
    assert_eq!(as_json(&every_kind()[10]), expected);
}

#[test]
fn an_end_is_shown_with_status_and_reason_in_words() {
    let expected = json!({
        "type": "branch.folded",
        "branch_id": "br_1",
        "generation": 1,
        "status": "timeout",
        "reason": "budget exhausted",
        "message": "so far",
        "message_tokens": 2,
    });
    assert_eq!(as_json(&every_kind()[6]), expected);
}

#[test]
fn an_answer_is_shown_with_what_its_provider_counted() {
    let expected = json!({
        "type": "request.completed",
        "branch_id": null,
        "prompt_tokens": 900,
        "cache_read_tokens": 800,
        "output_tokens": 40,
    });
    assert_eq!(as_json(&every_kind()[11]), expected);
}

#[test]
fn what_an_agent_says_is_shown_with_its_branch() {
    let expected = json!({"type": "branch.said", "branch_id": "br_1", "words": "It is in the parser."});
    assert_eq!(as_json(&every_kind()[12]), expected);
}
