//! FR-002, what a branch gets to see of everything outside it: its brief, and nothing else.

use anyhow::Result;
use serde_json::{Value, json};

use crate::support::{Program, in_thread, lines_about, roomy};

/// The length of a result that is offloaded.
const LONG_BYTES: usize = 6_000;

/// Hands in a long result that was seen in `thread`, and returns its handle.
async fn offload(program: &Program, thread: &str, topic: &str) -> Result<String> {
    let result = json!({"tool_name": "read_log", "content": lines_about(topic, LONG_BYTES), "branch_id": thread});
    let recorded = program.record("s", result).await?;
    Ok(recorded["ref_id"].as_str().unwrap_or_default().to_owned())
}

/// What a thread gets for a handle: the result's first line, or the refusal's code.
async fn read_in(program: &Program, thread: &str, ref_id: &str) -> Result<String> {
    let arguments = json!({"ref_id": ref_id, "start_line": 1, "end_line": 1});
    let answer = program.mcp.call_with_meta("read_result", arguments, in_thread(thread)).await?;
    if answer.is_ok() {
        return Ok(answer.text_field("content").trim().to_owned());
    }
    let refusal: Value = serde_json::from_str(&answer.text)?;
    Ok(refusal["code"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn fr_002_a_branch_reads_its_own_results_and_those_below_it_and_no_others() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let of_main = offload(&program, "main", "PARENT").await?;
    let left = program.open_under("s", "main", "Left").await?;
    let right = program.open_under("s", "main", "Right").await?;
    let child = program.open_under("s", &left, "Below left").await?;
    let of_left = offload(&program, &left, "LEFT").await?;
    let of_right = offload(&program, &right, "RIGHT").await?;
    let of_child = offload(&program, &child, "CHILD").await?;

    let absent = "result_not_found";
    let line = |topic: &str| format!("1:1 {topic} said that all was well");
    let all = [&of_main, &of_left, &of_right, &of_child];
    for (thread, expected) in [
        ("main", [line("PARENT"), line("LEFT"), line("RIGHT"), line("CHILD")]),
        (&left, [absent.into(), line("LEFT"), absent.into(), line("CHILD")]),
        (&right, [absent.into(), absent.into(), line("RIGHT"), absent.into()]),
        (&child, [absent.into(), absent.into(), absent.into(), line("CHILD")]),
    ] {
        for (ref_id, expected) in all.iter().zip(expected) {
            assert_eq!(read_in(&program, thread, ref_id).await?, expected, "{thread} reads {ref_id}");
        }
    }
    let path = format!("/api/v1/results/{of_left}?branch_id={right}");
    assert_eq!(program.api.get(&path).await?.refused()?.verdict(), (absent, 404));
    Ok(())
}

#[tokio::test]
async fn fr_002_what_is_not_a_branchs_own_looks_as_if_it_had_never_been() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let of_main = offload(&program, "main", "PARENT").await?;
    program.open("s", "Work").await?;
    let never = "res_00000000-0000-4000-8000-000000000000";
    let refused = program.refused("read_result", json!({"ref_id": of_main})).await?;
    let unknown = program.refused("read_result", json!({"ref_id": never})).await?;
    let shown = |refused: crate::support::Refused, id: &str| format!("{refused:?}").replace(id, "ID");
    assert_eq!(shown(refused, &of_main), shown(unknown, never));
    Ok(())
}

#[tokio::test]
async fn fr_002_a_branch_starts_from_its_brief_alone() -> Result<()> {
    let program = Program::start(roomy()).await?;
    for number in 0..5 {
        let content = lines_about(&format!("PARENT-ONLY {number}"), 2_000);
        program.record("s", json!({"tool_name": "read_file", "content": content})).await?;
    }
    let arguments = json!({"session_id": "s", "description": "Find it", "prompt": "Search the logs."});
    let opened = program.done("branch_create", arguments).await?;
    let branch = opened["branch_id"].as_str().unwrap_or_default();

    let detail = program.api.get(&format!("/api/v1/branches/{branch}")).await?.with_status(200)?;
    assert_eq!((&detail["description"], &detail["prompt"]), (&json!("Find it"), &json!("Search the logs.")));
    assert_eq!(
        (&detail["injected_memories"], &detail["files"], &detail["tools"]),
        (&json!([]), &json!([]), &json!([]))
    );
    assert!(detail["tokens"].as_u64().is_some_and(|tokens| (1..20).contains(&tokens)), "the brief's: {detail}");
    assert_eq!(detail["budget_used"], detail["tokens"]);
    Ok(())
}

#[tokio::test]
async fn fr_002_no_answer_in_a_branch_shows_what_its_parent_or_its_sibling_has_seen() -> Result<()> {
    let program = Program::start(roomy()).await?;
    offload(&program, "main", "PARENT-ONLY").await?;
    program.record("s", json!({"tool_name": "read_file", "content": lines_about("PARENT-ONLY", 500)})).await?;
    let sibling = program.open_under("s", "main", "Sibling").await?;
    offload(&program, &sibling, "SIBLING-ONLY").await?;
    program.record("s", json!({"tool_name": "grep", "content": lines_about("SIBLING-ONLY", 500)})).await?;
    let branch = program.open_under("s", "main", "Work").await?;

    let in_project = json!({"project_path": "/p", "session_id": "s"});
    let rollback = json!({"project_path": "/p", "session_id": "s", "branch_id": branch, "restore_state": false});
    let calls = [
        ("branch_status", json!({"branch_id": branch})),
        ("branch_status", json!({"branch_id": sibling})),
        ("branch_status", json!({"session_id": "s"})),
        ("context_branch_status", in_project.clone()),
        ("context_list_branches", in_project),
        ("context_rollback", rollback),
        ("branch_return", json!({"branch_id": branch, "message": "Done."})),
    ];
    for (tool, arguments) in calls {
        let answer = program.call(tool, arguments).await?;
        let shown = format!("{} {:?}", answer.result, answer.context_state_header);
        assert!(answer.is_ok(), "{tool}: {}", answer.summary());
        assert!(!shown.contains("PARENT-ONLY") && !shown.contains("SIBLING-ONLY"), "{tool} answers {shown}");
    }
    Ok(())
}
