//! How figures and times are written.

use infold_core::{ContextState, SessionId};

use super::{header, time};

#[test]
fn the_header_is_compact_ascii_json() {
    let state = ContextState {
        session_id: SessionId::parse("sess_1").unwrap(),
        active_branch_id: None,
        branch_depth: 0,
        total_tokens: 9_200,
        main_thread_tokens: 9_200,
        current_branch_tokens: 0,
        folded_tokens: 18_500,
        context_usage: 0.28,
        root_budget_remaining: None,
    };
    assert_eq!(
        header(&state).unwrap().to_str().unwrap(),
        r#"{"session_id":"sess_1","active_branch_id":null,"branch_depth":0,"total_tokens":9200,"folded_tokens":18500,"context_usage":0.28}"#
    );
}

#[test]
fn times_are_rfc_3339() {
    assert_eq!(time(1_737_109_800_000), "2025-01-17T10:30:00Z");
    assert_eq!(time(1_737_109_800_250), "2025-01-17T10:30:00.25Z");
}
