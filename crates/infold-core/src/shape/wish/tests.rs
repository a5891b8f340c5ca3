//! What agents wanted to see with calls, in the forms in which real agents make them.

use serde_json::json;

use super::*;

fn of(tool: &str, arguments: Value) -> Wish {
    Wish::of(tool, &arguments.to_string())
}

fn named(file: &str) -> Wish {
    Wish::Named { file: Some(file.to_owned()) }
}

const SEVERAL: Wish = Wish::Named { file: None };

#[test]
fn a_tool_that_reads_names_its_file() {
    assert_eq!(of("Read", json!({"file_path": "/r/a.rs", "offset": 10})), named("/r/a.rs"));
    assert_eq!(of("read", json!({"filePath": "/r/a.rs"})), named("/r/a.rs"));
    assert_eq!(of("mcp__filesystem__read_text_file", json!({"path": "a.rs"})), named("a.rs"));
    assert_eq!(of("filesystem_read_file", json!({"path": "a.rs"})), named("a.rs"));
    assert_eq!(of("read_many_files", json!({"paths": ["a.rs", "b.rs"]})), SEVERAL);
    assert_eq!(of("str_replace_based_edit_tool", json!({"command": "view", "path": "a.rs"})), named("a.rs"));
    assert_eq!(of("str_replace_based_edit_tool", json!({"command": "create", "path": "a.rs"})), Wish::Output);
    assert_eq!(of("Edit", json!({"file_path": "/r/a.rs"})), Wish::Output);
    assert_eq!(of("read_console_messages", json!({})), Wish::Output);
}

#[test]
fn a_command_that_prints_a_file_names_it() {
    let bash = |command: &str| of("Bash", json!({"command": command}));
    for (command, file) in [
        ("cat src/a.rs", "src/a.rs"),
        ("cat -n ./src/a.rs", "src/a.rs"),
        ("sed -n '1,200p' src/a.rs", "src/a.rs"),
        ("sed -n -e 1,5p 'a file.txt'", "a file.txt"),
        ("head -n 50 a.rs", "a.rs"),
        ("head -50 a.rs 2>/dev/null", "a.rs"),
        ("tail -n +20 a.rs | head -30", "a.rs"),
        ("nl -ba src/a.rs | sed -n '1,260p'", "src/a.rs"),
        ("cd /r && cat src/a.rs 2>&1", "/r/src/a.rs"),
        ("git show HEAD~2:src/a.rs", "HEAD~2:src/a.rs"),
        ("awk 'NR>=10 && NR<=20' a.rs", "a.rs"),
        ("bash -lc \"sed -n '1,20p' a.rs\"", "a.rs"),
        ("LC_ALL=C timeout 5 cat a.rs", "a.rs"),
    ] {
        assert_eq!(bash(command), named(file), "{command}");
    }
    for command in ["cat a.rs b.rs", "pwd && cat a.rs", "for f in a b; do sed -n 1,9p $f; done", "cat src/*.rs"] {
        assert_eq!(bash(command), SEVERAL, "{command}");
    }
}

#[test]
fn other_commands_print_output() {
    for command in [
        "cargo test 2>&1 | tail -50",
        "rg -n foo src | head -20",
        "cat a.rs | grep foo",
        "cat > a.rs <<'EOF'\ncat b.rs\nEOF",
        "cat a.rs > b.rs",
        "cat a.rs &> /dev/null",
        "sed -i 's/a/b/' a.rs",
        "sed -n 5p",
        "ls -la",
        "git show HEAD",
        "git log | cat",
        "echo 'cat a.rs'",
        "",
    ] {
        assert_eq!(of("Bash", json!({"command": command})), Wish::Output, "{command}");
    }
}

#[test]
fn shells_of_other_clients_are_read_too() {
    let sed = "sed -n '1,200p' a.rs";
    assert_eq!(of("exec_command", json!({"cmd": sed, "workdir": "/r"})), named("/r/a.rs"));
    assert_eq!(of("shell", json!({"command": ["bash", "-lc", sed], "workdir": "/r"})), named("/r/a.rs"));
    assert_eq!(of("shell", json!({"command": ["cat", "a b.rs"]})), named("a b.rs"));
    assert_eq!(of("write_stdin", json!({"session_id": 3, "chars": ""})), Wish::Output);
    let script = "const r = await tools.exec_command({cmd: \"sed -n '1,20p' a.rs\"}); text(r.output);";
    assert_eq!(Wish::of("exec", script), SEVERAL);
    assert_eq!(Wish::of("exec", "await tools.exec_command({cmd: 'cargo test'})"), Wish::Output);
}

#[test]
fn what_persons_and_other_agents_say_is_not_output() {
    assert_eq!(of("AskUserQuestion", json!({"questions": []})), Wish::Person);
    assert_eq!(of("functions.request_user_input", json!({})), Wish::Person);
    assert_eq!(of("Task", json!({"prompt": "look around"})), SEVERAL);
}

#[test]
fn a_command_of_any_kind_is_read_to_its_end() {
    for command in
        ["'", "\"\\", "a |", "|| && ;", "cat \\", "cat <", "2>", ">", "bash -c", "cd", "timeout", "漢 | cat é"]
    {
        of("Bash", json!({"command": command}));
    }
    let deep = (0..20).fold("cat a.rs".to_owned(), |inner, _| format!("sh -c {inner:?}"));
    of("Bash", json!({"command": deep}));
}
