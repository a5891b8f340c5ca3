//! Calls that were seen, found again by their ids, or by tool and arguments.

use infold_core::{Owner, SessionId, Thread};

use super::{IssuedCall, IssuedCalls, PER_OWNER_MAX, RunningScript, arguments_hash};

fn call(id: &str, tool: &str, arguments: &str) -> IssuedCall {
    IssuedCall { id: id.to_owned(), tool: tool.to_owned(), arguments_hash: arguments_hash(arguments) }
}

fn session(name: &str) -> SessionId {
    SessionId::parse(name).unwrap()
}

fn note(registry: &mut IssuedCalls, name: &str, calls: Vec<IssuedCall>) {
    registry.note(&Owner::local(), &session(name), &Thread::Main, calls);
}

fn find(registry: &mut IssuedCalls, id: Option<&str>, tool: &str, arguments: &str) -> Option<String> {
    let found = registry.find(&Owner::local(), id, tool, &arguments_hash(arguments));
    found.map(|found| found.session.to_string())
}

#[test]
fn a_hash_does_not_depend_on_how_arguments_are_written_down() {
    let hash = arguments_hash(r#"{"a":1,"b":[true,"x"],"c":{"d":2}}"#);
    assert_eq!(arguments_hash("{ \"c\": {\"d\":2.0, \"e\":null}, \"b\":[true,\"\\u0078\"], \"a\":1 }"), hash);
    for other in [r#"{"a":1,"b":["x",true],"c":{"d":2}}"#, r#"{"a":"1","b":[true,"x"],"c":{"d":2}}"#, "{}"] {
        assert_ne!(arguments_hash(other), hash, "{other}");
    }
    assert_eq!(arguments_hash(""), arguments_hash("{}"));
    assert_ne!(arguments_hash("not json"), arguments_hash("not json either"));
}

#[test]
fn by_its_id_a_call_is_found_again_and_by_what_it_says_once() {
    let mut registry = IssuedCalls::default();
    note(&mut registry, "s", vec![call("toolu_1", "mcp__infold__branch_status", "{}")]);
    assert_eq!(find(&mut registry, Some("toolu_1"), "branch_status", "{}").as_deref(), Some("s"));
    assert_eq!(find(&mut registry, Some("toolu_1"), "branch_status", "{}").as_deref(), Some("s"));
    assert_eq!(find(&mut registry, None, "branch_status", "{}"), None, "that was the call with the id");

    note(&mut registry, "s", vec![call("toolu_2", "mcp__infold__branch_status", "{}")]);
    assert_eq!(find(&mut registry, None, "branch_return", "{}"), None, "another tool");
    assert_eq!(find(&mut registry, None, "branch_status", r#"{"branch_id":"x"}"#), None, "other arguments");
    assert_eq!(find(&mut registry, Some("toolu_9"), "branch_status", "{}").as_deref(), Some("s"));
    assert_eq!(find(&mut registry, None, "branch_status", "{}"), None, "once");
}

#[test]
fn a_call_that_was_never_made_is_not_taken_for_a_later_one() {
    let mut registry = IssuedCalls::default();
    note(&mut registry, "denied", vec![call("toolu_1", "branch_status", "{}")]);
    note(&mut registry, "s", vec![call("toolu_2", "branch_status", "{}")]);
    assert_eq!(find(&mut registry, None, "branch_status", "{}").as_deref(), Some("s"));
    note(&mut registry, "denied", vec![call("toolu_3", "branch_return", "{}")]);
    assert_eq!(find(&mut registry, None, "branch_status", "{}"), None, "its model has gone on since");
}

#[test]
fn an_answer_may_be_reported_again_with_more_calls_in_it() {
    let mut registry = IssuedCalls::default();
    let first = call("toolu_1", "branch_create", r#"{"description":"a"}"#);
    note(&mut registry, "s", vec![first.clone()]);
    assert!(find(&mut registry, None, "branch_create", r#"{"description":"a"}"#).is_some());
    note(&mut registry, "s", vec![first, call("toolu_2", "branch_create", r#"{"description":"b"}"#)]);
    assert!(find(&mut registry, None, "branch_create", r#"{"description":"a"}"#).is_none(), "it was made already");
    assert!(find(&mut registry, None, "branch_create", r#"{"description":"b"}"#).is_some());
}

#[test]
fn each_owner_has_its_own_and_the_oldest_go() {
    let mut registry = IssuedCalls::default();
    for number in 0..=PER_OWNER_MAX {
        note(&mut registry, "s", vec![call(&format!("toolu_{number}"), "branch_status", "{}")]);
    }
    assert_eq!(find(&mut registry, Some("toolu_0"), "read_result", "{}"), None);
    assert_eq!(find(&mut registry, Some("toolu_1"), "read_result", "{}").as_deref(), Some("s"));
    let foreign = registry.find(&Owner::from_subject("mallory"), Some("toolu_1"), "branch_status", &[0; 32]);
    assert!(foreign.is_none());
}

#[test]
fn a_script_takes_calls_for_as_long_as_its_model_waits_for_it() {
    let mut registry = IssuedCalls::default();
    let running = |registry: &IssuedCalls, name: &str| registry.script(&Owner::local(), &session(name));
    let awaited = |id: &str| RunningScript::Awaited { run_by: id.to_owned(), thread: Thread::Main };
    assert_eq!(running(&registry, "s"), RunningScript::Unseen);
    note(&mut registry, "s", vec![call("call_1", "exec", "text(1)")]);
    assert_eq!(running(&registry, "s"), awaited("call_1"));
    assert_eq!(running(&registry, "s"), awaited("call_1"), "one script makes many calls");
    assert_eq!(running(&registry, "other"), RunningScript::Unseen);
    assert_eq!(registry.script(&Owner::from_subject("mallory"), &session("s")), RunningScript::Unseen);

    registry.answered(&Owner::local(), &session("other"), &["call_1"]);
    assert_eq!(running(&registry, "s"), awaited("call_1"), "another session's answer");
    registry.answered(&Owner::local(), &session("s"), &["call_1"]);
    assert_eq!(running(&registry, "s"), RunningScript::LeftAlone);
    note(&mut registry, "s", vec![call("call_2", "wait", r#"{"cell_id":"1"}"#)]);
    assert_eq!(running(&registry, "s"), awaited("call_2"));
}
