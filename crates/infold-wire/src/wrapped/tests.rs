//! Tests of which calls are unwrapped, and which are not.

use super::*;

#[test]
fn a_call_of_ours_is_found_inside_and_others_are_left_alone() {
    let inside = |arguments: &str| unwrapped("tool_call", arguments);
    let call = r#"{"name":"mcp__infold__branch_create","arguments":{"description":"read"}}"#;
    let opened = Some(("mcp__infold__branch_create".to_owned(), r#"{"description":"read"}"#.to_owned()));
    assert_eq!(inside(call), opened);
    assert_eq!(inside(r#"{"name":"mcp__infold__branch_create","arguments":"{\"description\":\"read\"}"}"#), opened);
    let asked = Some(("mcp__infold__branch_status".to_owned(), "{}".to_owned()));
    assert_eq!(inside(r#"{"name":"mcp__infold__branch_status"}"#), asked);
    assert_eq!(inside(r#"{"name":"mcp__everything__echo","arguments":{}}"#), None);
    assert_eq!(inside(r#"{"name":"mcp__infold__branch_cr"#), None, "half of a call");
    assert_eq!(unwrapped("shell", call), None);
}

#[test]
fn a_search_names_what_it_found() {
    let printed = "<functions>\n<function>{\"name\":\"mcp__infold__branch_create\",\"description\":\"x\"}</function>\n\
                   <function>{\"name\":\"mcp__infold__read_result\"}</function>\n</functions>";
    assert_eq!(found(printed), ["mcp__infold__branch_create", "mcp__infold__read_result"]);
    assert!(found("No tools found.").is_empty());
}
