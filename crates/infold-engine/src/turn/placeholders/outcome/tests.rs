//! What clients say of calls that were carried out, and of those that were not.

use super::*;

#[test]
fn what_codex_says_tells_whether_a_call_was_carried_out() {
    let ran =
        |code: i64| format!("Chunk ID: abc123\nWall time: 0.0500 seconds\nProcess exited with code {code}\nOutput:\n");
    assert!(says_done(&ran(0), "exec_command", Means::Shell));
    assert!(says_done(&(ran(0) + "Process exited with code 1"), "exec_command", Means::Shell));
    assert!(!says_done(&ran(1), "exec_command", Means::Shell));
    let patched = "Exit code: 0\nWall time: 0.1 seconds\nOutput:\nSuccess. Updated the following files:\nM a\n";
    assert!(says_done(patched, "apply_patch", Means::Editor));
    assert!(says_done(
        r#"{"output":"Success.","metadata":{"exit_code":0,"duration_seconds":0.1}}"#,
        "apply_patch",
        Means::Editor
    ));
    assert!(!says_done(r#"{"output":"no","metadata":{"exit_code": 1}}"#, "shell", Means::Shell));
    assert!(!says_done(
        "apply_patch verification failed: Failed to find expected lines in /a",
        "apply_patch",
        Means::Editor
    ));
    let blocked = "Command blocked by PreToolUse hook: infold refused this command. Command: echo x > a";
    assert!(!says_done(blocked, "exec_command", Means::Shell));
    let inside = format!("Script failed\nWall time 0.1 seconds\nOutput:\n{blocked}");
    assert!(!says_done(&inside, "exec", Means::Shell));
}

#[test]
fn what_opencode_says_tells_whether_a_call_was_carried_out() {
    assert!(says_done("Edit applied successfully.", "edit", Means::Editor));
    assert!(says_done("Wrote file successfully.", "write", Means::Editor));
    for failed in [
        "Could not find oldString in the file. It must match exactly, including whitespace, indentation, and line endings.",
        "File /p/a not found",
        "You must read file /p/a before overwriting it. Use the Read tool first",
        "Error: infold refused this write: it holds",
        "infold refused this write: it holds",
    ] {
        assert!(!says_done(failed, "edit", Means::Editor), "{failed}");
    }
    assert!(says_done("(no output)", "bash", Means::Shell));
}
