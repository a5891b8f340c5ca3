//! Which calls would write a placeholder, and are refused for it, and which only look like it.

use serde_json::json;

use super::*;

const MASK: &str = "[SECRET:github-pat:7f3a2c]";

/// Whether a call would write the placeholder.
fn writes(tool: &str, arguments: &Value) -> bool {
    writing_of(tool, arguments).is_some_and(|writing| writing.texts.iter().any(|text| text.contains(MASK)))
}

fn shell_writes(command: &str) -> bool {
    writes("Bash", &json!({"command": command.replace('@', MASK)}))
}

#[test]
fn commands_that_write_a_placeholder_are_known() {
    for command in [
        "cat > config.env <<EOF\nTOKEN=@\nEOF",
        "cat <<'EOF' > config.env\nTOKEN=@\nEOF\n",
        "cat <<-EOF >> config.env\n\tTOKEN=@\n\tEOF",
        "echo TOKEN=@ > config.env",
        "echo 'TOKEN=@' >> config.env",
        "echo TOKEN=@ >| config.env",
        "echo TOKEN=@ &> config.env",
        "echo TOKEN=@>config.env",
        "printf '%s' @ | tee config.env",
        "printf '%s' @ | sudo tee -a config.env > /dev/null",
        "sed -i 's/^TOKEN=.*/TOKEN=@/' config.env",
        "sed -Ei.bak 's/x/@/' config.env",
        "sed --in-place=.bak s/x/@/ config.env",
        "perl -pi -e 's/x/@/' config.env",
        "python3 -c \"open('config.env','w').write('@')\"",
        "python3 - <<'EOF'\nopen('config.env', 'w').write('TOKEN=@')\nEOF",
        "node -e \"require('fs').writeFileSync('a', '@')\"",
        "printf @ | dd of=config.env",
        "apply_patch <<'EOF'\n*** Begin Patch\n+TOKEN=@\n*** End Patch\nEOF",
        "T=@; echo $T > config.env",
        "export T=@\nenvsubst < a > b",
        "for t in @; do echo $t > a; done",
        "(echo @) > config.env",
        "{ echo @; } > config.env",
        "bash -lc 'echo @ > a'",
        "/bin/sh -c \"printf @ | tee a\"",
        "echo \"$(echo @ | tee a)\"",
        "tee a <<< @",
        "awk '{print \"@\" > \"a\"}' b",
        "sort -o a <<< @",
        "git commit -m @",
        "gh secret set TOKEN --body @",
        "true && echo @ > a",
        "cat a 2> /dev/null; echo @ 1> a",
    ] {
        assert!(shell_writes(command), "{command}");
    }
}

#[test]
fn commands_that_only_look_or_print_are_left_alone() {
    for command in [
        "grep -n '@' config.env",
        "rg -F '@' . | head -3",
        "echo @",
        "echo \"@\" 2>/dev/null",
        "echo '@' >&2",
        "printf '%s\\n' '@' | wc -c",
        "cat <<EOF\n@\nEOF",
        "sed -n '/@/p' config.env",
        "sed 's/@/x/' config.env | less",
        "git grep -F '@' -- .",
        "find . -name '@'",
        "grep '@' a || echo none # > b",
        "[ \"$T\" = '@' ] && echo same",
        "if grep -q '@' a; then echo yes; fi",
        "grep '@' a; cargo build > log.txt 2>&1",
        "cargo test > log.txt; grep -c '@' log.txt",
        "bash -lc \"grep -F '@' a\"",
        "echo 'a > b @'",
        "echo a \\> @",
        "cat a &>/dev/null && echo @",
        "",
    ] {
        assert!(!shell_writes(command), "{command}");
    }
}

#[test]
fn words_in_a_list_are_a_command_too() {
    let shell = |words: Value| writes("shell", &json!({"command": words}));
    assert!(shell(json!(["bash", "-lc", format!("cat > a <<EOF\n{MASK}\nEOF")])));
    assert!(!shell(json!(["bash", "-lc", format!("grep -F '{MASK}' a")])));
    assert!(!shell(json!(["grep", "it's", MASK, "a > b"])));
    assert!(writes("exec_command", &json!({"cmd": format!("echo {MASK} > a"), "yield_time_ms": 1000})));
}

#[test]
fn editors_write_everything_but_what_was_there_before() {
    for tool in ["Write", "Edit", "MultiEdit", "NotebookEdit", "write", "mcp__fs__write_file", "fs_edit_file"] {
        assert!(writes(tool, &json!({"file_path": "/a", "content": format!("k = {MASK}\n")})), "{tool}");
    }
    let edits = json!({"edits": [{"old_string": "a", "new_string": "b"}, {"new_string": format!("x{MASK}")}]});
    assert!(writes("MultiEdit", &edits));
    assert!(writes("mcp__github__create_or_update_file", &json!({"path": "a", "content": MASK})));
    assert!(!writes("Edit", &json!({"old_string": MASK, "new_string": "none"})));
    assert!(!writes("edit", &json!({"oldString": MASK, "newString": "none"})));
}

#[test]
fn of_a_patch_only_what_it_adds_is_written() {
    let patch = |line: &str| format!("*** Begin Patch\n*** Update File: a\n@@\n{line}\n*** End Patch");
    assert!(writes("apply_patch", &json!(patch(&format!("+TOKEN={MASK}")))));
    assert!(writes("apply_patch", &json!({"input": patch(&format!("+TOKEN={MASK}"))})));
    assert!(!writes("apply_patch", &json!(patch(&format!("-TOKEN={MASK}\n+TOKEN=$TOKEN")))));
    assert!(!writes("apply_patch", &json!(patch(&format!(" TOKEN={MASK}\n+LEVEL=2")))));
}

#[test]
fn scripts_are_searched_for_the_commands_and_patches_in_them() {
    let exec = |script: String| writing("exec", &script);
    let found = |script: String| exec(script).is_some_and(|writing| writing.texts.concat().contains(MASK));
    assert!(found(format!(
        "const r = await tools.exec_command({{cmd: \"cat > a <<'EOF'\\nT={MASK}\\nEOF\"}});\ntext(r)"
    )));
    assert!(found(format!("await tools.apply_patch(`*** Begin Patch\n*** Add File: a\n+T={MASK}\n*** End Patch`)")));
    assert!(found(format!("const t = '{MASK}'; await tools.exec_command({{cmd: \"echo \" + t + \" > a\"}})")));
    assert!(!found(format!("text(await tools.exec_command({{cmd: \"grep -F '{MASK}' a\"}}))")));
}

#[test]
fn other_tools_write_nothing() {
    for tool in
        ["Read", "Grep", "mcp__infold__branch_return", "infold_branch_create", "mcp__tracker__create_issue", "WebFetch"]
    {
        assert!(!writes(tool, &json!({"message": MASK, "command": format!("echo {MASK} > a")})), "{tool}");
    }
}
