//! The whole pipeline on small sessions in the shapes of the three clients.

use super::*;

/// What the child gets, preamble included; long runs of one character as their length.
fn check(items: Vec<Item>) -> String {
    let forked = fork(items.clone());
    assert_eq!(forked, streamed(ForkLimits::default(), items));
    let mut text = forked.message(None);
    for char in ['x', 'y'] {
        for chars in [3_000, 2_400, 600, 500, 400, 100] {
            text = text.replace(&char.to_string().repeat(chars), &format!("({chars} {char})"));
        }
    }
    text
}

#[test]
fn claude_code_answers_in_the_message_after_the_call() {
    let mut items = vec![user(0, "fix the bug"), reasoning(1, "…"), assistant(1, "I will look.")];
    items.push(call(1, "t1", "Bash", "{\"command\":\"cargo test\"}"));
    items.push(result(2, "t1", "Bash", &format!("{}{}", "x".repeat(400), "y".repeat(400))));
    for at in 0..15 {
        items.push(call(3 + 2 * at, &format!("r{at}"), "Read", "{}"));
        items.push(result(4 + 2 * at, &format!("r{at}"), "Read", "fn main() {}"));
    }
    let text = check(items);
    insta::assert_snapshot!(text.split("\n\n[Tool call]\nRead").next().unwrap(), @r#"
    You are working with forked context from a parent agent session.
    Context processing applied:
    - No compaction detected
    - Tool results: 5 full, 10 truncated to 3000 chars, 1 truncated to 500 chars
    - All messages preserved
    If you need complete file contents or detailed results, re-read the files directly.

    [User]
    fix the bug

    [Assistant]
    I will look.

    [Tool call]
    Bash({"command":"cargo test"})

    [Tool result: Bash]
    (400 x)
    ...[truncated 300 chars]...
    (100 y)
    "#);
}

#[test]
fn codex_sends_each_item_by_itself_and_seals_its_summary() {
    let items = vec![
        item(0, Kind::User { text: "<environment_context>".to_owned(), voice: Voice::Client }),
        user(1, "fix the bug"),
        reasoning(2, ""),
        call(3, "call_1", "exec_command", "{\"cmd\":\"ls\"}"),
        result(4, "call_1", "exec_command", "Process exited with code 0"),
        compaction(5, None),
        assistant(6, "Done."),
    ];
    insta::assert_snapshot!(check(items), @r#"
    You are working with forked context from a parent agent session.
    Context processing applied:
    - No compaction detected
    - Tool results: 1 full, 0 truncated to 3000 chars, 0 truncated to 500 chars
    - All messages preserved
    If you need complete file contents or detailed results, re-read the files directly.

    [Added by the client]
    <environment_context>

    [User]
    fix the bug

    [Tool call]
    exec_command({"cmd":"ls"})

    [Tool result: exec_command]
    Process exited with code 0

    [Assistant]
    Done.
    "#);
}

#[test]
fn opencode_keeps_a_call_and_its_result_in_one_message() {
    let mut cleared = result(4, "c2", "read", &"x".repeat(9_000));
    if let Kind::Result { held, .. } = &mut cleared.kind {
        *held = HeldContent::Cleared;
    }
    let items = vec![
        user(0, "long ago"),
        call(1, "c1", "bash", "{}"),
        result(1, "c1", "bash", "old"),
        compaction(3, Some("The user wants the bug fixed.")),
        assistant(4, "I will read it again."),
        call(4, "c2", "read", "{\"filePath\":\"a.rs\"}"),
        cleared,
        call(4, "c3", "bash", "{\"command\":\"ls\"}"),
        result(4, "c3", "bash", "a.rs"),
    ];
    insta::assert_snapshot!(check(items), @r#"
    You are working with forked context from a parent agent session.
    Context processing applied:
    - Compaction summary included (messages before compaction removed)
    - Tool results: 2 full, 0 truncated to 3000 chars, 0 truncated to 500 chars
    - All messages preserved
    If you need complete file contents or detailed results, re-read the files directly.

    [Summary of the conversation before]
    The user wants the bug fixed.

    [Assistant]
    I will read it again.

    [Tool call]
    read({"filePath":"a.rs"})

    [Tool result: read]
    [Old tool result content cleared]

    [Tool call]
    bash({"command":"ls"})

    [Tool result: bash]
    a.rs
    "#);
}

#[test]
fn the_other_profile_is_reached_by_its_name_and_says_what_it_did() {
    let mut fork = Fork::new(Profile::Recall, ForkLimits::default());
    let items = [user(0, "fix the bug"), call(1, "c", "Read", "{}"), result(2, "c", "Read", "fn main() {}")];
    items.into_iter().for_each(|item| fork.push(item));
    let forked = fork.finish();
    assert!(forked.context.contains("fix the bug") && forked.context.contains("fn main() {}"));
    assert!(forked.preamble.contains("- Tool results: 1 full, 0 in part, 0 left out"));
    let stats = forked.stats;
    assert_eq!((stats.original_count, stats.final_count, stats.removed_messages), (3, 3, 0));
    assert_eq!((stats.tier_distribution.tier1, stats.truncated_results), (1, 0));
    assert_eq!(stats.total_chars, forked.context.chars().count());
}
